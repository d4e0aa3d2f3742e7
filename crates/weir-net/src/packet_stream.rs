//! Whole packets over a connection, one at a time: for logins, where few are exchanged and each is small.

use crate::direct::send_at_once;
use crate::scratch::with_scratch;
use crate::stream::Stream;
use std::future::poll_fn;
use std::io;
use std::task::Poll;
use weir_wire::frame::{self, put_packet};

/// Why a packet could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PacketError {
    /// The peer closed at a boundary between packets, or within one.
    #[error("the peer closed the connection")]
    Closed,
    #[error(transparent)]
    Io(#[from] io::Error),
    /// More bytes than are held for a peer at this stage.
    #[error("packet of {0} bytes is longer than allowed during the login")]
    TooLong(usize),
    #[error("packet out of order: sequence id {got} where {expected} was due")]
    OutOfOrder { got: u8, expected: u8 },
}

/// A connection during its login.
#[derive(Debug)]
pub struct PacketStream {
    stream: Stream,
    held: Vec<u8>,
    /// Packets that go with the next one.
    unsent: Vec<u8>,
    limit: usize,
    seq: u8,
}

impl PacketStream {
    /// `limit` bounds the bytes held for the peer; `early` are bytes that were already read.
    pub fn new(stream: Stream, early: Vec<u8>, limit: usize) -> Self {
        Self { stream, held: early, unsent: Vec::new(), limit, seq: 0 }
    }

    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Sets the sequence id of the next packet in either direction.
    pub fn set_seq(&mut self, seq: u8) {
        self.seq = seq;
    }

    /// The connection and what was read beyond the last packet.
    pub fn into_parts(self) -> (Stream, Vec<u8>) {
        (self.stream, self.held)
    }

    /// Exchanges the connection underneath (TLS, compression), keeping the sequence id.
    pub async fn upgrade<F, E>(self, upgrade: impl FnOnce(Stream, Vec<u8>) -> F) -> Result<Self, E>
    where
        F: Future<Output = Result<Stream, E>>,
    {
        let Self { stream, held, unsent, limit, seq } = self;
        let stream = upgrade(stream, held).await?;
        Ok(Self { stream, held: Vec::new(), unsent, limit, seq })
    }

    /// Reads one packet; it must carry the sequence id that is due.
    pub async fn read(&mut self) -> Result<Vec<u8>, PacketError> {
        loop {
            if let Some(header) = frame::Header::peek(&self.held) {
                if header.len + weir_wire::HEADER > self.limit {
                    return Err(PacketError::TooLong(header.len));
                }
                if let Some((header, payload, rest)) = frame::split_packet(&self.held) {
                    if header.seq != self.seq {
                        return Err(PacketError::OutOfOrder { got: header.seq, expected: self.seq });
                    }
                    let (payload, rest) = (payload.to_vec(), rest.to_vec());
                    self.held = rest;
                    self.seq = header.seq.wrapping_add(1);
                    self.stream.follow_sequence();
                    return Ok(payload);
                }
            }
            if self.fill().await? == 0 {
                return Err(PacketError::Closed);
            }
        }
    }

    /// Reads what is there into the bytes held, up to the limit; 0 is the end.
    pub async fn fill(&mut self) -> io::Result<usize> {
        let room = self.limit.saturating_sub(self.held.len()).max(1);
        let (stream, held) = (&mut self.stream, &mut self.held);
        poll_fn(|cx| {
            with_scratch(|scratch| {
                let room = room.min(scratch.len());
                let polled = stream.poll_read(cx, &mut scratch[..room]);
                if let Poll::Ready(Ok(n)) = polled {
                    held.extend_from_slice(&scratch[..n]);
                }
                polled
            })
        })
        .await
    }

    /// Bytes read and not yet taken as packets.
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    /// Drops `n` bytes from the front of what is held (a PROXY header, which is no packet).
    pub fn discard(&mut self, n: usize) {
        self.held.drain(..n.min(self.held.len()));
    }

    /// Sends one payload with the sequence id that is due, behind those that were put ahead of it.
    pub async fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        self.put(payload);
        let out = std::mem::take(&mut self.unsent);
        write_all(&mut self.stream, &out).await
    }

    /// The same, but it waits for the next [`Self::write`], which must come before the peer is to answer: two packets of which the
    /// peer answers the second only wake it once.
    pub fn put(&mut self, payload: &[u8]) {
        self.unsent.reserve(payload.len() + weir_wire::HEADER);
        self.seq = put_packet(&mut self.unsent, self.seq, payload);
    }

    /// Sends the first bytes of the connection, which are packets already; the next sequence id is `seq`.
    pub async fn write_first(&mut self, bytes: &[u8], seq: u8) -> io::Result<()> {
        self.seq = seq;
        match send_at_once(&self.stream, bytes) {
            all if all == bytes.len() => Ok(()),
            some => write_all(&mut self.stream, &bytes[some..]).await,
        }
    }
}

/// Writes all of `bytes` and flushes.
pub async fn write_all(stream: &mut Stream, bytes: &[u8]) -> io::Result<()> {
    let mut at = 0;
    poll_fn(|cx| {
        while at < bytes.len() {
            match stream.poll_write(cx, &bytes[at..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(n)) => at += n,
                Poll::Ready(Err(e)) => return Poll::Ready(Err(e)),
                Poll::Pending => return Poll::Pending,
            }
        }
        stream.poll_flush(cx)
    })
    .await
}
