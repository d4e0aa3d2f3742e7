//! A server that greets, takes every login, and answers commands as a test says.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use crate::kit::lenenc_text;
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

/// Whether Weir asks for the variables of a session with this.
pub fn asks_state(sql: &[u8]) -> bool {
    sql.starts_with(b"SELECT HEX(DATABASE()),")
}

/// The answer: no server is like that, but Weir can work with it.
pub fn state(sql: &[u8]) -> Vec<u8> {
    let columns = str::from_utf8(sql).unwrap().split(',');
    let value = |name: &str| match () {
        () if name.contains("HEX") => "64",
        () if name.contains("character_set") => "utf8mb4",
        () if name.contains("collation") => "utf8mb4_general_ci",
        () if name.contains("is_null") => "0",
        () => "1",
    };
    result(0, 0, &columns.map(value).collect::<Vec<_>>()).0
}

/// A result of one row, as a server without DEPRECATE_EOF sends it behind a packet of this number, and the number of its last packet.
pub fn result(mut seq: u8, flags: u8, values: &[&str]) -> (Vec<u8>, u8) {
    let column = b"\x03def\0\0\0\x01v\x01v\x0c\x2d\0\xa0\0\0\0\xfd\0\0\0\0\0".to_vec();
    let end = vec![0xfe, 0, 0, 2 | flags, 0];
    let mut payloads = vec![vec![values.len() as u8]];
    payloads.extend(values.iter().map(|_| column.clone()));
    payloads.push(end.clone());
    payloads.push(values.iter().flat_map(|value| lenenc_text(value)).collect());
    payloads.push(end);
    let mut out = Vec::new();
    for payload in payloads {
        seq = seq.wrapping_add(1);
        out.extend(packet(seq, &payload));
    }
    (out, seq)
}
