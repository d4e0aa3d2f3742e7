//! A server that knows nothing and answers from memory: each client gets the same greeting, an OK to whatever it logs in with, and the
//! same row to whatever it asks. It has no accounts, no state and no server behind it, so nothing in front of a server can do with less:
//! it shows how much of a connection's cost is the client's and the kernel's.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

/// Serves at `listen` with a thread for each core; returns only with an error.
///
/// # Errors
/// When the address cannot be bound or a thread cannot be started.
pub fn run(listen: SocketAddr) -> io::Result<()> {
    let listener = std::net::TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let cores = std::thread::available_parallelism()?.get();
    let serving = |listener| std::thread::Builder::new().name("bare".into()).spawn(|| serve(listener));
    let threads = (0..cores).map(|_| serving(listener.try_clone()?)).collect::<io::Result<Vec<_>>>()?;
    for thread in threads {
        thread.join().map_err(|_| io::Error::other("a thread panicked"))??;
    }
    Ok(())
}

/// Each thread accepts for itself.
fn serve(listener: std::net::TcpListener) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        loop {
            let (client, _) = listener.accept().await?;
            // A client that goes early is its own affair.
            let _ = client.set_nodelay(true);
            tokio::spawn(async move { drop(answer(&client).await) });
        }
    })
}

async fn answer(client: &TcpStream) -> io::Result<()> {
    let mut room = [0; 1024];
    write(client, &framed(&[&greeting()], 0)).await?;
    let mut replies = std::iter::once(framed(&[OK], 2)).chain(std::iter::repeat_with(|| framed(&ROW, 1)));
    while read(client, &mut room).await? > 0 {
        // COM_QUIT gets no answer, and the client closes behind it.
        if room[..5] == [1, 0, 0, 0, 1] {
            break;
        }
        write(client, &replies.next().unwrap_or_default()).await?;
    }
    Ok(())
}

async fn read(client: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
    loop {
        client.readable().await?;
        match client.try_read(room) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done => return done,
        }
    }
}

async fn write(client: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match client.try_write(bytes) {
            Ok(taken) => bytes = &bytes[taken..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => client.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Packets, the first of which has this number.
fn framed(payloads: &[&[u8]], first: u8) -> Vec<u8> {
    let mut packets = Vec::new();
    for (payload, number) in payloads.iter().zip(first..) {
        // None of them has more than a hundred bytes.
        packets.extend_from_slice(&[payload.len() as u8, 0, 0, number]);
        packets.extend_from_slice(payload);
    }
    packets
}

/// `Protocol::HandshakeV10` of the MySQL manual, with `mysql_native_password` and always the same scramble.
fn greeting() -> Vec<u8> {
    let parts: [&[u8]; 9] = [
        b"\x0a8.0.0-bare\0\x01\0\0\0",
        b"scramble\0",
        &[0xFF, 0xF7],
        &[45],
        &[2, 0],
        &[0xFF, 0x81],
        &[21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        b"is-not-secret\0",
        b"mysql_native_password\0",
    ];
    parts.concat()
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const EOF: &[u8] = &[0xFE, 0, 0, 2, 0];
/// One row with one column, both `1`: what SELECT 1 answers.
const ROW: [&[u8]; 5] =
    [&[1], b"\x03def\0\0\0\x011\0\x0c\x3f\0\x01\0\0\0\x03\x81\0\0\0\0", EOF, b"\x011", EOF];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Client, Login};

    #[test]
    fn it_lets_in_whoever_comes_and_answers_one_row_to_each_question() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        // Ends with the test program.
        std::thread::spawn(|| serve(listener));
        let login = Login { user: "anybody", password: "anything", schema: "any" };
        for _ in 0..3 {
            let mut client = Client::connect(address, login, 1024).unwrap();
            assert_eq!(client.query("SELECT 1").unwrap(), 1);
            assert_eq!(client.value("SELECT 1", 0).unwrap(), "1");
            client.quit().unwrap();
        }
    }
}
