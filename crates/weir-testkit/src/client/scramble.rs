//! Proofs of a password.

use anyhow::{Context, Result, bail};
use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512, digest};
use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use curve25519_dalek::{EdwardsPoint, Scalar};
use tokio_rustls::rustls::pki_types::SubjectPublicKeyInfoDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

/// What the plugins may trust the connection with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Bare,
    /// A Unix socket, which sha256_password takes for a bare link.
    Socket,
    Tls,
}

/// The answer of a plugin to the server's nonce, as far as it goes without asking the server more.
///
/// # Errors
/// For a plugin that this client does not know.
pub(super) fn answer(plugin: &str, password: &str, nonce: &[u8], link: Link) -> Result<Vec<u8>> {
    // The nonce has 20 bytes, and where it stands alone a NUL behind it.
    let nonce20 = nonce.get(..20).unwrap_or(nonce);
    Ok(match plugin {
        "mysql_clear_password" if link != Link::Bare => [password.as_bytes(), &[0]].concat(),
        "sha256_password" if link == Link::Tls => [password.as_bytes(), &[0]].concat(),
        "mysql_clear_password" => bail!("the server asks for the password in clear on a bare link"),
        "caching_sha2_password" | "mysql_native_password" if password.is_empty() => Vec::new(),
        // One NUL says that the password is empty, 1 asks for the RSA key.
        "sha256_password" => vec![u8::from(!password.is_empty())],
        "mysql_native_password" => native(password, nonce20),
        "caching_sha2_password" => caching_sha2(password, nonce20),
        "client_ed25519" => ed25519(password, nonce.get(..32).unwrap_or(nonce)),
        other => bail!("this client does not speak {other}"),
    })
}

/// `SHA1(pw) xor SHA1(nonce, SHA1(SHA1(pw)))`
fn native(password: &str, nonce: &[u8]) -> Vec<u8> {
    let sha1 = |bytes: &[u8]| digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes).as_ref().to_vec();
    let once = sha1(password.as_bytes());
    let twice = sha1(&once);
    xor(&once, &sha1(&[nonce, &twice].concat()))
}

/// `SHA256(pw) xor SHA256(SHA256(SHA256(pw)), nonce)`
fn caching_sha2(password: &str, nonce: &[u8]) -> Vec<u8> {
    let sha256 = |bytes: &[u8]| digest(&SHA256, bytes).as_ref().to_vec();
    let once = sha256(password.as_bytes());
    let twice = sha256(&once);
    xor(&once, &sha256(&[&twice, nonce].concat()))
}

/// The Ed25519 signature of the nonce with MariaDB's key: the SHA-512 of the password takes the place of the
/// expanded secret key of RFC 8032.
fn ed25519(password: &str, nonce: &[u8]) -> Vec<u8> {
    let sha512 = |bytes: &[u8]| -> [u8; 64] {
        let mut out = [0; 64];
        out.copy_from_slice(digest(&SHA512, bytes).as_ref());
        out
    };
    let expanded = sha512(password.as_bytes());
    let mut clamped = [0; 32];
    clamped.copy_from_slice(&expanded[..32]);
    clamped[0] &= 248;
    clamped[31] = clamped[31] & 63 | 64;
    let secret = Scalar::from_bytes_mod_order(clamped);
    let public = EdwardsPoint::mul_base(&secret).compress();
    let r = Scalar::from_bytes_mod_order_wide(&sha512(&[&expanded[32..], nonce].concat()));
    let commitment = EdwardsPoint::mul_base(&r).compress();
    let challenge = [commitment.as_bytes(), public.as_bytes(), nonce].concat();
    let k = Scalar::from_bytes_mod_order_wide(&sha512(&challenge));
    let s = r + k * secret;
    [&commitment.as_bytes()[..], s.as_bytes()].concat()
}

/// The password, NUL-ended and xored with the nonce, under the server's RSA key (PEM).
///
/// # Errors
/// When the key cannot be read.
pub(super) fn under_rsa(password: &str, nonce: &[u8], pem: &[u8]) -> Result<Vec<u8>> {
    let key = SubjectPublicKeyInfoDer::from_pem_slice(pem).ok().context("the server's RSA key is no PEM")?;
    let key = PublicEncryptingKey::from_der(&key).ok().context("the server's RSA key cannot be read")?;
    let key = OaepPublicEncryptingKey::new(key)?;
    let nonce = nonce.get(..20).unwrap_or(nonce);
    let clear = [password.as_bytes(), &[0]].concat();
    let mixed: Vec<u8> = clear.iter().zip(nonce.iter().cycle()).map(|(a, b)| a ^ b).collect();
    let mut out = vec![0; key.ciphertext_size()];
    let sealed = key.encrypt(&OAEP_SHA1_MGF1SHA1, &mixed, &mut out, None)?;
    Ok(sealed.to_vec())
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}
