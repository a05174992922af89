//! How fast indexes and mirrors answer: a page of one package, and a stretch of one file of it. Nothing is kept.
//!
//! Each is asked once, all at the same time, and has the same time for it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use url::Url;

use super::builtin;
use super::config::Config;
use super::credentials::Credentials;
use super::fetch;
use super::simple;
use crate::sys::http::{ByteRange, Client, HttpError, Request, Settings, Sink};

/// A package with a short page and files of some megabytes, which the index of torch has too.
const PACKAGE: &str = "sympy";

/// How much of a file is taken: enough to tell a line of 100 Mbit/s from a faster one.
const STRETCH: u64 = 2 << 20;

/// The largest page that is read.
const LARGEST_PAGE: u64 = 16 << 20;

/// Who is asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What to call it.
    pub name: String,
    /// Whose variables hold its user and password, where it has them.
    secrets: String,
    base: Url,
}

/// How one answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Speed {
    /// How long its page took, from the question to the last byte.
    pub page: Option<Duration>,
    /// Bytes a second of the file, from the question on.
    pub bytes_per_second: Option<u64>,
    /// What went wrong, as a lowercase fragment without secrets.
    pub error: Option<String>,
}

impl Speed {
    fn failed(error: String) -> Self {
        Self { page: None, bytes_per_second: None, error: Some(error) }
    }
}

/// Lists who is worth asking: the mirrors that are set, the indexes that are declared, and the built-in ones of both kinds.
/// Who wants mirrors alone has only those asked, and declared indexes that have none.
pub fn all(config: &Config) -> Vec<Asked> {
    let mut all: Vec<Asked> = Vec::new();
    let mut add = |name: String, secrets: &str, base: Url| {
        // The three built-in indexes of torch are one server.
        let server = |url: &Url| (url.origin(), url.path().trim_end_matches('/').to_owned());
        if !all.iter().any(|one| one.name == name || server(&one.base) == server(&base)) {
            all.push(Asked { name, secrets: secrets.to_owned(), base });
        }
    };
    for mirror in &config.mirrors {
        let name = match mirror.index.as_str() {
            builtin::DEFAULT => mirror.label.clone(),
            index => format!("{index} by {}", mirror.label),
        };
        add(name, &mirror.label, mirror.url.clone());
    }
    let own = |name: &str| config.indexes.iter().any(|index| index.name == name);
    let mirrored = |name: &str| config.mirrors.iter().any(|mirror| mirror.index == name);
    for (name, url) in config.canonical() {
        let wanted = match config.mirror_only {
            true => own(&name) && !mirrored(&name),
            false => own(&name) || [builtin::DEFAULT, "pytorch"].contains(&name.as_str()),
        };
        if wanted {
            add(name.clone(), &name, url);
        }
    }
    if config.mirror_only {
        return all;
    }
    for (name, _) in builtin::MIRRORS {
        add(name.to_owned(), name, builtin::mirror(name).expect("what is built in has an address"));
    }
    all
}

/// Asks each of them, at the same time, for at most so long.
pub fn measure(config: &Config, asked: &[Asked], limit: Duration) -> Vec<Speed> {
    let every = |error: String| asked.iter().map(|_| Speed::failed(error.clone())).collect();
    let mut settings = Settings::new(config.env.clone());
    settings.certificates.clone_from(&config.certificates);
    settings.stall = limit;
    let client = match Client::new(settings) {
        Ok(client) => client,
        Err(error) => return every(error.to_string()),
    };
    let mut credentials = match Credentials::new(&config.env) {
        Ok(credentials) => credentials,
        Err(error) => return every(error.to_string()),
    };
    let bases: Vec<Url> =
        asked.iter().map(|one| credentials.adopt(&one.secrets, one.base.clone(), &config.env)).collect();
    let runtime = match fetch::runtime("macml-speed", 4) {
        Ok(runtime) => runtime,
        Err(error) => return every(error.to_string()),
    };
    let credentials = Arc::new(credentials);
    let running: Vec<_> = bases
        .into_iter()
        .map(|base| {
            let (client, credentials) = (client.clone(), credentials.clone());
            runtime.spawn(async move { one(&client, &credentials, base, limit).await })
        })
        .collect();
    let unasked = || Speed::failed("it could not be asked".to_owned());
    let speeds = running.into_iter().map(|task| runtime.block_on(task).unwrap_or_else(|_| unasked())).collect();
    // A name that is still looked up is not waited for.
    runtime.shutdown_background();
    speeds
}

async fn one(client: &Client, credentials: &Credentials, base: Url, limit: Duration) -> Speed {
    let deadline = tokio::time::Instant::now() + limit;
    let began = Instant::now();
    let (page, file) = match tokio::time::timeout_at(deadline, page(client, credentials, &base)).await {
        Ok(Ok(answer)) => (began.elapsed(), answer),
        Ok(Err(error)) => return Speed::failed(error),
        Err(_) => return Speed::failed(format!("no answer in {} s", limit.as_secs_f32())),
    };
    let answered = |error: Option<String>| Speed { page: Some(page), bytes_per_second: None, error };
    let Some(file) = file else { return answered(None) };
    let counted = Arc::new(AtomicU64::new(0));
    let mut sink = Counting(counted.clone());
    let mut request = Request::get(file.clone(), u64::MAX);
    request.range = Some(ByteRange::Span(0, STRETCH - 1));
    request.auth = credentials.of(&file);
    let began = Instant::now();
    let result = tokio::time::timeout_at(deadline, client.fetch(&request, &mut sink)).await;
    let (took, bytes) = (began.elapsed(), counted.load(Ordering::Relaxed));
    let per_second = u64::try_from(u128::from(bytes) * 1_000_000 / took.as_micros().max(1)).unwrap_or(u64::MAX);
    match result {
        // Whoever sends more than was asked for does not send the file.
        _ if bytes > 2 * STRETCH => answered(Some("it sent more than was asked for".to_owned())),
        _ if bytes > 0 => Speed { bytes_per_second: Some(per_second), ..answered(None) },
        Ok(Ok(head)) if !head.is_success() => {
            answered(Some(format!("its file was answered with status {}", head.status)))
        }
        Ok(Ok(_)) => answered(Some("its file is empty".to_owned())),
        Ok(Err(error)) => answered(Some(said(&error))),
        Err(_) => answered(Some(format!("no file in {} s", limit.as_secs_f32()))),
    }
}

/// Gets the page, and where a file of it is; an index that does not have the package answers all the same.
async fn page(client: &Client, credentials: &Credentials, base: &Url) -> Result<Option<Url>, String> {
    let mut root = base.clone();
    if !root.path().ends_with('/') {
        root.set_path(&format!("{}/", root.path()));
    }
    let url = root.join(&format!("{PACKAGE}/")).map_err(|error| error.to_string())?;
    let mut request = Request::get(url, LARGEST_PAGE);
    request.accept = Some(simple::ACCEPT);
    request.auth = credentials.of(&request.url);
    let response = client.get(&request).await.map_err(|error| said(&error))?;
    let head = &response.head;
    match head.status {
        404 => return Ok(None),
        _ if !head.is_success() => return Err(format!("it answered with status {}", head.status)),
        _ => {}
    }
    let listed = simple::parse(&response.body, head.header("content-type"), &head.url)
        .map_err(|error| format!("its answer is no page of an index: {error}"))?;
    let mut wheels = listed.iter().filter(|file| file.filename.ends_with(".whl") && file.yanked.is_none());
    // The newest stand last.
    Ok(wheels.next_back().and_then(|file| Url::parse(&file.url).ok()))
}

/// Says an error with its cause, which has no address in it.
fn said(error: &HttpError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Counts, and has enough at some point.
struct Counting(Arc<AtomicU64>);

impl Sink for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let before = self.0.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if before + bytes.len() as u64 >= STRETCH { Err(io::Error::other("enough")) } else { Ok(()) }
    }

    fn restart(&mut self) -> io::Result<()> {
        Ok(())
    }
}
