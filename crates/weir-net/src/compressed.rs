//! The compressed protocol on top of a connection.

use crate::stream::Stream;
use std::io;
use std::task::{Context, Poll, ready};
use weir_wire::compress::{Algorithm, Codec};

/// Bytes read from below at a time. 16 KiB: compressed clients are few and far away.
const READ: usize = 16 * 1024;

/// A connection whose bytes travel in compressed frames.
#[derive(Debug)]
pub struct Compressed {
    inner: Stream,
    codec: Codec,
    /// Read from below, not yet decoded.
    input: Vec<u8>,
    /// Encoded, not yet taken below.
    output: Vec<u8>,
    written: usize,
}

impl Compressed {
    pub(crate) fn new(inner: Stream, algorithm: Algorithm, early: Vec<u8>) -> io::Result<Self> {
        let codec = Codec::new(algorithm).map_err(io::Error::other)?;
        Ok(Self { inner, codec, input: early, output: Vec::new(), written: 0 })
    }

    pub(crate) fn inner(&self) -> &Stream {
        &self.inner
    }

    pub(crate) fn inner_mut(&mut self) -> &mut Stream {
        &mut self.inner
    }

    pub(crate) fn algorithm(&self) -> &'static str {
        match self.codec.algorithm() {
            Algorithm::Zlib => "zlib",
            Algorithm::Zstd(_) => "zstd",
        }
    }

    pub(crate) fn restart_sequence(&mut self) {
        self.codec.restart();
    }

    pub(crate) fn follow_sequence(&mut self) {
        self.codec.follow();
    }

    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            let (read, written) = self.codec.decode(&self.input, buf).map_err(invalid)?;
            self.input.drain(..read);
            if written > 0 {
                return Poll::Ready(Ok(written));
            }
            let held = self.input.len();
            self.input.resize(held + READ, 0);
            let polled = self.inner.poll_read(cx, &mut self.input[held..]);
            self.input.truncate(held + if let Poll::Ready(Ok(n)) = polled { n } else { 0 });
            if self.input.is_empty() {
                self.input = Vec::new();
            }
            if ready!(polled)? == 0 {
                return Poll::Ready(Ok(0));
            }
        }
    }

    /// Takes all of `bytes` once everything before has left, so at most one call's frames wait here.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_drain(cx))?;
        self.codec.encode(bytes, &mut self.output).map_err(invalid)?;
        // Pending here only means that the frames wait for `poll_flush`.
        if let Poll::Ready(Err(e)) = self.poll_drain(cx) {
            return Poll::Ready(Err(e));
        }
        Poll::Ready(Ok(bytes.len()))
    }

    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        self.inner.poll_flush(cx)
    }

    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.output.len() {
            let n = ready!(self.inner.poll_write(cx, &self.output[self.written..]))?;
            if n == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += n;
        }
        self.output = Vec::new();
        self.written = 0;
        Poll::Ready(Ok(()))
    }
}

fn invalid(e: weir_wire::Malformed) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, e)
}
