//! Result sets that Weir answers itself: text columns, text rows.

use crate::caps::{self, Caps};
use crate::frame::put_packet;
use crate::lenenc::{put_lenenc, put_lenenc_bytes};
use crate::packet::end_payload;

/// MYSQL_TYPE_VAR_STRING.
const VAR_STRING: u8 = 0xFD;
/// utf8mb4_general_ci, known to every server and client.
const UTF8MB4: u16 = 45;

/// Appends a whole result set of text columns; `seq` is the sequence id of its first packet.
/// `flags` are those of the session, `status` its status flags.
pub fn put_text(
    out: &mut Vec<u8>,
    flags: Caps,
    status: u16,
    seq: u8,
    columns: &[&str],
    rows: &[Vec<String>],
) {
    let mut count = Vec::new();
    put_lenenc(&mut count, columns.len() as u64);
    if flags & (caps::OPTIONAL_RESULTSET_METADATA | caps::MARIADB_CACHE_METADATA) != 0 {
        count.push(1);
    }
    let mut seq = put_packet(out, seq, &count);
    for name in columns {
        seq = put_packet(out, seq, &definition(flags, name));
    }
    if flags & caps::DEPRECATE_EOF == 0 {
        seq = put_packet(out, seq, &end_payload(flags, status));
    }
    for row in rows {
        let mut payload = Vec::new();
        row.iter().for_each(|value| put_lenenc_bytes(&mut payload, value.as_bytes()));
        seq = put_packet(out, seq, &payload);
    }
    put_packet(out, seq, &end_payload(flags, status));
}

fn definition(flags: Caps, name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_lenenc_bytes(&mut out, b"def");
    for text in ["", "", "", name, ""] {
        put_lenenc_bytes(&mut out, text.as_bytes());
    }
    if flags & caps::MARIADB_EXTENDED_METADATA != 0 {
        put_lenenc(&mut out, 0);
    }
    out.push(0x0C);
    out.extend_from_slice(&UTF8MB4.to_le_bytes());
    out.extend_from_slice(&1024u32.to_le_bytes());
    out.push(VAR_STRING);
    out.extend_from_slice(&[0, 0, 0, 0, 0]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Shape;
    use crate::response::{Event, Walker};

    #[test]
    fn the_walker_agrees_with_what_is_written() {
        let extra = [0, caps::MARIADB_CACHE_METADATA, caps::OPTIONAL_RESULTSET_METADATA];
        for flags in [0, caps::DEPRECATE_EOF].iter().flat_map(|a| extra.iter().map(move |b| a | b)) {
            let mut out = Vec::new();
            let rows = vec![vec!["a".to_owned(), "x".repeat(300)], vec![String::new(), "é".to_owned()]];
            put_text(&mut out, flags, 3, 1, &["Key", "Value"], &rows);
            let mut walker = Walker::new(flags, 2);
            walker.begin(Shape::Query);
            assert_eq!(walker.walk(&out), Ok((out.len(), Event::Done)), "{flags:#x}");
            assert_eq!((walker.rows(), walker.status()), (2, 3));
        }
    }
}
