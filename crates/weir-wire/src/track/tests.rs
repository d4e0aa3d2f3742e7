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
