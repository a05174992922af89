//! HTTP: one GET with retries, byte ranges and resuming. Bytes, status and headers only; nothing about Python.
//!
//! Proxies and certificates come from the given [`Env`], so that a test can set them.

mod certificate;
mod error;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::Env;
pub use error::{HttpError, shown};
use tls::Trust;

/// How often a request is tried in all.
const TRIES: u32 = 4;

/// How often a connection is tried that does not come about: a host that is down mostly stays so.
const CONNECT_TRIES: u32 = 2;

/// The longest wait that a server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Progress that earns a broken transfer a fresh set of tries.
const WORTH_GOING_ON: u64 = 1 << 20;

/// How a [`Client`] behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `User-Agent`.
    pub user_agent: String,
    /// Proxies and `SSL_CERT_FILE`.
    pub env: Env,
    /// PEM files trusted beside the store.
    pub certificates: Vec<std::path::PathBuf>,
    /// How long a server may stay silent.
    pub stall: Duration,
    /// The wait before the first retry; it doubles.
    pub backoff: Duration,
}

impl Settings {
    /// Makes the usual settings: thirty silent seconds are a stall, retries begin after a quarter of a second.
    pub fn new(env: Env) -> Self {
        Self {
            user_agent: concat!("macml/", env!("CARGO_PKG_VERSION")).to_owned(),
            env,
            certificates: Vec::new(),
            stall: Duration::from_secs(30),
            backoff: Duration::from_millis(250),
        }
    }
}

/// What to get.
#[derive(Clone, Debug)]
pub struct Request {
    /// From where.
    pub url: Url,
    /// `Accept`.
    pub accept: Option<&'static str>,
    /// Only some bytes.
    pub range: Option<ByteRange>,
    /// Whether the body may come compressed.
    pub encoding: Encoding,
    /// Answers 304 when nothing changed since.
    pub validators: Validators,
    /// User and password, sent to the host of `url` alone.
    pub auth: Option<Auth>,
    /// The largest body taken.
    pub limit: u64,
}

impl Request {
    /// Makes a plain request for a body of at most `limit` bytes, served as it is.
    pub fn get(url: Url, limit: u64) -> Self {
        Self {
            url,
            accept: None,
            range: None,
            encoding: Encoding::Identity,
            validators: Validators::default(),
            auth: None,
            limit,
        }
    }
}

/// Some bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteRange {
    /// The last ones.
    Suffix(u64),
    /// From a byte to the end.
    From(u64),
    /// From a byte to another, both included.
    Span(u64, u64),
}

/// Content encodings that are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// The bytes themselves.
    Identity,
    /// gzip where the server likes.
    Gzip,
}

/// What a server said about an earlier answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Validators {
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
}

/// User and password. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Auth {
    /// The user.
    pub username: String,
    /// The password or token.
    pub password: String,
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Auth(hidden)")
    }
}

/// The status and headers of an answer.
#[derive(Clone, Debug)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// The address after redirects, without user and password.
    pub url: Url,
    headers: HeaderMap,
}

impl Head {
    /// Returns a header that is readable text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns `ETag` and `Last-Modified`.
    pub fn validators(&self) -> Validators {
        Validators {
            etag: self.header("etag").map(str::to_owned),
            last_modified: self.header("last-modified").map(str::to_owned),
        }
    }

    /// Returns first byte, last byte and size of the whole file from `Content-Range`, where they can be true.
    pub fn content_range(&self) -> Option<(u64, u64, u64)> {
        let (span, total) = self.header("content-range")?.trim().strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = span.split_once('-')?;
        let (first, last, total) = (first.trim().parse().ok()?, last.trim().parse().ok()?, total.trim().parse().ok()?);
        (first <= last && last < total).then_some((first, last, total))
    }

    /// Returns `Content-Length`.
    pub fn content_length(&self) -> Option<u64> {
        self.header("content-length")?.trim().parse().ok()
    }

    /// Returns whether the status is 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// An answer with its body in memory.
#[derive(Clone, Debug)]
pub struct Response {
    /// Status and headers.
    pub head: Head,
    /// The body; empty unless the status is a success.
    pub body: Vec<u8>,
}

/// Takes a body as it arrives.
pub trait Sink: Send {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// When they cannot be kept.
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()>;

    /// Forgets everything taken so far: the body starts again.
    ///
    /// # Errors
    /// When that is impossible.
    fn restart(&mut self) -> std::io::Result<()>;
}

impl Sink for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn restart(&mut self) -> std::io::Result<()> {
        self.clear();
        Ok(())
    }
}

/// A pool of connections.
#[derive(Clone)]
pub struct Client {
    inner: reqwest::Client,
    trust: Arc<Trust>,
    stall: Duration,
    backoff: Duration,
}

impl Client {
    /// Makes a client.
    ///
    /// # Errors
    /// When a proxy address or a certificate file of the settings cannot be used.
    pub fn new(settings: Settings) -> Result<Self, HttpError> {
        let trust = Arc::new(Trust::new(settings.env.get("SSL_CERT_FILE"), &settings.certificates)?);
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(trust.client_config())
            .user_agent(settings.user_agent)
            .connect_timeout(Duration::from_secs(10).min(settings.stall))
            .read_timeout(settings.stall)
            .pool_max_idle_per_host(64)
            .pool_idle_timeout(Duration::from_secs(30))
            .tcp_nodelay(true)
            // Pages are large and many share one connection: the default window of 64 KiB would stop and go.
            .http2_initial_stream_window_size(4 << 20)
            .http2_initial_connection_window_size(32 << 20)
            .redirect(reqwest::redirect::Policy::custom(redirect));
        let proxies = proxies(&settings.env)?;
        // Without variables a Mac's own proxy settings count. Elsewhere there are only variables, and those of
        // this process may differ from the given ones.
        if !(proxies.is_empty() && cfg!(target_os = "macos")) {
            builder = builder.no_proxy();
        }
        for proxy in proxies {
            builder = builder.proxy(proxy);
        }
        let inner = builder.build().map_err(|cause| HttpError::Setup {
            what: "HTTP client".to_owned(),
            reason: error::deepest(&cause.without_url()),
        })?;
        Ok(Self { inner, trust, stall: settings.stall, backoff: settings.backoff })
    }

    /// Gets a body into memory. Statuses are the caller's to judge; 5xx and 429 were tried again before.
    ///
    /// # Errors
    /// When no answer arrives whole.
    pub async fn get(&self, request: &Request) -> Result<Response, HttpError> {
        let mut body = Vec::new();
        let head = self.fetch(request, &mut body).await?;
        Ok(Response { head, body })
    }

    /// Gets status and headers of a GET and leaves the body.
    ///
    /// # Errors
    /// When no answer arrives.
    pub async fn probe(&self, request: &Request) -> Result<Head, HttpError> {
        self.run(request, None).await
    }

    /// Gets a body into `sink`, going on where a broken transfer stopped when the server can.
    ///
    /// # Errors
    /// When the body does not arrive whole.
    pub async fn fetch(&self, request: &Request, sink: &mut dyn Sink) -> Result<Head, HttpError> {
        self.run(request, Some(sink)).await
    }

    /// Gets a body of `request.limit` bytes into `sink`, which has its first `received` bytes already, from whomever.
    ///
    /// The caller checks the whole, so the rest is asked for even where nothing says that it fits. A server that
    /// serves no ranges, or has another file now, starts the sink again. The status is 206 when the body that ends up
    /// in the sink came in pieces.
    ///
    /// # Errors
    /// When the body does not arrive whole; what did arrive is in the sink.
    pub async fn fetch_rest(&self, request: &Request, received: u64, sink: &mut dyn Sink) -> Result<Head, HttpError> {
        let transfer = Transfer { received, resumable: None, checked: true };
        self.go_on(request, transfer, Some(sink)).await
    }

    async fn run(&self, request: &Request, sink: Option<&mut dyn Sink>) -> Result<Head, HttpError> {
        self.go_on(request, Transfer::default(), sink).await
    }

    async fn go_on(
        &self,
        request: &Request,
        mut transfer: Transfer,
        mut sink: Option<&mut dyn Sink>,
    ) -> Result<Head, HttpError> {
        let mut tries = 0;
        let mut gained_at = transfer.received;
        loop {
            tries += 1;
            // Not `as_deref_mut`, which would lend the sink for all rounds at once.
            let lent: Option<&mut dyn Sink> = match &mut sink {
                Some(sink) => Some(&mut **sink),
                None => None,
            };
            let outcome = self.attempt(request, &mut transfer, lent).await;
            if transfer.received >= gained_at + WORTH_GOING_ON {
                gained_at = transfer.received;
                tries = 1;
            }
            let asked = match &outcome {
                Ok(head) if passes(head.status) => head.header("retry-after").and_then(|text| text.trim().parse().ok()),
                Err(error) if error.passes() => None,
                _ => return outcome,
            };
            let most = match &outcome {
                Err(error) if error.is_unreachable() => CONNECT_TRIES,
                _ => TRIES,
            };
            if tries >= most {
                return outcome;
            }
            let wait = asked.map_or_else(|| self.pause(tries), |secs| Duration::from_secs(secs).min(LONGEST_WAIT));
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(
        &self,
        request: &Request,
        transfer: &mut Transfer,
        sink: Option<&mut dyn Sink>,
    ) -> Result<Head, HttpError> {
        let failed = |cause: reqwest::Error| self.failure(request, cause);
        let response = self.prepare(request, transfer)?.send().await.map_err(failed)?;
        let mut url = response.url().clone();
        let _ = (url.set_username(""), url.set_password(None));
        let head = Head { status: response.status().as_u16(), url, headers: response.headers().clone() };
        let Some(sink) = sink else { return Ok(head) };
        let kept = |cause| HttpError::Keep { address: shown(&request.url), cause };
        let goes_on = transfer.received > 0
            && head.status == StatusCode::PARTIAL_CONTENT
            && head.content_range().is_some_and(|(first, ..)| first == transfer.received);
        let misplaced = matches!(head.status, 206 | 416) && !goes_on;
        if transfer.received > 0 && request.range.is_none() && misplaced {
            transfer.restart();
            sink.restart().map_err(kept)?;
            return Err(self.broken(request, 0, "it resumed at another place than asked".to_owned()));
        }
        if !head.is_success() {
            // Reading a short rest lets the connection serve the next request.
            if head.content_length().is_some_and(|length| length <= 1 << 16) {
                let _ = response.bytes().await;
            }
            return Ok(head);
        }
        if transfer.received > 0 && !goes_on {
            transfer.restart();
            sink.restart().map_err(kept)?;
        }
        if goes_on {
            transfer.found(&head);
        } else {
            transfer.begin(request, &head);
        }
        self.body(request, response, transfer, sink).await?;
        // A resumed transfer is the whole file to the caller.
        let status = if goes_on && request.range.is_none() && !transfer.checked { 200 } else { head.status };
        Ok(Head { status, ..head })
    }

    async fn body(
        &self,
        request: &Request,
        mut response: reqwest::Response,
        transfer: &mut Transfer,
        sink: &mut dyn Sink,
    ) -> Result<(), HttpError> {
        let size = response.content_length().map(|length| transfer.received.saturating_add(length));
        let too_large = || HttpError::TooLarge { address: shown(&request.url), limit: request.limit, size };
        if size.is_some_and(|size| size > request.limit) {
            return Err(too_large());
        }
        loop {
            let chunk = match response.chunk().await {
                Ok(chunk) => chunk,
                // All is here: how the connection ends does not matter.
                Err(_) if transfer.checked && transfer.received == request.limit => None,
                Err(cause) if cause.is_timeout() => return Err(self.failure(request, cause)),
                Err(cause) => {
                    return Err(self.broken(request, transfer.received, error::deepest(&cause.without_url())));
                }
            };
            let Some(chunk) = chunk else {
                // Without a length, an end is not told from a cut.
                let cut = transfer.checked && size.is_none() && transfer.received < request.limit;
                return if cut {
                    Err(self.broken(request, transfer.received, "it said no length".to_owned()))
                } else {
                    Ok(())
                };
            };
            transfer.received += chunk.len() as u64;
            if transfer.received > request.limit {
                return Err(too_large());
            }
            sink.write(&chunk).map_err(|cause| HttpError::Keep { address: shown(&request.url), cause })?;
        }
    }

    fn prepare(&self, request: &Request, transfer: &Transfer) -> Result<reqwest::RequestBuilder, HttpError> {
        let mut builder = self.inner.get(request.url.clone());
        if let Some(accept) = request.accept {
            builder = builder.header(header::ACCEPT, accept);
        }
        let mut range = request.range;
        if transfer.received > 0 {
            if let Some(validator) = &transfer.resumable {
                builder = text_header(builder, header::IF_RANGE, validator);
            }
            if transfer.resumable.is_some() || transfer.checked {
                range = Some(ByteRange::From(transfer.received));
            }
        }
        if let Some(range) = range {
            let text = match range {
                ByteRange::Suffix(length) => format!("bytes=-{length}"),
                ByteRange::From(first) => format!("bytes={first}-"),
                ByteRange::Span(first, last) => format!("bytes={first}-{last}"),
            };
            builder = builder.header(header::RANGE, text);
        }
        if request.encoding == Encoding::Identity {
            builder = builder.header(header::ACCEPT_ENCODING, "identity");
        }
        if let Some(etag) = &request.validators.etag {
            builder = text_header(builder, header::IF_NONE_MATCH, etag);
        }
        if let Some(date) = &request.validators.last_modified {
            builder = text_header(builder, header::IF_MODIFIED_SINCE, date);
        }
        if let Some(auth) = &request.auth {
            builder = builder.basic_auth(&auth.username, Some(&auth.password));
        }
        Ok(builder)
    }

    /// Doubles with each try; a fraction of the clock keeps many requests from coming back at once.
    fn pause(&self, tries: u32) -> Duration {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let base = self.backoff * 2_u32.pow(tries - 1);
        base + base * (clock.subsec_nanos() % 256) / 512
    }

    fn failure(&self, request: &Request, cause: reqwest::Error) -> HttpError {
        let host = request.url.host_str().unwrap_or_default().to_owned();
        HttpError::classify(cause, &request.url, self.stall, |certificate| {
            certificate_error(&self.trust, host, certificate)
        })
    }

    fn broken(&self, request: &Request, received: u64, reason: String) -> HttpError {
        HttpError::Broken { address: shown(&request.url), received, reason }
    }
}

/// Follows ten redirects, and none that gives up encryption.
fn redirect(attempt: reqwest::redirect::Attempt<'_>) -> reqwest::redirect::Action {
    let was_secret = attempt.previous().last().is_some_and(|url| url.scheme() == "https");
    if attempt.previous().len() > 10 {
        attempt.error("there is no end to it")
    } else if was_secret && attempt.url().scheme() != "https" {
        attempt.error("from https to plain http")
    } else {
        attempt.follow()
    }
}

fn certificate_error(trust: &Trust, host: String, cause: &rustls::Error) -> HttpError {
    let issuer = trust.issuer_seen();
    HttpError::Certificate { host, reason: cause.to_string(), issuer, store: trust.store().to_owned() }
}

/// How far a body came, and what lets it go on.
#[derive(Default)]
struct Transfer {
    received: u64,
    resumable: Option<String>,
    /// The caller checks the whole: it goes on without a validator too, and must have `limit` bytes.
    checked: bool,
}

impl Transfer {
    fn begin(&mut self, request: &Request, head: &Head) {
        let whole = request.range.is_none() && head.status == StatusCode::OK;
        let ranges = head.header("accept-ranges").is_some_and(|text| text.contains("bytes"));
        let plain = head.header("content-encoding").is_none() && request.encoding == Encoding::Identity;
        self.resumable = validator(head).filter(|_| whole && ranges && plain);
    }

    /// Remembers what the rest is of, when it is somebody else's that was here before.
    fn found(&mut self, head: &Head) {
        if self.resumable.is_none() {
            self.resumable = validator(head);
        }
    }

    fn restart(&mut self) {
        *self = Self { checked: self.checked, ..Self::default() };
    }
}

fn validator(head: &Head) -> Option<String> {
    // A weak ETag does not promise equal bytes.
    let strong = head.header("etag").filter(|etag| !etag.starts_with("W/"));
    strong.or_else(|| head.header("last-modified")).map(str::to_owned)
}

/// Whether a status is likely to be another one soon.
fn passes(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504 | 520..=599)
}

fn text_header(builder: reqwest::RequestBuilder, name: HeaderName, value: &str) -> reqwest::RequestBuilder {
    match HeaderValue::from_str(value) {
        Ok(value) => builder.header(name, value),
        Err(_) => builder,
    }
}

/// Reads `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in either case, lower case first.
fn proxies(env: &Env) -> Result<Vec<reqwest::Proxy>, HttpError> {
    type Make = fn(String) -> reqwest::Result<reqwest::Proxy>;
    let either = |name: &str| env.get(&name.to_ascii_lowercase()).or_else(|| env.get(name));
    let exempt = either("NO_PROXY");
    let kinds: [(&str, Make); 3] = [
        ("HTTPS_PROXY", reqwest::Proxy::https::<String>),
        ("HTTP_PROXY", reqwest::Proxy::http::<String>),
        ("ALL_PROXY", reqwest::Proxy::all::<String>),
    ];
    let mut proxies = Vec::new();
    for (name, make) in kinds {
        let Some(value) = either(name) else { continue };
        let address = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
        let proxy = make(address).map_err(|cause| HttpError::Setup {
            what: format!("proxy in `{name}`"),
            reason: error::deepest(&cause.without_url()),
        })?;
        proxies.push(proxy.no_proxy(exempt.and_then(reqwest::NoProxy::from_string)));
    }
    Ok(proxies)
}
