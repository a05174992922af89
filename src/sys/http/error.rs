//! `HttpError`: why no answer came, in words. Addresses are shown without user, password and query.

use std::error::Error;
use std::time::Duration;

use url::Url;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// A setting cannot be used.
    #[error("the {what} cannot be used: {reason}")]
    Setup {
        /// Which setting.
        what: String,
        /// Why.
        reason: String,
    },
    /// The name of the host is not known.
    #[error("the name `{host}` could not be looked up ({reason})")]
    Dns {
        /// The host.
        host: String,
        /// What the system said.
        reason: String,
    },
    /// No connection to the host, or to the proxy.
    #[error("no connection to `{host}`: {reason}")]
    Connect {
        /// The host.
        host: String,
        /// What the system said.
        reason: String,
    },
    /// The certificate is not trusted.
    #[error("the certificate of `{host}`{} is not trusted by {store}: {reason}", .issuer.as_ref().map(|issuer| format!(" (issued by `{issuer}`)")).unwrap_or_default())]
    Certificate {
        /// The host.
        host: String,
        /// What the verifier said.
        reason: String,
        /// Who issued the certificate, where it could be read.
        issuer: Option<String>,
        /// The store that was asked.
        store: String,
    },
    /// The handshake failed for another reason than the certificate.
    #[error("no TLS connection to `{host}`: {reason}")]
    Tls {
        /// The host.
        host: String,
        /// What rustls said.
        reason: String,
    },
    /// Nothing arrived for too long.
    #[error("`{address}` sent nothing for {} seconds", .stall.as_secs_f32())]
    Stalled {
        /// The address.
        address: String,
        /// How long was waited.
        stall: Duration,
    },
    /// The answer ended too early or makes no sense.
    #[error("the answer of `{address}` broke off after {received} bytes: {reason}")]
    Broken {
        /// The address.
        address: String,
        /// How much had arrived.
        received: u64,
        /// What happened.
        reason: String,
    },
    /// The body is larger than the caller takes.
    #[error("the answer of `{address}` is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The address.
        address: String,
        /// The limit.
        limit: u64,
        /// How large it says to be.
        size: Option<u64>,
    },
    /// Redirected in circles, or where we do not follow.
    #[error("`{address}` redirects to where macml does not follow: {reason}")]
    Redirects {
        /// The address.
        address: String,
        /// Why not.
        reason: String,
    },
    /// The request could not be made.
    #[error("`{address}` could not be asked: {reason}")]
    Request {
        /// The address.
        address: String,
        /// Why.
        reason: String,
    },
    /// The body could not be kept.
    #[error("the answer of `{address}` could not be kept")]
    Keep {
        /// The address.
        address: String,
        /// What the system said.
        #[source]
        cause: std::io::Error,
    },
}

impl HttpError {
    /// Returns whether trying again may help.
    pub(super) fn passes(&self) -> bool {
        matches!(self, Self::Connect { .. } | Self::Stalled { .. } | Self::Broken { .. } | Self::Dns { .. })
    }

    /// Returns whether the host was not reached at all.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Connect { .. } | Self::Dns { .. } | Self::Tls { .. } | Self::Certificate { .. })
    }

    /// Tells failures of sending apart.
    pub(super) fn classify(
        cause: reqwest::Error,
        url: &Url,
        stall: Duration,
        certificate: impl FnOnce(&rustls::Error) -> Self,
    ) -> Self {
        let host = url.host_str().unwrap_or_default().to_owned();
        let cause = cause.without_url();
        let reason = deepest(&cause);
        match tls(&cause) {
            Some(error @ rustls::Error::InvalidCertificate(_)) => return certificate(error),
            Some(error) => return Self::Tls { host, reason: error.to_string() },
            None => {}
        }
        if cause.is_connect() && reason.contains("handshake eof") {
            let reason = "the server ended the handshake; does it speak TLS there?".to_owned();
            return Self::Tls { host, reason };
        }
        if cause.is_dns() {
            Self::Dns { host, reason }
        } else if cause.is_connect() {
            Self::Connect { host, reason }
        } else if cause.is_timeout() {
            Self::Stalled { address: shown(url), stall }
        } else if cause.is_redirect() {
            Self::Redirects { address: shown(url), reason }
        } else if cause.is_builder() {
            Self::Request { address: shown(url), reason }
        } else {
            Self::Broken { address: shown(url), received: 0, reason }
        }
    }
}

/// Returns an address as it may be shown: without user, password, query and fragment.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let _ = (url.set_username(""), url.set_password(None));
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

/// Returns the text of the innermost cause, which is the one that says what happened.
pub(super) fn deepest(error: &(dyn Error + 'static)) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

fn tls<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(found) = error.downcast_ref::<rustls::Error>() {
        return Some(found);
    }
    // An `io::Error` names as its source not what it wraps but the source of that.
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    wrapped.and_then(|wrapped| tls(wrapped)).or_else(|| error.source().and_then(tls))
}
