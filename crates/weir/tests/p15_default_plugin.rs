//! Trap P15: the plugin that a client uses by default is not the one that the greeting names.

use std::time::Duration;
use tokio::net::TcpStream;
use weir_testkit::client::{Greeting, PacketStream};
use weir_testkit::{Flavor, Server, Weir};

/// PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH.
const FLAGS: u32 = 1 << 9 | 1 << 15 | 1 << 19;

/// The clients of MySQL 9 do not know mysql_native_password, which MariaDB's greeting names. They answer with
/// caching_sha2_password and no data, and wait to be asked: that is no empty password.
#[tokio::test]
async fn p15_no_answer_to_a_greeting_of_another_plugin_is_no_empty_password() {
    let server = Server::start(Flavor::MariaDb).unwrap();
    let weir = Weir::in_front_of(&server).unwrap();
    let tcp = TcpStream::connect(weir.addr()).await.unwrap();
    let mut stream = PacketStream::new(Box::new(tcp), Duration::from_secs(30));
    let greeting = Greeting::read(&mut stream).await.unwrap();
    assert_eq!(greeting.plugin, "mysql_native_password");

    let mut response = Vec::new();
    response.extend_from_slice(&FLAGS.to_le_bytes());
    response.extend_from_slice(&(1u32 << 24).to_le_bytes());
    response.push(45);
    response.extend_from_slice(&[0; 23]);
    response.extend_from_slice(b"app\0\0caching_sha2_password\0");
    stream.write_packet(1, &response).await.unwrap();

    let asked = stream.expect_packet().await.unwrap();
    assert_eq!(asked.payload.first(), Some(&0xfe), "no AuthSwitchRequest but {asked:?}");
    assert!(asked.payload[1..].starts_with(b"caching_sha2_password\0"), "{asked:?}");
}
