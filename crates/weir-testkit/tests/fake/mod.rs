//! What of a Weir that shares connections shows to its clients: a relay that answers `SHOW WEIR SESSION` by itself.
//! It holds the server connection of each client for five statements of eight and knows how many were held at once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use weir_testkit::client::caps::Capabilities;
use weir_testkit::client::{bytes::put_lenenc_bytes, command, frame};

/// Clients that logged in or sent a statement, and have not been told since that they are not pinned.
#[derive(Default)]
pub struct Held {
    now: AtomicUsize,
    pub most: AtomicUsize,
}

/// Starts it in front of `server`.
pub async fn start(server: SocketAddr) -> std::io::Result<(SocketAddr, Arc<Held>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let addr = listener.local_addr()?;
    let held = Arc::new(Held::default());
    let counts = Arc::clone(&held);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            // Without a server the client finds itself cut off.
            let Ok(server) = TcpStream::connect(server).await else { continue };
            let (from_server, to_server) = server.into_split();
            let (from_client, to_client) = client.into_split();
            let to_client = Arc::new(Mutex::new(to_client));
            let hold = Arc::new(Hold { held: Arc::clone(&counts), mine: AtomicBool::new(false) });
            hold.set(true);
            tokio::spawn(down(from_server, Arc::clone(&to_client), Arc::clone(&hold)));
            // Its end is the client's own.
            tokio::spawn(async move { up(from_client, to_server, &to_client, &hold).await.ok() });
        }
    });
    Ok((addr, held))
}

struct Hold {
    held: Arc<Held>,
    mine: AtomicBool,
}

impl Hold {
    fn set(&self, mine: bool) {
        match (self.mine.swap(mine, SeqCst), mine) {
            (false, true) => {
                let now = self.held.now.fetch_add(1, SeqCst) + 1;
                self.held.most.fetch_max(now, SeqCst);
            }
            (true, false) => drop(self.held.now.fetch_sub(1, SeqCst)),
            _ => {}
        }
    }
}

async fn down(mut from: OwnedReadHalf, to: Arc<Mutex<OwnedWriteHalf>>, hold: Arc<Hold>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        to.lock().await.write_all(&buffer[..count]).await.ok();
    }
    hold.set(false);
    to.lock().await.shutdown().await.ok();
}

async fn up(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    answers: &Mutex<OwnedWriteHalf>,
    hold: &Hold,
) -> std::io::Result<()> {
    let (mut capabilities, mut asked) = (None, 0);
    loop {
        let mut header = [0; 4];
        from.read_exact(&mut header).await?;
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let mut payload = vec![0; length as usize];
        from.read_exact(&mut payload).await?;
        let deprecate_eof = *capabilities.get_or_insert_with(|| {
            let flags = u32::from_le_bytes([payload[0], payload[1], payload[2], payload[3]]);
            Capabilities(u64::from(flags)).has(Capabilities::DEPRECATE_EOF)
        });
        if header[3] == 0 && payload == b"\x03SHOW WEIR SESSION" {
            let pinned = asked % 8 < 5;
            asked += 1;
            hold.set(pinned);
            answers.lock().await.write_all(&answer(pinned, deprecate_eof)).await?;
            continue;
        }
        hold.set(header[3] != 0 || payload != [command::QUIT]);
        to.write_all(&header).await?;
        to.write_all(&payload).await?;
    }
}

fn answer(pinned: bool, deprecate_eof: bool) -> Vec<u8> {
    let mut packets = vec![vec![2]];
    for name in ["Variable_name", "Value"] {
        let mut column = Vec::new();
        for text in ["def", "", "", "", name, ""] {
            put_lenenc_bytes(&mut column, text.as_bytes());
        }
        column.extend([0x0c, 45, 0, 0, 1, 0, 0, 0xfd, 0, 0, 0, 0, 0]);
        packets.push(column);
    }
    if !deprecate_eof {
        packets.push(vec![0xfe, 0, 0, 2, 0]);
    }
    let (reasons, connection) = if pinned { ("transaction,cursor", "7") } else { ("no", "0") };
    for (name, value) in
        [("sharing", "transaction"), ("pinned", reasons), ("server_connection_id", connection)]
    {
        let mut row = Vec::new();
        put_lenenc_bytes(&mut row, name.as_bytes());
        put_lenenc_bytes(&mut row, value.as_bytes());
        packets.push(row);
    }
    packets.push(if deprecate_eof { vec![0xfe, 0, 0, 2, 0, 0, 0] } else { vec![0xfe, 0, 0, 2, 0] });
    let mut wire = Vec::new();
    for (i, packet) in packets.iter().enumerate() {
        frame(&mut wire, i as u8 + 1, packet);
    }
    wire
}
