//! Tokens with which people and programs prove to the admin address who they are.

use std::fmt::Write;

use weir_model::TokenHash;
use zeroize::Zeroizing;

use crate::secret::sha256;

/// So that a token is known as one where it should not stand: in a log, in a repository.
const PREFIX: &str = "weir_";

/// The text of the token made of these random bytes.
pub fn token_text(random: &[u8; 32]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(PREFIX.len() + 2 * random.len()));
    text.push_str(PREFIX);
    for byte in random {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// What is kept of a token.
pub fn token_hash(text: &[u8]) -> TokenHash {
    TokenHash(*sha256(&[text]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_told_by_its_hash() {
        let token = token_text(&[7; 32]);
        assert_eq!(token.len(), 69);
        assert!(token.starts_with("weir_0707"));
        assert_eq!(token_hash(token.as_bytes()), token_hash(token.as_bytes()));
        assert_ne!(token_hash(token.as_bytes()), token_hash(&token.as_bytes()[..68]));
        // RFC 6234's test vector.
        let expected = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(token_hash(b"abc").to_string(), expected);
    }
}
