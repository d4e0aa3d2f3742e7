//! Verifies the signature that proves a peer to hold the key of the certificate it sent.
//!
//! rustls' own functions parse the certificate with webpki, which refuses X.509 v1; here only the public key is taken
//! out of it, and the same algorithms of the cryptography provider do the work.

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::{CertificateError, DigitallySignedStruct, Error, PeerMisbehaved};
use rustls_pki_types::{CertificateDer, SubjectPublicKeyInfoDer};

use crate::cert_chain::{key_algorithm, parse, unsupported_pair};

/// TLS 1.2 (RFC 5246, 4.7): the scheme fixes hash and signature; the curve of an ECDSA key is the certificate's.
pub(crate) fn verify_tls12(
    message: &[u8],
    cert: &CertificateDer<'_>,
    dss: &DigitallySignedStruct,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    let cert = parse(cert)?;
    let key = cert.public_key();
    let algorithm_id = key_algorithm(key)?;
    let candidates = algorithms
        .mapping
        .iter()
        .find(|(scheme, _)| *scheme == dss.scheme)
        .map(|(_, candidates)| *candidates)
        .ok_or(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme)?;
    let algorithm = candidates
        .iter()
        .find(|candidate| candidate.public_key_alg_id().as_ref() == algorithm_id)
        .ok_or_else(|| {
            let scheme_id = candidates.first().map(|candidate| candidate.signature_alg_id());
            unsupported_pair(scheme_id.as_deref().unwrap_or_default(), algorithm_id)
        })?;
    algorithm
        .verify_signature(&key.subject_public_key.data, message, dss.signature())
        .map_err(|_| CertificateError::BadSignature)?;
    Ok(HandshakeSignatureValid::assertion())
}

/// TLS 1.3 (RFC 8446, 4.4.3): the scheme fixes everything.
pub(crate) fn verify_tls13(
    message: &[u8],
    cert: &CertificateDer<'_>,
    dss: &DigitallySignedStruct,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    let cert = parse(cert)?;
    let key = SubjectPublicKeyInfoDer::from(cert.public_key().raw);
    verify_tls13_signature_with_raw_key(message, &key, dss, algorithms)
}
