//! TLS, with the root certificates of the system.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Makes TLS connections. The root certificates of the system are read at the first use.
#[derive(Debug, Default)]
pub struct Tls {
    config: OnceLock<Result<Arc<ClientConfig>, String>>,
}

/// The reasons for which no TLS connection was established.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The root certificates of the system cannot be used.
    #[error("TLS cannot be set up: {0}")]
    Setup(String),
    /// The host is neither a DNS name nor an IP address, so that no certificate can be issued for it.
    #[error("the host is not a name that a certificate can have")]
    Name,
    /// The server's certificate is refused.
    #[error("invalid peer certificate: {reason}")]
    Certificate {
        /// The `Debug` form of the `rustls::CertificateError`, such as `UnknownIssuer`, for programs.
        name: String,
        /// The fault of the certificate, for people.
        reason: String,
    },
    /// The connection ended, or the server violated the TLS protocol.
    #[error(transparent)]
    Handshake(io::Error),
}

impl Tls {
    fn config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let made = self.config.get_or_init(|| {
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .and_then(rustls::ConfigBuilder::with_platform_verifier)
                .map(|builder| Arc::new(builder.with_no_client_auth()))
                .map_err(|error| error.to_string())
        });
        made.clone().map_err(TlsError::Setup)
    }

    /// Establishes TLS over a connection to a host, which is a name or an IP address. The host's certificate is
    /// checked.
    pub async fn connect<S>(&self, host: &str, stream: S) -> Result<TlsStream<S>, TlsError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Name)?;
        TlsConnector::from(self.config()?).connect(name, stream).await.map_err(|error| {
            match error.get_ref().and_then(|inner| inner.downcast_ref()) {
                Some(rustls::Error::InvalidCertificate(reason)) => {
                    TlsError::Certificate { name: format!("{reason:?}"), reason: reason.to_string() }
                }
                _ => TlsError::Handshake(error),
            }
        })
    }
}
