//! What a client answers to a nonce, for each plugin that Weir can speak towards a server.

use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use zeroize::{Zeroize, Zeroizing};

use crate::NONCE_LEN;
use crate::secret::{Secret, sha1, sha256, sha512, xor_into};

/// Bytes of the nonce of `client_ed25519` (`NONCE_BYTES` in MariaDB's plugin).
pub const ED25519_NONCE_LEN: usize = 32;

/// `mysql_native_password`: SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password))), 20 bytes; empty for the empty
/// password.
pub fn native(password: &Secret, nonce: &[u8; NONCE_LEN]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let stages = password.native_stages();
    let mut token = sha1(&[nonce, &*stages.twice]);
    let _same_length = xor_into(&mut *token, &*stages.once);
    token.to_vec()
}

/// `caching_sha2_password`: SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce), 32 bytes; empty for the
/// empty password.
pub fn caching_sha2(password: &Secret, nonce: &[u8; NONCE_LEN]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let stages = password.sha2_stages();
    let mut token = sha256(&[&*stages.twice, nonce]);
    let _same_length = xor_into(&mut *token, &*stages.once);
    token.to_vec()
}

/// `client_ed25519` of MariaDB: an Ed25519 signature of the nonce (RFC 8032 section 5.1.6), 64 bytes.
///
/// The one difference from RFC 8032 is that the password itself, of any length, takes the place of the 32-byte
/// private key; it is hashed with SHA-512 the same way. That is why the point arithmetic is done here: no signing
/// interface takes a private key of another length. The empty password is signed like any other.
pub fn ed25519(password: &Secret, nonce: &[u8; ED25519_NONCE_LEN]) -> [u8; 64] {
    let expanded = sha512(&[password.as_bytes()]);
    let (lower, prefix) = expanded.split_at(32);
    let mut half = Zeroizing::new([0; 32]);
    half.copy_from_slice(lower);
    let mut clamped = clamp_integer(*half);
    let mut key = Scalar::from_bytes_mod_order(clamped);
    clamped.zeroize();
    let public = EdwardsPoint::mul_base(&key).compress();

    let mut r = Scalar::from_bytes_mod_order_wide(&sha512(&[prefix, nonce]));
    let commitment = EdwardsPoint::mul_base(&r).compress();
    let challenge =
        Scalar::from_bytes_mod_order_wide(&sha512(&[commitment.as_bytes(), public.as_bytes(), nonce]));
    let response = challenge * key + r;
    key.zeroize();
    r.zeroize();

    let mut signature = [0; 64];
    let (first, second) = signature.split_at_mut(32);
    first.copy_from_slice(commitment.as_bytes());
    second.copy_from_slice(response.as_bytes());
    signature
}

/// `mysql_clear_password`, and the answer to a request for full `caching_sha2_password` authentication: the password
/// and a NUL. Only for links that are encrypted or do not leave the machine.
pub fn clear(password: &Secret) -> Zeroizing<Vec<u8>> {
    let mut payload = Zeroizing::new(Vec::with_capacity(password.as_bytes().len() + 1));
    payload.extend_from_slice(password.as_bytes());
    payload.push(0);
    payload
}

#[cfg(test)]
mod tests;
