use std::sync::LazyLock;

use aws_lc_rs::rsa::{KeySize, PrivateDecryptingKey};
use proptest::prelude::*;

use super::*;
use crate::{rsa, scramble};

static KEY: LazyLock<Arc<RsaKeyPair>> = LazyLock::new(|| {
    Arc::new(RsaKeyPair::from_key(PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap()).unwrap())
});

const GREETING: [u8; NONCE_LEN] = [11; NONCE_LEN];
const FRESH: [u8; NONCE_LEN] = [22; NONCE_LEN];
const RIGHT: &[u8] = b"right";
const WRONG: &[u8] = b"wrong";

fn secret(password: &[u8]) -> Secret {
    Secret::new(password.to_vec())
}

fn verifier(password: &[u8]) -> Arc<Verifier> {
    Arc::new(Verifier::new(&secret(password)))
}

fn native(password: &[u8], nonce: &[u8; NONCE_LEN]) -> Vec<u8> {
    scramble::native(&secret(password), nonce)
}

fn sha2(password: &[u8], nonce: &[u8; NONCE_LEN]) -> Vec<u8> {
    scramble::caching_sha2(&secret(password), nonce)
}

/// A listed user with the password "right" over a plain link, pass-through on.
fn config() -> ClientConfig {
    ClientConfig {
        greeting_plugin: Plugin::CachingSha2,
        secure: false,
        change_user: false,
        plugin_auth: true,
        greeting_nonce: GREETING,
        fresh_nonce: FRESH,
        known: vec![verifier(RIGHT)],
        listed: true,
        passthrough: true,
        rsa: Arc::clone(&KEY),
    }
}

fn start(config: &ClientConfig, plugin: &str, response: &[u8]) -> (ClientExchange, Step) {
    ClientExchange::start(config.clone(), Some(plugin.as_bytes()), response)
}

fn known(index: usize) -> Step {
    Step::Proven(Proof::Known { index })
}

fn password(bytes: &[u8]) -> Step {
    Step::Proven(Proof::Password(secret(bytes)))
}

fn send(payload: impl AsRef<[u8]>) -> Step {
    Step::Send { payload: payload.as_ref().to_vec(), then: Then::Await }
}

fn switch_sha2() -> Step {
    send([b"\xfecaching_sha2_password\0".as_slice(), &FRESH, b"\0"].concat())
}

fn fast_success() -> Step {
    Step::Send { payload: vec![1, 3], then: Then::Continue }
}

fn full() -> Step {
    send([1, 4])
}

fn the_key() -> Step {
    send([b"\x01", KEY.public_key_pem()].concat())
}

#[test]
fn p15_native_scramble_of_a_known_password_needs_no_further_packet() {
    for greeting_plugin in [Plugin::Native, Plugin::CachingSha2] {
        let config = ClientConfig { greeting_plugin, ..config() };
        let (exchange, step) = start(&config, "mysql_native_password", &native(RIGHT, &GREETING));
        assert_eq!(step, known(0));
        assert_eq!(exchange.last_nonce(), GREETING);
    }
}

#[test]
fn p19_current_and_previous_password_are_told_apart_by_index() {
    let config = ClientConfig { known: vec![verifier(b"new"), verifier(b"old")], ..config() };
    for (index, word) in [b"new", b"old"].into_iter().enumerate() {
        let (_, step) = start(&config, "mysql_native_password", &native(word, &GREETING));
        assert_eq!(step, known(index));
        let (mut exchange, step) = start(&config, "caching_sha2_password", &sha2(word, &GREETING));
        assert_eq!(step, fast_success());
        assert_eq!(exchange.resume(), known(index));
    }
}

#[test]
fn p16_fast_path_ends_with_success_and_continues_alone() {
    let (mut exchange, step) = start(&config(), "caching_sha2_password", &sha2(RIGHT, &GREETING));
    assert_eq!(step, fast_success());
    assert_eq!(exchange.resume(), known(0));
    assert_eq!(exchange.resume(), Step::Refused(AuthFailure::Malformed), "a proof is given out once");
}

#[test]
fn p16_full_authentication_over_a_secure_link_takes_the_password() {
    let config = ClientConfig { secure: true, ..config() };
    for (sent, expected) in [(&b"right\0"[..], known(0)), (b"other\0", password(b"other"))] {
        let (mut exchange, step) = start(&config, "caching_sha2_password", &sha2(WRONG, &GREETING));
        assert_eq!(step, full());
        assert_eq!(exchange.handle_reply(sent), expected);
    }
}

#[test]
fn p16_full_authentication_over_a_plain_link_goes_through_our_key() {
    for (sent, expected) in [(RIGHT, known(0)), (WRONG, password(WRONG))] {
        let (mut exchange, step) = start(&config(), "caching_sha2_password", &sha2(b"stale", &GREETING));
        assert_eq!(step, full());
        assert_eq!(exchange.handle_reply(&[2]), the_key());
        let sealed = rsa::encrypt_password(KEY.public_key_pem(), &secret(sent), &GREETING).unwrap();
        assert_eq!(exchange.handle_reply(&sealed), expected);
    }
}

#[test]
fn p16_a_client_that_has_the_key_already_need_not_ask() {
    let (mut exchange, _) = start(&config(), "caching_sha2_password", &sha2(WRONG, &GREETING));
    let sealed = rsa::encrypt_password(KEY.public_key_pem(), &secret(RIGHT), &GREETING).unwrap();
    assert_eq!(exchange.handle_reply(&sealed), known(0));
}

#[test]
fn only_a_ciphertext_over_a_plain_link_is_costly() {
    let ciphertext = vec![7; KEY.ciphertext_len()];
    let after = |config: &ClientConfig, replies: &[&[u8]]| {
        let (mut exchange, _) = start(config, "caching_sha2_password", &sha2(WRONG, &GREETING));
        for reply in replies {
            let _ = exchange.handle_reply(reply);
        }
        exchange
    };
    let secure = ClientConfig { secure: true, ..config() };
    let has_asked: &[&[u8]] = &[&[REQUEST_PUBLIC_KEY]];
    for (config, replies, payload, costly) in [
        (config(), &[][..], &ciphertext[..], true),
        (config(), has_asked, &ciphertext, true),
        (secure.clone(), &[], &ciphertext, false),
        (secure, has_asked, &ciphertext, true),
        (config(), &[], &[REQUEST_PUBLIC_KEY], false),
        (config(), has_asked, &ciphertext[1..], false),
        (config(), &[&ciphertext], &ciphertext, false),
    ] {
        let exchange = after(&config, replies);
        assert_eq!(exchange.is_costly(payload), costly, "{:?}, {} bytes", exchange.state, payload.len());
    }
}

#[test]
fn p16_rsa_is_served_over_a_link_that_only_we_hold_to_be_secure() {
    let config = ClientConfig { secure: true, ..config() };
    let (mut exchange, _) = start(&config, "caching_sha2_password", &sha2(WRONG, &GREETING));
    assert_eq!(exchange.handle_reply(&[2]), the_key());
    let sealed = rsa::encrypt_password(KEY.public_key_pem(), &secret(RIGHT), &GREETING).unwrap();
    assert_eq!(exchange.handle_reply(&sealed), known(0));
}

#[test]
fn p16_a_password_in_clear_over_a_plain_link_is_not_taken() {
    let (mut exchange, _) = start(&config(), "caching_sha2_password", &sha2(WRONG, &GREETING));
    assert_eq!(exchange.handle_reply(b"right\0"), Step::Refused(AuthFailure::InsecureLink));
}

#[test]
fn p15_every_other_plugin_is_switched_to_caching_sha2() {
    let wrong = native(WRONG, &GREETING);
    let cases: [(&str, &[u8]); 6] = [
        ("mysql_native_password", &wrong),
        ("mysql_native_password", b""),
        ("client_ed25519", b""),
        ("sha256_password", b"\0"),
        ("dialog", b"in clear\0"),
        ("", b""),
    ];
    for (plugin, response) in cases {
        let (mut exchange, step) = start(&config(), plugin, response);
        assert_eq!(step, switch_sha2(), "{plugin}");
        assert_eq!(exchange.last_nonce(), FRESH);
        assert_eq!(exchange.handle_reply(&sha2(RIGHT, &FRESH)), fast_success(), "{plugin}");
        assert_eq!(exchange.resume(), known(0));
    }
}

#[test]
fn p15_after_the_switch_the_old_nonce_proves_nothing() {
    let (mut exchange, _) = start(&config(), "client_ed25519", b"");
    assert_eq!(exchange.handle_reply(&sha2(RIGHT, &GREETING)), full());
    assert_eq!(exchange.handle_reply(&[2]), the_key());
    let sealed = rsa::encrypt_password(KEY.public_key_pem(), &secret(RIGHT), &FRESH).unwrap();
    assert_eq!(exchange.handle_reply(&sealed), known(0));
}

#[test]
fn p15_clear_password_plugin() {
    let secure = ClientConfig { secure: true, ..config() };
    let plugin = "mysql_clear_password";
    assert_eq!(start(&secure, plugin, b"right\0").1, known(0));
    assert_eq!(start(&secure, plugin, b"right").1, known(0), "some drivers leave the NUL out");
    assert_eq!(start(&secure, plugin, b"other\0").1, password(b"other"));
    assert_eq!(start(&secure, plugin, b"\0").1, password(b""));
    assert_eq!(start(&secure, plugin, b"a\0b\0").1, Step::Refused(AuthFailure::Malformed));

    let (mut exchange, step) = start(&secure, plugin, b"");
    assert_eq!(step, send(b"\xfemysql_clear_password\0"));
    assert_eq!(exchange.handle_reply(b"right\0"), known(0));

    assert_eq!(start(&config(), plugin, b"right\0").1, switch_sha2(), "plain link: never looked at");
}

#[test]
fn p15_empty_password() {
    let unmatched = config();
    let matched = ClientConfig { known: vec![verifier(RIGHT), verifier(b"")], ..config() };
    for (config, index) in [(&unmatched, None), (&matched, Some(1))] {
        let expected = || index.map_or_else(|| password(b""), known);
        assert_eq!(start(config, "caching_sha2_password", b"").1, expected());
        assert_eq!(start(config, "caching_sha2_password", b"\0").1, expected());
        let native = ClientConfig { greeting_plugin: Plugin::Native, ..config.clone() };
        assert_eq!(start(&native, "mysql_native_password", b"").1, expected());
        assert_eq!(start(&native, "caching_sha2_password", b"\0").1, expected());
        for answer in [&b""[..], b"\0"] {
            let (mut exchange, step) = start(config, "client_ed25519", b"");
            assert_eq!(step, switch_sha2());
            assert_eq!(exchange.handle_reply(answer), expected());
        }
    }
}

/// `mysql --default-auth=...` with a plugin that the greeting did not name sends nothing and waits to be asked.
#[test]
fn p15_empty_response_of_another_default_plugin_is_no_empty_password() {
    for (greeting_plugin, plugin) in
        [(Plugin::Native, "caching_sha2_password"), (Plugin::CachingSha2, "mysql_native_password")]
    {
        let config = ClientConfig { greeting_plugin, known: vec![verifier(b"")], ..config() };
        assert_eq!(start(&config, plugin, b"").1, switch_sha2());
    }
}

#[test]
fn p15_a_client_without_plugin_names_is_judged_by_its_scramble_alone() {
    let base = ClientConfig { plugin_auth: false, ..config() };
    let begin = |config: &ClientConfig, token: &[u8]| ClientExchange::start(config.clone(), None, token).1;
    assert_eq!(begin(&base, &native(RIGHT, &GREETING)), known(0));
    assert_eq!(begin(&base, b""), password(b""));
    assert_eq!(begin(&base, &native(WRONG, &GREETING)), Step::Refused(AuthFailure::UnsupportedPlugin));
    let listed_only = ClientConfig { passthrough: false, ..base };
    assert_eq!(begin(&listed_only, &native(WRONG, &GREETING)), Step::Refused(AuthFailure::WrongPassword));

    // With the capability and no name (a short COM_CHANGE_USER) a switch is understood.
    let modern = ClientConfig { change_user: true, ..config() };
    assert_eq!(begin(&modern, &native(WRONG, &GREETING)), switch_sha2());
}

/// The MySQL client library sends COM_CHANGE_USER with caching_sha2 and no data, whatever the password.
#[test]
fn p16_change_user_with_an_empty_or_stale_response_is_asked_anew() {
    let config = ClientConfig { change_user: true, known: vec![verifier(RIGHT), verifier(b"")], ..config() };
    let stale = sha2(RIGHT, &[99; NONCE_LEN]);
    for (plugin, response) in [
        ("caching_sha2_password", &b""[..]),
        ("caching_sha2_password", b"\0"),
        ("caching_sha2_password", &stale),
        ("mysql_native_password", b""),
        ("mysql_native_password", &native(RIGHT, &[99; NONCE_LEN])),
    ] {
        let (mut exchange, step) = start(&config, plugin, response);
        assert_eq!(step, switch_sha2(), "{plugin}");
        assert_eq!(exchange.handle_reply(&sha2(RIGHT, &FRESH)), fast_success());
        assert_eq!(exchange.resume(), known(0));
    }
    let (_, step) = start(&config, "mysql_native_password", &native(RIGHT, &GREETING));
    assert_eq!(step, known(0));
    let (_, step) = start(&config, "caching_sha2_password", &sha2(RIGHT, &GREETING));
    assert_eq!(step, fast_success());
}

#[test]
fn p15_lengths_are_bounded() {
    let config = ClientConfig { secure: true, ..config() };
    for (len, fits) in [(255, true), (MAX_PASSWORD_LEN, true), (MAX_PASSWORD_LEN + 1, false), (60_000, false)]
    {
        let word = vec![b'p'; len];
        let payload = [&word[..], b"\0"].concat();
        let expected = || if fits { password(&word) } else { Step::Refused(AuthFailure::Malformed) };
        assert_eq!(start(&config, "mysql_clear_password", &payload).1, expected());
        let (mut exchange, _) = start(&config, "caching_sha2_password", &sha2(WRONG, &GREETING));
        assert_eq!(exchange.handle_reply(&payload), expected());
    }
    for len in [1, 19, 20, 31, 33, 255, 300] {
        let (_, step) = start(&config, "caching_sha2_password", &vec![1; len]);
        assert_eq!(step, Step::Refused(AuthFailure::Malformed));
    }
}

#[test]
fn a_reply_that_nobody_asked_for_is_refused() {
    let (mut exchange, step) = start(&config(), "mysql_native_password", &native(RIGHT, &GREETING));
    assert_eq!(step, known(0));
    assert_eq!(exchange.handle_reply(b"right\0"), Step::Refused(AuthFailure::Malformed));
    let (mut exchange, _) = start(&config(), "caching_sha2_password", &sha2(RIGHT, &GREETING));
    assert_eq!(exchange.handle_reply(b"right\0"), Step::Refused(AuthFailure::Malformed));
    assert_eq!(exchange.resume(), Step::Refused(AuthFailure::Malformed));
}

#[test]
fn debug_of_an_exchange_shows_no_password() {
    let (exchange, _) = start(&config(), "caching_sha2_password", &sha2(RIGHT, &GREETING));
    let text = format!("{exchange:?} {:?}", password(b"hunter2"));
    assert!(!text.contains("hunter2") && !text.contains("104, 117") && text.contains("Secret(..)"), "{text}");
}

/// What one attempt looks like from the network: every payload sent, and how it ended.
fn attempt(config: &ClientConfig, plugin: Option<&str>, word: &[u8]) -> (Vec<Vec<u8>>, Step) {
    let first = match plugin {
        Some("caching_sha2_password") => sha2(word, &GREETING),
        Some("mysql_native_password") | None => native(word, &GREETING),
        Some("mysql_clear_password") => [word, b"\0"].concat(),
        Some(_) => Vec::new(),
    };
    let (mut exchange, mut step) = ClientExchange::start(config.clone(), plugin.map(str::as_bytes), &first);
    let mut sent = Vec::new();
    loop {
        let reply = match &step {
            Step::Send { payload, then: Then::Continue } => {
                sent.push(payload.clone());
                step = exchange.resume();
                continue;
            }
            Step::Send { payload, .. } if payload[0] == 0xfe => sha2(word, &exchange.last_nonce()),
            Step::Send { payload, .. } if payload[..] == [1, 4] && config.secure => [word, b"\0"].concat(),
            Step::Send { payload, .. } if payload[..] == [1, 4] => vec![2],
            Step::Send { payload, .. } => {
                rsa::encrypt_password(&payload[1..], &secret(word), &exchange.last_nonce()).unwrap()
            }
            Step::Proven(_) | Step::Refused(_) => return (sent, step),
        };
        if let Step::Send { payload, .. } = &step {
            sent.push(payload.clone());
        }
        step = exchange.handle_reply(&reply);
    }
}

/// Every plugin x link x greeting x command: the expected number of payloads to the client, and a known user's wrong
/// password looks to the last byte like an unknown user.
#[test]
fn p18_wrong_password_and_unknown_user_see_the_same_packets() {
    let plugins = [
        (Some("caching_sha2_password"), 2, 1),
        (Some("mysql_native_password"), 3, 2),
        (Some("client_ed25519"), 3, 2),
        (Some("dialog"), 3, 2),
        (Some("mysql_clear_password"), 3, 0),
        (None, 3, 2),
    ];
    for (plugin, plain_count, secure_count) in plugins {
        for bits in 0..16_u8 {
            let [secure, change_user, passthrough, native_greeting] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
            let greeting_plugin = if native_greeting { Plugin::Native } else { Plugin::CachingSha2 };
            let base = ClientConfig { greeting_plugin, secure, change_user, passthrough, ..config() };
            let two = vec![verifier(RIGHT), verifier(b"old")];
            let (seen, end) = attempt(&ClientConfig { known: two, ..base.clone() }, plugin, WRONG);
            let unknown = ClientConfig { known: Vec::new(), listed: false, ..base.clone() };
            let (unknown_seen, unknown_end) = attempt(&unknown, plugin, WRONG);
            let case =
                format!("{plugin:?} secure={secure} change_user={change_user} passthrough={passthrough}");

            assert_eq!(seen, unknown_seen, "{case}");
            let extra = usize::from(change_user && plugin == Some("caching_sha2_password"));
            let count = if secure { secure_count } else { plain_count };
            assert_eq!(seen.len(), count + extra, "{case}");
            if passthrough {
                assert_eq!((end, unknown_end), (password(WRONG), password(WRONG)), "{case}");
            } else {
                assert_eq!(end, Step::Refused(AuthFailure::WrongPassword), "{case}");
                assert_eq!(unknown_end, Step::Refused(AuthFailure::UnknownUser), "{case}");
            }
            assert_eq!(attempt(&base, plugin, RIGHT).1, known(0), "{case}");
        }
    }
}

#[test]
fn p18_unknown_users_cost_as_many_checks_as_known_ones() {
    let count = |known: Vec<Arc<Verifier>>| {
        let (exchange, _) = start(&ClientConfig { known, ..config() }, "dialog", b"");
        let calls = std::cell::Cell::new(0);
        assert_eq!(
            exchange.find(|_| {
                calls.set(calls.get() + 1);
                false
            }),
            None
        );
        calls.get()
    };
    assert_eq!(count(vec![]), 2);
    assert_eq!(count(vec![verifier(RIGHT)]), 2);
    assert_eq!(count(vec![verifier(RIGHT), verifier(WRONG)]), 2);
}

fn bytes(max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..max),
        Just(vec![2]),
        Just(vec![0]),
        Just(vec![]),
        proptest::collection::vec(any::<u8>(), 32..33),
        proptest::collection::vec(any::<u8>(), 256..257),
    ]
}

proptest! {
    /// Arbitrary payloads neither panic, nor prove a known password, nor keep the exchange going for long.
    #[test]
    fn arbitrary_payloads_never_panic_and_prove_nothing(
        plugin in prop_oneof![
            Just(None),
            Just(Some(b"mysql_native_password".to_vec())),
            Just(Some(b"caching_sha2_password".to_vec())),
            Just(Some(b"mysql_clear_password".to_vec())),
            Just(Some(b"client_ed25519".to_vec())),
            proptest::collection::vec(any::<u8>(), 0..80).prop_map(Some),
        ],
        first in bytes(700),
        replies in proptest::collection::vec(bytes(700), 8),
        flags: [bool; 4],
    ) {
        let [secure, change_user, passthrough, plugin_auth] = flags;
        let config = ClientConfig { secure, change_user, passthrough, plugin_auth, ..config() };
        let (mut exchange, mut step) = ClientExchange::start(config, plugin.as_deref(), &first);
        let mut sends = 0;
        for reply in &replies {
            if !matches!(step, Step::Send { .. }) {
                break;
            }
            sends += 1;
            step = exchange.handle_reply(reply);
        }
        prop_assert!(sends <= 3, "{sends} payloads");
        prop_assert!(!matches!(step, Step::Send { .. } | Step::Proven(Proof::Known { .. })), "{step:?}");
    }
}
