//! The first difference between two replies, or none.

use crate::client::bytes::{put_lenenc, put_lenenc_bytes};
use crate::client::caps::Capabilities;
use crate::client::{OkPacket, Outcome, Packet, Response, SessionChange};

use super::script::{Action, FRESH};

/// What a side did with a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Reply(Response),
    /// The reply could not be read: the protocol was broken, or nothing came for too long.
    Broken(String),
}

/// Replaces what may differ for a good reason, so that two answers can be compared as bytes. `prefixes` are the
/// names under which the two sides keep their schemas and locks; they have the same length.
pub fn difference(action: &Action, direct: &Answer, weir: &Answer, prefixes: (&str, &str)) -> Option<String> {
    let (direct, weir) = match (direct, weir) {
        (Answer::Reply(direct), Answer::Reply(weir)) => (direct, weir),
        (Answer::Broken(why), _) => return Some(format!("the direct reply cannot be read: {why}")),
        (_, Answer::Broken(why)) => return Some(format!("the reply through Weir cannot be read: {why}")),
    };
    if told_of_the_end(direct, weir) {
        return None;
    }
    if direct.closed != weir.closed {
        let whose = if weir.closed { "through Weir" } else { "the direct one" };
        return Some(format!(
            "only one connection was closed: {whose}\n  direct: {}\n  weir:   {}",
            last(direct),
            last(weir)
        ));
    }
    let (direct, weir) = (comparable(action, direct, None), comparable(action, weir, Some(prefixes)));
    for (i, (a, b)) in direct.iter().zip(&weir).enumerate() {
        if a != b {
            return Some(format!("packet {i} of {}:\n{}", direct.len(), describe(a, b)));
        }
    }
    if direct.len() != weir.len() {
        let more = direct.get(weir.len()).or_else(|| weir.get(direct.len()));
        return Some(format!(
            "{} packets direct, {} through Weir; the first more: {more:?}",
            direct.len(),
            weir.len()
        ));
    }
    None
}

/// Takes SERVER_SESSION_STATE_CHANGED out of EOF packets. MariaDB leaves it there from one statement to the next on a connection
/// without CLIENT_SESSION_TRACK, and shared connections have that.
pub fn mask_changes_of_eof(answer: &mut Answer) {
    let Answer::Reply(reply) = answer else { return };
    for packet in &mut reply.packets {
        if let [0xfe, _, _, _, flags] = &mut packet.payload[..] {
            *flags &= !0x40;
        }
    }
}

/// Takes SERVER_SESSION_STATE_CHANGED out of OK packets that tell no change: MySQL leaves it there from a statement that could not tell
/// what its function has set.
pub fn mask_changes_of_nothing(answer: &mut Answer) {
    let Answer::Reply(reply) = answer else { return };
    for packet in &mut reply.packets {
        let payload = &mut packet.payload;
        let parsed = matches!(payload.first(), Some(0x00 | 0xfe))
            .then(|| OkPacket::parse(payload, Capabilities::SESSION_TRACK));
        let Some(Ok(OkPacket { status, info, changes, .. })) = parsed else { continue };
        let tells_nothing = status & STATE_CHANGED != 0 && info.is_empty() && changes.is_empty();
        // Status, warnings, and the lengths of two things that are not there.
        if let (true, [_, flags, _, _, 0, 0]) =
            (tells_nothing, payload.last_chunk_mut().unwrap_or(&mut [0; 6]))
        {
            *flags &= !(STATE_CHANGED >> 8) as u8;
            payload.truncate(payload.len() - 2);
        }
    }
}

/// SERVER_SESSION_STATE_CHANGED.
const STATE_CHANGED: u16 = 0x4000;

/// The server has closed the connection before this statement came; where it is silent, Weir may say so, and has
/// to with a connection error (SQLSTATE class 08), before it closes too.
fn told_of_the_end(direct: &Response, weir: &Response) -> bool {
    let told = matches!(&weir.outcomes[..], [Outcome::Err(err)] if err.state.starts_with("08"));
    direct.closed && direct.packets.is_empty() && told
}

/// ER_UNKNOWN_STMT_HANDLER and ER_STMT_HAS_NO_OPEN_CURSOR tell the statement's id, which is not the same on both
/// sides: MariaDB goes on counting where an earlier connection on the same thread stopped, and where connections
/// are shared the ids are Weir's own.
const TELL_AN_ID: [u16; 2] = [1243, 1421];

/// The packets of a reply, less what two connections to one server never agree on.
fn comparable(action: &Action, response: &Response, prefixes: Option<(&str, &str)>) -> Vec<Packet> {
    let mut packets = response.packets.clone();
    if let Action::ChangeUser { .. } = action {
        // Nonces differ, and so does the number of rounds, because servers remember earlier logins.
        packets = packets.pop().map(|last| Packet { seq: 0, ..last }).into_iter().collect();
    }
    if let [Outcome::Text(_)] = &response.outcomes[..] {
        // COM_STATISTICS: the figures are the server's, the words are fixed.
        packets.iter_mut().for_each(mask_digits);
    }
    if let Some(Outcome::Prepared(_)) = response.outcomes.first() {
        packets[0].payload[1..5].fill(0);
    }
    packets.iter_mut().filter(|packet| tells_an_id(packet)).for_each(mask_digits);
    for packet in &mut packets {
        sort_changes(&mut packet.payload);
        mask_told_id(&mut packet.payload);
        mask_temporary(&mut packet.payload);
        if reads_dictionary(action) {
            mask_index_flags(&mut packet.payload);
        }
    }
    if let Some((own, other)) = prefixes.filter(|(a, b)| a != b) {
        for packet in &mut packets {
            replace(&mut packet.payload, other.as_bytes(), own.as_bytes());
        }
    }
    packets
}

fn tells_an_id(packet: &Packet) -> bool {
    matches!(packet.payload[..], [0xFF, low, high, ..] if TELL_AN_ID.contains(&u16::from_le_bytes([low, high])))
}

fn mask_digits(packet: &mut Packet) {
    packet.payload.retain(|byte| !byte.is_ascii_digit());
}

/// The same texts in a row of SHOW WARNINGS, text or binary: without the id, and without the length in front of them, which
/// depends on its digits. They are shorter than 251 bytes.
fn mask_told_id(payload: &mut Vec<u8>) {
    for (before, after) in
        [("Unknown prepared statement handler (", ") given to "), ("The statement (", ") has no open cursor")]
    {
        let Some(at) = payload.windows(before.len()).position(|window| window == before.as_bytes()) else {
            continue;
        };
        let digits_at = at + before.len();
        let digits = payload[digits_at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if at > 0 && payload[digits_at + digits..].starts_with(after.as_bytes()) {
            payload.drain(digits_at..digits_at + digits);
            payload[at - 1] = 0;
        }
    }
}

fn reads_dictionary(action: &Action) -> bool {
    let Action::Query(text) = action else { return false };
    let sql = String::from_utf8_lossy(&text.before);
    let sql = sql.strip_prefix(FRESH).unwrap_or(&sql);
    sql.starts_with("SHOW") || sql.starts_with("DESC") || sql.contains("information_schema")
}

/// Whether MySQL uses an index of its own data dictionary depends on what it has counted there so far:
/// SERVER_STATUS_NO_INDEX_USED and SERVER_STATUS_NO_GOOD_INDEX_USED. Both forms of the last packet have the
/// status in the same place.
fn mask_index_flags(payload: &mut [u8]) {
    if let [0xfe, _, _, status, ..] = payload {
        *status &= !0x30;
    }
}

/// MariaDB names its temporary files after its process, the connection's id and a count of the connection's, and some
/// errors tell the name.
fn mask_temporary(payload: &mut Vec<u8>) {
    const NAME: &[u8] = b"#sql-temptable-";
    if payload.first() == Some(&0xff)
        && let Some(at) = payload.windows(NAME.len()).position(|window| window == NAME)
    {
        let of_the_name = |byte: &&u8| byte.is_ascii_hexdigit() || **byte == b'-';
        let length = payload[at + NAME.len()..].iter().take_while(of_the_name).count();
        payload.drain(at + NAME.len()..at + NAME.len() + length);
    }
}

/// Puts the variables that an OK packet reports in order of their names: the server takes them out of a hash
/// table whose order is another in each of its processes. MySQL's `statement_id` counts for the whole server.
fn sort_changes(payload: &mut Vec<u8>) {
    if !matches!(payload.first(), Some(0x00 | 0xfe)) {
        return;
    }
    // Whatever is no OK packet with variables is left as it is.
    let Ok(ok) = OkPacket::parse(payload, Capabilities::SESSION_TRACK) else { return };
    let encoded = |changes: &[&SessionChange]| {
        let mut out = Vec::new();
        for change in changes {
            out.push(change.kind);
            put_lenenc_bytes(&mut out, &change.data);
        }
        out
    };
    let (mut variables, others): (Vec<_>, Vec<_>) = ok.changes.iter().partition(|change| change.kind == 0);
    if variables.is_empty() {
        return;
    }
    // The list is the packet's end.
    let length = encoded(&variables).len() + encoded(&others).len();
    let Some(start) = payload.len().checked_sub(length) else { return };
    variables.sort_by(|a, b| a.data.cmp(&b.data));
    if variables.iter().any(|change| change.data.starts_with(STATEMENT_ID)) {
        variables.retain(|change| !change.data.starts_with(STATEMENT_ID));
        // The length of the list, too, depends on the number of digits.
        let mut prefix = Vec::new();
        put_lenenc(&mut prefix, length as u64);
        payload.truncate(start.saturating_sub(prefix.len()));
    } else {
        payload.truncate(start);
    }
    payload.extend(encoded(&variables));
    payload.extend(encoded(&others));
}

const STATEMENT_ID: &[u8] = b"\x0cstatement_id";

/// Replaces one byte string by another of the same length.
fn replace(payload: &mut [u8], from: &[u8], to: &[u8]) {
    let mut at = 0;
    while at + from.len() <= payload.len() {
        if payload[at] == from[0] && &payload[at..at + from.len()] == from {
            payload[at..at + from.len()].copy_from_slice(to);
            at += from.len();
        } else {
            at += 1;
        }
    }
}

fn describe(direct: &Packet, weir: &Packet) -> String {
    let mut out = String::new();
    if direct.seq != weir.seq {
        out += &format!("  sequence numbers {} and {}\n", direct.seq, weir.seq);
    }
    if direct.frames != weir.frames {
        out += &format!("  in {} and {} frames\n", direct.frames, weir.frames);
    }
    if direct.payload == weir.payload {
        return out + &format!("  the payload is the same: {direct:?}");
    }
    let same = direct.payload.iter().zip(&weir.payload).take_while(|(a, b)| a == b).count();
    let near = |payload: &[u8]| {
        let from = same.saturating_sub(40);
        payload[from..payload.len().min(same + 80)].escape_ascii().to_string()
    };
    out + &format!(
        "  first differing byte {same} of {} and {}, near it:\n  direct: {}\n  weir:   {}",
        direct.payload.len(),
        weir.payload.len(),
        near(&direct.payload),
        near(&weir.payload)
    )
}

fn last(response: &Response) -> String {
    match response.packets.last() {
        Some(packet) => format!("{} packets, the last {packet:?}", response.packets.len()),
        None => "no packet".to_owned(),
    }
}

#[cfg(test)]
mod tests;
