//! A client's stream of requests, query attributes included: boundaries do not depend on how it is cut.
//! Input: flags (8 bytes), a seed for the cuts (4 bytes), then the stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::{Cuts, Input, feed};
use weir_wire::attributes::statement_offset;
use weir_wire::command;
use weir_wire::request::{Request, Span};

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let (flags, cuts) = (input.u64(), input.cuts());
    let stream = input.rest();

    let mut rest = stream;
    loop {
        match Request::peek(rest) {
            Request::Whole { header, payload, len } => {
                assert_eq!(len, payload.len() + 4);
                assert_eq!(header.len, payload.len());
                if let Some(first) = payload.first() {
                    let _ = (command::shape(*first), command::name(*first), command::is_replication(*first));
                }
                if let Ok(at) = statement_offset(payload, flags) {
                    assert!(at <= payload.len());
                }
                rest = &rest[len..];
            }
            Request::Begun { so_far, .. } => {
                assert!(!so_far.is_empty());
                break;
            }
            Request::Incomplete => break,
        }
    }
    follow("a request", stream, cuts.clone(), || {
        let mut span = Span::before_packet();
        move |bytes| span.take(bytes)
    });
    follow("a local file", stream, cuts, || {
        let mut file = Span::local_infile();
        move |bytes| file.take(bytes)
    });
});

/// Checks that a follower finds the same end in one piece and in many.
fn follow<F: FnMut(&[u8]) -> (usize, bool)>(what: &str, stream: &[u8], cuts: Cuts, begin: impl Fn() -> F) {
    let (len, done) = begin()(stream);
    let mut follower = begin();
    let mut consumed = 0;
    let end = feed(stream, cuts, |piece| {
        let (n, done) = follower(piece);
        consumed += n;
        (n, done.then_some(()))
    });
    assert_eq!((consumed, end.is_some()), (len, done), "{what}");
}
