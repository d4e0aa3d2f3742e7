use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use proptest::prelude::*;

use super::*;

const NONCE: [u8; NONCE_LEN] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn secret(password: &[u8]) -> Secret {
    Secret::new(password.to_vec())
}

/// Computed with Python's hashlib from the formulas in the documentation of each plugin.
#[test]
fn p15_known_answers_of_native_and_caching_sha2() {
    let cases: [(&[u8], &str, &str); 4] = [
        (
            b"weir-secret",
            "381918f6e7392c3a0192037af702228fa4172481",
            "db7f78a36980744bbc4fc123c831de16b9f6ae74e35bfb4b3a2ab8d7166b36ea",
        ),
        (
            b"p\xc3\xa4ss w\xc3\xb6rd",
            "cefb2549caadd4b344aab86e035d93d901034130",
            "a9f4bf6498ae1566e100e47d00090eba68bcb0169f6dfac330ead8aff39f6949",
        ),
        (
            &[b'x'; 255],
            "56d84ae1f2c92d6d60990653464642e33db897db",
            "f8732f94e941b229b7663528f48da5f96b50d3b0b9f379ae1b0ebc5302f6cf9a",
        ),
        (b"", "", ""),
    ];
    for (password, native_token, sha2_token) in cases {
        assert_eq!(hex(&native(&secret(password), &NONCE)), native_token);
        assert_eq!(hex(&caching_sha2(&secret(password), &NONCE)), sha2_token);
    }
}

/// Computed with a plain integer implementation of RFC 8032 that reproduces the RFC's own test 2.
#[test]
fn p15_known_answers_of_ed25519() {
    let mut nonce = [0; ED25519_NONCE_LEN];
    nonce.iter_mut().zip(100..).for_each(|(byte, value)| *byte = value);
    let cases = [
        (
            &b"weir-secret"[..],
            "ae99da1f5f005f54e05161d94225cc9b979a0760c1651d9da658c6a3244c8138\
             86986f985f78b050f984463cccf70ee5f4536bd1952cfdc1df6289da3dc3060c",
        ),
        (
            b"",
            "7b84c95e25d8ad9d23463e7da22e708c8097da5f924c8e4a4c851481ad3346e3\
             7cee3f839806400279679f69d12a2eb1c7a9ba89b0b557777bdbafc13d0b4403",
        ),
    ];
    for (password, signature) in cases {
        assert_eq!(hex(&ed25519(&secret(password), &nonce)), signature);
    }
}

#[test]
fn clear_is_the_password_and_nul() {
    assert_eq!(&**clear(&secret(b"abc")), b"abc\0");
    assert_eq!(&**clear(&Secret::default()), b"\0");
}

proptest! {
    /// A password of 32 bytes is an RFC 8032 private key, so an independent implementation must agree.
    #[test]
    fn ed25519_agrees_with_rfc_8032_where_both_are_defined(password: [u8; 32], nonce: [u8; 32]) {
        let pair = Ed25519KeyPair::from_seed_unchecked(&password).unwrap();
        prop_assert_eq!(pair.public_key().as_ref().len(), 32);
        let theirs = pair.sign(&nonce);
        prop_assert_eq!(theirs.as_ref(), &ed25519(&secret(&password), &nonce)[..]);
    }
}
