//! A client whose link to Weir is compressed: the test kit's client speaks plainly to a pump, and the pump packs.

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::TcpStream;
use weir_testkit::client::{Address, PacketStream};
use weir_wire::compress::{Algorithm, Codec};

use crate::kit::{Caps, Client, ConnectOptions, PATIENCE};

const ROOM: usize = 256 * 1024;

/// Logs in and agrees on compression, which begins behind the login's OK.
pub async fn packed(options: &ConnectOptions, algorithm: Algorithm) -> Result<Client> {
    let flag = match algorithm {
        Algorithm::Zlib => Caps::COMPRESS,
        Algorithm::Zstd(_) => Caps::ZSTD,
    };
    let Address::Tcp(addr) = options.address else { anyhow::bail!("TCP only") };
    let socket = TcpStream::connect(addr).await?;
    socket.set_nodelay(true)?;
    let (near, far) = tokio::io::duplex(ROOM);
    tokio::spawn(async move {
        // The client sees the end of the stream when this ends, whatever the reason.
        pump(far, socket, algorithm).await.ok();
    });
    let client =
        Client::log_in(PacketStream::new(Box::new(near), PATIENCE), &options.clone().with(flag)).await?;
    ensure!(client.capabilities().has(flag), "compression is not offered");
    Ok(client)
}

async fn pump(mut client: DuplexStream, mut socket: TcpStream, algorithm: Algorithm) -> Result<()> {
    login(&mut client, &mut socket, algorithm).await?;
    let mut codec = Codec::new(algorithm)?;
    let mut requests = Requests::default();
    let (mut plain, mut arrived, mut unpacked) = (vec![0; ROOM], Vec::new(), vec![0; ROOM]);
    let mut wire = vec![0; ROOM];
    loop {
        tokio::select! {
            n = client.read(&mut plain) => {
                let n = n?;
                if n == 0 {
                    return Ok(socket.shutdown().await?);
                }
                if requests.begins_command(&plain[..n]) {
                    codec.restart();
                }
                let mut out = Vec::new();
                codec.encode(&plain[..n], &mut out)?;
                socket.write_all(&out).await?;
            }
            n = socket.read(&mut wire) => {
                let n = n?;
                if n == 0 {
                    return Ok(());
                }
                arrived.extend_from_slice(&wire[..n]);
                loop {
                    let (read, written) = codec.decode(&arrived, &mut unpacked)?;
                    arrived.drain(..read);
                    client.write_all(&unpacked[..written]).await?;
                    if (read, written) == (0, 0) {
                        break;
                    }
                }
            }
        }
    }
}

/// Passes the login on, packet by packet, in the order the protocol has.
async fn login(client: &mut DuplexStream, socket: &mut TcpStream, algorithm: Algorithm) -> Result<()> {
    let greeting = read_packet(socket).await?;
    client.write_all(&greeting).await?;
    let mut response = read_packet(client).await?;
    if let Algorithm::Zstd(level) = algorithm {
        response.push(level as u8);
        let len = (response.len() - 4) as u32;
        response[..3].copy_from_slice(&len.to_le_bytes()[..3]);
    }
    socket.write_all(&response).await?;
    loop {
        let packet = read_packet(socket).await?;
        client.write_all(&packet).await?;
        match packet[4..] {
            [0x00, ..] => return Ok(()),
            [0xff, ..] => anyhow::bail!("refused"),
            [0x01, 0x03] => {}
            _ => {
                let answer = read_packet(client).await?;
                socket.write_all(&answer).await?;
            }
        }
    }
}

async fn read_packet(from: &mut (impl AsyncReadExt + Unpin)) -> Result<Vec<u8>> {
    let mut packet = vec![0; 4];
    from.read_exact(&mut packet).await.context("a packet was due")?;
    let len = usize::from(packet[0]) | usize::from(packet[1]) << 8 | usize::from(packet[2]) << 16;
    packet.resize(4 + len, 0);
    from.read_exact(&mut packet[4..]).await?;
    Ok(packet)
}

/// Follows what the client sends, to know where a command begins: there the frames are numbered anew.
#[derive(Default)]
struct Requests {
    left: usize,
    header: Vec<u8>,
}

impl Requests {
    fn begins_command(&mut self, mut bytes: &[u8]) -> bool {
        let begins = self.left == 0 && self.header.is_empty() && bytes.get(3) == Some(&0);
        while !bytes.is_empty() {
            let n = bytes.len().min(self.left);
            self.left -= n;
            bytes = &bytes[n..];
            if self.left > 0 {
                break;
            }
            let n = bytes.len().min(4 - self.header.len());
            self.header.extend_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            if let [a, b, c, _] = self.header[..] {
                self.left = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
                self.header.clear();
            }
        }
        begins
    }
}
