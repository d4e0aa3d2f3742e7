//! What both sides answered, compared.

use crate::cachemodel::generate::FOUND_ROWS;
use crate::cachemodel::session::Both;
use crate::client::Packet;
use crate::client::bytes::text_row;

/// What is asked behind a read that may have been answered out of memory.
pub fn after(sql: &str, stale: bool, read: &Both, behind: &Both) -> Option<String> {
    let failed = read.direct.err().is_some() || read.weir.err().is_some();
    // After an error FOUND_ROWS() is that of the statement before, which may have been a question of this program.
    if !stale && !failed {
        return must_equal(behind).map(|what| format!("behind it, `{sql}`: {what}"));
    }
    if failed || sql != FOUND_ROWS {
        return None;
    }
    let found = behind.weir.rows().next().and_then(|row| text_row(row).ok()?.into_iter().next().flatten());
    let rows = read.weir.rows().count().to_string();
    let good = found.as_deref() == Some(rows.as_bytes());
    (!good).then(|| format!("FOUND_ROWS() is {found:?} after {rows} rows"))
}

/// MySQL does not empty the diagnostics area for COM_INIT_DB: its OK counts the warnings of whatever statement came before it on the
/// connection, and where connections are shared that is not always the session's own.
pub fn without_warnings(both: &mut Both) {
    for response in [&mut both.direct, &mut both.weir] {
        for packet in &mut response.packets {
            if let [0, 0, 0, _, _, warnings @ ..] = &mut packet.payload[..] {
                warnings.fill(0);
            }
        }
    }
}

pub fn must_equal(both: &Both) -> Option<String> {
    let [direct, weir] = both.packets();
    must_equal_packets(&direct, &weir)
}

pub fn must_equal_packets(direct: &[Packet], weir: &[Packet]) -> Option<String> {
    if direct == weir {
        return None;
    }
    let at = direct.iter().zip(weir).take_while(|(a, b)| a == b).count();
    let show =
        |packets: &[Packet]| packets.get(at).map_or("no packet".to_owned(), |packet| format!("{packet:?}"));
    Some(format!("packet {at}:\n  direct: {}\n  weir:   {}", show(direct), show(weir)))
}
