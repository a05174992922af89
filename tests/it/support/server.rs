//! A package index on loopback that serves a [`Published`] and misbehaves as told. HTTP/1.1, one thread for each
//! connection, which ends with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use macml::pep::Sha256;
use url::Url;

use super::published::{Published, Rel};
use super::solving::Random;
use super::wheel::{self, Built};

/// How the index answers. The default is the best one can wish for.
#[derive(Clone, Debug)]
pub(crate) struct Behaviour {
    pub(crate) format: Format,
    pub(crate) metadata_files: MetadataFiles,
    pub(crate) ranges: Ranges,
    pub(crate) hashes: bool,
    pub(crate) sizes: bool,
    pub(crate) times: bool,
    /// `Requires-Python` on pages.
    pub(crate) requires_python: bool,
    /// Wait before each answer.
    pub(crate) delay: Duration,
    /// Wait longer by up to 40 ms, as this seed and the path decide, so that answers come in another order.
    pub(crate) uneven: Option<u64>,
    /// Files listed without a hash, though others have one.
    pub(crate) unhashed_files: BTreeSet<String>,
    /// Files that are listed and answer 404.
    pub(crate) absent_files: BTreeSet<String>,
    /// Files whose bytes are not those promised, and one more.
    pub(crate) wrong_files: BTreeSet<String>,
    /// Files with as many bytes as promised, the first of them another.
    pub(crate) altered_files: BTreeSet<String>,
    /// Bodies come in pieces of so many bytes, with a wait before each.
    pub(crate) pace: Option<(usize, Duration)>,
    pub(crate) gzip: bool,
    pub(crate) cache_control: Option<String>,
    pub(crate) etag: bool,
    /// User and password that every request needs.
    pub(crate) auth: Option<(String, String)>,
    /// Where files are, if not here: another server's root.
    pub(crate) file_root: Option<String>,
    /// Served in the place of what is there, the first that fits.
    pub(crate) rules: Vec<Rule>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            format: Format::Json,
            metadata_files: MetadataFiles::Hashed,
            ranges: Ranges::Served,
            hashes: true,
            sizes: true,
            times: true,
            requires_python: true,
            delay: Duration::ZERO,
            uneven: None,
            unhashed_files: BTreeSet::new(),
            absent_files: BTreeSet::new(),
            wrong_files: BTreeSet::new(),
            altered_files: BTreeSet::new(),
            pace: None,
            gzip: false,
            cache_control: None,
            etag: false,
            auth: None,
            file_root: None,
            rules: Vec::new(),
        }
    }
}

impl Behaviour {
    /// A mirror as there are some: pages with links and nothing else.
    pub(crate) fn bare() -> Self {
        Self {
            format: Format::Html,
            metadata_files: MetadataFiles::None,
            hashes: false,
            sizes: false,
            times: false,
            requires_python: false,
            ..Self::default()
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Json,
    Html,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MetadataFiles {
    None,
    Hashed,
    Unhashed,
    /// Announced, and 404.
    Missing,
    /// With other bytes than announced.
    Wrong,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ranges {
    Served,
    /// Always the whole file.
    Ignored,
    /// Only `first-last`; suffixes answer 416.
    NoSuffix,
    /// Other bytes than asked for.
    Shifted,
    /// A total size that is not the file's.
    WrongTotal,
    /// Places at the end of all numbers.
    Endless,
}

/// An exception from what is there.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// Part of the path.
    pub(crate) path: String,
    /// How often it still holds.
    pub(crate) times: usize,
    pub(crate) action: Action,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Status(u16),
    /// A status with one header.
    StatusWith(u16, String),
    /// This type and body, status 200.
    Body(String, Vec<u8>),
    /// The proper answer, cut after so many bytes of its body.
    Truncate(usize),
    /// The proper answer, and then silence after so many bytes of its body.
    Stall(usize, Duration),
    /// So many bytes of the proper answer, without saying how many there will be.
    Unsized(usize),
    /// The proper answer and then more and more, without saying how much.
    Endless,
    Reset,
    Redirect(String),
}

/// A request as it came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Recorded {
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) status: u16,
    /// Bytes of the body, as far as somebody took them.
    pub(crate) sent: usize,
}

/// The running index.
pub(crate) struct FakeIndex {
    address: SocketAddr,
    scheme: &'static str,
    shared: Arc<Shared>,
}

struct Shared {
    /// Files by normalized package name, with their release.
    packages: BTreeMap<String, Vec<(Built, Rel)>>,
    behaviour: Mutex<Behaviour>,
    requests: Mutex<Vec<Recorded>>,
    /// Answers under way, and the most there were at once.
    busy: Mutex<(usize, usize)>,
    stop: AtomicBool,
}

impl FakeIndex {
    /// Serves the published well.
    pub(crate) fn from_published(published: &Published) -> Self {
        Self::behaving(published, Behaviour::default())
    }

    /// Serves the published in some way.
    pub(crate) fn behaving(published: &Published, behaviour: Behaviour) -> Self {
        Self::start(published, behaviour, None)
    }

    /// Serves over TLS with a company's certificate that no store knows; returns that too.
    pub(crate) fn inspected(published: &Published) -> (Self, rcgen::Certificate) {
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, "Corp Inspection CA");
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let tls = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key.serialize_der().try_into().unwrap())
            .unwrap();
        (Self::with_tls(published, Arc::new(tls)), certificate)
    }

    /// Serves over TLS.
    fn with_tls(published: &Published, tls: Arc<rustls::ServerConfig>) -> Self {
        Self::start(published, Behaviour::default(), Some(tls))
    }

    fn start(published: &Published, behaviour: Behaviour, tls: Option<Arc<rustls::ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut packages: BTreeMap<String, Vec<(Built, Rel)>> = BTreeMap::new();
        for (name, releases) in &published.packages {
            let files = packages.entry(normalized(name)).or_default();
            for (version, release) in releases {
                files.extend(wheel::build(name, version, release).into_iter().map(|file| (file, release.clone())));
            }
        }
        let shared = Arc::new(Shared {
            packages,
            behaviour: Mutex::new(behaviour),
            requests: Mutex::default(),
            busy: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        let scheme = if tls.is_some() { "https" } else { "http" };
        let serving = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.stop.load(Ordering::Relaxed) {
                    break;
                }
                let (shared, tls) = (serving.clone(), tls.clone());
                std::thread::spawn(move || {
                    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
                    let _ = stream.set_nodelay(true);
                    let _ = match tls {
                        None => connection(&shared, stream),
                        Some(tls) => {
                            let session = rustls::ServerConnection::new(tls).unwrap();
                            connection(&shared, rustls::StreamOwned::new(session, stream))
                        }
                    };
                });
            }
        });
        Self { address, scheme, shared }
    }

    /// Returns the simple API root.
    pub(crate) fn url(&self) -> Url {
        self.root().join("simple/").unwrap()
    }

    /// Returns the server's root.
    pub(crate) fn root(&self) -> Url {
        let host = if self.scheme == "https" { "localhost" } else { "127.0.0.1" };
        format!("{}://{host}:{}/", self.scheme, self.address.port()).parse().unwrap()
    }

    /// Returns address and port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes how it answers from now on.
    pub(crate) fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.shared.behaviour.lock().unwrap());
    }

    /// Adds an exception that holds `times` times for paths with `path` in them.
    pub(crate) fn rule(&self, path: &str, times: usize, action: Action) {
        self.behave(|behaviour| behaviour.rules.push(Rule { path: path.to_owned(), times, action }));
    }

    /// Returns every request so far.
    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Returns the requests so far for files.
    pub(crate) fn files(&self) -> Vec<Recorded> {
        self.requests().into_iter().filter(|one| one.path.contains("/files/")).collect()
    }

    /// Returns how many bytes of files were sent so far.
    pub(crate) fn sent(&self) -> usize {
        self.files().iter().filter(|one| one.status < 300).map(|one| one.sent).sum()
    }

    /// Returns how many answers were under way at once, at most.
    pub(crate) fn most_at_once(&self) -> usize {
        self.shared.busy.lock().unwrap().1
    }

    /// Returns a file as it should be.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        let mut files = self.shared.packages.values().flatten().map(|(file, _)| file);
        files.find(|file| file.filename == name).unwrap().bytes.clone()
    }

    /// Returns the paths of requests so far that have `part` in them.
    pub(crate) fn asked(&self, part: &str) -> Vec<String> {
        self.requests().into_iter().map(|one| one.path).filter(|path| path.contains(part)).collect()
    }
}

impl Drop for FakeIndex {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

struct Answer {
    status: u16,
    headers: Vec<String>,
    body: Vec<u8>,
}

impl Answer {
    fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    fn body(content_type: &str, body: Vec<u8>) -> Self {
        Self { status: 200, headers: vec![format!("Content-Type: {content_type}")], body }
    }
}

fn connection<S: Read + Write>(shared: &Shared, stream: S) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 || shared.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let target = line.split(' ').nth(1).unwrap_or("/").to_owned();
        // A proxy is asked with the whole address.
        let path = match target.strip_prefix("http://") {
            Some(rest) => rest[rest.find('/').unwrap_or(0)..].to_owned(),
            None => target,
        };
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            match line.trim_end().split_once(':') {
                Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
                None => break,
            };
        }
        let behaviour = shared.behaviour.lock().unwrap().clone();
        let _busy = Busy::with(shared);
        std::thread::sleep(behaviour.delay);
        if let Some(seed) = behaviour.uneven {
            let letters = path.bytes().fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
            std::thread::sleep(Duration::from_millis(Random(letters).next() % 40));
        }
        let action = shared.take_rule(&path);
        let mut answer = match &action {
            Some(Action::Status(status)) => Answer::status(*status),
            Some(Action::StatusWith(status, header)) => {
                Answer { status: *status, headers: vec![header.clone()], body: Vec::new() }
            }
            Some(Action::Body(kind, body)) => Answer::body(kind, body.clone()),
            Some(Action::Redirect(to)) => {
                Answer { status: 302, headers: vec![format!("Location: {to}")], body: Vec::new() }
            }
            _ => shared.answer(&behaviour, &path, &headers),
        };
        let accepts_gzip = headers.get("accept-encoding").is_some_and(|text| text.contains("gzip"));
        if behaviour.gzip && accepts_gzip && answer.status == 200 {
            answer.body = gzip(&answer.body);
            answer.headers.push("Content-Encoding: gzip".to_owned());
        }
        let sent = match &action {
            Some(Action::Truncate(length) | Action::Stall(length, _) | Action::Unsized(length)) => {
                answer.body.len().min(*length)
            }
            _ => answer.body.len(),
        };
        let recorded = Recorded { path, headers, status: answer.status, sent };
        let at = {
            let mut requests = shared.requests.lock().unwrap();
            requests.push(recorded);
            requests.len() - 1
        };
        if matches!(action, Some(Action::Reset)) {
            return Ok(());
        }
        let mut head = format!("HTTP/1.1 {} Some Reason\r\n", answer.status);
        for header in &answer.headers {
            write!(head, "{header}\r\n").unwrap();
        }
        let unsized_body = matches!(action, Some(Action::Unsized(_) | Action::Endless));
        if answer.status != 304 && !unsized_body {
            write!(head, "Content-Length: {}\r\n", answer.body.len()).unwrap();
        }
        head.push_str("\r\n");
        let out = stream.get_mut();
        out.write_all(head.as_bytes())?;
        let (piece, wait) = behaviour.pace.unwrap_or((usize::MAX, Duration::ZERO));
        let mut taken = 0;
        for piece in answer.body[..sent].chunks(piece.min(1 << 16)) {
            std::thread::sleep(wait);
            if let Err(gone) = out.write_all(piece) {
                shared.requests.lock().unwrap()[at].sent = taken;
                return Err(gone);
            }
            taken += piece.len();
        }
        out.flush()?;
        if matches!(action, Some(Action::Endless)) {
            for _ in 0..1 << 12 {
                out.write_all(&[0; 1 << 14])?;
            }
        }
        if let Some(Action::Stall(_, time)) = action {
            std::thread::sleep(time);
        }
        if sent < answer.body.len() || unsized_body {
            return Ok(());
        }
    }
}

/// An answer under way.
struct Busy<'a>(&'a Shared);

impl<'a> Busy<'a> {
    fn with(shared: &'a Shared) -> Self {
        let mut busy = shared.busy.lock().unwrap();
        busy.0 += 1;
        busy.1 = busy.1.max(busy.0);
        Self(shared)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.lock().unwrap().0 -= 1;
    }
}

impl Shared {
    fn take_rule(&self, path: &str) -> Option<Action> {
        let mut behaviour = self.behaviour.lock().unwrap();
        let rule = behaviour.rules.iter_mut().find(|rule| rule.times > 0 && path.contains(&rule.path))?;
        rule.times -= 1;
        Some(rule.action.clone())
    }

    fn answer(&self, behaviour: &Behaviour, path: &str, headers: &BTreeMap<String, String>) -> Answer {
        if let Some((user, password)) = &behaviour.auth {
            let wanted = format!("Basic {}", base64(format!("{user}:{password}").as_bytes()));
            if headers.get("authorization") != Some(&wanted) {
                return Answer::status(401);
            }
        }
        let path = path.split('?').next().unwrap_or_default();
        if let Some(name) = path.strip_prefix("/simple/") {
            let name = name.trim_end_matches('/');
            return match self.packages.get(name) {
                Some(files) => page(behaviour, name, files, headers),
                None => Answer::status(404),
            };
        }
        let Some(name) = path.strip_prefix("/files/") else { return Answer::status(404) };
        let name = name.replace("%2B", "+");
        let (name, wants_metadata) = match name.strip_suffix(".metadata") {
            Some(name) => (name, true),
            None => (&*name, false),
        };
        let file = self.packages.values().flatten().map(|(file, _)| file).find(|file| file.filename == name);
        let Some(file) = file.filter(|file| !behaviour.absent_files.contains(&file.filename)) else {
            return Answer::status(404);
        };
        if !wants_metadata {
            let mut bytes = file.bytes.clone();
            if behaviour.wrong_files.contains(name) {
                bytes.push(0);
            }
            if behaviour.altered_files.contains(name) {
                bytes[0] ^= 1;
            }
            return ranged(behaviour.ranges, &bytes, headers);
        }
        match behaviour.metadata_files {
            MetadataFiles::Hashed | MetadataFiles::Unhashed => Answer::body("text/plain", file.metadata.clone()),
            MetadataFiles::Wrong => Answer::body("text/plain", [&file.metadata[..], b"changed"].concat()),
            MetadataFiles::None | MetadataFiles::Missing => Answer::status(404),
        }
    }
}

fn ranged(ranges: Ranges, bytes: &[u8], headers: &BTreeMap<String, String>) -> Answer {
    let mut whole = Answer::body("application/octet-stream", bytes.to_vec());
    let etag = format!("\"{}\"", Sha256::of(bytes));
    if ranges != Ranges::Ignored {
        whole.headers.extend(["Accept-Ranges: bytes".to_owned(), format!("ETag: {etag}")]);
    }
    let still = headers.get("if-range").is_none_or(|known| *known == etag);
    let range = headers.get("range").filter(|_| still);
    let Some((first, last)) = range.and_then(|text| text.strip_prefix("bytes=")?.split_once('-')) else { return whole };
    let length = bytes.len();
    let (first, last) = match (first.parse::<usize>(), last.parse::<usize>()) {
        _ if ranges == Ranges::Ignored => return whole,
        (Err(_), _) if ranges == Ranges::NoSuffix => return Answer::status(416),
        (Err(_), Ok(suffix)) => (length - suffix.min(length), length - 1),
        (Ok(first), Ok(last)) => (first, last.min(length - 1)),
        (Ok(first), Err(_)) => (first, length - 1),
        (Err(_), Err(_)) => return Answer::status(416),
    };
    if first >= length {
        return Answer::status(416);
    }
    let (first, last) = if ranges == Ranges::Shifted { (first / 2, last / 2) } else { (first, last) };
    let total = if ranges == Ranges::WrongTotal { length + 7 } else { length };
    let told = match ranges {
        Ranges::Endless => format!("{max}-{max}/{total}", max = u64::MAX),
        _ => format!("{first}-{last}/{total}"),
    };
    let headers =
        vec![format!("Content-Range: bytes {told}"), "Accept-Ranges: bytes".to_owned(), format!("ETag: {etag}")];
    Answer { status: 206, headers, body: bytes[first..=last].to_vec() }
}

fn page(behaviour: &Behaviour, name: &str, files: &[(Built, Rel)], headers: &BTreeMap<String, String>) -> Answer {
    let root = behaviour.file_root.clone().unwrap_or_else(|| "../../".to_owned());
    let address = |file: &Built| format!("{root}files/{}", file.filename.replace('+', "%2B"));
    let announced = behaviour.metadata_files != MetadataFiles::None;
    let hashed =
        matches!(behaviour.metadata_files, MetadataFiles::Hashed | MetadataFiles::Missing | MetadataFiles::Wrong);
    let (kind, text) = match behaviour.format {
        Format::Json => {
            let listed = files.iter().map(|(file, release)| {
                let mut one = serde_json::json!({ "filename": file.filename, "url": address(file), "hashes": {} });
                if behaviour.hashes && !behaviour.unhashed_files.contains(&file.filename) {
                    one["hashes"]["sha256"] = Sha256::of(&file.bytes).to_string().into();
                }
                if behaviour.sizes {
                    one["size"] = file.bytes.len().into();
                }
                if behaviour.times {
                    one["upload-time"] = release.upload_time.clone().into();
                }
                if behaviour.requires_python {
                    one["requires-python"] = release.requires_python.clone().into();
                }
                one["yanked"] = release.yanked.clone().map_or(false.into(), Into::into);
                if announced && !file.metadata.is_empty() {
                    let hash = serde_json::json!({ "sha256": Sha256::of(&file.metadata).to_string() });
                    one["core-metadata"] = if hashed { hash } else { true.into() };
                }
                one
            });
            let listed: Vec<_> = listed.collect();
            let page = serde_json::json!({ "meta": { "api-version": "1.1" }, "name": name, "files": listed });
            ("application/vnd.pypi.simple.v1+json", page.to_string())
        }
        Format::Html => {
            let mut text = format!("<!DOCTYPE html><html><head><title>Links for {name}</title></head><body>\n");
            for (file, release) in files {
                let mut attributes = String::new();
                let mut attribute = |name: &str, value: &str| {
                    let value =
                        value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
                    write!(attributes, " {name}=\"{value}\"").unwrap();
                };
                if let Some(python) = release.requires_python.as_ref().filter(|_| behaviour.requires_python) {
                    attribute("data-requires-python", python);
                }
                if let Some(reason) = &release.yanked {
                    attribute("data-yanked", reason);
                }
                if announced && !file.metadata.is_empty() {
                    let digest = format!("sha256={}", Sha256::of(&file.metadata));
                    attribute("data-core-metadata", if hashed { &digest } else { "true" });
                }
                let hash =
                    if behaviour.hashes { format!("#sha256={}", Sha256::of(&file.bytes)) } else { String::new() };
                writeln!(text, "<a href=\"{}{hash}\"{attributes}>{}</a><br>", address(file), file.filename).unwrap();
            }
            text.push_str("</body></html>\n");
            ("text/html; charset=utf-8", text)
        }
    };
    let mut answer = Answer::body(kind, text.into_bytes());
    if let Some(control) = &behaviour.cache_control {
        answer.headers.push(format!("Cache-Control: {control}"));
    }
    if behaviour.etag {
        let etag = format!("\"{}\"", Sha256::of(&answer.body));
        if headers.get("if-none-match") == Some(&etag) {
            answer = Answer { headers: answer.headers.split_off(1), ..Answer::status(304) };
        }
        answer.headers.push(format!("ETag: {etag}"));
    }
    answer
}

/// Wraps bytes as gzip without making them smaller.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut blocks = bytes.chunks(0xffff).peekable();
    if bytes.is_empty() {
        out.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        out.push(u8::from(blocks.peek().is_none()));
        out.extend((block.len() as u16).to_le_bytes());
        out.extend((!(block.len() as u16)).to_le_bytes());
        out.extend(block);
    }
    let crc = !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    });
    out.extend(crc.to_le_bytes());
    out.extend((bytes.len() as u32).to_le_bytes());
    out
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for at in 0..4 {
            text.push(if at <= group.len() { LETTERS[(word >> (18 - 6 * at) & 63) as usize] as char } else { '=' });
        }
    }
    text
}

fn normalized(name: &str) -> String {
    name.parse::<macml::pep::PackageName>().unwrap().to_string()
}
