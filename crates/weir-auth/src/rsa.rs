//! The RSA half of `caching_sha2_password`: how a password crosses a link that is not encrypted.
//!
//! The client asks for the public key, XORs password and NUL with the nonce (repeated), and encrypts that with
//! RSAES-OAEP, SHA-1 and MGF1 with SHA-1, no label (RFC 8017 section 7.1; `RSA_PKCS1_OAEP_PADDING` of OpenSSL). The key
//! is not authenticated: who can change packets on the way can put a key of their own in its place. That is a
//! property of the plugin; TLS with a verified certificate is the remedy.

use std::fmt;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{
    OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey,
    PublicEncryptingKey,
};
use zeroize::Zeroizing;

use crate::secret::Secret;
use crate::{MAX_PASSWORD_LEN, NONCE_LEN, scramble};

mod pem;

const PUBLIC_LABEL: &str = "PUBLIC KEY";
const PRIVATE_LABEL: &str = "PRIVATE KEY";

/// Why a key or a ciphertext could not be used. Never holds bytes of either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RsaError {
    #[error(
        "the RSA private key is not an unencrypted PKCS#8 key of 2048 to 8192 bits; \
         convert it with `openssl pkcs8 -topk8 -nocrypt`"
    )]
    PrivateKey,
    #[error("the RSA public key is not a PEM \"PUBLIC KEY\" of 2048 to 8192 bits")]
    PublicKey,
    #[error("the password is longer than the {max} bytes that fit under this RSA key; use TLS")]
    TooLong { max: usize },
    #[error("the RSA operation failed")]
    Encrypt,
    #[error("the encrypted password could not be decrypted with this key and nonce")]
    Decrypt,
}

/// Weir's own key pair for clients without TLS. Shared by all connections; `Debug` shows only its size.
pub struct RsaKeyPair {
    private: OaepPrivateDecryptingKey,
    public_pem: Vec<u8>,
}

impl RsaKeyPair {
    /// Takes over a key that was made above the wall, because making one draws random numbers and takes some 100 ms:
    /// the binary calls `PrivateDecryptingKey::generate(KeySize::Rsa2048)` once, at start. 2048 bits is the size that the
    /// servers generate.
    ///
    /// # Errors
    /// [`RsaError::PrivateKey`] if the key's public half cannot be written.
    pub fn from_key(key: PrivateDecryptingKey) -> Result<Self, RsaError> {
        let der =
            AsDer::<PublicKeyX509Der<'_>>::as_der(&key.public_key()).map_err(|_| RsaError::PrivateKey)?;
        let public_pem = pem::encode(der.as_ref(), PUBLIC_LABEL);
        let private = OaepPrivateDecryptingKey::new(key).map_err(|_| RsaError::PrivateKey)?;
        Ok(Self { private, public_pem })
    }

    /// Reads an unencrypted PKCS#8 key in PEM form (`-----BEGIN PRIVATE KEY-----`).
    ///
    /// # Errors
    /// [`RsaError::PrivateKey`] for anything else.
    pub fn from_pkcs8_pem(text: &[u8]) -> Result<Self, RsaError> {
        let der = pem::decode(text, PRIVATE_LABEL).ok_or(RsaError::PrivateKey)?;
        Self::from_pkcs8_der(&der)
    }

    /// Reads an unencrypted PKCS#8 key in DER form.
    ///
    /// # Errors
    /// [`RsaError::PrivateKey`] for anything else.
    pub fn from_pkcs8_der(der: &[u8]) -> Result<Self, RsaError> {
        Self::from_key(PrivateDecryptingKey::from_pkcs8(der).map_err(|_| RsaError::PrivateKey)?)
    }

    /// The public half as the servers send it: PEM of a SubjectPublicKeyInfo, lines of 64 characters.
    pub fn public_key_pem(&self) -> &[u8] {
        &self.public_pem
    }

    /// Bytes of every ciphertext under this key.
    pub fn ciphertext_len(&self) -> usize {
        self.private.key_size_bytes()
    }

    /// Opens what a client sent.
    ///
    /// # Errors
    /// [`RsaError::Decrypt`] if the ciphertext is not one under this key, or its content is not a password of at
    /// most [`MAX_PASSWORD_LEN`] bytes and one NUL at its end. The cases are not told apart.
    pub fn decrypt_password(&self, ciphertext: &[u8], nonce: &[u8; NONCE_LEN]) -> Result<Secret, RsaError> {
        if ciphertext.len() != self.ciphertext_len() {
            return Err(RsaError::Decrypt);
        }
        let mut buffer = Zeroizing::new(vec![0; self.private.min_output_size()]);
        let plain = self
            .private
            .decrypt(&OAEP_SHA1_MGF1SHA1, ciphertext, &mut buffer, None)
            .map_err(|_| RsaError::Decrypt)?;
        xor_repeated(plain, nonce);
        password_before_nul(plain).ok_or(RsaError::Decrypt)
    }
}

impl fmt::Debug for RsaKeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RsaKeyPair").field("bits", &self.private.key_size_bits()).finish_non_exhaustive()
    }
}

/// Encrypts a password for the server whose public key this is. The padding is random, so two calls differ.
///
/// # Errors
/// [`RsaError::PublicKey`] if the server's PEM cannot be used, [`RsaError::TooLong`] if the password and its NUL do not
/// fit (213 bytes and NUL under a key of 2048 bits).
pub fn encrypt_password(
    server_pem: &[u8],
    password: &Secret,
    nonce: &[u8; NONCE_LEN],
) -> Result<Vec<u8>, RsaError> {
    let der = pem::decode(server_pem, PUBLIC_LABEL).ok_or(RsaError::PublicKey)?;
    let key = PublicEncryptingKey::from_der(&der)
        .map_err(|_| RsaError::PublicKey)
        .and_then(|key| OaepPublicEncryptingKey::new(key).map_err(|_| RsaError::PublicKey))?;
    let mut plain = scramble::clear(password);
    let room = key.max_plaintext_size(&OAEP_SHA1_MGF1SHA1);
    if plain.len() > room {
        return Err(RsaError::TooLong { max: room.saturating_sub(1) });
    }
    xor_repeated(&mut plain, nonce);
    let mut ciphertext = vec![0; key.ciphertext_size()];
    let len =
        key.encrypt(&OAEP_SHA1_MGF1SHA1, &plain, &mut ciphertext, None).map_err(|_| RsaError::Encrypt)?.len();
    ciphertext.truncate(len);
    Ok(ciphertext)
}

/// The password of `password NUL`: nothing after the NUL, none before it, no longer than it may be.
pub(crate) fn password_before_nul(bytes: &[u8]) -> Option<Secret> {
    let password = bytes.strip_suffix(&[0])?;
    (password.len() <= MAX_PASSWORD_LEN && !password.contains(&0)).then(|| Secret::new(password.to_vec()))
}

fn xor_repeated(bytes: &mut [u8], nonce: &[u8; NONCE_LEN]) {
    for (byte, mask) in bytes.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests;
