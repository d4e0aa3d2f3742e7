use super::*;
use crate::frame::put_packet;
use crate::packet::{end_payload, ok_payload};
use proptest::prelude::*;

const OLD: Caps = caps::PROTOCOL_41;
const NEW: Caps = caps::PROTOCOL_41 | caps::DEPRECATE_EOF;

/// Packs payloads into packets with running sequence ids from 1.
fn stream(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    payloads.iter().fold(1, |seq, payload| put_packet(&mut out, seq, payload));
    out
}

fn column() -> Vec<u8> {
    b"\x03def\x01s\x01t\x01t\x01c\x01c\x0c\x3f\0\x0b\0\0\0\x08\0\0\0\0\0".to_vec()
}

/// A result set of two columns as a server that agreed on `flags` sends it.
fn result(flags: Caps, rows: &[Vec<u8>], last_status: u16) -> Vec<Vec<u8>> {
    let mut out = vec![vec![2], column(), column()];
    if flags & caps::DEPRECATE_EOF == 0 {
        out.push(end_payload(flags, 2));
    }
    out.extend_from_slice(rows);
    out.push(end_payload(flags, last_status));
    out
}

fn walk_all(flags: Caps, shape: Shape, bytes: &[u8]) -> (usize, Event, Walker) {
    let mut walker = Walker::new(flags, 2);
    walker.begin(shape);
    let (n, event) = walker.walk(bytes).unwrap();
    (n, event, walker)
}

#[test]
fn p4_ends_are_found_with_and_without_deprecate_eof() {
    for flags in [OLD, NEW] {
        let rows = vec![b"\x01a\xfb".to_vec(), b"\xfb\xfb".to_vec(), vec![0; 400]];
        let mut bytes = stream(&result(flags, &rows, status::IN_TRANS));
        let len = bytes.len();
        bytes.extend_from_slice(b"\x01\0\0\x01x");
        let (n, event, walker) = walk_all(flags, Shape::Query, &bytes);
        assert_eq!((n, event, walker.rows()), (len, Event::Done, 3));
        assert!(walker.in_transaction());
    }
}

#[test]
fn p33_the_ok_behind_out_parameters_belongs_to_the_answer() {
    // MySQL without DEPRECATE_EOF leaves MORE_RESULTS_EXISTS out at the end of the parameters, MariaDB does not.
    for last in [2, 2 | status::MORE_RESULTS_EXISTS] {
        let mut payloads = result(OLD, &[b"\0\0x".to_vec()], last);
        let columns_end = 2 | status::MORE_RESULTS_EXISTS | status::PS_OUT_PARAMS;
        payloads[3] = end_payload(OLD, columns_end);
        let rows_end = stream(&payloads).len();
        payloads.push(ok_payload(2));
        let bytes = stream(&payloads);
        let (n, event, _) = walk_all(OLD, Shape::Query, &bytes[..rows_end]);
        assert_eq!((n, event), (rows_end, Event::More));
        let (n, event, walker) = walk_all(OLD, Shape::Query, &bytes);
        assert_eq!((n, event, walker.status()), (bytes.len(), Event::Done, 2));
    }
}

#[test]
fn p51_no_answer_hides_a_request_for_a_file() {
    let bytes = stream(&[b"\xfb/etc/passwd".to_vec()]);
    for shape in [Shape::Query, Shape::Single, Shape::Prepare] {
        let (n, event, _) = walk_all(OLD, shape, &bytes);
        assert_eq!((n, event), (0, Event::LocalInfileAsked), "{shape:?}");
    }
}

#[test]
fn p4_a_row_that_starts_with_a_long_value_is_no_end() {
    for flags in [OLD, NEW] {
        let mut row = b"\xfe".to_vec();
        row.extend_from_slice(&0x100_0000u64.to_le_bytes());
        row.resize(9 + 0x100_0000, b'x');
        row.extend_from_slice(b"\x01y");
        let bytes = stream(&result(flags, &[row, b"\x01a\x01b".to_vec()], 2));
        let (n, event, walker) = walk_all(flags, Shape::Query, &bytes);
        assert_eq!((n, event, walker.rows(), walker.several()), (bytes.len(), Event::Done, 2, false));
    }
}

#[test]
fn p33_results_are_walked_until_none_is_announced() {
    for flags in [OLD, NEW] {
        let more = status::MORE_RESULTS_EXISTS;
        let mut payloads = result(flags, &[b"\x01a\x01b".to_vec()], more);
        payloads.push(ok_payload(more));
        payloads.extend(result(flags, &[], more));
        payloads.push(ok_payload(2));
        let bytes = stream(&payloads);
        let (n, event, mut walker) = walk_all(flags, Shape::Query, &bytes);
        assert_eq!((n, event, walker.several()), (bytes.len(), Event::Done, true));
        walker.begin(Shape::Query);
        assert!(!walker.several(), "it is of the answer before");
    }
}

#[test]
fn p34_an_error_behind_rows_ends_the_answer() {
    let err = packet::ErrPacket::new(1242, b"21000", "Subquery returns more than 1 row").to_payload();
    for flags in [OLD, NEW] {
        let mut payloads = result(flags, &[b"\x01a\x01b".to_vec()], 2);
        *payloads.last_mut().unwrap() = err.clone();
        let bytes = stream(&payloads);
        let (n, event, walker) = walk_all(flags, Shape::Query, &bytes);
        assert_eq!((n, event, walker.error()), (bytes.len(), Event::Done, Some(1242)));
    }
}

#[test]
fn p6_progress_reports_are_no_errors_and_cached_metadata_is_not_awaited() {
    let progress = b"\xff\xff\xff\x01\x01\x02\0\0\0\x05stage".to_vec();
    let bytes = stream(&[progress.clone(), ok_payload(2)]);
    let (n, event, walker) = walk_all(NEW | caps::MARIADB_PROGRESS, Shape::Query, &bytes);
    assert_eq!((n, event, walker.error()), (bytes.len(), Event::Done, None));

    let flags = NEW | caps::MARIADB_CACHE_METADATA;
    let bytes = stream(&[vec![2, 0], b"\0\0\x01a".to_vec(), end_payload(flags, 2)]);
    let (n, event, walker) = walk_all(flags, Shape::Query, &bytes);
    assert_eq!((n, event, walker.rows()), (bytes.len(), Event::Done, 1));
}

#[test]
fn p38_an_open_cursor_sends_no_rows() {
    let cursor = status::CURSOR_EXISTS;
    let bytes = stream(&[vec![1], column(), end_payload(OLD, cursor)]);
    let (n, event, _) = walk_all(OLD, Shape::Query, &bytes);
    assert_eq!((n, event), (bytes.len(), Event::Done));
    let bytes = stream(&[vec![1], column(), end_payload(NEW, cursor)]);
    let (n, event, _) = walk_all(NEW, Shape::Query, &bytes);
    assert_eq!((n, event), (bytes.len(), Event::Done));
}

#[test]
fn prepared_statements_announce_parameters_and_columns() {
    for (flags, params, columns) in [(OLD, 2u16, 1u16), (NEW, 2, 1), (OLD, 0, 0), (NEW, 0, 3), (OLD, 1, 0)] {
        let mut head = b"\0\x07\0\0\0".to_vec();
        head.extend_from_slice(&columns.to_le_bytes());
        head.extend_from_slice(&params.to_le_bytes());
        head.extend_from_slice(&[0, 3, 1]);
        let mut payloads = vec![head];
        for count in [params, columns] {
            payloads.extend((0..count).map(|_| column()));
            if count > 0 && flags & caps::DEPRECATE_EOF == 0 {
                payloads.push(end_payload(flags, 2));
            }
        }
        let bytes = stream(&payloads);
        let (n, event, walker) = walk_all(flags, Shape::Prepare, &bytes);
        assert_eq!((n, event), (bytes.len(), Event::Done), "{params} {columns}");
        assert_eq!(walker.prepared(), Some(Prepared { id: 7, columns, params }));
        assert_eq!(walker.ok().warnings, 0x0103);
    }
}

#[test]
fn p51_a_local_file_is_asked_for_before_the_request_passes() {
    let bytes = stream(&[b"\xfb/tmp/x".to_vec()]);
    let mut walker = Walker::new(NEW, 2);
    walker.begin(Shape::Query);
    assert_eq!(walker.walk(&bytes), Ok((0, Event::LocalInfileAsked)));
    walker.allow_local_infile();
    assert_eq!(walker.walk(&bytes), Ok((bytes.len(), Event::LocalInfileSent)));
    walker.local_infile_done();
    let ok = stream(&[ok_payload(2)]);
    assert_eq!(walker.walk(&ok), Ok((ok.len(), Event::Done)));
}

#[test]
fn an_error_can_only_be_put_in_at_a_boundary() {
    let bytes = stream(&result(NEW, &[vec![5; 100]], 2));
    let mut walker = Walker::new(NEW, 2);
    walker.begin(Shape::Query);
    assert_eq!(walker.next_seq(), 1);
    let (n, _) = walker.walk(&bytes[..bytes.len() - 80]).unwrap();
    assert_eq!(n, bytes.len() - 80);
    assert!(!walker.at_boundary());
}

/// What the walker says at the end of an answer, with the marks counted from its first byte.
#[derive(Debug, PartialEq)]
struct Said {
    walked: Result<(usize, Event), Malformed>,
    marks: Vec<usize>,
    status: u16,
    error: Option<u16>,
    rows: u64,
    ok: OkHead,
    ended_rows: bool,
    columns: Option<u64>,
}

/// Walks over an answer that comes in parts of which these are the ends.
fn say(flags: Caps, shape: Shape, expected: Option<u64>, bytes: &[u8], ends: &[usize]) -> Said {
    let mut walker = Walker::new(flags, 2);
    walker.begin(shape);
    walker.allow_local_infile();
    expected.into_iter().for_each(|columns| walker.expect_columns(columns));
    let (mut at, mut marks) = (0, Vec::new());
    let mut ends = ends.iter().map(|end| (*end).min(bytes.len())).chain([bytes.len()]);
    let walked = loop {
        let Some(end) = ends.next() else { break Ok((at, Event::More)) };
        let walked = walker.walk(&bytes[at..end]);
        let new = walker.take_marks();
        if let Ok((n, event)) = walked {
            assert!(event != Event::More || end - at - n <= HOLD_MAX);
            assert!(new.iter().all(|mark| mark + 2 <= n), "{new:?} are not all among the {n} bytes consumed");
        }
        marks.extend(new.iter().map(|mark| at + mark));
        match walked {
            Ok((n, Event::More)) => at += n,
            Ok((n, event)) => break Ok((at + n, event)),
            Err(e) => break Err(e),
        }
    };
    let (status, error, rows) = (walker.status(), walker.error(), walker.rows());
    let (ok, ended_rows, columns) = (walker.ok(), walker.ended_rows(), walker.columns());
    Said { walked, marks, status, error, rows, ok, ended_rows, columns }
}

/// The same for a whole answer, which comes to the same wherever it is cut in two.
fn say_at_every_cut(flags: Caps, expected: Option<u64>, bytes: &[u8]) -> Said {
    let whole = say(flags, Shape::Query, expected, bytes, &[]);
    assert_eq!(whole.walked, Ok((bytes.len(), Event::Done)));
    for cut in 0..bytes.len() {
        assert_eq!(say(flags, Shape::Query, expected, bytes, &[cut]), whole, "cut at {cut}");
    }
    assert_eq!(say(flags, Shape::Query, expected, bytes, &Vec::from_iter(0..bytes.len())), whole);
    whole
}

/// The status flags at the marks.
fn marked(bytes: &[u8], said: &Said) -> Vec<u16> {
    said.marks.iter().map(|mark| u16::from_le_bytes([bytes[*mark], bytes[mark + 1]])).collect()
}

/// An OK packet that takes as many bytes as it can, and has a message.
fn long_ok(first: u8, status: u16) -> Vec<u8> {
    let mut out = vec![first];
    for number in [u64::MAX - 1, u64::MAX - 2] {
        out.push(0xFE);
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&status.to_le_bytes());
    out.extend_from_slice(&[7, 0]);
    out.extend_from_slice(b"\x05hello");
    out
}

/// Flags that tell one end from another, and mean nothing to the walker.
const FLAGS: [u16; 3] = [0x0012, 0x0022, 0x0102];

#[test]
fn changed_columns_are_marked_at_every_end() {
    let rows = [b"\x01a\x01b".to_vec(), b"\xfb\x01b".to_vec()];
    for (flags, ends) in [(OLD, &[2, FLAGS[0]][..]), (NEW, &[FLAGS[0]])] {
        let bytes = stream(&result(flags, &rows, FLAGS[0]));
        for expected in [1, 3, 65_535] {
            let said = say_at_every_cut(flags, Some(expected), &bytes);
            assert_eq!(marked(&bytes, &said), ends, "{flags:x} {expected}");
            assert_eq!((said.columns, said.rows, said.status), (Some(2), 2, FLAGS[0]));
        }
        // As many as the client knows of; a CALL; nothing that is expected.
        for expected in [Some(2), Some(0), None] {
            assert_eq!(say_at_every_cut(flags, expected, &bytes).marks, [0usize; 0], "{expected:?}");
        }
    }
}

#[test]
fn flags_are_marked_behind_numbers_of_any_length() {
    let mut payloads = result(NEW, &[b"\x01a\x01b".to_vec()], 2);
    *payloads.last_mut().unwrap() = long_ok(0xFE, FLAGS[1]);
    let bytes = stream(&payloads);
    let said = say_at_every_cut(NEW, Some(1), &bytes);
    assert_eq!(marked(&bytes, &said), [FLAGS[1]]);
    let ok =
        OkHead { affected_rows: u64::MAX - 1, last_insert_id: u64::MAX - 2, status: FLAGS[1], warnings: 7 };
    assert_eq!((said.ok, said.ended_rows), (ok, true));
    // An EOF packet where OK is due.
    *payloads.last_mut().unwrap() = end_payload(OLD, FLAGS[2]);
    let bytes = stream(&payloads);
    assert_eq!(marked(&bytes, &say_at_every_cut(NEW, Some(1), &bytes)), [FLAGS[2]]);
}

#[test]
fn a_cursor_with_changed_columns_is_marked() {
    let cursor = status::CURSOR_EXISTS;
    for flags in [OLD, NEW] {
        let bytes = stream(&[vec![1], column(), end_payload(flags, cursor)]);
        let said = say_at_every_cut(flags, Some(2), &bytes);
        assert_eq!(marked(&bytes, &said), [cursor], "{flags:x}");
        assert_eq!((said.rows, said.columns), (0, Some(1)));
    }
}

#[test]
fn of_several_results_the_last_end_and_the_first_columns_count() {
    let more = status::MORE_RESULTS_EXISTS;
    for flags in [OLD, NEW] {
        // An UPDATE, rows, and another UPDATE.
        let mut payloads = vec![long_ok(0, more)];
        payloads.extend(result(flags, &[b"\x01a\x01b".to_vec()], FLAGS[0] | more));
        let three = [vec![3], column(), column(), column()];
        payloads.extend(three);
        if flags == OLD {
            payloads.push(end_payload(flags, FLAGS[2] | more));
        }
        payloads.push(end_payload(flags, FLAGS[1] | more));
        payloads.push(ok_payload(2));
        let bytes = stream(&payloads);
        let said = say_at_every_cut(flags, Some(1), &bytes);
        assert_eq!((said.columns, said.rows, said.ended_rows), (Some(2), 1, false), "{flags:x}");
        assert_eq!(said.ok, OkHead { status: 2, ..OkHead::default() });
        let ends = match flags {
            OLD => &[2, FLAGS[0] | more, FLAGS[2] | more, FLAGS[1] | more][..],
            _ => &[FLAGS[0] | more, FLAGS[1] | more],
        };
        assert_eq!(marked(&bytes, &said), ends, "{flags:x}");

        // Rows that are the last.
        let mut payloads = vec![ok_payload(more)];
        payloads.extend(result(flags, &[b"\x01a\x01b".to_vec()], FLAGS[0]));
        let said = say_at_every_cut(flags, None, &stream(&payloads));
        assert_eq!((said.ended_rows, said.ok.status, said.columns), (true, FLAGS[0], Some(2)));
    }
}

#[test]
fn an_answer_without_rows_has_no_columns_and_what_its_ok_says() {
    for flags in [OLD, NEW] {
        let bytes = stream(&[long_ok(0, FLAGS[0])]);
        let said = say_at_every_cut(flags, Some(1), &bytes);
        assert_eq!((said.columns, said.ended_rows, said.rows, said.marks.len()), (None, false, 0, 0));
        assert_eq!((said.ok.affected_rows, said.ok.warnings, said.status), (u64::MAX - 1, 7, FLAGS[0]));
    }
}

#[test]
fn an_error_ends_the_results_whatever_was_announced() {
    let more = status::MORE_RESULTS_EXISTS;
    let err = packet::ErrPacket::new(1064, b"42000", "no").to_payload();
    for flags in [OLD, NEW] {
        // Instead of the next result, and within rows whose columns announced more.
        let mut behind = result(flags, &[b"\x01a\x01b".to_vec()], more | FLAGS[0]);
        behind.push(err.clone());
        let mut within = result(flags, &[b"\x01a\x01b".to_vec()], 2);
        if flags == OLD {
            within[3] = end_payload(flags, more | FLAGS[0]);
        }
        *within.last_mut().unwrap() = err.clone();
        for (payloads, ends) in [(behind, 1), (within, 0)] {
            let bytes = stream(&payloads);
            let said = say_at_every_cut(flags, Some(5), &bytes);
            assert_eq!((said.error, said.status & more), (Some(1064), 0));
            // The other flags are those of the end before it: an error carries none.
            let kept = if ends == 0 && flags == NEW { 2 } else { FLAGS[0] };
            assert_eq!(said.status, kept, "{flags:x} {ends}");
            assert_eq!(said.marks.len(), ends + usize::from(flags == OLD));
        }
        let said = say_at_every_cut(flags, None, &stream(std::slice::from_ref(&err)));
        assert_eq!((said.error, said.columns, said.ended_rows), (Some(1064), None, false));
        assert_eq!((said.ok, said.status), (OkHead::default(), 2));
    }
}

#[test]
fn nothing_of_an_answer_is_left_for_the_next() {
    let bytes = stream(&result(NEW, &[b"\x01a\x01b".to_vec()], FLAGS[0]));
    let mut walker = Walker::new(NEW, 2);
    walker.begin(Shape::Query);
    walker.expect_columns(1);
    walker.walk(&bytes).unwrap();
    assert!(walker.ended_rows() && walker.columns() == Some(2) && walker.ok().status == FLAGS[0]);
    walker.begin(Shape::Query);
    assert!(!walker.ended_rows() && walker.columns().is_none() && walker.ok() == OkHead::default());
    assert_eq!((walker.take_marks(), walker.status()), (Vec::new(), FLAGS[0]));
    // No columns are expected any longer.
    walker.walk(&bytes).unwrap();
    assert!(walker.take_marks().is_empty());
}

fn payload_strategy() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(ok_payload(2)),
        Just(ok_payload(status::MORE_RESULTS_EXISTS)),
        Just(b"\xff\x15\x04#28000no".to_vec()),
        Just(end_payload(OLD, 2)),
        prop::collection::vec(any::<u8>(), 0..60),
    ]
}

/// Packets that make rows in both dialects, so that marks come up.
fn packets_strategy() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let last = prop::sample::select(vec![2, status::MORE_RESULTS_EXISTS, status::CURSOR_EXISTS]);
    let rows = (any::<bool>(), 0..3usize, last).prop_map(|(new, rows, last)| {
        result(if new { NEW } else { OLD }, &vec![b"\x01a\x01b".to_vec(); rows], last)
    });
    prop_oneof![payload_strategy().prop_map(|payload| vec![payload]), rows]
}

proptest! {
    /// Any stream, cut in any way, comes to the same events, marks and numbers at the same offsets as in one piece.
    #[test]
    fn cuts_do_not_matter(
        packets in prop::collection::vec(packets_strategy(), 1..8),
        cuts in prop::collection::vec(1usize..40, 1..20),
        new: bool,
        shape in prop::sample::select(vec![Shape::Query, Shape::Prepare, Shape::Rows, Shape::Fields, Shape::Single, Shape::Text]),
        expected in prop::option::of(0..4u64),
    ) {
        let bytes = stream(&packets.concat());
        let flags = if new { NEW } else { OLD };
        let ends = cuts.iter().cycle().scan(0, |at, cut| {
            *at += cut;
            (*at < bytes.len()).then_some(*at)
        });
        let cut = say(flags, shape, expected, &bytes, &ends.collect::<Vec<_>>());
        prop_assert_eq!(cut, say(flags, shape, expected, &bytes, &[]));
    }
}
