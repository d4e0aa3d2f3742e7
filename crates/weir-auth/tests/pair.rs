//! Weir's two halves against each other, in memory: what the one plays, the other must accept.

#![expect(clippy::unwrap_used, reason = "a test may end where its own set-up fails")]

use std::sync::{Arc, LazyLock};

use aws_lc_rs::rsa::{KeySize, PrivateDecryptingKey};
use weir_auth::{
    ClientConfig, ClientExchange, NONCE_LEN, Plugin, Proof, RsaError, RsaKeyPair, Secret, ServerAuthError,
    ServerExchange, ServerStep, Step, Then, Verifier,
};
use weir_model::AuthFailure;

static KEY: LazyLock<Arc<RsaKeyPair>> = LazyLock::new(|| {
    Arc::new(RsaKeyPair::from_key(PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap()).unwrap())
});

const NONCE: [u8; NONCE_LEN] = [11; NONCE_LEN];
const FRESH: [u8; NONCE_LEN] = [22; NONCE_LEN];
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

#[derive(Debug, PartialEq, Eq)]
enum End {
    Known,
    Password(Vec<u8>),
    Refused(AuthFailure),
    ClientGaveUp(ServerAuthError),
}

/// One connection: who the client says it is, and what both sides know.
struct Case<'a> {
    config: ClientConfig,
    /// `None`: as the greeting's plugin demands; else a client whose default plugin this is.
    default_plugin: Option<&'a str>,
    password: &'a [u8],
}

/// Plays it to the end; gives the end and the number of payloads after the first response, both directions.
fn talk(case: &Case) -> (End, usize) {
    let secret = Secret::new(case.password.to_vec());
    let mut client = ServerExchange::new(secret, case.config.secure);
    let first = client.initial_response(case.config.greeting_plugin.name().as_bytes(), &NONCE).unwrap();
    let (plugin, data) = match case.default_plugin {
        None => (first.plugin, first.data.to_vec()),
        Some(plugin) => (plugin, Vec::new()),
    };
    let (mut weir, mut step) = ClientExchange::start(case.config.clone(), Some(plugin.as_bytes()), &data);
    let mut payloads = 0;
    loop {
        step = match step {
            Step::Proven(proof) => {
                assert_eq!(client.handle(OK), ServerStep::LoggedIn);
                assert_eq!(client.nonce(), weir.last_nonce(), "both sides must hold the same nonce");
                let end = match proof {
                    Proof::Known { index } => {
                        assert_eq!(index, 0);
                        End::Known
                    }
                    Proof::Password(secret) => End::Password(secret.as_bytes().to_vec()),
                };
                return (end, payloads);
            }
            Step::Refused(failure) => {
                assert_eq!(client.handle(b"\xff\x15\x04#28000no"), ServerStep::Refused);
                return (End::Refused(failure), payloads);
            }
            Step::Send { payload, then } => {
                payloads += 1;
                match (client.handle(&payload), then) {
                    (ServerStep::Send(answer), Then::Await) => {
                        payloads += 1;
                        weir.handle_reply(&answer)
                    }
                    (ServerStep::Wait, Then::Continue) => weir.resume(),
                    (ServerStep::Failed(error), _) => return (End::ClientGaveUp(error), payloads),
                    (other, then) => panic!("{other:?} after {then:?}"),
                }
            }
        };
    }
}

fn case<'a>(greeting: Plugin, secure: bool, known: &[&[u8]], password: &'a [u8]) -> Case<'a> {
    let known: Vec<_> =
        known.iter().map(|word| Arc::new(Verifier::new(&Secret::new(word.to_vec())))).collect();
    let config = ClientConfig {
        greeting_plugin: greeting,
        secure,
        change_user: false,
        plugin_auth: true,
        greeting_nonce: NONCE,
        fresh_nonce: FRESH,
        listed: !known.is_empty(),
        known,
        passthrough: true,
        rsa: Arc::clone(&KEY),
    };
    Case { config, default_plugin: None, password }
}

const PASSWORDS: [&[u8]; 3] = [b"p\xc3\xa4ss word", &[b'x'; 213], b"1"];

#[test]
fn p15_known_password_takes_the_shortest_way() {
    let long: &[u8] = &[b'x'; 255];
    for password in PASSWORDS.into_iter().chain([long]) {
        for secure in [false, true] {
            let native = case(Plugin::Native, secure, &[password], password);
            assert_eq!(talk(&native), (End::Known, 0));
            let fast = case(Plugin::CachingSha2, secure, &[password], password);
            assert_eq!(talk(&fast), (End::Known, 1));
            for default_plugin in ["mysql_native_password", "client_ed25519", "sha256_password", "dialog"] {
                let default_plugin = Some(default_plugin);
                let switched =
                    Case { default_plugin, ..case(Plugin::CachingSha2, secure, &[password], password) };
                assert_eq!(talk(&switched), (End::Known, 3), "switch, scramble, success");
            }
        }
    }
}

#[test]
fn p16_first_login_of_a_pass_through_user_gives_the_password() {
    for password in PASSWORDS {
        for (secure, full) in [(true, 2), (false, 4)] {
            let given = || End::Password(password.to_vec());
            assert_eq!(talk(&case(Plugin::CachingSha2, secure, &[], password)), (given(), full));
            assert_eq!(talk(&case(Plugin::Native, secure, &[], password)), (given(), full + 2));
            // A remembered password that is no longer the client's: the new one comes out the same way.
            assert_eq!(talk(&case(Plugin::CachingSha2, secure, &[b"old"], password)), (given(), full));
        }
    }
}

#[test]
fn p15_longest_password_needs_tls() {
    let long: &[u8] = &[b'x'; 255];
    assert_eq!(talk(&case(Plugin::CachingSha2, true, &[], long)), (End::Password(long.to_vec()), 2));
    let (end, _) = talk(&case(Plugin::CachingSha2, false, &[], long));
    assert_eq!(end, End::ClientGaveUp(ServerAuthError::Rsa(RsaError::TooLong { max: 213 })));
}

#[test]
fn p15_clear_password_both_ways() {
    let clear = Some("mysql_clear_password");
    let secure = Case { default_plugin: clear, ..case(Plugin::CachingSha2, true, &[], b"word") };
    assert_eq!(talk(&secure), (End::Password(b"word".to_vec()), 2));
    let plain = Case { default_plugin: clear, ..case(Plugin::CachingSha2, false, &[], b"word") };
    assert_eq!(talk(&plain), (End::Password(b"word".to_vec()), 6), "by way of caching_sha2 and RSA");
}

#[test]
fn p15_empty_password() {
    for secure in [false, true] {
        for greeting in [Plugin::Native, Plugin::CachingSha2] {
            assert_eq!(talk(&case(greeting.clone(), secure, &[b""], b"")), (End::Known, 0));
            assert_eq!(talk(&case(greeting, secure, &[b"set"], b"")), (End::Password(vec![]), 0));
        }
        let default_plugin = Some("client_ed25519");
        let switched = Case { default_plugin, ..case(Plugin::Native, secure, &[b""], b"") };
        assert_eq!(talk(&switched), (End::Known, 2));
    }
}

#[test]
fn p18_listed_users_only() {
    for secure in [false, true] {
        for greeting in [Plugin::Native, Plugin::CachingSha2] {
            for password in [&b"wrong"[..], b""] {
                let mut wrong = case(greeting.clone(), secure, &[b"right"], password);
                let mut unknown = case(greeting.clone(), secure, &[], password);
                wrong.config.passthrough = false;
                unknown.config.passthrough = false;
                let (wrong_end, wrong_payloads) = talk(&wrong);
                let (unknown_end, unknown_payloads) = talk(&unknown);
                assert_eq!(wrong_end, End::Refused(AuthFailure::WrongPassword));
                assert_eq!(unknown_end, End::Refused(AuthFailure::UnknownUser));
                assert_eq!(wrong_payloads, unknown_payloads);
            }
        }
    }
}

#[test]
fn p17_change_user_with_each_plugin() {
    for secure in [false, true] {
        for default_plugin in [None, Some("caching_sha2_password"), Some("mysql_native_password")] {
            for greeting in [Plugin::Native, Plugin::CachingSha2] {
                for password in [&b"word"[..], b""] {
                    let mut change = case(greeting.clone(), secure, &[password], password);
                    change.config.change_user = true;
                    change.default_plugin = default_plugin;
                    assert_eq!(talk(&change).0, End::Known);
                    change.config.known.clear();
                    assert_eq!(talk(&change).0, End::Password(password.to_vec()));
                }
            }
        }
    }
}
