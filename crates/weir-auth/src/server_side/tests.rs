use std::sync::LazyLock;

use aws_lc_rs::rsa::{KeySize, PrivateDecryptingKey};
use proptest::prelude::*;

use super::*;
use crate::RsaKeyPair;

static KEY: LazyLock<RsaKeyPair> = LazyLock::new(|| {
    RsaKeyPair::from_key(PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap()).unwrap()
});

const GREETING: [u8; NONCE_LEN] = [11; NONCE_LEN];
const FRESH: [u8; NONCE_LEN] = [22; NONCE_LEN];
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const ERR: &[u8] = b"\xff\x15\x04#28000Access denied";

fn word() -> Secret {
    Secret::new(b"weir-secret".to_vec())
}

fn exchange(plugin: &str, secure: bool) -> ServerExchange {
    let mut exchange = ServerExchange::new(word(), secure);
    exchange.initial_response(plugin.as_bytes(), &GREETING).unwrap();
    exchange
}

fn switch(plugin: &str, data: &[u8]) -> Vec<u8> {
    [b"\xfe", plugin.as_bytes(), b"\0", data].concat()
}

fn send(bytes: impl AsRef<[u8]>) -> ServerStep {
    ServerStep::Send(bytes.as_ref().to_vec().into())
}

fn sent(step: ServerStep) -> Vec<u8> {
    match step {
        ServerStep::Send(payload) => payload.to_vec(),
        other => panic!("{other:?} instead of a payload"),
    }
}

#[test]
fn p15_first_response_follows_the_greeting() {
    let mut exchange = ServerExchange::new(word(), false);
    let with_nul = [&GREETING[..], b"\0"].concat();
    for nonce in [&GREETING[..], &with_nul] {
        let native = exchange.initial_response(b"mysql_native_password", nonce).unwrap();
        assert_eq!(native.plugin, "mysql_native_password");
        assert_eq!(native.data[..], scramble::native(&word(), &GREETING)[..]);
        for plugin in ["caching_sha2_password", "mysql_clear_password", "sha256_password", "auth_socket", ""]
        {
            let other = exchange.initial_response(plugin.as_bytes(), nonce).unwrap();
            assert_eq!(other.plugin, "caching_sha2_password");
            assert_eq!(other.data[..], scramble::caching_sha2(&word(), &GREETING)[..]);
        }
    }
    for bad in [&GREETING[..19], &GREETING[..8], &[11; 22], b"", &[11; 21]] {
        assert!(matches!(
            exchange.initial_response(b"mysql_native_password", bad),
            Err(ServerAuthError::Protocol(_))
        ));
    }
}

#[test]
fn p15_switches_to_every_plugin_that_we_speak() {
    let nul = [&FRESH[..], b"\0"].concat();
    let ed_nonce = [33; 32];
    for secure in [false, true] {
        for greeting in ["mysql_native_password", "caching_sha2_password", "client_ed25519"] {
            let mut to_native = exchange(greeting, secure);
            let step = to_native.handle(&switch("mysql_native_password", &nul));
            assert_eq!(step, send(scramble::native(&word(), &FRESH)));
            assert_eq!(to_native.handle(OK), ServerStep::LoggedIn);
            assert_eq!(to_native.nonce(), FRESH);

            let mut to_sha2 = exchange(greeting, secure);
            let step = to_sha2.handle(&switch("caching_sha2_password", &nul));
            assert_eq!(step, send(scramble::caching_sha2(&word(), &FRESH)));
            assert_eq!(to_sha2.handle(&[1, 3]), ServerStep::Wait);
            assert_eq!(to_sha2.handle(OK), ServerStep::LoggedIn);

            let mut to_ed = exchange(greeting, secure);
            let step = to_ed.handle(&switch("client_ed25519", &ed_nonce));
            assert_eq!(step, send(scramble::ed25519(&word(), &ed_nonce)));
            assert_eq!(to_ed.handle(OK), ServerStep::LoggedIn);
            assert_eq!(to_ed.nonce(), GREETING);
        }
    }
}

#[test]
fn p16_full_authentication_in_clear_only_over_a_secure_link() {
    let mut secure = exchange("caching_sha2_password", true);
    assert_eq!(secure.handle(&[1, 4]), send(b"weir-secret\0"));
    assert_eq!(secure.handle(OK), ServerStep::LoggedIn);

    let mut plain = exchange("caching_sha2_password", false);
    assert_eq!(plain.handle(&[1, 4]), send([2]));
    let sealed = sent(plain.handle(&[b"\x01", KEY.public_key_pem()].concat()));
    assert_eq!(KEY.decrypt_password(&sealed, &GREETING).unwrap(), word());
    assert_eq!(plain.handle(OK), ServerStep::LoggedIn);
}

#[test]
fn p16_after_a_switch_the_password_is_masked_with_the_new_nonce() {
    let mut exchange = exchange("mysql_native_password", false);
    let _scramble = exchange.handle(&switch("caching_sha2_password", &FRESH));
    assert_eq!(exchange.handle(&[1, 4]), send([2]));
    let sealed = sent(exchange.handle(&[b"\x01", KEY.public_key_pem()].concat()));
    assert_eq!(KEY.decrypt_password(&sealed, &FRESH).unwrap(), word());
}

/// MySQL 9.7 answers some names of users that do not exist with a switch to sha256_password, then 1045.
#[test]
fn p18_sha256_password_is_spoken_to_the_end() {
    let request = switch("sha256_password", &[&FRESH[..], b"\0"].concat());
    let mut secure = exchange("caching_sha2_password", true);
    assert_eq!(secure.handle(&request), send(b"weir-secret\0"));
    assert_eq!(secure.handle(ERR), ServerStep::Refused);

    let plain = exchange("caching_sha2_password", false);
    let unix = exchange("caching_sha2_password", true).over_unix_socket();
    for mut exchange in [plain, unix] {
        assert_eq!(exchange.handle(&request), send([1]));
        let sealed = sent(exchange.handle(&[b"\x01", KEY.public_key_pem()].concat()));
        assert_eq!(KEY.decrypt_password(&sealed, &FRESH).unwrap(), word());
        assert_eq!(exchange.handle(ERR), ServerStep::Refused);
    }

    for secure in [false, true] {
        let mut empty = ServerExchange::new(Secret::default(), secure);
        assert_eq!(empty.handle(&request), send([0]));
    }
}

#[test]
fn p16_clear_password_plugin_is_refused_on_a_plain_link() {
    let request = switch("mysql_clear_password", b"");
    assert_eq!(exchange("caching_sha2_password", true).handle(&request), send(b"weir-secret\0"));
    let step = exchange("caching_sha2_password", false).handle(&request);
    assert_eq!(step, ServerStep::Failed(ServerAuthError::InsecureLink(Plugin::Clear)));
}

#[test]
fn p15_plugins_that_we_cannot_speak_are_named() {
    for plugin in ["auth_socket", "parsec", "dialog", "authentication_webauthn_client"] {
        match exchange("mysql_native_password", true).handle(&switch(plugin, b"data\0")) {
            ServerStep::Failed(error @ ServerAuthError::UnsupportedPlugin(_)) => {
                assert!(error.to_string().contains(plugin), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn p15_old_password_and_second_factor_are_refused() {
    let mut old = exchange("mysql_native_password", true);
    assert_eq!(old.handle(&[0xfe]), ServerStep::Failed(ServerAuthError::OldPassword));
    let mut factor = exchange("caching_sha2_password", true);
    assert_eq!(factor.handle(b"\x02dialog\0"), ServerStep::Failed(ServerAuthError::SecondFactor));
}

#[test]
fn p20_the_servers_refusal_is_left_to_the_caller_whole() {
    assert_eq!(exchange("mysql_native_password", false).handle(ERR), ServerStep::Refused);
    let mut late = exchange("caching_sha2_password", true);
    let _password = late.handle(&[1, 4]);
    assert_eq!(late.handle(ERR), ServerStep::Refused);
}

#[test]
fn p15_empty_password() {
    let mut exchange = ServerExchange::new(Secret::default(), false);
    for plugin in ["mysql_native_password", "caching_sha2_password"] {
        assert!(exchange.initial_response(plugin.as_bytes(), &GREETING).unwrap().data.is_empty());
    }
    assert_eq!(exchange.handle(&switch("caching_sha2_password", &FRESH)), send([0]));
    assert_eq!(exchange.handle(&switch("mysql_native_password", &FRESH)), send([]));
}

#[test]
fn p16_a_server_cannot_ask_out_of_turn() {
    let protocol = |step| matches!(step, ServerStep::Failed(ServerAuthError::Protocol(_)));
    // Were any of these answered, a server could draw the password out of an account of another plugin.
    assert!(protocol(exchange("mysql_native_password", true).handle(&[1, 4])));
    assert!(protocol(exchange("mysql_native_password", true).handle(&[1, 3])));
    let mut after_ed = exchange("caching_sha2_password", true);
    let _signature = after_ed.handle(&switch("client_ed25519", &[33; 32]));
    assert!(protocol(after_ed.handle(&[1, 4])));
    let mut twice = exchange("caching_sha2_password", true);
    assert_eq!(twice.handle(&[1, 3]), ServerStep::Wait);
    assert!(protocol(twice.handle(&[1, 4])));
    for payload in [&b""[..], b"\x01", b"\x01\x05", b"\x0a5.5", b"\xfeno_nul"] {
        assert!(protocol(exchange("caching_sha2_password", true).handle(payload)), "{payload:?}");
    }
    for len in [0, 8, 19, 22, 32] {
        let request = switch("mysql_native_password", &vec![5; len]);
        assert!(protocol(exchange("caching_sha2_password", true).handle(&request)), "{len}");
    }
}

#[test]
fn p16_a_key_that_cannot_be_used_is_an_error() {
    let mut exchange = exchange("caching_sha2_password", false);
    assert_eq!(exchange.handle(&[1, 4]), send([2]));
    let step = exchange.handle(b"\x01-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n");
    assert_eq!(step, ServerStep::Failed(ServerAuthError::Rsa(RsaError::PublicKey)));
}

#[test]
fn a_server_that_never_decides_is_left() {
    let mut exchange = exchange("mysql_native_password", true);
    let request = switch("mysql_native_password", &FRESH);
    for _ in 0..MAX_PACKETS {
        assert!(matches!(exchange.handle(&request), ServerStep::Send(_)));
    }
    assert!(matches!(exchange.handle(&request), ServerStep::Failed(ServerAuthError::Protocol(_))));
}

#[test]
fn debug_shows_no_secret() {
    let mut exchange = exchange("caching_sha2_password", true);
    let step = exchange.handle(&[1, 4]);
    let text = format!("{exchange:?} {step:?}");
    assert!(text.contains("Payload(12 bytes)"), "{text}");
    assert!(!text.contains("weir-secret") && !text.contains("119, 101"), "{text}");
}

proptest! {
    /// Over a plain link no sequence of server packets draws the password out in clear.
    #[test]
    fn p16_arbitrary_servers_get_no_password_in_clear_and_cause_no_panic(
        plugin in prop_oneof![
            Just("mysql_native_password"), Just("caching_sha2_password"), Just("mysql_clear_password"), Just("?"),
        ],
        packets in proptest::collection::vec(prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..80),
            Just(vec![1, 4]),
            Just(vec![1, 3]),
            Just(switch("mysql_clear_password", b"")),
            Just(switch("caching_sha2_password", &FRESH)),
            Just(switch("mysql_native_password", &FRESH)),
            Just(switch("client_ed25519", &[7; 32])),
            Just(switch("sha256_password", &FRESH)),
            Just([b"\x01", KEY.public_key_pem()].concat()),
        ], 0..8),
    ) {
        let mut exchange = exchange(plugin, false);
        for packet in &packets {
            if let ServerStep::Send(payload) = exchange.handle(packet) {
                prop_assert!(!payload.windows(11).any(|window| window == b"weir-secret"));
            }
        }
    }
}
