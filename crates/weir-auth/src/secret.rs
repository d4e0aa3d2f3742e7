//! Passwords in memory, and what is derived from them to check a client's proof.

use std::fmt;
use std::sync::{Arc, OnceLock};

use aws_lc_rs::digest;
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::NONCE_LEN;

/// A password. Clones share its memory, which is overwritten when the last one is dropped, and `Debug` shows nothing of
/// it, its length neither.
#[derive(Clone, Default)]
pub struct Secret(Arc<Inner>);

#[derive(Default)]
struct Inner {
    password: Zeroizing<Vec<u8>>,
    /// Made at the first scramble, so that each further login hashes only what depends on the nonce.
    native: OnceLock<Stages<20>>,
    sha2: OnceLock<Stages<32>>,
}

/// A password hashed once and twice: what a scramble is made of, next to the nonce.
pub(crate) struct Stages<const N: usize> {
    pub once: Zeroizing<[u8; N]>,
    pub twice: Zeroizing<[u8; N]>,
}

impl Secret {
    /// Takes the bytes over without a copy, so no second, unerased one stays behind.
    pub fn new(password: Vec<u8>) -> Self {
        let password = Zeroizing::new(password);
        Self(Arc::new(Inner { password, ..Inner::default() }))
    }

    /// The password's bytes, without a terminating NUL.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0.password
    }

    pub fn is_empty(&self) -> bool {
        self.0.password.is_empty()
    }

    /// SHA1(password) and SHA1(SHA1(password)).
    pub(crate) fn native_stages(&self) -> &Stages<20> {
        self.0.native.get_or_init(|| {
            let once = sha1(&[self.as_bytes()]);
            Stages { twice: sha1(&[&*once]), once }
        })
    }

    /// SHA256(password) and SHA256(SHA256(password)).
    pub(crate) fn sha2_stages(&self) -> &Stages<32> {
        self.0.sha2.get_or_init(|| {
            let once = sha256(&[self.as_bytes()]);
            Stages { twice: sha256(&[&*once]), once }
        })
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Compares digests, so that the time depends neither on where two secrets differ nor on whether their lengths do. They are kept: each
/// login to a listed account compares its password with itself.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.sha2_stages().once.ct_eq(&*other.sha2_stages().once).into()
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
            native: *secret.native_stages().twice,
            sha2: *secret.sha2_stages().twice,
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

/// Inputs up to this length are hashed in one piece: all but long passwords.
const ONE_PIECE: usize = 128;

fn hash<const N: usize>(algorithm: &'static digest::Algorithm, parts: &[&[u8]]) -> Zeroizing<[u8; N]> {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = Zeroizing::new([0; N]);
    // N is the algorithm's output length at every call above, so each copy is whole.
    let mut keep =
        |digest: digest::Digest| out.iter_mut().zip(digest.as_ref()).for_each(|(to, from)| *to = *from);
    if len <= ONE_PIECE {
        // One call needs no context, which would be allocated three times.
        let mut piece = Zeroizing::new([0; ONE_PIECE]);
        let mut at = 0;
        for part in parts {
            piece[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        keep(digest::digest(algorithm, &piece[..len]));
    } else {
        let mut context = digest::Context::new(algorithm);
        parts.iter().for_each(|part| context.update(part));
        keep(context.finish());
    }
    out
}

#[cfg(test)]
mod tests;
