//! A server's first packet: no panic, and what was read is written back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_wire::caps;
use weir_wire::frame::split_packet;
use weir_wire::greeting::{FirstPacket, Greeting};

fuzz_target!(|payload: &[u8]| {
    let Ok(first) = Greeting::parse_first(payload) else { return };
    let FirstPacket::Greeting(greeting) = first else { return };
    let _ = greeting.family();
    for tls in [false, true] {
        let offered = caps::offered(greeting.caps, tls);
        assert_eq!(offered & caps::WITHHELD, 0);
        // A client that asks for what it was offered must be served.
        assert!(caps::requested(offered, greeting.caps).is_ok());
    }
    let mut written = Vec::new();
    greeting.put(&mut written);
    let (_, again, rest) = split_packet(&written).expect("a whole packet");
    assert!(rest.is_empty());
    assert_eq!(Greeting::parse_first(again), Ok(FirstPacket::Greeting(greeting)));
});
