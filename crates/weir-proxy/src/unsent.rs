//! Bytes on their way out.

use std::task::{Context, Poll};
use weir_net::Stream;

/// Bytes on their way out that the peer has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Unsent {
    bytes: Vec<u8>,
    at: usize,
    /// The stream holds bytes inside (TLS, compression).
    inside: bool,
}

impl Unsent {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && !self.inside
    }

    /// How much of what waits has been taken.
    pub fn taken(&self) -> usize {
        self.at
    }

    /// What has not been taken yet.
    pub fn take(&mut self) -> Vec<u8> {
        let bytes = self.bytes.split_off(self.at);
        *self = Self::default();
        bytes
    }

    /// Sends `bytes` behind what already waits: as much as the stream takes now, the rest later.
    #[inline]
    pub fn send(&mut self, stream: &mut Stream, cx: &mut Context<'_>, bytes: &[u8]) -> std::io::Result<()> {
        let mut rest = bytes;
        if self.bytes.is_empty() {
            while !rest.is_empty() {
                match stream.poll_write(cx, rest) {
                    Poll::Ready(Ok(0)) => return Err(std::io::ErrorKind::WriteZero.into()),
                    Poll::Ready(Ok(n)) => rest = &rest[n..],
                    Poll::Ready(Err(e)) => return Err(e),
                    Poll::Pending => break,
                }
            }
            self.inside = stream.needs_flush();
        }
        self.bytes.extend_from_slice(rest);
        match self.inside {
            // Pending only means that the rest goes later.
            true => {
                if let Poll::Ready(done) = self.poll(stream, cx) {
                    done
                } else {
                    Ok(())
                }
            }
            false => Ok(()),
        }
    }

    /// Goes on sending what waits.
    pub fn poll(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        while self.at < self.bytes.len() {
            match stream.poll_write(cx, &self.bytes[self.at..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(n)) => self.at += n,
                Poll::Ready(Err(e)) => return Poll::Ready(Err(e)),
                Poll::Pending => return Poll::Pending,
            }
            self.inside = stream.needs_flush();
        }
        if !self.bytes.is_empty() {
            (self.bytes, self.at) = (Vec::new(), 0);
        }
        if self.inside {
            std::task::ready!(stream.poll_flush(cx))?;
            self.inside = false;
        }
        Poll::Ready(Ok(()))
    }
}
