//! A server's answers to any commands under any flags: the walker comes to the same events at the same offsets
//! whether the stream comes in one piece or in many, and never asks the caller to hold more than it says.
//! Input: flags (8 bytes), first command, seed of the cuts (4 bytes), then the stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::{Cuts, Input};
use weir_wire::Malformed;
use weir_wire::caps::Caps;
use weir_wire::command;
use weir_wire::response::{Event, HOLD_MAX, Walker};

/// What the walker says where an event ends.
#[derive(Debug, PartialEq)]
struct Seen {
    at: usize,
    event: Event,
    status: u16,
    error: Option<u16>,
    rows: u64,
    next_seq: u8,
    prepared: Option<weir_wire::response::Prepared>,
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let (flags, command, cuts) = (input.u64(), input.byte(), input.cuts());
    let stream = input.rest();
    let whole = walk(flags, command, stream, None);
    let cut = walk(flags, command, stream, Some(cuts));
    assert_eq!(whole, cut);
});

/// The bit of the command byte that says whether changes of the session are watched.
const WATCHES: u8 = 0x80;

fn walk(
    flags: Caps,
    mut command: u8,
    stream: &[u8],
    mut cuts: Option<Cuts>,
) -> (Vec<Seen>, Option<Malformed>) {
    let mut walker = Walker::new(flags, 2);
    let (mut seen, mut at, mut fed) = (Vec::new(), 0, 0);
    if command & WATCHES != 0 {
        walker.watch_changes();
    }
    command &= !WATCHES;
    walker.begin(command::shape(command));
    loop {
        let (n, event) = match walker.walk(&stream[at..fed]) {
            Ok(walked) => walked,
            Err(error) => return (seen, Some(error)),
        };
        assert!(n <= fed - at);
        at += n;
        if event == Event::More {
            assert!(fed - at <= HOLD_MAX, "{} bytes are held", fed - at);
            if fed == stream.len() {
                return (seen, None);
            }
            fed = cuts.as_mut().map_or(stream.len(), |c| (fed + c.next_len()).min(stream.len()));
            continue;
        }
        seen.push(Seen {
            at,
            event,
            status: walker.status(),
            error: walker.error(),
            rows: walker.rows(),
            next_seq: walker.next_seq(),
            prepared: walker.prepared(),
        });
        match event {
            Event::LocalInfileAsked => walker.allow_local_infile(),
            Event::LocalInfileSent => walker.local_infile_done(),
            Event::Changes => walker.changes_read(),
            Event::More => {}
            Event::Done => {
                assert!(walker.at_boundary());
                // The next answer is one to another command, so that one input covers several shapes.
                command = command.wrapping_add(1) & 0x1F;
                walker.begin(command::shape(command));
            }
        }
    }
}
