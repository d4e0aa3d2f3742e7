//! From the client to the server: requests, the rest of long ones, local files.

use crate::session::{Exit, Phase, Session};
use crate::turn::Turn;
use std::io;
use std::task::{Context, Poll};
use weir_model::CloseReason;
use weir_net::with_scratch;
use weir_wire::request::Span;

/// What a client may send ahead while its statement runs, before it is left unread. 16 KiB: pipelining drivers
/// send a few commands; more waits in the kernel, as it would for the server.
pub(crate) const AHEAD_MAX: usize = 16 * 1024;

impl Session {
    /// Moves what can be moved towards the server.
    pub(crate) fn poll_up(&mut self, cx: &mut Context<'_>) -> Result<Turn, Exit> {
        if !self.to_server.is_empty() {
            match self.to_server.poll(&mut self.server.stream, cx) {
                Poll::Ready(Ok(())) => self.long_sent = None,
                Poll::Ready(Err(e)) => return self.server_write_failed(&e),
                Poll::Pending => return self.watch_client(cx),
            }
        }
        match self.phase {
            _ if self.closing.is_some() => Ok(Turn::Blocked),
            Phase::Idle if !self.to_client.is_empty() => Ok(Turn::Blocked),
            Phase::Idle => self.poll_request(cx),
            Phase::Request(span) => self.poll_request_rest(cx, span),
            Phase::Dropped(span) => self.poll_dropped(cx, span),
            Phase::Answer => self.watch_client(cx),
            Phase::LocalInfile(file) => self.poll_local_infile(cx, file),
            Phase::Binlog => self.poll_replica(cx),
        }
    }

    /// Takes the next request, from what was read ahead or from the socket.
    fn poll_request(&mut self, cx: &mut Context<'_>) -> Result<Turn, Exit> {
        if self.is_queued() && !self.poll_wait(cx)? {
            return Ok(Turn::Blocked);
        }
        if self.has_behind() {
            return self.poll_behind(cx);
        }
        if !self.starved {
            let held = std::mem::take(&mut self.held_up);
            return self.take_requests(cx, &held);
        }
        if self.lacks_long() {
            return self.poll_long(cx);
        }
        with_scratch(|scratch| {
            let held = self.held_up.len();
            scratch[..held].copy_from_slice(&self.held_up);
            match self.client.poll_read(cx, &mut scratch[held..]) {
                Poll::Pending => Ok(Turn::Blocked),
                Poll::Ready(Ok(0)) => Err(Exit::Close(CloseReason::ClientGone)),
                Poll::Ready(Ok(n)) => {
                    self.held_up.clear();
                    self.take_requests(cx, &scratch[..held + n])
                }
                Poll::Ready(Err(_)) => Err(Exit::Close(CloseReason::ClientIo)),
            }
        })
    }

    /// Handles the request at the front of `bytes` and holds what is behind it.
    pub(crate) fn take_requests(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Result<Turn, Exit> {
        let mut at = 0;
        loop {
            let taken = self.command(cx, &bytes[at..])?;
            at += taken;
            if taken > 0 && self.long.is_some() {
                self.long_sent = self.long.take().filter(|_| !self.to_server.is_empty());
            }
            let unsent = !self.to_client.is_empty() || !self.to_server.is_empty();
            let next = self.exit.is_none() && self.phase == Phase::Idle && !unsent && !self.has_behind();
            if taken == 0 || !next {
                // A command that waits for a connection is all there.
                self.starved = (taken == 0 && self.exit.is_none() && !self.is_queued()) || at == bytes.len();
                break;
            }
            if at == bytes.len() {
                self.starved = true;
                break;
            }
        }
        // Nothing is held in the usual case, and then no buffer stays behind.
        self.held_up = bytes[at..].to_vec();
        self.exit.take().map_or(Ok(Turn::Moved), Err)
    }

    fn poll_request_rest(&mut self, cx: &mut Context<'_>, mut span: Span) -> Result<Turn, Exit> {
        self.poll_pass_on(cx, |session, bytes| {
            let (n, done) = match &mut session.up_seq {
                Some(seq) => span.renumber(bytes, seq),
                None => span.take(bytes),
            };
            session.phase = if done { session.after_request() } else { Phase::Request(span) };
            if done {
                // The answer's frames are numbered on from the request's last.
                session.client.follow_sequence();
            }
            n
        })
    }

    fn poll_dropped(&mut self, cx: &mut Context<'_>, mut span: Span) -> Result<Turn, Exit> {
        self.poll_pass_on(cx, |session, bytes| {
            let (n, done) = span.take(bytes);
            session.phase = if done { session.after_request() } else { Phase::Dropped(span) };
            n
        })
    }

    fn poll_local_infile(&mut self, cx: &mut Context<'_>, mut file: Span) -> Result<Turn, Exit> {
        self.poll_pass_on(cx, |session, bytes| {
            let (n, done) = match &mut session.up_seq {
                Some(seq) => file.renumber(bytes, seq),
                None => file.take(bytes),
            };
            session.phase = if done { Phase::Answer } else { Phase::LocalInfile(file) };
            if done {
                session.client.follow_sequence();
                session.walker.local_infile_done();
                if let (Some(renumber), Some(seq)) = (&mut session.server.renumber, bytes[..n].last()) {
                    // The last byte of an empty packet is its number.
                    renumber.follow(*seq);
                }
            }
            n
        })
    }

    /// A replica's acknowledgements are passed on as they come.
    fn poll_replica(&mut self, cx: &mut Context<'_>) -> Result<Turn, Exit> {
        self.poll_pass_on(cx, |_, bytes| bytes.len())
    }

    /// Reads from the client and passes on as many bytes as `take` says.
    fn poll_pass_on(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&mut Session, &mut [u8]) -> usize,
    ) -> Result<Turn, Exit> {
        let is_dropped = matches!(self.phase, Phase::Dropped(_));
        with_scratch(|scratch| {
            let held = std::mem::take(&mut self.held_up);
            scratch[..held.len()].copy_from_slice(&held);
            let mut len = held.len();
            if self.starved || held.is_empty() {
                match self.client.poll_read(cx, &mut scratch[len..]) {
                    Poll::Pending => {
                        self.held_up = held;
                        return Ok(Turn::Blocked);
                    }
                    Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => return Err(Exit::Vanished),
                    Poll::Ready(Ok(n)) => len += self.share.moved(n),
                }
            }
            let bytes = &mut scratch[..len];
            let n = take(self, bytes);
            self.current.bytes_in += n as u64;
            self.held_up = bytes[n..].to_vec();
            self.starved = n == 0 || n == len;
            if is_dropped {
                return Ok(Turn::Moved);
            }
            if let Err(e) = self.to_server.send(&mut self.server.stream, cx, &bytes[..n]) {
                return self.server_write_failed(&e);
            }
            Ok(Turn::Moved)
        })
    }

    /// While the server works: notices that the client has gone, and takes what it sends ahead.
    pub(crate) fn watch_client(&mut self, cx: &mut Context<'_>) -> Result<Turn, Exit> {
        // A command that waits is held, too.
        let most = AHEAD_MAX + if self.has_command { self.command_bytes } else { 0 };
        while self.held_up.len() < most {
            let room = (most - self.held_up.len()).min(AHEAD_MAX);
            let read = with_scratch(|scratch| {
                let polled = self.client.poll_read(cx, &mut scratch[..room]);
                if let Poll::Ready(Ok(n)) = polled {
                    self.held_up.extend_from_slice(&scratch[..n]);
                }
                polled
            });
            match read {
                Poll::Pending => break,
                Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => return Err(Exit::Vanished),
                Poll::Ready(Ok(_)) => self.starved = false,
            }
        }
        Ok(Turn::Blocked)
    }

    /// The server does not take what it is sent. What it said last may explain that (1153, a KILL), so that is read
    /// first; the reading side ends the session.
    pub(crate) fn server_write_failed(&mut self, error: &io::Error) -> Result<Turn, Exit> {
        tracing::debug!(event = "server_write_failed", client = self.entry.handle.id(), error = %error);
        self.to_server.take();
        // Where there is no connection nobody will ever answer.
        if self.is_detached() { Err(Exit::Close(CloseReason::ServerGone)) } else { Ok(Turn::Blocked) }
    }

    /// The session shares connections, and has none now.
    pub(crate) fn is_detached(&self) -> bool {
        self.sharing.as_ref().is_some_and(|sharing| !sharing.is_attached())
    }
}
