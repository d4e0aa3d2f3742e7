//! Certificates and keys out of PEM files, checked on the way in.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::tls_error::TlsError;

/// Largest PEM file that is read, in bytes: the public web's whole CA bundle is about a quarter of a mebibyte, so four
/// mebibytes refuse only what was named by mistake.
pub const MAX_PEM_FILE_BYTES: u64 = 4 << 20;

/// Reads every certificate of a PEM file, in order. At least one is found and each is well-formed X.509 (of any
/// version), or an error says otherwise.
pub(crate) fn load_certificates(
    what: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(what, path)?;
    let certificates = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| TlsError::DamagedPem { what, path: path.to_owned() })?;
    if certificates.is_empty() {
        return Err(TlsError::NoCertificate { what, path: path.to_owned() });
    }
    for (index, certificate) in certificates.iter().enumerate() {
        if !matches!(X509Certificate::from_der(certificate), Ok((rest, _)) if rest.is_empty()) {
            return Err(TlsError::BadCertificate { what, path: path.to_owned(), number: index + 1 });
        }
    }
    Ok(certificates)
}

/// Reads a certificate chain and its private key and checks that the two belong together.
///
/// The check is made here rather than by rustls, because rustls refuses to parse X.509 v1 certificates, which MySQL's
/// manual teaches to make and which its clients accept.
pub(crate) fn load_certified_key(
    provider: &CryptoProvider,
    cert: &Path,
    key: &Path,
) -> Result<CertifiedKey, TlsError> {
    let chain = load_certificates("certificate", cert)?;
    let signing_key = provider
        .key_provider
        .load_private_key(load_key(key)?)
        .map_err(|_| TlsError::UnusableKey { path: key.to_owned() })?;
    let belongs = match (chain.first().map(|leaf| X509Certificate::from_der(leaf)), signing_key.public_key())
    {
        (Some(Ok((_, leaf))), Some(public)) => leaf.public_key().raw == public.as_ref(),
        // Every key of this provider shows its public half; were one not to, the handshake itself would fail.
        (_, None) => true,
        (_, Some(_)) => false,
    };
    if !belongs {
        return Err(TlsError::KeyMismatch { cert: cert.to_owned(), key: key.to_owned() });
    }
    Ok(CertifiedKey::new(chain, signing_key))
}

fn load_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    use rustls_pki_types::pem::Error;
    let text = read("private key", path)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
        let path = path.to_owned();
        match error {
            Error::NoItemsFound if is_encrypted(&text) => TlsError::EncryptedKey { path },
            Error::NoItemsFound => TlsError::NoKey { path },
            // An old-style encrypted key has the section name of a plain one and header lines that are not base64.
            _ if is_encrypted(&text) => TlsError::EncryptedKey { path },
            _ => TlsError::DamagedPem { what: "private key", path },
        }
    })
}

fn is_encrypted(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.contains("ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
}

fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |source| TlsError::Read { what, path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let mut text = Vec::new();
    file.take(MAX_PEM_FILE_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_PEM_FILE_BYTES {
        return Err(TlsError::TooLarge { what, path: path.to_owned(), limit: MAX_PEM_FILE_BYTES });
    }
    Ok(text)
}
