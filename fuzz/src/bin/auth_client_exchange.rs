//! Any client against Weir's side of the login. It ends within four payloads, lets nobody in who did not prove
//! anything, and hands out a password only where pass-through is on.
//! Input: switches (1 byte), then plugin, auth response and replies as payloads with their lengths.
#![no_main]

use std::sync::{Arc, LazyLock};

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{KeySize, PrivateDecryptingKey};
use libfuzzer_sys::fuzz_target;
use weir_auth::{
    ClientConfig, ClientExchange, NONCE_LEN, Plugin, Proof, RsaKeyPair, Secret, Step, Then, Verifier,
};
use weir_fuzz::{Input, payloads};

/// More than this Weir never asks of a client: a switch, the full authentication, the key.
const MAX_SENT: usize = 4;
const PASSWORD: &[u8] = b"correct horse";

static RSA: LazyLock<Arc<RsaKeyPair>> = LazyLock::new(|| {
    let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).expect("a key");
    let der = AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&key).expect("its PKCS#8 form");
    Arc::new(RsaKeyPair::from_pkcs8_der(der.as_ref()).expect("the same key"))
});

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let switches = input.byte();
    let is = |bit: u8| switches >> bit & 1 == 1;
    let known =
        if is(5) { vec![Arc::new(Verifier::new(&Secret::new(PASSWORD.to_vec())))] } else { Vec::new() };
    let config = ClientConfig {
        greeting_plugin: if is(6) { Plugin::Native } else { Plugin::CachingSha2 },
        secure: is(0),
        change_user: is(1),
        plugin_auth: is(2),
        greeting_nonce: [7; NONCE_LEN],
        fresh_nonce: [9; NONCE_LEN],
        known,
        listed: is(3),
        passthrough: is(4),
        rsa: Arc::clone(&RSA),
    };
    let mut payloads = payloads(input.rest());
    let plugin = payloads.next().unwrap_or_default();
    let plugin = (!is(7)).then_some(plugin);
    let (mut exchange, mut step) = ClientExchange::start(config, plugin, payloads.next().unwrap_or_default());
    let mut sent = 0;
    loop {
        match step {
            Step::Send { payload, then } => {
                assert!(!payload.is_empty());
                sent += 1;
                assert!(sent <= MAX_SENT, "the exchange goes on and on");
                step = match then {
                    Then::Continue => exchange.resume(),
                    Then::Await => match payloads.next() {
                        Some(reply) => exchange.handle_reply(reply),
                        None => return,
                    },
                };
            }
            Step::Proven(Proof::Known { index }) => {
                assert!(is(5) && index == 0, "a proof against a verifier that is not there");
                break;
            }
            Step::Proven(Proof::Password(password)) => {
                assert!(is(4), "a password to try without pass-through");
                assert!(password.as_bytes() != PASSWORD || !is(5), "a known password was not recognised");
                break;
            }
            Step::Refused(_) => break,
        }
    }
    // Over is over.
    assert!(matches!(exchange.handle_reply(PASSWORD), Step::Refused(_)));
    assert!(matches!(exchange.resume(), Step::Refused(_)));
});
