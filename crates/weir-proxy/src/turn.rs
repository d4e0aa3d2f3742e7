//! How long a session may move bytes before the others of its thread have their turn.

use std::future::Future;
use std::pin::pin;
use std::task::Context;

/// Bytes that a session moves in one turn: 256 KiB, two of the largest reads. Tokio's own budget of 128 reads and writes would be
/// 8 MB, which whoever shares the thread with results that never end waits for at each step of a login; and a turn of the
/// event loop is small beside the copying of so much.
const MOST: usize = 256 * 1024;

/// Whether a pump got anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    Moved,
    Blocked,
}

/// What a session has moved in its turn.
#[derive(Debug, Default)]
pub(crate) struct Share {
    bytes: usize,
}

impl Share {
    pub fn begin(&mut self) {
        self.bytes = 0;
    }

    /// So many bytes were read; returns them.
    pub fn moved(&mut self, bytes: usize) -> usize {
        self.bytes += bytes;
        bytes
    }

    pub fn is_used_up(&self) -> bool {
        self.bytes >= MOST
    }
}

/// Has the task polled again once all that are ready had their turn and the sockets were asked for news.
pub(crate) fn give_way(cx: &mut Context<'_>) {
    // To wake the task here and now would put it in line ahead of whatever has come meanwhile: the event loop looks for
    // news only after a number of tasks.
    let _pending = pin!(tokio::task::yield_now()).poll(cx);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::task::Poll;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    #[test]
    fn a_share_is_used_up_by_its_bytes_and_begins_anew() {
        let mut share = Share::default();
        share.moved(MOST - 1);
        assert!(!share.is_used_up());
        share.moved(1);
        assert!(share.is_used_up());
        share.begin();
        assert!(!share.is_used_up());
    }

    /// Turns that a task which always gives way has had when another has read what was sent to it at the beginning.
    async fn turns_until_read(give_way: fn(&mut Context<'_>)) -> u32 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut receiver, _) = listener.accept().await.unwrap();
        let reader = tokio::spawn(async move { receiver.read_u8().await.unwrap() });
        // It waits for the byte now.
        tokio::task::yield_now().await;
        sender.write_u8(7).await.unwrap();
        let mut turns = 0;
        let turner = poll_fn(move |cx| {
            turns += 1;
            if reader.is_finished() {
                return Poll::Ready(turns);
            }
            give_way(cx);
            Poll::Pending
        });
        tokio::spawn(turner).await.unwrap()
    }

    #[tokio::test]
    async fn whoever_gives_way_has_its_next_turn_after_what_came_meanwhile() {
        let turns = turns_until_read(give_way).await;
        let of_a_mere_wake = turns_until_read(|cx| cx.waker().wake_by_ref()).await;
        assert!(turns <= 3 && turns < of_a_mere_wake, "{turns} turns, and {of_a_mere_wake} of a mere wake");
    }
}
