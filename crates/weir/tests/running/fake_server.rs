//! A server that greets, takes every login, and answers commands as a test says.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Result;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use weir_testkit::client::PacketStream;

use crate::kit::{Caps, PATIENCE};

/// What the server does with a command.
pub enum Reply {
    /// Sends these bytes and waits for the next command.
    Bytes(Vec<u8>),
    /// Sends these bytes and closes.
    Last(Vec<u8>),
}

/// Dropping it closes its port.
pub struct FakeServer {
    addr: SocketAddr,
    task: JoinHandle<()>,
}

impl FakeServer {
    /// `answer` decides by a command's payload.
    pub async fn start(
        version: &'static str,
        caps: Caps,
        answer: impl Fn(&[u8]) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let answer = Arc::new(answer);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let answer = Arc::clone(&answer);
                // A peer that leaves early is part of the tests.
                tokio::spawn(async move { serve(stream, version, caps, &*answer).await.ok() });
            }
        });
        Self { addr, task }
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A packet of the protocol.
pub fn packet(seq: u8, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u32).to_le_bytes();
    [&len[..3], &[seq], payload].concat()
}

async fn serve(
    mut stream: TcpStream,
    version: &str,
    caps: Caps,
    answer: &(impl Fn(&[u8]) -> Reply + Send + Sync),
) -> Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(&packet(0, &greeting(version, caps, "mysql_native_password"))).await?;
    let mut packets = PacketStream::new(Box::new(stream), PATIENCE);
    packets.expect_packet().await?;
    packets.write_packet(2, b"\0\0\0\x02\0\0\0").await?;
    while let Some(command) = packets.read_packet().await? {
        match answer(&command.payload) {
            Reply::Bytes(bytes) => packets.write_raw(&bytes).await?,
            Reply::Last(bytes) => return packets.write_raw(&bytes).await,
        }
    }
    Ok(())
}

/// A handshake of protocol 10.
pub fn greeting(version: &str, caps: Caps, plugin: &str) -> Vec<u8> {
    let mariadb = version.contains("MariaDB");
    let low = if mariadb { caps.0 & !1 } else { caps.0 | 1 };
    let mut out = vec![10];
    out.extend(version.bytes());
    out.push(0);
    out.extend(7u32.to_le_bytes());
    out.extend(b"12345678\0");
    out.extend(&low.to_le_bytes()[..2]);
    out.extend([45, 2, 0]);
    out.extend(&low.to_le_bytes()[2..4]);
    out.push(21);
    out.extend([0; 6]);
    out.extend(&(if mariadb { caps.0 >> 32 } else { 0 }).to_le_bytes()[..4]);
    out.extend(b"abcdefghijkl\0");
    out.extend(plugin.bytes());
    out.push(0);
    out
}
