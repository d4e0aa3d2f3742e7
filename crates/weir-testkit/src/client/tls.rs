//! TLS of the test client.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::packet::PacketStream;

/// Whether and how to encrypt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Tls {
    #[default]
    Off,
    /// Any certificate will do.
    Unverified,
    /// As `Unverified`, and the client knows nothing newer than TLS 1.2.
    Version12,
    /// The certificate must come from this authority and be for this name.
    Verified { ca: PathBuf, name: String },
    /// As `Unverified`, and the client shows a certificate of its own.
    WithClientCert { cert: PathBuf, key: PathBuf },
}

/// Speaks TLS on a connection from here on.
///
/// # Errors
/// When files cannot be read or the handshake fails.
pub(super) async fn wrap(stream: PacketStream, tls: &Tls) -> Result<PacketStream> {
    let (io, patience) = stream.into_io()?;
    let (config, name) = config(tls)?;
    let connector = TlsConnector::from(Arc::new(config));
    let handshake = connector.connect(ServerName::try_from(name)?, io);
    let stream = tokio::time::timeout(Duration::from_secs(20).min(patience), handshake).await;
    let stream = stream.context("the TLS handshake takes too long")?.context("the TLS handshake failed")?;
    Ok(PacketStream::new(Box::new(stream), patience))
}

fn config(tls: &Tls) -> Result<(ClientConfig, String)> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let versions = match tls {
        Tls::Version12 => &[&rustls::version::TLS12][..],
        _ => rustls::DEFAULT_VERSIONS,
    };
    let builder =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions)?;
    let anyone = Arc::new(Anyone(provider));
    let name = match tls {
        Tls::Verified { name, .. } => name.clone(),
        _ => "localhost".to_owned(),
    };
    let config = match tls {
        Tls::Verified { ca, .. } => {
            let mut roots = RootCertStore::empty();
            for cert in CertificateDer::pem_file_iter(ca)? {
                roots.add(cert?)?;
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        Tls::WithClientCert { cert, key } => {
            let chain = CertificateDer::pem_file_iter(cert)?.collect::<Result<_, _>>()?;
            let key = PrivateKeyDer::from_pem_file(key)?;
            let builder = builder.dangerous().with_custom_certificate_verifier(anyone);
            builder.with_client_auth_cert(chain, key)?
        }
        Tls::Off | Tls::Unverified | Tls::Version12 => {
            builder.dangerous().with_custom_certificate_verifier(anyone).with_no_client_auth()
        }
    };
    Ok((config, name))
}

/// Accepts every certificate.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
