//! Was a certificate signed by one of the CAs the operator named?
//!
//! Ordinary certificates go to webpki, as everywhere with rustls. webpki refuses forms that MySQL's own client accepts and
//! that are common around MySQL: X.509 v1 (what the manual's `openssl x509 -req` recipe makes), a certificate that is a
//! CA (`openssl req -x509`), a self-signed one that is none and stands in the CA file itself. For these alone a check of
//! our own stands in. It is narrow on purpose: the signer must stand in the CA file, so there are no chains to build and
//! no constraints to inherit.

use std::path::Path;
use std::sync::Arc;

use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DistinguishedName, Error, RootCertStore};
use rustls_pki_types::{CertificateDer, UnixTime};
use x509_parser::asn1_rs::Any;
use x509_parser::oid_registry::{
    OID_X509_EXT_BASIC_CONSTRAINTS, OID_X509_EXT_EXTENDED_KEY_USAGE, OID_X509_EXT_KEY_USAGE,
    OID_X509_EXT_SUBJECT_ALT_NAME,
};
use x509_parser::prelude::{FromDer, SubjectPublicKeyInfo, X509Certificate, X509Version};

use crate::pem_files::load_certificates;
use crate::tls_error::TlsError;

/// The certificates of a CA file. Only those that are CAs may vouch for others; webpki would let every one of them.
#[derive(Debug)]
pub(crate) struct TrustAnchors {
    certificates: Vec<CertificateDer<'static>>,
    roots: Arc<RootCertStore>,
}

/// Which side a certificate stands for, as its extended key usage must allow when it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Server,
    Client,
}

impl TrustAnchors {
    pub(crate) fn load(what: &'static str, path: &Path) -> Result<Self, TlsError> {
        let certificates = load_certificates(what, path)?;
        let mut roots = RootCertStore::empty();
        let authorities =
            certificates.iter().filter(|certificate| parse(certificate).is_ok_and(|it| is_ca(&it)));
        // What webpki cannot read as an anchor, the check of our own may still use.
        roots.add_parsable_certificates(authorities.cloned());
        Ok(Self { certificates, roots: Arc::new(roots) })
    }

    /// Whether a certificate is one of those that webpki refuses and [`verify_directly`] decides about.
    pub(crate) fn need_own_check(&self, certificate: &CertificateDer<'_>) -> Result<bool, Error> {
        let parsed = parse(certificate)?;
        Ok(parsed.version() != X509Version::V3 || parsed.is_ca() || self.certificates.contains(certificate))
    }

    pub(crate) fn roots(&self) -> Arc<RootCertStore> {
        Arc::clone(&self.roots)
    }

    /// The distinguished names of the CAs, as told to clients that are asked for a certificate.
    pub(crate) fn subjects(&self) -> Vec<DistinguishedName> {
        let parsed = self.certificates.iter().filter_map(|certificate| parse(certificate).ok());
        parsed.map(|anchor| DistinguishedName::from(anchor.subject().as_raw().to_vec())).collect()
    }
}

/// Verifies a server's certificate up to one of `anchors`; its name is not looked at.
pub(crate) fn verify_server(
    end_entity: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    anchors: &TrustAnchors,
    now: UnixTime,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<(), Error> {
    if anchors.need_own_check(end_entity)? {
        return verify_directly(end_entity, anchors, Purpose::Server, now, algorithms);
    }
    let parsed = ParsedCertificate::try_from(end_entity)?;
    verify_server_cert_signed_by_trust_anchor(&parsed, &anchors.roots, intermediates, now, algorithms.all)
}

/// Verifies a certificate without a chain: valid now, for this purpose, with nothing critical that is not understood, and
/// signed by a certificate of the CA file that is valid now and either a CA or this very certificate.
pub(crate) fn verify_directly(
    end_entity: &CertificateDer<'_>,
    anchors: &TrustAnchors,
    purpose: Purpose,
    now: UnixTime,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<(), Error> {
    let leaf = parse(end_entity)?;
    check_validity(&leaf, now)?;
    check_critical_extensions(&leaf)?;
    check_purpose(&leaf, purpose)?;
    let mut verdict = CertificateError::UnknownIssuer;
    for anchor_der in &anchors.certificates {
        let anchor = parse(anchor_der)?;
        let may_sign = anchor_der == end_entity || (is_ca(&anchor) && is_unconstrained(&anchor));
        if anchor.subject().as_raw() != leaf.issuer().as_raw() || !may_sign {
            continue;
        }
        match check_signature(&leaf, anchor.public_key(), end_entity, algorithms) {
            Ok(()) => return check_validity(&anchor, now),
            Err(reason) => verdict = reason,
        }
    }
    Err(Error::InvalidCertificate(verdict))
}

/// Parses a whole certificate of any X.509 version.
pub(crate) fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, Error> {
    match X509Certificate::from_der(certificate.as_ref()) {
        Ok(([], parsed)) => Ok(parsed),
        _ => Err(Error::InvalidCertificate(CertificateError::BadEncoding)),
    }
}

/// The algorithm identifier of a public key in the form the provider's algorithms show theirs: the content of the
/// SEQUENCE, without its tag and length.
pub(crate) fn key_algorithm<'a>(key: &SubjectPublicKeyInfo<'a>) -> Result<&'a [u8], CertificateError> {
    let key_info = sequence(key.raw)?.0;
    Ok(sequence(key_info)?.0)
}

/// No algorithm of the provider makes this kind of signature with this kind of key.
pub(crate) fn unsupported_pair(signature_id: &[u8], key_id: &[u8]) -> CertificateError {
    CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext {
        signature_algorithm_id: signature_id.to_vec(),
        public_key_algorithm_id: key_id.to_vec(),
    }
}

fn check_validity(certificate: &X509Certificate<'_>, now: UnixTime) -> Result<(), Error> {
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let validity = certificate.validity();
    if now < validity.not_before.timestamp() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > validity.not_after.timestamp() {
        return Err(CertificateError::Expired.into());
    }
    Ok(())
}

fn check_critical_extensions(certificate: &X509Certificate<'_>) -> Result<(), CertificateError> {
    let understood = [
        OID_X509_EXT_BASIC_CONSTRAINTS,
        OID_X509_EXT_KEY_USAGE,
        OID_X509_EXT_EXTENDED_KEY_USAGE,
        OID_X509_EXT_SUBJECT_ALT_NAME,
    ];
    let strange = certificate
        .extensions()
        .iter()
        .any(|extension| extension.critical && !understood.contains(&extension.oid));
    if strange { Err(CertificateError::UnhandledCriticalExtension) } else { Ok(()) }
}

fn check_purpose(certificate: &X509Certificate<'_>, purpose: Purpose) -> Result<(), CertificateError> {
    match certificate.extended_key_usage() {
        Ok(None) => Ok(()),
        Ok(Some(usage)) if purpose == Purpose::Server && usage.value.server_auth => Ok(()),
        Ok(Some(usage)) if purpose == Purpose::Client && usage.value.client_auth => Ok(()),
        Ok(Some(_)) => Err(CertificateError::InvalidPurpose),
        Err(_) => Err(CertificateError::BadEncoding),
    }
}

/// OpenSSL's rule for who counts as a CA (`X509_check_ca`), less its Netscape leftovers: the CA flag says so; a
/// self-issued v1 certificate is a root of the old kind; a v3 one without the flag must at least be for signing
/// certificates.
fn is_ca(certificate: &X509Certificate<'_>) -> bool {
    let Ok(key_usage) = certificate.key_usage() else { return false };
    if key_usage.as_ref().is_some_and(|usage| !usage.value.key_cert_sign()) {
        return false;
    }
    match certificate.basic_constraints() {
        Err(_) => false,
        Ok(Some(constraints)) => constraints.value.ca,
        Ok(None) if certificate.version() == X509Version::V1 => {
            certificate.subject().as_raw() == certificate.issuer().as_raw()
        }
        Ok(None) => key_usage.is_some(),
    }
}

/// Constraints on names, and whatever else is critical and unknown, are not evaluated here: a CA that has them does not
/// count.
fn is_unconstrained(anchor: &X509Certificate<'_>) -> bool {
    check_critical_extensions(anchor).is_ok() && matches!(anchor.name_constraints(), Ok(None))
}

fn check_signature(
    certificate: &X509Certificate<'_>,
    signer: &SubjectPublicKeyInfo<'_>,
    der: &[u8],
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<(), CertificateError> {
    // The algorithm stands in the certificate twice, inside and outside of what is signed (RFC 5280, 4.1.1.2).
    if certificate.signature_algorithm != certificate.tbs_certificate.signature {
        return Err(CertificateError::BadEncoding);
    }
    let signature_id = signature_algorithm(der)?;
    let key_id = key_algorithm(signer)?;
    let algorithm = algorithms
        .all
        .iter()
        .find(|algorithm| {
            algorithm.signature_alg_id().as_ref() == signature_id
                && algorithm.public_key_alg_id().as_ref() == key_id
        })
        .ok_or_else(|| unsupported_pair(signature_id, key_id))?;
    algorithm
        .verify_signature(
            &signer.subject_public_key.data,
            certificate.tbs_certificate.as_ref(),
            &certificate.signature_value.data,
        )
        .map_err(|_| CertificateError::BadSignature)
}

/// The content of the outer `signatureAlgorithm`: the second member of the certificate's SEQUENCE.
fn signature_algorithm(der: &[u8]) -> Result<&[u8], CertificateError> {
    let certificate = sequence(der)?.0;
    let after_tbs = sequence(certificate)?.1;
    Ok(sequence(after_tbs)?.0)
}

/// Splits a DER element at the start of `der` into its content and what follows it.
fn sequence(der: &[u8]) -> Result<(&[u8], &[u8]), CertificateError> {
    let (rest, element) = Any::from_der(der).map_err(|_| CertificateError::BadEncoding)?;
    Ok((element.data, rest))
}

#[cfg(test)]
mod tests;
