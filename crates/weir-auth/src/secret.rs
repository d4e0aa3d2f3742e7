//! Passwords in memory, and what is derived from them to check a client's proof.

use std::fmt;

use aws_lc_rs::digest;
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::NONCE_LEN;

/// A password. Its memory is overwritten when it is dropped, and `Debug` shows nothing of it, its length neither.
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes the bytes over without a copy, so no second, unerased one stays behind.
    pub fn new(password: Vec<u8>) -> Self {
        Self(Zeroizing::new(password))
    }

    /// The password's bytes, without a terminating NUL.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Compares digests, so that the time depends neither on where two secrets differ nor on whether their lengths do.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        sha256(&[self.as_bytes()]).ct_eq(&*sha256(&[other.as_bytes()])).into()
    }
}

impl Eq for Secret {}

/// What checks a proof without the password: SHA1(SHA1(password)) and SHA256(SHA256(password)).
///
/// Every check takes the same time whether it matches or not. An empty token proves the empty password and
/// nothing else; no other token does.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Verifier {
    native: [u8; 20],
    sha2: [u8; 32],
    empty: bool,
}

impl Verifier {
    pub fn new(secret: &Secret) -> Self {
        Self {
            native: *sha1(&[&*sha1(&[secret.as_bytes()])]),
            sha2: *sha256(&[&*sha256(&[secret.as_bytes()])]),
            empty: secret.is_empty(),
        }
    }

    /// Matches nothing, at the price of a real check: no value is known whose digest is either of these. It is
    /// checked where a user is unknown, so that the time taken does not tell.
    pub fn dummy() -> Self {
        Self { native: [0x5a; 20], sha2: [0x5a; 32], empty: false }
    }

    /// `mysql_native_password`: `token` is SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password))), or empty.
    pub fn verify_native(&self, nonce: &[u8; NONCE_LEN], token: &[u8]) -> bool {
        if token.is_empty() {
            return self.empty;
        }
        let mut mask = sha1(&[nonce, &self.native]);
        let well_formed = xor_into(&mut *mask, token);
        let equal = sha1(&[&*mask]).ct_eq(&self.native);
        (equal & well_formed & !Choice::from(u8::from(self.empty))).into()
    }

    /// `caching_sha2_password`: `token` is SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce), or empty.
    pub fn verify_caching_sha2(&self, nonce: &[u8; NONCE_LEN], token: &[u8]) -> bool {
        if token.is_empty() {
            return self.empty;
        }
        let mut mask = sha256(&[&self.sha2, nonce]);
        let well_formed = xor_into(&mut *mask, token);
        let equal = sha256(&[&*mask]).ct_eq(&self.sha2);
        (equal & well_formed & !Choice::from(u8::from(self.empty))).into()
    }

    /// Is this the verifier of that very password?
    pub fn verify_password(&self, password: &Secret) -> bool {
        sha256(&[&*sha256(&[password.as_bytes()])]).ct_eq(&self.sha2).into()
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(..)")
    }
}

/// SHA-1 over the parts in order.
pub(crate) fn sha1(parts: &[&[u8]]) -> Zeroizing<[u8; 20]> {
    hash(&digest::SHA1_FOR_LEGACY_USE_ONLY, parts)
}

/// SHA-256 over the parts in order.
pub(crate) fn sha256(parts: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    hash(&digest::SHA256, parts)
}

/// SHA-512 over the parts in order.
pub(crate) fn sha512(parts: &[&[u8]]) -> Zeroizing<[u8; 64]> {
    hash(&digest::SHA512, parts)
}

/// XORs `with` into `into`; says no (and changes nothing) if their lengths differ.
pub(crate) fn xor_into(into: &mut [u8], with: &[u8]) -> Choice {
    if into.len() != with.len() {
        return Choice::from(0);
    }
    for (a, b) in into.iter_mut().zip(with) {
        *a ^= b;
    }
    Choice::from(1)
}

fn hash<const N: usize>(algorithm: &'static digest::Algorithm, parts: &[&[u8]]) -> Zeroizing<[u8; N]> {
    let mut context = digest::Context::new(algorithm);
    for part in parts {
        context.update(part);
    }
    let mut out = Zeroizing::new([0; N]);
    // N is the algorithm's output length at every call above, so the copy is whole.
    for (to, from) in out.iter_mut().zip(context.finish().as_ref()) {
        *to = *from;
    }
    out
}

#[cfg(test)]
mod tests;
