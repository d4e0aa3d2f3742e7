//! Packets on a byte stream: 3 bytes of length, a sequence number, the payload.

use std::fmt;
use std::io::ErrorKind::{ConnectionReset, UnexpectedEof};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::time::timeout;

/// A payload of this length is followed by another packet that continues it, perhaps an empty one.
pub const MAX_PAYLOAD: usize = 0xff_ffff;

/// Any byte stream.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A whole payload, joined from as many packets as it took.
#[derive(Clone, PartialEq, Eq)]
pub struct Packet {
    /// The sequence number of the first packet.
    pub seq: u8,
    /// How many packets carried the payload.
    pub frames: usize,
    pub payload: Vec<u8>,
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = &self.payload[..self.payload.len().min(120)];
        write!(f, "#{} {}B \"{}\"", self.seq, self.payload.len(), head.escape_ascii())
    }
}

/// Packets over a stream.
pub struct PacketStream {
    io: BufReader<Box<dyn Io>>,
    patience: Duration,
}

impl PacketStream {
    pub fn new(io: Box<dyn Io>, patience: Duration) -> Self {
        Self { io: BufReader::with_capacity(64 * 1024, io), patience }
    }

    /// Reads a whole payload; None when the stream ends between two packets, in order or by a reset.
    ///
    /// # Errors
    /// When the stream ends inside a packet, nothing comes for too long, or the sequence numbers of a payload's
    /// packets do not follow each other.
    pub async fn read_packet(&mut self) -> Result<Option<Packet>> {
        let Some((length, seq)) = self.read_header().await? else { return Ok(None) };
        let mut packet = Packet { seq, frames: 1, payload: Vec::new() };
        self.read_payload(length, &mut packet.payload).await?;
        let mut last = (length, seq);
        while last.0 == MAX_PAYLOAD {
            let next = self.read_header().await?.context("the stream ended inside a payload")?;
            if next.1 != last.1.wrapping_add(1) {
                bail!("packet {} follows packet {} inside a payload", next.1, last.1);
            }
            self.read_payload(next.0, &mut packet.payload).await?;
            packet.frames += 1;
            last = next;
        }
        Ok(Some(packet))
    }

    /// As [`PacketStream::read_packet`], where the stream may not end.
    ///
    /// # Errors
    /// As there, and when the stream ends.
    pub async fn expect_packet(&mut self) -> Result<Packet> {
        self.read_packet().await?.context("the connection was closed")
    }

    /// Writes a payload in as many packets as it takes, the first with sequence number `seq`.
    ///
    /// # Errors
    /// When the stream fails.
    pub async fn write_packet(&mut self, seq: u8, payload: &[u8]) -> Result<()> {
        let mut wire = Vec::with_capacity(payload.len() + 8);
        frame(&mut wire, seq, payload);
        self.write_raw(&wire).await
    }

    /// Writes bytes as they are.
    ///
    /// # Errors
    /// When the stream fails.
    pub async fn write_raw(&mut self, bytes: &[u8]) -> Result<()> {
        let write = async {
            self.io.write_all(bytes).await?;
            self.io.flush().await
        };
        Ok(timeout(self.patience, write).await.context("nothing was taken for too long")??)
    }

    /// Reads bytes as they are; an empty result is the end of the stream.
    ///
    /// # Errors
    /// When the stream fails or nothing comes for too long.
    pub async fn read_raw(&mut self, most: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; most];
        let read = timeout(self.patience, self.io.read(&mut bytes));
        let count = read.await.context("nothing came for too long")??;
        bytes.truncate(count);
        Ok(bytes)
    }

    /// Ends the sending direction.
    ///
    /// # Errors
    /// When the stream fails.
    pub async fn shutdown(&mut self) -> Result<()> {
        Ok(self.io.shutdown().await?)
    }

    /// The stream below, to wrap it in TLS. Nothing may have been read ahead.
    ///
    /// # Errors
    /// When bytes wait in the buffer.
    pub fn into_io(self) -> Result<(Box<dyn Io>, Duration)> {
        if !self.io.buffer().is_empty() {
            bail!("{} bytes came ahead of TLS", self.io.buffer().len());
        }
        Ok((self.io.into_inner(), self.patience))
    }

    async fn read_header(&mut self) -> Result<Option<(usize, u8)>> {
        let mut header = [0; 4];
        let mut filled = 0;
        while filled < header.len() {
            let read = timeout(self.patience, self.io.read(&mut header[filled..]));
            match read.await.context("nothing came for too long")? {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => bail!("the stream ended inside a packet header"),
                Ok(count) => filled += count,
                // Servers end TLS without a goodbye, and with a reset when they have not read everything.
                Err(e) if filled == 0 && matches!(e.kind(), ConnectionReset | UnexpectedEof) => {
                    return Ok(None);
                }
                Err(e) => return Err(e).context("cannot read a packet header"),
            }
        }
        let [a, b, c, seq] = header;
        Ok(Some((usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16, seq)))
    }

    async fn read_payload(&mut self, length: usize, payload: &mut Vec<u8>) -> Result<()> {
        let start = payload.len();
        payload.resize(start + length, 0);
        let read = timeout(self.patience, self.io.read_exact(&mut payload[start..]));
        read.await.context("nothing came for too long")?.context("the stream ended inside a packet")?;
        Ok(())
    }
}

/// Appends a payload as packets.
pub fn frame(wire: &mut Vec<u8>, mut seq: u8, payload: &[u8]) {
    let mut rest = payload;
    loop {
        let length = rest.len().min(MAX_PAYLOAD);
        wire.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        wire.push(seq);
        wire.extend_from_slice(&rest[..length]);
        rest = &rest[length..];
        seq = seq.wrapping_add(1);
        if length < MAX_PAYLOAD {
            return;
        }
    }
}
