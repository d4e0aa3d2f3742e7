//! A client's first packet: no panic, and what Weir would write of it reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_wire::caps;
use weir_wire::login::{FirstAnswer, HandshakeResponse};

fuzz_target!(|payload: &[u8]| {
    let Ok(FirstAnswer::Login(login)) = HandshakeResponse::parse_first(payload) else { return };
    // Weir itself never writes without one of these.
    if login.caps & (caps::SECURE_CONNECTION | caps::PLUGIN_AUTH_LENENC) == 0 {
        return;
    }
    let again = HandshakeResponse::parse(&login.to_payload()).expect("what was written can be read");
    assert_eq!(again.caps, login.caps);
    assert_eq!(again.user, login.user);
    assert_eq!(again.auth_response, login.auth_response);
    assert_eq!(again.database, login.database);
    assert_eq!(again.plugin.unwrap_or_default(), login.plugin.unwrap_or_default());
    assert_eq!(again.attributes.unwrap_or_default(), login.attributes.unwrap_or_default());
});
