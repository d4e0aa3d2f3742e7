//! P16: over a link without TLS, no server gets a password to read, whatever it asks for.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use tokio::net::{TcpListener, TcpStream};
use weir_testkit::client::PacketStream;

use crate::fake_server::greeting;
use crate::kit::*;

const PASSWORD: &str = "a word nobody may read";
/// What a server may ask for: an AuthSwitchRequest, or AuthMoreData.
const SWITCH_TO_CLEAR: &[u8] = b"\xfemysql_clear_password\0";
const SWITCH_TO_UNKNOWN: &[u8] = b"\xfedialog\0Password: ";
const FULL_AUTHENTICATION: &[u8] = b"\x01\x04";

/// Everything that Weir says to a server that greets without TLS and asks for `ask` after the login request.
async fn heard(ask: &'static [u8], plugin: &'static str) -> (Vec<u8>, ErrPacket) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&heard);
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let record = Arc::clone(&record);
            // A peer that leaves early is part of the test.
            tokio::spawn(async move { listen(stream, ask, plugin, &record).await.ok() });
        }
    });
    let weir = Weir::config(config(&address.to_string(), "")).start().unwrap();
    let error =
        refusal(ConnectOptions::tcp(weir.addr(), "someone", PASSWORD).tls(Tls::Unverified).connect().await);
    task.abort();
    let heard = lock(&heard).clone();
    (heard, error)
}

async fn listen(stream: TcpStream, ask: &[u8], plugin: &str, record: &Mutex<Vec<u8>>) -> anyhow::Result<()> {
    let mut packets = PacketStream::new(Box::new(stream), PATIENCE);
    let caps = Caps::PROTOCOL_41 | Caps::SECURE_CONNECTION | Caps::PLUGIN_AUTH;
    packets.write_packet(0, &greeting("9.7.4", caps, plugin)).await?;
    let login = packets.expect_packet().await?;
    let seq = login.seq.wrapping_add(1);
    if !holds(&login.payload, b"someone") {
        // Weir looks whether the server is there; any answer will do.
        return packets.write_packet(seq, b"\xff\x15\x04#28000Access denied").await;
    }
    lock(record).extend(&login.payload);
    packets.write_packet(seq, ask).await?;
    while let Some(packet) = packets.read_packet().await? {
        lock(record).extend(&packet.payload);
        packets.write_packet(packet.seq.wrapping_add(1), b"\xff\x15\x04#28000Access denied").await?;
    }
    Ok(())
}

fn holds(heard: &[u8], what: &[u8]) -> bool {
    heard.windows(what.len()).any(|window| window == what)
}

#[tokio::test]
async fn p16_no_password_goes_in_clear_over_a_bare_link() {
    for plugin in ["caching_sha2_password", "mysql_native_password", "mysql_clear_password"] {
        for ask in [SWITCH_TO_CLEAR, SWITCH_TO_UNKNOWN, FULL_AUTHENTICATION] {
            let (heard, error) = heard(ask, plugin).await;
            let what = format!("{plugin}, asked for {}: {error}", ask.escape_ascii());
            assert!(holds(&heard, b"someone"), "the server saw no login: {what}");
            assert!(!holds(&heard, PASSWORD.as_bytes()), "{what}");
            assert!(!error.message.contains(PASSWORD), "{what}");
        }
    }
}
