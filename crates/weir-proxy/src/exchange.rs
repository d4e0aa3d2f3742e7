//! Commands of Weir's own on a server connection, between those of clients.

use crate::backend::Backend;
use std::future::poll_fn;
use std::io;
use std::task::Poll;
use weir_net::{with_scratch, write_all};
use weir_session::Column;
use weir_wire::command::Shape;
use weir_wire::frame::{put_packet, split_packet};
use weir_wire::lenenc::Reader;
use weir_wire::packet::{ErrPacket, parse_err};
use weir_wire::response::{Event, Walker};

/// Bytes of an answer that are held. What is longer, the definition of a table of thousands of partitions say, passes by.
const ANSWER_MAX: usize = 1 << 20;

/// A server's answer to a command of Weir's own.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Done; with what the columns are and the values of the last row, if there were rows, and the number of warnings.
    Done {
        columns: Vec<Column>,
        values: Vec<Option<Vec<u8>>>,
        warnings: u16,
    },
    /// The server has prepared a statement, under this id.
    Prepared {
        id: u32,
        warnings: u16,
    },
    Refused(ErrPacket),
    /// Done, with values that are longer than what is held.
    TooLong {
        warnings: u16,
    },
}

/// Sends a command and reads its answer. The connection has nothing under way.
///
/// # Errors
/// The connection is of no more use.
pub(crate) async fn exchange(server: &mut Backend, payload: &[u8], shape: Shape) -> io::Result<Answer> {
    server.stream.restart_sequence();
    let mut packet = Vec::with_capacity(payload.len() + weir_wire::HEADER);
    put_packet(&mut packet, 0, payload);
    // Until all of the answer is there: who waits for it may give up at any moment.
    server.owes = true;
    write_all(&mut server.stream, &packet).await?;
    let answer = reply(server, shape).await?;
    if let Some(renumber) = &mut server.renumber {
        renumber.restart();
    }
    if !server.held.is_empty() {
        return Err(unasked());
    }
    server.owes = false;
    Ok(answer)
}

/// Reads the answer to a command that was sent before. What came behind it is held.
///
/// # Errors
/// The connection is of no more use.
pub(crate) async fn reply(server: &mut Backend, shape: Shape) -> io::Result<Answer> {
    match read_answer(server, shape).await? {
        (Some(bytes), walker) => answer(&bytes, &walker),
        (None, walker) => Ok(passed_by(&walker)),
    }
}

fn unasked() -> io::Error {
    io::Error::other("the server said more than was asked for")
}

/// The answer, unless it is longer than what is held, and what was seen of it.
async fn read_answer(server: &mut Backend, shape: Shape) -> io::Result<(Option<Vec<u8>>, Walker)> {
    let mut walker = Walker::new(server.caps, 0);
    walker.begin(shape);
    let mut bytes = std::mem::take(&mut server.held);
    let (mut at, mut whole) = (0, true);
    loop {
        let (n, event) = walker.walk(&bytes[at..]).map_err(io::Error::other)?;
        at += n;
        match event {
            Event::Done => {
                server.held = bytes.split_off(at);
                return Ok((whole.then_some(bytes), walker));
            }
            Event::More => {}
            Event::LocalInfileAsked | Event::LocalInfileSent | Event::Changes => return Err(unasked()),
        }
        if bytes.len() > ANSWER_MAX {
            // The walker needs no more than what it has left.
            bytes.drain(..at);
            (at, whole) = (0, false);
        }
        let stream = &mut server.stream;
        let read = poll_fn(|cx| {
            with_scratch(|scratch| {
                let polled = stream.poll_read(cx, scratch);
                if let Poll::Ready(Ok(n)) = polled {
                    bytes.extend_from_slice(&scratch[..n]);
                }
                polled
            })
        });
        if read.await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// What an answer is of which the bytes are not there.
fn passed_by(walker: &Walker) -> Answer {
    let warnings = walker.ok().warnings;
    match (walker.error(), walker.prepared()) {
        (Some(code), _) => Answer::Refused(ErrPacket::new(code, b"HY000", "an error behind a long answer")),
        (None, Some(prepared)) => Answer::Prepared { id: prepared.id, warnings },
        (None, None) => Answer::TooLong { warnings },
    }
}

fn answer(bytes: &[u8], walker: &Walker) -> io::Result<Answer> {
    let mut packets = Vec::new();
    let mut rest = bytes;
    while let Some((_, payload, behind)) = split_packet(rest) {
        packets.push(payload);
        rest = behind;
    }
    let [before @ .., last] = &packets[..] else { return Ok(done((Vec::new(), Vec::new()), walker)) };
    if walker.error().is_some() {
        return Ok(Answer::Refused(parse_err(last).map_err(io::Error::other)?));
    }
    if let Some(prepared) = walker.prepared() {
        return Ok(Answer::Prepared { id: prepared.id, warnings: walker.ok().warnings });
    }
    match before.last() {
        Some(row) if walker.rows() > 0 => {
            let values = values(row).map_err(io::Error::other)?;
            Ok(done((columns(&packets, values.len()), values), walker))
        }
        _ => Ok(done((Vec::new(), Vec::new()), walker)),
    }
}

fn done((columns, values): (Vec<Column>, Vec<Option<Vec<u8>>>), walker: &Walker) -> Answer {
    Answer::Done { columns, values, warnings: walker.ok().warnings }
}

/// What the definitions say behind the packet that counts them.
fn columns(packets: &[&[u8]], count: usize) -> Vec<Column> {
    packets.iter().skip(1).take(count).map_while(|definition| column(definition)).collect()
}

/// The last fixed part of a definition: character set, length, type, flags, decimals, and two bytes that are not used.
fn column(definition: &[u8]) -> Option<Column> {
    let fixed = definition.last_chunk::<12>()?;
    Some(Column { kind: fixed[6], flags: u16::from_le_bytes([fixed[7], fixed[8]]) })
}

/// The values of a row in text form.
fn values(row: &[u8]) -> Result<Vec<Option<Vec<u8>>>, weir_wire::Malformed> {
    let mut reader = Reader::new(row, "row");
    let mut values = Vec::new();
    while !reader.is_empty() {
        if Reader::clone(&reader).u8()? == 0xFB {
            reader.u8()?;
            values.push(None);
        } else {
            values.push(Some(reader.lenenc_bytes()?.to_vec()));
        }
    }
    Ok(values)
}
