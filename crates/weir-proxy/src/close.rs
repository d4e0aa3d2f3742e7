//! The last step: ending connections so that what was said last arrives.

use crate::session::{Phase, Session};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
use tokio::time::timeout;
use weir_net::{Stream, send_before_close, with_scratch, write_all};
use weir_wire::command;
use weir_wire::frame::put_packet;
use weir_wire::packet::ErrPacket;

/// How long a client is given to take a last error.
const TELL: Duration = Duration::from_secs(1);

/// How long a client is given to take an error before its connection is reset.
const LINGER: Duration = Duration::from_secs(1);

/// Bytes read and dropped while lingering; a client that sends more is not listening.
const LINGER_BYTES: usize = 1 << 20;

impl Session {
    /// Sends a last error, if the bytes sent so far allow for one, and closes the client's connection gently.
    pub(crate) async fn tell(&mut self, err: &ErrPacket) {
        self.worker.stats().own_error(err.code);
        let client = self.client.take();
        let mut bytes = Vec::new();
        if self.walker.at_boundary() {
            let seq = match (self.phase, &self.server.renumber) {
                _ if self.has_behind() => 0,
                (Phase::Idle | Phase::Dropped(_), _) => u8::from(self.has_command),
                (_, Some(renumber)) => renumber.next(self.current.bytes_in),
                (_, None) => self.walker.next_seq(),
            };
            bytes = self.to_client.take();
            put_packet(&mut bytes, seq, &err.to_payload());
        }
        last_words(client, &bytes).await;
    }
}

/// Sends this, and closes the client's connection gently.
pub(crate) async fn last_words(mut client: Stream, bytes: &[u8]) {
    // A client that takes nothing is not told.
    if matches!(timeout(TELL, write_all(&mut client, bytes)).await, Ok(Ok(()))) {
        linger(client).await;
    }
}

/// Closes after an error was sent: closing a socket with unread bytes resets it, and a reset overtakes the error.
/// So the sending side is ended first, and what the client still sends is read and dropped for a moment.
pub(crate) async fn linger(mut stream: Stream) {
    let drained = async {
        if poll_fn(|cx| stream.poll_shutdown(cx)).await.is_err() {
            return;
        }
        let mut dropped = 0;
        while dropped < LINGER_BYTES {
            match poll_fn(|cx| with_scratch(|scratch| stream.poll_read(cx, scratch))).await {
                Ok(0) | Err(_) => return,
                Ok(n) => dropped += n,
            }
        }
    };
    // Running out of time is an end as well.
    let _ = timeout(LINGER, drained).await;
}

/// COM_QUIT.
const QUIT: [u8; 5] = [1, 0, 0, 0, command::QUIT];

/// Says COM_QUIT to the server if that takes no waiting; the caller drops the connection right behind it.
pub(crate) fn quit_at_once(stream: &mut Stream) -> bool {
    stream.restart_sequence();
    send_before_close(stream, &QUIT)
}

/// Says COM_QUIT to the server, so that it does not log an aborted connection. Does not wait; the caller drops the
/// connection right behind it.
pub(crate) async fn quit_server(stream: &mut Stream) {
    if quit_at_once(stream) {
        return;
    }
    // One try: a server that cannot take five bytes is gone or stuck, and closing will do.
    let mut writing = std::pin::pin!(write_all(stream, &QUIT));
    poll_fn(|cx| {
        let _ = writing.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
}
