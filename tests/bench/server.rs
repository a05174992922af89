//! A loopback HTTP/1.1 server that behaves like the real index: connections are kept, pages are fresh for ten minutes and
//! have an ETag, metadata files never change, text is packed for those who ask.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::index::{Entry, Index, Kind};

/// A server that runs until the benchmark ends.
pub(crate) struct Server {
    address: SocketAddr,
    index: Arc<Index>,
}

impl Server {
    /// Serves `index`, waiting `delay` before each answer.
    pub(crate) fn start(index: Index, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let index = Arc::new(index);
        let shared = Arc::clone(&index);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let index = Arc::clone(&shared);
                // A client that hangs up ends its thread, not the server.
                std::thread::spawn(move || serve(&stream, &index, delay));
            }
        });
        Self { address, index }
    }

    /// Returns the root of the simple API.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/simple/", self.address)
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }
}

/// What of a request matters here.
#[derive(Default)]
struct Request {
    head_only: Body,
    path: String,
    gzip: Packing,
    if_none_match: Option<String>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Body {
    #[default]
    Send,
    Omit,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Packing {
    #[default]
    Plain,
    Gzip,
}

fn serve(stream: &TcpStream, index: &Index, delay: Duration) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    while let Some(request) = read(&mut reader)? {
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
        let entry = index.get(&request.path);
        writer.write_all(&answer(&request, entry.as_deref()))?;
        if let (Some(file), Body::Send) = (entry.as_ref().and_then(|entry| entry.file.as_ref()), request.head_only) {
            std::io::copy(&mut std::fs::File::open(file)?, &mut writer)?;
        }
    }
    Ok(())
}

/// Reads one request; `None` when the client is done.
fn read(reader: &mut BufReader<&TcpStream>) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let mut request = Request::default();
    if words.next() == Some("HEAD") {
        request.head_only = Body::Omit;
    }
    request.path = words.next().unwrap_or_default().to_owned();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            return Ok(Some(request));
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        match name.to_ascii_lowercase().as_str() {
            "accept-encoding" if value.contains("gzip") => request.gzip = Packing::Gzip,
            "if-none-match" => request.if_none_match = Some(value.trim().to_owned()),
            _ => {}
        }
    }
}

fn answer(request: &Request, entry: Option<&Entry>) -> Vec<u8> {
    let date = http_date(SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs());
    let Some(entry) = entry else {
        return format!("HTTP/1.1 404 Not Found\r\nDate: {date}\r\nContent-Length: 0\r\n\r\n").into_bytes();
    };
    let (content, cache) = match entry.kind {
        Kind::Page => ("application/vnd.pypi.simple.v1+json", "max-age=600, public"),
        Kind::Metadata | Kind::Wheel => ("application/octet-stream", "max-age=365000000, immutable, public"),
    };
    let headers =
        format!("Date: {date}\r\nETag: {}\r\nCache-Control: {cache}\r\nVary: Accept, Accept-Encoding\r\n", entry.etag);
    if request.if_none_match.as_deref() == Some(entry.etag.as_str()) {
        return format!("HTTP/1.1 304 Not Modified\r\n{headers}\r\n").into_bytes();
    }
    let (body, encoding) = match (&entry.gzip, request.gzip) {
        (Some(packed), Packing::Gzip) => (packed, "Content-Encoding: gzip\r\n"),
        _ => (&entry.body, ""),
    };
    let length = match &entry.file {
        Some(file) => std::fs::metadata(file).map_or(0, |found| found.len()),
        None => body.len() as u64,
    };
    let mut answer =
        format!("HTTP/1.1 200 OK\r\n{headers}{encoding}Content-Type: {content}\r\nContent-Length: {length}\r\n\r\n")
            .into_bytes();
    if request.head_only == Body::Send {
        answer.extend_from_slice(body);
    }
    answer
}

/// Writes a moment as HTTP does, from seconds since 1970.
fn http_date(seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let days = seconds / 86_400;
    let (mut year, mut left) = (1970, days);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while left >= 365 + u64::from(leap(year)) {
        left -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while left >= lengths[month] {
        left -= lengths[month];
        month += 1;
    }
    let (weekday, name) = (DAYS[usize::try_from(days % 7).expect("below seven")], MONTHS[month]);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{weekday}, {:02} {name} {year} {hour:02}:{minute:02}:{second:02} GMT", left + 1)
}
