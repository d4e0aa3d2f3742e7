//! Options of TCP sockets, the same for clients and servers, tokio's and the standard library's sockets.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

/// What is set on a TCP connection. For Unix sockets none of it means anything: do not call [`TcpOptions::apply`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpOptions {
    /// `TCP_NODELAY`: send at once. Off, a reply of two writes waits 40 ms for the peer's delayed acknowledgement.
    pub nodelay: bool,
    /// `SO_KEEPALIVE` with its timing; `None` turns it off.
    pub keepalive: Option<KeepAlive>,
    /// `TCP_USER_TIMEOUT`, rounded to milliseconds: how long sent data may stay unacknowledged before the kernel drops
    /// the connection. `None` leaves the kernel's default (about 15 minutes of retransmissions).
    ///
    /// Linux counts the time a live peer keeps its receive window shut too: with 60 s here, a client that pauses for a
    /// minute in the middle of a big result is cut. It also overrides the probe count of keep-alive. Set it above
    /// the longest pause that is to be tolerated (MySQL's `net_write_timeout` is 60 s).
    pub user_timeout: Option<Duration>,
}

/// Timing of keep-alive probes. Linux takes whole seconds: fractions are rounded up, and at least one second is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence before the first probe (`TCP_KEEPIDLE`, 1 s to 32,767 s).
    pub idle: Duration,
    /// Time between probes (`TCP_KEEPINTVL`, 1 s to 32,767 s).
    pub interval: Duration,
    /// Unanswered probes after which the connection is dropped (`TCP_KEEPCNT`, 1 to 127).
    pub count: u32,
}

impl Default for TcpOptions {
    fn default() -> Self {
        Self { nodelay: true, keepalive: Some(KeepAlive::default()), user_timeout: None }
    }
}

impl Default for KeepAlive {
    /// A peer that vanished without a word is noticed after two minutes instead of the kernel's two hours; firewalls
    /// that forget idle connections after a few minutes see traffic in time.
    fn default() -> Self {
        Self { idle: Duration::from_secs(60), interval: Duration::from_secs(10), count: 6 }
    }
}

impl TcpOptions {
    /// Sets the options on a TCP socket (`tokio::net::TcpStream`, `std::net::TcpStream`, ...).
    ///
    /// # Errors
    /// What the kernel says: `ENOPROTOOPT`/`EOPNOTSUPP` on a socket that is not TCP, `EINVAL` for a value out of range.
    pub fn apply(&self, socket: &impl AsFd) -> io::Result<()> {
        if self.keepalive.is_none() {
            SockRef::from(socket).set_keepalive(false)?;
        }
        self.apply_to_new(socket)
    }

    /// As [`TcpOptions::apply`], for a socket on which nothing was set before: no keep-alive needs no system call.
    ///
    /// # Errors
    /// As [`TcpOptions::apply`].
    pub fn apply_to_new(&self, socket: &impl AsFd) -> io::Result<()> {
        let socket = SockRef::from(socket);
        socket.set_tcp_nodelay(self.nodelay)?;
        if let Some(timing) = self.keepalive {
            socket.set_tcp_keepalive(&timing.as_socket2())?;
        }
        if self.user_timeout.is_some() {
            socket.set_tcp_user_timeout(self.user_timeout)?;
        }
        Ok(())
    }
}

impl KeepAlive {
    fn as_socket2(self) -> TcpKeepalive {
        TcpKeepalive::new()
            .with_time(whole_seconds(self.idle))
            .with_interval(whole_seconds(self.interval))
            .with_retries(self.count)
    }
}

fn whole_seconds(duration: Duration) -> Duration {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    Duration::from_secs(seconds.max(1))
}

#[cfg(test)]
mod tests;
