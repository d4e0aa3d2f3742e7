use proptest::prelude::*;

use super::*;
use crate::lenenc::{put_lenenc, put_lenenc_bytes};

fn strings(parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    parts.iter().for_each(|p| put_lenenc_bytes(&mut out, p));
    out
}

fn packet(flags: u16, entries: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (kind, data) in entries {
        block.push(*kind);
        put_lenenc_bytes(&mut block, data);
    }
    let mut out = vec![0, 0, 0];
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    put_lenenc(&mut out, 0);
    put_lenenc_bytes(&mut out, &block);
    out
}

#[test]
fn every_kind_is_read() {
    let entries = [
        (0, strings(&[b"sql_mode", b"ANSI_QUOTES"])),
        (0, strings(&[b"autocommit", b"OFF", b"time_zone", b"+01:00"])),
        (1, strings(&[b"shop"])),
        (2, b"1".to_vec()),
        (3, [vec![0], strings(&[b"0-1-7"])].concat()),
        (4, strings(&[b"SET TRANSACTION READ ONLY;"])),
        (5, strings(&[b"T_______"])),
        (77, vec![1, 2, 3]),
    ];
    let packet = packet(status::SESSION_STATE_CHANGED, &entries);
    let read: Result<Vec<_>, _> = changes(&packet).unwrap().collect();
    let expected = [
        Change::SystemVariable { name: b"sql_mode", value: b"ANSI_QUOTES" },
        Change::SystemVariable { name: b"autocommit", value: b"OFF" },
        Change::SystemVariable { name: b"time_zone", value: b"+01:00" },
        Change::Schema(b"shop"),
        Change::StateChange(true),
        Change::Gtids(b"0-1-7"),
        Change::TransactionCharacteristics(b"SET TRANSACTION READ ONLY;"),
        Change::TransactionState(b"T_______"),
        Change::Other(77),
    ];
    assert_eq!(read.unwrap(), expected);
}

/// MariaDB 10.11.19 answers SET session_track_state_change=1.
#[test]
fn a_servers_packet_is_read() {
    let packet = b"\x00\x00\x00\x02@\x00\x00\x00#\x00\x1e\x1asession_track_state_change\x02ON\x02\x011";
    let read: Result<Vec<_>, _> = changes(packet).unwrap().collect();
    let variable = Change::SystemVariable { name: b"session_track_state_change", value: b"ON" };
    assert_eq!(read.unwrap(), [variable, Change::StateChange(true)]);
}

#[test]
fn without_the_flag_or_the_text_there_is_nothing() {
    let entries = [(1, strings(&[b"shop"]))];
    assert_eq!(changes(&packet(status::AUTOCOMMIT, &entries)).unwrap().count(), 0);
    let bare = [0, 0, 0, 0x02, 0x40, 0, 0];
    assert_eq!(changes(&bare).unwrap().count(), 0);
}

#[test]
fn a_cut_entry_is_an_error_and_the_last() {
    let mut data = strings(&[b"shop"]);
    data.pop();
    let packet = packet(status::SESSION_STATE_CHANGED, &[(1, data), (2, b"1".to_vec())]);
    let read: Vec<_> = changes(&packet).unwrap().collect();
    assert_eq!(read, [Err(Malformed("session state"))]);
}

proptest! {
    #[test]
    fn arbitrary_packets_never_panic_and_end(bytes: Vec<u8>) {
        if let Ok(changes) = changes(&bytes) {
            prop_assert!(changes.count() <= bytes.len());
        }
    }
}

/// An OK packet with this text and these changes, as both servers write it.
fn ok(flags: u16, text: &[u8], entries: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut out = vec![0, 3, 0xFC, 0x10, 0x27];
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&[1, 0]);
    if !text.is_empty() || !entries.is_empty() {
        put_lenenc_bytes(&mut out, text);
    }
    if !entries.is_empty() {
        let block: Vec<u8> =
            entries.iter().flat_map(|(kind, data)| [vec![*kind], strings(&[data])].concat()).collect();
        put_lenenc_bytes(&mut out, &block);
    }
    out
}

#[test]
fn p5_changes_that_a_client_did_not_ask_for_are_taken_out() {
    const CHANGED: u16 = status::SESSION_STATE_CHANGED | status::AUTOCOMMIT;
    let schema = (1, strings(&[&[b'x'; 300]]));
    let state = (STATE_CHANGE, b"1".to_vec());
    for text in [&b""[..], b"Rows matched: 1"] {
        let all = ok(CHANGED, text, &[schema.clone(), state.clone()]);
        let none = withhold(&all, None).unwrap().unwrap();
        assert_eq!(none.payload(&all), ok(status::AUTOCOMMIT, text, &[]));
        let some = withhold(&all, Some(&|kind| kind != STATE_CHANGE)).unwrap().unwrap();
        assert_eq!(some.payload(&all), ok(CHANGED, text, std::slice::from_ref(&schema)));
        assert_eq!(withhold(&all, Some(&|_| true)), Ok(None));
        assert_eq!(withhold(&ok(status::AUTOCOMMIT, text, &[]), None), Ok(None));
    }
    let eof = [0xFE, 0, 0, 2, 0x40];
    assert_eq!(withhold(&eof, None).unwrap().unwrap().payload(&eof), [0xFE, 0, 0, 2, 0]);
    // The flag alone.
    let bare = ok(CHANGED, b"", &[]);
    assert_eq!(withhold(&bare, None).unwrap().unwrap().payload(&bare), ok(status::AUTOCOMMIT, b"", &[]));
}

proptest! {
    #[test]
    fn no_packet_makes_withhold_fail_or_grow(payload in prop::collection::vec(any::<u8>(), 0..40), kinds: u8) {
        if let Ok(Some(withheld)) = withhold(&payload, Some(&|kind| kinds >> (kind & 7) & 1 != 0)) {
            prop_assert!(withheld.payload(&payload).len() <= payload.len());
        }
    }
}
