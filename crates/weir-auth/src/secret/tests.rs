use super::*;
use crate::scramble;

const NONCE: [u8; NONCE_LEN] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];

fn secret(password: &[u8]) -> Secret {
    Secret::new(password.to_vec())
}

#[test]
fn debug_shows_nothing() {
    let secret = secret(b"hunter2");
    assert_eq!(format!("{secret:?} {:?}", Verifier::new(&secret)), "Secret(..) Verifier(..)");
}

#[test]
fn equality_is_of_the_bytes() {
    assert_eq!(secret(b"same"), secret(b"same"));
    for other in [&b"sam"[..], b"samf", b"same\0", b""] {
        assert_ne!(secret(b"same"), secret(other));
    }
}

#[test]
fn p16_a_scramble_proves_its_password_and_no_other() {
    let passwords = [&b"weir-secret"[..], b"weir-secreT", b"", &[b'x'; 255], "pä\u{df}w\u{f6}rd".as_bytes()];
    for (i, ours) in passwords.iter().enumerate() {
        let verifier = Verifier::new(&secret(ours));
        for (j, theirs) in passwords.iter().enumerate() {
            let theirs = secret(theirs);
            let native = scramble::native(&theirs, &NONCE);
            let sha2 = scramble::caching_sha2(&theirs, &NONCE);
            assert_eq!(verifier.verify_native(&NONCE, &native), i == j, "native {i} {j}");
            assert_eq!(verifier.verify_caching_sha2(&NONCE, &sha2), i == j, "sha2 {i} {j}");
            assert_eq!(verifier.verify_password(&theirs), i == j, "password {i} {j}");
        }
    }
}

#[test]
fn p16_another_nonce_or_length_proves_nothing() {
    let password = secret(b"weir-secret");
    let verifier = Verifier::new(&password);
    let (native, sha2) = (scramble::native(&password, &NONCE), scramble::caching_sha2(&password, &NONCE));
    let mut other = NONCE;
    other[19] ^= 1;
    assert!(!verifier.verify_native(&other, &native));
    assert!(!verifier.verify_caching_sha2(&other, &sha2));
    for bit in 0..8 {
        for position in 0..20 {
            let mut changed = native.clone();
            changed[position] ^= 1 << bit;
            assert!(!verifier.verify_native(&NONCE, &changed));
        }
    }
    for len in (0..20).chain(21..40) {
        let cut: Vec<u8> = native.iter().copied().cycle().take(len).collect();
        assert!(!verifier.verify_native(&NONCE, &cut), "native of {len} bytes");
    }
    for len in (0..32).chain(33..64) {
        let cut: Vec<u8> = sha2.iter().copied().cycle().take(len).collect();
        assert!(!verifier.verify_caching_sha2(&NONCE, &cut), "sha2 of {len} bytes");
    }
}

#[test]
fn p18_the_dummy_matches_nothing() {
    let dummy = Verifier::dummy();
    for password in [&b""[..], b"weir-secret", &[0x5a; 20], &[0x5a; 32]] {
        let password = secret(password);
        assert!(!dummy.verify_password(&password));
        assert!(!dummy.verify_native(&NONCE, &scramble::native(&password, &NONCE)));
        assert!(!dummy.verify_caching_sha2(&NONCE, &scramble::caching_sha2(&password, &NONCE)));
    }
    // The token that opens a verifier is its mask XOR a preimage; the verifier itself is none.
    assert!(!dummy.verify_native(&NONCE, &[0; 20]));
    assert!(!dummy.verify_caching_sha2(&NONCE, &[0; 32]));
}

#[test]
fn p15_only_the_empty_token_proves_the_empty_password() {
    let verifier = Verifier::new(&Secret::default());
    let once = sha1(&[b""]);
    let mut token = sha1(&[&NONCE, &*sha1(&[&*once])]);
    assert!(bool::from(xor_into(&mut *token, &*once)));
    assert!(!verifier.verify_native(&NONCE, &*token), "a scramble of nothing is never sent by a client");
    assert!(verifier.verify_native(&NONCE, b""));
}
