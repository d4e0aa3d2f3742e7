//! Packets about prepared statements: as a server connection is to get them, with its own ids, and with types; and the error for an id
//! that there is not.

use weir_model::ServerFamily;
use weir_wire::command as com;
use weir_wire::frame::{Header, put_packet};
use weir_wire::packet::ErrPacket;
use weir_wire::{HEADER, MAX_PAYLOAD};

/// An execution that MariaDB refuses as it refuses one of "the last one" without types, whatever was bound before
/// (`stmt_execute_packet_sanity_check` in its `sql_prepare.cc`): it says neither that there are types nor that there are none.
pub(crate) fn untyped(id: u32, params: u16) -> Vec<u8> {
    let mut out = vec![com::STMT_EXECUTE];
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&[0, 1, 0, 0, 0]);
    out.resize(out.len() + usize::from(params.div_ceil(8)), 0);
    out.push(2);
    framed(&out)
}

/// The first bytes of a long command, as they are sent: those of `packet` in place of `bytes`.
pub(crate) fn begun(packet: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    let header = Header::peek(bytes)?;
    let more = packet.len().checked_sub(bytes.len())?;
    let len = header.len + more;
    // A packet that is full already has no room for types; the client then has to send them.
    let fits = more == 0 || len < MAX_PAYLOAD;
    fits.then(|| {
        [&Header { len, ..header }.to_bytes()[..], packet.get(HEADER..).unwrap_or_default()].concat()
    })
}

/// The packet with the server's id of the statement in it.
pub(crate) fn framed_for(payload: &[u8], server_id: u32) -> Option<Vec<u8>> {
    let mut packet = framed(payload);
    packet.get_mut(HEADER + 1..HEADER + 5)?.copy_from_slice(&server_id.to_le_bytes());
    Some(packet)
}

/// COM_STMT_CLOSE. It has no answer.
pub(crate) fn statement_close(server_id: u32) -> Vec<u8> {
    let [a, b, c, d] = server_id.to_le_bytes();
    framed(&[com::STMT_CLOSE, a, b, c, d])
}

pub(crate) fn framed(payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::with_capacity(payload.len() + HEADER);
    put_packet(&mut packet, 0, payload);
    packet
}

/// ER_UNKNOWN_STMT_HANDLER
pub(crate) const UNKNOWN_STATEMENT: u16 = 1243;

/// What a server says of an id that it does not know.
pub(crate) fn unknown(id: u32, command: u8, family: ServerFamily) -> ErrPacket {
    let by = match command {
        _ if family == ServerFamily::MySql => "mysql_stmt_precheck",
        com::STMT_FETCH => "mysqld_stmt_fetch",
        com::STMT_RESET => "mysqld_stmt_reset",
        _ => "mysqld_stmt_execute",
    };
    let text = format!("Unknown prepared statement handler ({id}) given to {by}");
    ErrPacket::new(UNKNOWN_STATEMENT, b"HY000", text)
}
