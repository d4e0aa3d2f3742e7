use std::sync::LazyLock;

use aws_lc_rs::rsa::KeySize;
use proptest::prelude::*;

use super::*;

const NONCE: [u8; NONCE_LEN] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];

/// A key that was made for these tests and guards nothing.
const PRIVATE: &str = "\
-----BEGIN PRIVATE KEY-----
MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC8RxMcmTRLU5d3
/rSaAPj5dleYGwv9cotUc6Z32l+yxrUs8/9EdAb/LpeBEA+837XYlCscAI2ebgP1
Yy9o+cKZHmyGn6oWA8BjqLGhUOi0v+yzFqB9i2vGcvZEFHKS/2F+W2pEp9u+gb8Y
uhJryyAr73bFNef90OMFTuT2mMbx+uV4O7KKyc+a8yiPsI7o/mc6Tv5QnpP4ICOf
MGJ3sP0i+54jpJ0vJkklPnI2W0pNbYq2kqTNvyoYtus08xJwWpmAWKdNZNxjcMhB
asv4NA2hpD8YR3cJeYh0Dvx98M1uXkwshz2LUoBEutwLKOj47E9xpp0JB4yPDckA
zQcEQfSbAgMBAAECggEABUzm79YsT7aRvBISmYdPew5m1uRkCQWRgJYk6JjgOtM3
RIW1+QJfNA3mu/5swv91ShyZvhcR5ZTpTZ42NnlZjh/6JCwYiLggUW3tWkJB2tzQ
WBZZ/E7RgOu5nR8KPrMr1nfSXQ5wtENI0vRiEmDMjhAWwuSKnG2mBn87GOoiJ6vB
JgtmM9pU8wueOtBj9MmEfqfu62JC9kuKNDyPlQAPNzUIa1YAOCZBCbvznUFipcPS
hlkorTowXY7IbDpCmu4EbHT8g59eJ0F7fNl2bMleo9q2pPnpnBWBVUADr43ZJ8Q7
3vHQgToEo7bJFJ5fFxGfkHUCFHCRXMwACqJm041DUQKBgQDtN8EfEmGc6KKqGPcO
HSdU4kMwE0JQvgz0QswzilK8H+Horq2duE4whFeqO9fmXNoCsLWEFUMJDfOf62RF
0pqHabSIZm+nLFkjil4rqKskIBCnJ2Sx9JGcUwiGMG3Frd98TjEEkc9w4q0GsbcX
H2IqMKwbobNatlxPsT3AYQB2gwKBgQDLL1YMtLDLIlkygXYZ0QwJTQZ0AYhWkzlF
3ragxBHFWIm8EN2Ha/SnRMVLEmD+NnFbmSAA5H0EofvE+PxwCpXXMPKFN7qL2Xv/
aejKLfwoMQzu+34Xo/Ha0ZwvmTJ0cwRX0nKaykNkD0xNCZlEHxhHp0ySr4ePl9hY
5Kh3EbDuCQKBgEDe2F8o5azFKYaeoSEo89KQtZL2EVKHRn+drL4De7Caf2rkKfJR
roAyEM8q4lXK2ouVy229asGVISSAeMFnYH7bd1U9vhbXV+ESO8Jws6yDYEp1yWGo
4hD/2/rmT36Zl94ke98mCLZ0JqEIBGu8V1n2SXqc87FA4WmhrKNpY3kFAoGBALZn
Tmalp7kUouK2WiGfC6El5s8puQ2PqXDSGT2GBzYU38FXmqhCACZRlJRqcWyFz4od
kx95/8my6WTQ6T5kIlRG+tEhUHTPz4NhvrwSQDaMokHAwFfUtABvADmy3BqyTonQ
wVW4kns3SJY4McF38MISrKlaruX3uR9EVwBdf2qRAoGBAIg1PDehQX56viTb7QeF
76QEkr3fMexVBN+GaKmu9rzYOvkYTrUrvjjCzqnu2BRZjDw9htiitR/9MhsXKWcy
77HXWvoBO8s5t+X50Z5Ej1UQFodggfDA2muPgzO86misEd4U19aiJe267Hs/9L3h
hfL9ZYdC93flc/thhyvmmU18
-----END PRIVATE KEY-----
";

/// Its public half as `openssl pkey -pubout` prints it.
const PUBLIC: &str = "\
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAvEcTHJk0S1OXd/60mgD4
+XZXmBsL/XKLVHOmd9pfssa1LPP/RHQG/y6XgRAPvN+12JQrHACNnm4D9WMvaPnC
mR5shp+qFgPAY6ixoVDotL/ssxagfYtrxnL2RBRykv9hfltqRKfbvoG/GLoSa8sg
K+92xTXn/dDjBU7k9pjG8frleDuyisnPmvMoj7CO6P5nOk7+UJ6T+CAjnzBid7D9
IvueI6SdLyZJJT5yNltKTW2KtpKkzb8qGLbrNPMScFqZgFinTWTcY3DIQWrL+DQN
oaQ/GEd3CXmIdA78ffDNbl5MLIc9i1KARLrcCyjo+OxPcaadCQeMjw3JAM0HBEH0
mwIDAQAB
-----END PUBLIC KEY-----
";

/// "weir-secret-longer-than-the-nonce" and NUL, XORed with NONCE, under the key above; made by
/// `openssl pkeyutl -encrypt -pkeyopt rsa_padding_mode:oaep`.
const CIPHERTEXT: &str = "\
    55eb96f6ae1bd72b4b1cd47481250add9b6c3a378ab56117ee9da4367718300cfb0c329d2acb77289fdcfc0c67a8028d\
    81b09f5c723288a33c068085dfb937db8927c415ada66679d7e1dc13663521c1603a99a85affabaf0415fdff11801f76\
    7cbb41f62603f046172d79319fde901d062e424b6bb0efea4c6106c26f2107a100a879af08f8f6a196f0525782b82732\
    405361b815e273044d47de1fca9148feb655553b7b479bae47a4f52e3310b714fcecaafcd7b5fcfa73a8569be06e2eba\
    fed52b14d659abb7bfb269c6fd48f75518f45ac0c995fa259890fe170eb07ae3936af5160444aad7257e2a3fbe158ec5\
    cdc12110f9f1da413063546e039fb0d8";

static KEY: LazyLock<RsaKeyPair> = LazyLock::new(|| RsaKeyPair::from_pkcs8_pem(PRIVATE.as_bytes()).unwrap());

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

fn secret(password: &[u8]) -> Secret {
    Secret::new(password.to_vec())
}

/// A ciphertext of any content, to show what is refused after a decryption that works.
fn seal(plain: &[u8]) -> Vec<u8> {
    let der = pem::decode(KEY.public_key_pem(), PUBLIC_LABEL).unwrap();
    let key = OaepPublicEncryptingKey::new(PublicEncryptingKey::from_der(&der).unwrap()).unwrap();
    let mut plain = plain.to_vec();
    xor_repeated(&mut plain, &NONCE);
    let mut out = vec![0; key.ciphertext_size()];
    key.encrypt(&OAEP_SHA1_MGF1SHA1, &plain, &mut out, None).unwrap();
    out
}

#[test]
fn p16_opens_what_openssl_sealed() {
    let password = KEY.decrypt_password(&unhex(CIPHERTEXT), &NONCE).unwrap();
    assert_eq!(password.as_bytes(), b"weir-secret-longer-than-the-nonce");
}

#[test]
fn p16_public_key_is_sent_as_openssl_prints_it() {
    assert_eq!(std::str::from_utf8(KEY.public_key_pem()).unwrap(), PUBLIC);
    assert_eq!(KEY.ciphertext_len(), 256);
}

#[test]
fn p16_round_trip_with_a_generated_key() {
    let key = RsaKeyPair::from_key(PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap()).unwrap();
    for password in [&b""[..], b"x", b"exactly twenty bytes", &[b'y'; 213]] {
        let sealed = encrypt_password(key.public_key_pem(), &secret(password), &NONCE).unwrap();
        assert_eq!(key.decrypt_password(&sealed, &NONCE).unwrap().as_bytes(), password);
        assert_eq!(KEY.decrypt_password(&sealed, &NONCE), Err(RsaError::Decrypt), "another key");
    }
}

#[test]
fn p15_password_too_long_for_the_key_says_how_much_fits() {
    let result = encrypt_password(PUBLIC.as_bytes(), &secret(&[b'y'; 214]), &NONCE);
    assert_eq!(result, Err(RsaError::TooLong { max: 213 }));
}

#[test]
fn p16_another_nonce_does_not_open() {
    let mut other = NONCE;
    // The last byte of the plain text is the NUL, at index 11: with another mask it is no NUL.
    other[11] ^= 1;
    let sealed = encrypt_password(PUBLIC.as_bytes(), &secret(b"weir-secret"), &NONCE).unwrap();
    assert_eq!(KEY.decrypt_password(&sealed, &other), Err(RsaError::Decrypt));
}

#[test]
fn p16_content_that_is_no_password_is_refused() {
    for content in [&b""[..], b"no NUL", b"a NUL\0inside\0", b"after\0it"] {
        assert_eq!(KEY.decrypt_password(&seal(content), &NONCE), Err(RsaError::Decrypt), "{content:?}");
    }
    assert_eq!(KEY.decrypt_password(&seal(b"\0"), &NONCE).unwrap(), Secret::default());
}

#[test]
fn keys_that_are_none_are_refused_with_a_hint() {
    let error = RsaKeyPair::from_pkcs8_pem(PUBLIC.as_bytes()).unwrap_err();
    assert_eq!(error, RsaError::PrivateKey);
    assert!(error.to_string().contains("openssl pkcs8"));
    let cut = &PUBLIC.as_bytes()[..PUBLIC.len() - 40];
    for bad in [&b""[..], b"-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----", PRIVATE.as_bytes(), cut] {
        assert_eq!(encrypt_password(bad, &secret(b"x"), &NONCE), Err(RsaError::PublicKey));
    }
}

#[test]
fn debug_shows_the_size_only() {
    assert_eq!(format!("{:?}", *KEY), "RsaKeyPair { bits: 2048, .. }");
}

proptest! {
    #[test]
    fn pem_round_trip(der in proptest::collection::vec(any::<u8>(), 0..300)) {
        let text = pem::encode(&der, PUBLIC_LABEL);
        prop_assert!(text.split(|byte| *byte == b'\n').all(|line| line.len() <= 64));
        prop_assert_eq!(&*pem::decode(&text, PUBLIC_LABEL).unwrap(), &der);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(KEY.decrypt_password(&bytes, &NONCE).is_err());
        prop_assert!(encrypt_password(&bytes, &secret(b"x"), &NONCE).is_err());
    }

    #[test]
    fn arbitrary_pem_bodies_never_panic(body in "[A-Za-z0-9+/=\n ]{0,400}") {
        let text = format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n");
        prop_assert!(encrypt_password(text.as_bytes(), &secret(b"x"), &NONCE).is_err());
    }
}
