//! The certificate Weir makes for itself when the operator gives none, as mysqld does at its first start.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::tls_error::TlsError;

/// How long the certificate is valid, in days: what MySQL gives its own.
const VALID_DAYS: u64 = 3650;

/// A client whose clock is behind by up to a day still accepts the new certificate.
const CLOCK_SLACK: Duration = Duration::from_secs(24 * 3600);

/// Makes a key and a self-signed certificate in memory; nothing is written to disk.
///
/// The common name follows MySQL's pattern (`Weir_0.1.0_Auto_Generated_Server_Certificate`). The alternative names are
/// `localhost` and `host_names` (names or IP addresses). The key is ECDSA P-256: every client that speaks TLS 1.2 with
/// forward secrecy takes it, and signing a handshake with it costs a tenth of RSA 2048.
///
/// # Errors
/// [`TlsError::SelfSigned`] when a host name cannot stand in a certificate.
pub(crate) fn make(
    provider: &CryptoProvider,
    host_names: &[String],
    now: SystemTime,
) -> Result<CertifiedKey, TlsError> {
    let names = alternative_names(host_names);
    let failed =
        |reason: rcgen::Error| TlsError::SelfSigned { names: names.clone(), reason: reason.to_string() };
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
    let certificate = params(&names, now).and_then(|params| params.self_signed(&key)).map_err(failed)?;
    let key_der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let signing_key = provider.key_provider.load_private_key(key_der)?;
    Ok(CertifiedKey::new(vec![certificate.der().clone()], signing_key))
}

fn alternative_names(host_names: &[String]) -> Vec<String> {
    let mut names = vec!["localhost".to_owned()];
    for name in host_names {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn params(names: &[String], now: SystemTime) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names.to_vec())?;
    let mut subject = DistinguishedName::new();
    subject.push(
        DnType::CommonName,
        format!("Weir_{}_Auto_Generated_Server_Certificate", env!("CARGO_PKG_VERSION")),
    );
    params.distinguished_name = subject;
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let start = now.duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(CLOCK_SLACK);
    params.not_before = date_time_ymd(1970, 1, 1) + start;
    params.not_after = params.not_before + Duration::from_secs(VALID_DAYS * 24 * 3600);
    Ok(params)
}

#[cfg(test)]
mod tests;
