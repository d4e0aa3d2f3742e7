//! TLS towards servers: the five modes of MySQL's `--ssl-mode`.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::sign::SingleCertAndKey;
use rustls_pki_types::ServerName;

use crate::cert_chain::TrustAnchors;
use crate::pem_files::load_certified_key;
use crate::tls_error::TlsError;
use crate::tls_server::{TlsVersions, provider};
use crate::verifiers::ServerCertificate;

/// How a connection to a server is protected; the meaning is that of the MySQL client option `--ssl-mode`
/// (MySQL manual, "Command Options for Encrypted Connections").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientTlsMode {
    /// Never TLS.
    Disabled,
    /// TLS when the server offers it, plain text otherwise; any certificate is accepted.
    Preferred,
    /// TLS or no connection; any certificate is accepted.
    Required,
    /// TLS, and the certificate must have been signed by the configured CA; its name does not matter.
    VerifyCa,
    /// As `VerifyCa`, and the certificate must name the configured host.
    VerifyIdentity,
}

impl ClientTlsMode {
    /// The name as written in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Preferred => "preferred",
            Self::Required => "required",
            Self::VerifyCa => "verify_ca",
            Self::VerifyIdentity => "verify_identity",
        }
    }

    /// Whether a server without TLS is refused.
    #[must_use]
    pub fn demands_tls(self) -> bool {
        matches!(self, Self::Required | Self::VerifyCa | Self::VerifyIdentity)
    }
}

/// What a connection to one server is protected with.
#[derive(Debug, Clone, Copy)]
pub struct ClientTlsOptions<'a> {
    /// The mode.
    pub mode: ClientTlsMode,
    /// PEM file of CA certificates; must be given in the verifying modes. In the others it is read and checked, but the
    /// server's certificate is not held against it, as in MySQL's client.
    pub ca: Option<&'a Path>,
    /// Certificate chain and key to show when the server asks for them.
    pub client_cert: Option<ClientCertificate<'a>>,
    /// Versions to offer.
    pub versions: TlsVersions,
}

/// The files of a client certificate.
#[derive(Debug, Clone, Copy)]
pub struct ClientCertificate<'a> {
    /// PEM file of the chain, the client's own certificate first.
    pub cert: &'a Path,
    /// PEM file of its unencrypted key.
    pub key: &'a Path,
}

/// Builds the configuration for connections to one server; `None` for [`ClientTlsMode::Disabled`].
///
/// Sessions are not resumed on purpose: a resumed handshake skips the verification of the certificate, OpenSSL servers
/// that ask for client certificates without a session context refuse resumed handshakes outright, and server
/// connections live long enough that the saving is small.
///
/// # Errors
/// [`TlsError`], naming the file or the missing setting.
pub fn client_config(options: &ClientTlsOptions<'_>) -> Result<Option<Arc<ClientConfig>>, TlsError> {
    let anchors = options.ca.map(|path| TrustAnchors::load("CA", path)).transpose()?;
    let provider = provider();
    let verifier = match (options.mode, anchors) {
        (ClientTlsMode::Disabled, _) => return Ok(None),
        (ClientTlsMode::Preferred | ClientTlsMode::Required, _) => ServerCertificate::any(&provider),
        (mode, None) => return Err(TlsError::CaMissing { mode: mode.as_str() }),
        (ClientTlsMode::VerifyCa, Some(anchors)) => ServerCertificate::signed_by(anchors, &provider),
        (ClientTlsMode::VerifyIdentity, Some(anchors)) => ServerCertificate::identity(anchors, &provider),
    };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(options.versions.as_rustls())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match options.client_cert {
        Some(files) => {
            let certified = load_certified_key(&provider, files.cert, files.key)?;
            builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
        }
        None => builder.with_no_client_auth(),
    };
    config.resumption = Resumption::disabled();
    Ok(Some(Arc::new(config)))
}

/// The name to hand to the TLS handshake for `host`: a DNS name, an IPv4 or IPv6 address, with or without brackets.
/// For a Unix socket use `localhost`.
///
/// # Errors
/// [`TlsError::BadServerName`] when `host` is none of these.
pub fn server_name(host: &str) -> Result<ServerName<'static>, TlsError> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(ServerName::from(address));
    }
    // A trailing dot marks a fully qualified name to the resolver; certificates are written without it.
    let name = bare.strip_suffix('.').unwrap_or(bare);
    ServerName::try_from(name.to_owned()).map_err(|_| TlsError::BadServerName { host: host.to_owned() })
}

#[cfg(test)]
mod tests;
