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
        assert_eq!((n, event, walker.rows()), (bytes.len(), Event::Done, 2));
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
        let (n, event, _) = walk_all(flags, Shape::Query, &bytes);
        assert_eq!((n, event), (bytes.len(), Event::Done));
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
        head.extend_from_slice(&[0, 0, 0]);
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

fn payload_strategy() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(ok_payload(2)),
        Just(ok_payload(status::MORE_RESULTS_EXISTS)),
        Just(b"\xff\x15\x04#28000no".to_vec()),
        Just(end_payload(OLD, 2)),
        prop::collection::vec(any::<u8>(), 0..60),
    ]
}

proptest! {
    /// Any stream, cut in any way, comes to the same events at the same offsets as in one piece.
    #[test]
    fn cuts_do_not_matter(
        payloads in prop::collection::vec(payload_strategy(), 1..12),
        cuts in prop::collection::vec(1usize..40, 1..20),
        new: bool,
        shape in prop::sample::select(vec![Shape::Query, Shape::Prepare, Shape::Rows, Shape::Fields, Shape::Single, Shape::Text]),
    ) {
        let bytes = stream(&payloads);
        let flags = if new { NEW } else { OLD };
        let mut whole = Walker::new(flags, 2);
        whole.begin(shape);
        whole.allow_local_infile();
        let expected = whole.walk(&bytes);

        let mut walker = Walker::new(flags, 2);
        walker.begin(shape);
        walker.allow_local_infile();
        let (mut at, mut fed, mut cuts) = (0, 0, cuts.iter().cycle());
        let got = loop {
            fed = (fed + cuts.next().unwrap()).min(bytes.len());
            match walker.walk(&bytes[at..fed]) {
                Ok((n, Event::More)) => {
                    prop_assert!(fed - at - n <= HOLD_MAX);
                    at += n;
                    if fed == bytes.len() { break Ok((at, Event::More)) }
                }
                Ok((n, event)) => break Ok((at + n, event)),
                Err(e) => break Err(e),
            }
        };
        prop_assert_eq!(got, expected);
    }
}
