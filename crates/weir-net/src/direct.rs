//! The first and the last bytes of a connection, sent past the runtime.

use crate::stream::{Socket, Stream};
use socket2::SockRef;

/// Sends what the socket takes at once, and returns how much that was; the rest is left to the usual write. For the first
/// bytes on a socket that was just registered: the runtime would first wait to be told that it can be written to,
/// which a new socket always can. Sends nothing under TLS or compression.
pub fn send_at_once(stream: &Stream, bytes: &[u8]) -> usize {
    let sent = match stream {
        Stream::Plain(Socket::Tcp(tcp)) => SockRef::from(tcp).send_with_flags(bytes, libc::MSG_NOSIGNAL),
        Stream::Plain(Socket::Unix(unix)) => SockRef::from(unix).send_with_flags(bytes, libc::MSG_NOSIGNAL),
        Stream::Plain(Socket::Parked(tcp)) => {
            SockRef::from(tcp).send_with_flags(bytes, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
        }
        Stream::Plain(Socket::Ring(_)) | Stream::Tls(_) | Stream::Compressed(_) | Stream::Closed => return 0,
    };
    // An error (nothing is taken now, the peer is gone) shows at the usual write as well.
    sent.unwrap_or(0)
}

/// Sends the last bytes of a plain TCP connection, which the caller then drops at once: they leave in one segment with
/// the FIN (`MSG_MORE`, tcp(7)), and the peer is woken once. Without the close they would leave after 200 ms.
///
/// Says no, and sends nothing, on any other connection and where the socket takes none: the usual write must do.
pub fn send_before_close(stream: &Stream, bytes: &[u8]) -> bool {
    match stream {
        Stream::Plain(Socket::Tcp(tcp)) => {
            let flags = libc::MSG_MORE | libc::MSG_NOSIGNAL;
            SockRef::from(tcp).send_with_flags(bytes, flags).is_ok()
        }
        Stream::Plain(Socket::Parked(tcp)) => {
            let flags = libc::MSG_MORE | libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
            SockRef::from(tcp).send_with_flags(bytes, flags).is_ok()
        }
        // What was written before may still be on the ring, and must not be overtaken.
        Stream::Plain(Socket::Ring(_) | Socket::Unix(_))
        | Stream::Tls(_)
        | Stream::Compressed(_)
        | Stream::Closed => false,
    }
}

#[cfg(test)]
mod tests;
