//! PROXY headers: bounded, and a verdict on a prefix is never taken back when more bytes come.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_wire::proxy_header::{MAX_HEADER_BYTES, Parsed, parse};

fuzz_target!(|bytes: &[u8]| {
    let last = parse(bytes);
    if bytes.len() >= MAX_HEADER_BYTES {
        assert_ne!(last, Parsed::Incomplete, "no verdict on {} bytes", bytes.len());
    }
    if let Parsed::Header { len, .. } = last {
        assert!(len <= bytes.len().min(MAX_HEADER_BYTES));
        assert_eq!(parse(&bytes[..len]), last, "the verdict depends on what follows the header");
    }
    for end in 0..bytes.len().min(MAX_HEADER_BYTES) {
        let verdict = parse(&bytes[..end]);
        if verdict != Parsed::Incomplete {
            assert_eq!(verdict, last, "after {end} bytes");
            break;
        }
    }
});
