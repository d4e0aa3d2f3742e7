//! Bare connections from addresses of our choice, and the dice that decide what they send.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout_at};

use super::half_open::LATE;
use super::stage::Late;
use crate::client::bytes::{put_lenenc_bytes, put_nul};
use crate::client::caps::Capabilities;

/// Hostile clients come from 127.0.0.1, where the healthy ones are too, and from this many addresses in all.
const SOURCES: usize = 16;

/// Bytes of a peer that are kept; more are read and dropped.
const KEPT: usize = 64 * 1024;

/// The `i`-th source address: what is done to one address must not hit the healthy clients on it.
pub fn source(i: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, (i % SOURCES) as u8 + 1)
}

/// Connects from `from`.
///
/// # Errors
/// What the system says; running out of descriptors among it.
pub async fn connect(to: SocketAddr, from: Ipv4Addr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddrV4::new(from, 0).into())?;
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// What a peer said until it closed, or until the time was up.
#[derive(Debug)]
pub struct Said {
    pub bytes: Vec<u8>,
    /// The peer closed, in order or by a reset.
    pub closed: bool,
}

impl Said {
    /// Payloads of the whole packets among the bytes.
    pub fn packets(&self) -> Vec<&[u8]> {
        let mut rest = self.bytes.as_slice();
        let mut packets = Vec::new();
        while let [a, b, c, _, body @ ..] = rest {
            let length = usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16;
            let Some((payload, behind)) = body.split_at_checked(length) else { break };
            packets.push(payload);
            rest = behind;
        }
        packets
    }

    /// A packet behind the greeting says OK.
    pub fn logged_in(&self) -> bool {
        self.packets().iter().skip(1).any(|payload| payload.first() == Some(&0))
    }

    /// The code of the last packet, if it is an error.
    pub fn error(&self) -> Option<u16> {
        match self.packets().last() {
            Some([0xff, low, high, ..]) => Some(u16::from_le_bytes([*low, *high])),
            _ => None,
        }
    }
}

/// Reads until the peer closes or `deadline` passes.
pub async fn until_closed(stream: &mut TcpStream, deadline: Instant) -> Said {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 4096];
    loop {
        match timeout_at(deadline, stream.read(&mut buffer)).await {
            Err(_) => return Said { bytes, closed: false },
            Ok(Ok(0) | Err(_)) => return Said { bytes, closed: true },
            Ok(Ok(count)) => {
                let room = KEPT - bytes.len();
                bytes.extend_from_slice(&buffer[..count.min(room)]);
            }
        }
    }
}

/// Reads one packet; `None` when the peer closed or `patience` ran out first.
pub async fn read_packet(stream: &mut TcpStream, patience: Duration) -> Option<Vec<u8>> {
    let reading = async {
        let mut header = [0; 4];
        stream.read_exact(&mut header).await.ok()?;
        let mut payload =
            vec![0; usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16];
        stream.read_exact(&mut payload).await.ok()?;
        Some(payload)
    };
    tokio::time::timeout(patience, reading).await.ok().flatten()
}

/// The greeting, which comes within `limits.login_timeout`.
///
/// # Errors
/// When Weir closed first; marked as late where it had that long.
pub async fn greeting(stream: &mut TcpStream, login_timeout: Duration) -> Result<Vec<u8>> {
    let began = Instant::now();
    let packet = read_packet(stream, login_timeout + LATE).await;
    // The connection may be older than this task, which has waited for its turn, knows.
    packet.context("no greeting").map_err(|error| Late::mark(error, began, login_timeout / 2))
}

/// One packet: the payload behind its length and sequence number.
pub fn packet(seq: u8, payload: &[u8]) -> Vec<u8> {
    claiming(payload.len(), seq, payload)
}

/// A packet whose header claims `length` bytes, whatever follows.
pub fn claiming(length: usize, seq: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b, c, ..] = (length as u32).to_le_bytes();
    [&[a, b, c, seq], payload].concat()
}

/// A handshake response as most connectors send it.
#[derive(Debug, Clone)]
pub struct Answer {
    pub capabilities: Capabilities,
    pub user: Vec<u8>,
    pub proof: Vec<u8>,
    pub database: Vec<u8>,
    pub plugin: Vec<u8>,
    pub attributes: Vec<u8>,
}

impl Answer {
    /// A user with a proof of 20 bytes that is wrong.
    pub fn wrong(user: &str) -> Self {
        let capabilities = Capabilities::COMMON
            | Capabilities::CONNECT_WITH_DB
            | Capabilities::CONNECT_ATTRS
            | Capabilities::SESSION_TRACK
            | Capabilities::DEPRECATE_EOF;
        Self {
            capabilities,
            user: user.as_bytes().to_vec(),
            proof: vec![7; 20],
            database: b"mysql".to_vec(),
            plugin: b"mysql_native_password".to_vec(),
            attributes: [&[3][..], b"_os", &[5], b"Linux"].concat(),
        }
    }

    /// The first 32 bytes, which an SSLRequest is too.
    pub fn head(&self) -> Vec<u8> {
        let mut out = (self.capabilities.0 as u32).to_le_bytes().to_vec();
        out.extend((16u32 << 20).to_le_bytes());
        out.push(45);
        out.extend([0; 23]);
        out
    }

    pub fn payload(&self) -> Vec<u8> {
        let mut out = self.head();
        put_nul(&mut out, &self.user);
        put_lenenc_bytes(&mut out, &self.proof);
        put_nul(&mut out, &self.database);
        put_nul(&mut out, &self.plugin);
        put_lenenc_bytes(&mut out, &self.attributes);
        out
    }
}

/// Repeatable chance: splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `n` - 1; `n` is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.roll() % n as u64) as usize
    }

    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.roll() as u8).collect()
    }
}

#[cfg(test)]
mod tests;
