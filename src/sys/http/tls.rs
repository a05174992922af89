//! Which certificates are trusted, and who issued one that is not.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::certificate;
use super::error::HttpError;

/// The verifier in use, with a name for messages.
#[derive(Debug)]
pub(super) struct Trust {
    verifier: Arc<Remembering>,
    provider: Arc<CryptoProvider>,
    store: String,
}

impl Trust {
    /// Trusts `file` alone when it is given, else the system's store; and `extra` besides.
    pub(super) fn new(file: Option<&str>, extra: &[PathBuf]) -> Result<Self, HttpError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let more = extra.iter().map(|path| read(path, "certificate file")).collect::<Result<Vec<_>, _>>()?.concat();
        let (inner, store): (Arc<dyn ServerCertVerifier>, String) = match file {
            Some(file) => {
                let mut roots = RootCertStore::empty();
                let named = read(&PathBuf::from(file), "certificate file in `SSL_CERT_FILE`")?;
                let (added, _) = roots.add_parsable_certificates(named.into_iter().chain(more));
                if added == 0 {
                    return Err(unusable("certificate file in `SSL_CERT_FILE`", file, "no certificate could be read"));
                }
                let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
                let verifier = verifier
                    .map_err(|cause| unusable("certificate file in `SSL_CERT_FILE`", file, &cause.to_string()))?;
                (verifier, format!("the certificates in `{file}` (SSL_CERT_FILE)"))
            }
            None => {
                let verifier = rustls_platform_verifier::Verifier::new_with_extra_roots(more, provider.clone());
                let verifier = verifier.map_err(|cause| HttpError::Setup {
                    what: "system's certificate store".to_owned(),
                    reason: cause.to_string(),
                })?;
                let beside = if extra.is_empty() { "" } else { " with the configured certificates" };
                (Arc::new(verifier), format!("the system's certificate store{beside}"))
            }
        };
        Ok(Self { verifier: Arc::new(Remembering { inner, issuer: Mutex::default() }), provider, store })
    }

    /// Returns what to call the store.
    pub(super) fn store(&self) -> &str {
        &self.store
    }

    /// Returns the issuer of the last certificate that was refused.
    pub(super) fn issuer_seen(&self) -> Option<String> {
        self.verifier.issuer.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Makes the configuration of connections; HTTP/2 is preferred.
    pub(super) fn client_config(&self) -> ClientConfig {
        let mut config = ClientConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()
            .expect("ring supports the default protocol versions")
            .dangerous()
            .with_custom_certificate_verifier(self.verifier.clone())
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config
    }
}

fn read(path: &PathBuf, what: &str) -> Result<Vec<CertificateDer<'static>>, HttpError> {
    let shown = path.display().to_string();
    let text = std::fs::read(path).map_err(|cause| unusable(what, &shown, &cause.to_string()))?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok).collect();
    if certificates.is_empty() {
        return Err(unusable(what, &shown, "it holds no PEM certificate"));
    }
    Ok(certificates)
}

fn unusable(what: &str, path: &str, reason: &str) -> HttpError {
    HttpError::Setup { what: what.to_owned(), reason: format!("`{path}`: {reason}") }
}

/// Decides as `inner` does and remembers whose certificates were refused.
#[derive(Debug)]
struct Remembering {
    inner: Arc<dyn ServerCertVerifier>,
    issuer: Mutex<Option<String>>,
}

impl ServerCertVerifier for Remembering {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verdict = self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        if verdict.is_err() {
            let issuer = certificate::issuer(end_entity);
            *self.issuer.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = issuer;
        }
        verdict
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
