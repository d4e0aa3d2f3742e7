//! TLS towards clients: certificate, key and the decisions about versions, client certificates and resumption.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::cert_chain::TrustAnchors;
use crate::pem_files::load_certified_key;
use crate::self_signed;
use crate::tls_error::TlsError;
use crate::verifiers::ClientCertificates;

/// The TLS versions one side offers. Older ones than 1.2 are never spoken (MySQL removed them in 8.0.28).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsVersions {
    /// TLS 1.2 and 1.3, as MySQL's default `tls_version`.
    #[default]
    Both,
    /// TLS 1.2 alone.
    Only12,
    /// TLS 1.3 alone.
    Only13,
}

/// What a listener's TLS is to demand beyond the certificate itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServerTlsOptions<'a> {
    /// PEM file of the CA certificates that sign client certificates. With it a client certificate is asked for, and one
    /// that is sent must verify; without it none is asked for. The same as mysqld's `ssl_ca`.
    pub client_ca: Option<&'a Path>,
    /// Refuse the handshake of a client that sends no certificate. Needs `client_ca`.
    pub require_client_cert: bool,
    /// Versions to offer.
    pub versions: TlsVersions,
}

/// One immutable TLS set-up for accepting clients.
///
/// To reload renewed certificates, build another and swap it in: handshakes under way keep the old one, and its session
/// tickets die with it, so a changed certificate or client CA takes effect for every later connection.
#[derive(Debug, Clone)]
pub struct ServerTlsContext {
    config: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
    not_after: SystemTime,
}

impl ServerTlsContext {
    /// Reads the full certificate chain (server's own first) and its unencrypted key (PKCS#8, PKCS#1 or SEC1).
    ///
    /// # Errors
    /// [`TlsError`], naming the file: unreadable, nothing in it, damaged, encrypted, or key and certificate that do not
    /// belong together.
    pub fn from_pem_files(cert: &Path, key: &Path, options: &ServerTlsOptions<'_>) -> Result<Self, TlsError> {
        let provider = provider();
        let certified = load_certified_key(&provider, cert, key)?;
        Self::build(provider, certified, options)
    }

    /// Makes a self-signed certificate in memory, valid for ten years, for `localhost` and `host_names` (names or IP
    /// addresses), as mysqld does when it is given none.
    ///
    /// # Errors
    /// [`TlsError::SelfSigned`] when a name cannot stand in a certificate; those of `options.client_ca`.
    pub fn self_signed(host_names: &[String], options: &ServerTlsOptions<'_>) -> Result<Self, TlsError> {
        let provider = provider();
        let certified = self_signed::make(&provider, host_names, SystemTime::now())?;
        Self::build(provider, certified, options)
    }

    /// The configuration to accept with.
    #[must_use]
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// When the server's own certificate ends, for metrics and a warning ahead of time. An expired certificate is served
    /// all the same: whether that matters is the client's decision.
    #[must_use]
    pub fn certificate_not_after(&self) -> SystemTime {
        self.not_after
    }

    /// The server's own certificate as DER. Its SHA-256 is what MariaDB 11.4 and later clients mix with the password to
    /// verify a self-signed certificate.
    #[must_use]
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    fn build(
        provider: Arc<CryptoProvider>,
        certified: CertifiedKey,
        options: &ServerTlsOptions<'_>,
    ) -> Result<Self, TlsError> {
        let certificate = certified.end_entity_cert()?.clone().into_owned();
        let not_after = not_after(&certificate)?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(options.versions.as_rustls())?;
        let builder = match client_verifier(&provider, options)? {
            Some(verifier) => builder.with_client_cert_verifier(verifier),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        set_resumption(&mut config)?;
        Ok(Self { config: Arc::new(config), certificate, not_after })
    }
}

static BOTH: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13, &rustls::version::TLS12];
static ONLY_12: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS12];
static ONLY_13: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13];

impl TlsVersions {
    pub(crate) fn as_rustls(self) -> &'static [&'static rustls::SupportedProtocolVersion] {
        match self {
            Self::Both => BOTH,
            Self::Only12 => ONLY_12,
            Self::Only13 => ONLY_13,
        }
    }
}

/// The one cryptography provider, named explicitly so that nothing depends on a process-wide default being installed.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// Resumption on purpose:
///
/// * Stateless tickets, keys made at random per context and rotated every six hours: drivers that resume save a
///   signature and a round of key exchange per connection, and Weir keeps no memory per client for it.
/// * No server-side session cache: it would be memory held for clients that are gone.
/// * One ticket per handshake instead of rustls' two: the usual MySQL client never resumes, so each is mostly wasted.
/// * No early data: replayed 0-RTT bytes could execute a statement twice.
fn set_resumption(config: &mut ServerConfig) -> Result<(), TlsError> {
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = aws_lc_rs::Ticketer::new()?;
    config.send_tls13_tickets = 1;
    config.max_early_data_size = 0;
    Ok(())
}

fn client_verifier(
    provider: &Arc<CryptoProvider>,
    options: &ServerTlsOptions<'_>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsError> {
    match options.client_ca {
        Some(path) => {
            let anchors = TrustAnchors::load("client CA", path)?;
            let verifier = ClientCertificates::new(anchors, options.require_client_cert, provider);
            Ok(Some(Arc::new(verifier)))
        }
        None if options.require_client_cert => Err(TlsError::ClientCaMissing),
        None => Ok(None),
    }
}

fn not_after(certificate: &CertificateDer<'_>) -> Result<SystemTime, TlsError> {
    let (_, parsed) = X509Certificate::from_der(certificate)
        .map_err(|_| rustls::Error::InvalidCertificate(rustls::CertificateError::BadEncoding))?;
    let seconds = u64::try_from(parsed.validity().not_after.timestamp()).unwrap_or(0);
    Ok(UNIX_EPOCH + Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests;
