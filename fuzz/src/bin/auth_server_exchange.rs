//! Any server against Weir's login: it ends, and over a link that is not encrypted the password never leaves in
//! clear, whatever the server asks for (trap P16).
//! Input: whether the link is secure (1 byte), then plugin, nonce and the server's payloads with their lengths.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_auth::{Secret, ServerExchange, ServerStep};
use weir_fuzz::{Input, holds, payloads};

const PASSWORD: &[u8] = b"correct horse battery staple";
/// A server that asks more often is cut off.
const MAX_PACKETS: usize = 12;

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let secure = input.byte() & 1 == 1;
    let mut payloads = payloads(input.rest());
    let mut exchange = ServerExchange::new(Secret::new(PASSWORD.to_vec()), secure);
    let (plugin, nonce) = (payloads.next().unwrap_or_default(), payloads.next().unwrap_or_default());
    let Ok(response) = exchange.initial_response(plugin, nonce) else { return };
    assert!(!holds(&response.data, PASSWORD), "the password is in the first packet");
    for (number, payload) in payloads.enumerate() {
        match exchange.handle(payload) {
            ServerStep::Send(answer) => assert!(secure || !holds(&answer, PASSWORD), "sent in clear"),
            ServerStep::Wait => {}
            ServerStep::LoggedIn | ServerStep::Refused => return,
            ServerStep::Failed(error) => {
                let shown = format!("{error} {error:?}");
                assert!(!holds(shown.as_bytes(), PASSWORD), "the password is in an error");
                return;
            }
        }
        assert!(number < MAX_PACKETS, "the exchange goes on and on");
    }
});
