//! The certificate verifiers plugged into rustls: which certificates of servers and of clients are accepted.
//!
//! Signatures of handshakes are verified in every mode, so whoever answers holds the key of the certificate it shows.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::cert_chain::{self, Purpose, TrustAnchors};
use crate::{cert_name, handshake_signature};

/// Decides on the certificate of a server that Weir connects to.
#[derive(Debug)]
pub(crate) struct ServerCertificate {
    demand: Demand,
    algorithms: WebPkiSupportedAlgorithms,
}

#[derive(Debug)]
enum Demand {
    /// `preferred` and `required`: encryption without knowing with whom, as MySQL's client.
    Any,
    /// `verify_ca`.
    SignedBy(TrustAnchors),
    /// `verify_identity`.
    Identity(TrustAnchors),
}

impl ServerCertificate {
    pub(crate) fn any(provider: &CryptoProvider) -> Self {
        Self::new(Demand::Any, provider)
    }

    pub(crate) fn signed_by(anchors: TrustAnchors, provider: &CryptoProvider) -> Self {
        Self::new(Demand::SignedBy(anchors), provider)
    }

    pub(crate) fn identity(anchors: TrustAnchors, provider: &CryptoProvider) -> Self {
        Self::new(Demand::Identity(anchors), provider)
    }

    fn new(demand: Demand, provider: &CryptoProvider) -> Self {
        Self { demand, algorithms: provider.signature_verification_algorithms }
    }
}

impl ServerCertVerifier for ServerCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.demand {
            Demand::Any => {}
            Demand::SignedBy(anchors) => {
                cert_chain::verify_server(end_entity, intermediates, anchors, now, &self.algorithms)?;
            }
            Demand::Identity(anchors) => {
                cert_chain::verify_server(end_entity, intermediates, anchors, now, &self.algorithms)?;
                cert_name::verify(end_entity, server_name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        handshake_signature::verify_tls12(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        handshake_signature::verify_tls13(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Decides on the certificate a client shows to Weir.
#[derive(Debug)]
pub(crate) struct ClientCertificates {
    anchors: TrustAnchors,
    /// The strict verifier for ordinary certificates; `None` when it can use none of the CA file's certificates.
    strict: Option<Arc<dyn ClientCertVerifier>>,
    mandatory: bool,
    subjects: Vec<DistinguishedName>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertificates {
    pub(crate) fn new(anchors: TrustAnchors, mandatory: bool, provider: &Arc<CryptoProvider>) -> Self {
        let strict =
            WebPkiClientVerifier::builder_with_provider(anchors.roots(), Arc::clone(provider)).build().ok();
        let subjects = anchors.subjects();
        Self { anchors, strict, mandatory, subjects, algorithms: provider.signature_verification_algorithms }
    }
}

impl ClientCertVerifier for ClientCertificates {
    fn client_auth_mandatory(&self) -> bool {
        self.mandatory
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.subjects
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if self.anchors.need_own_check(end_entity)? {
            cert_chain::verify_directly(end_entity, &self.anchors, Purpose::Client, now, &self.algorithms)?;
            return Ok(ClientCertVerified::assertion());
        }
        let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        self.strict.as_ref().ok_or(unknown)?.verify_client_cert(end_entity, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        handshake_signature::verify_tls12(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        handshake_signature::verify_tls13(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
