//! TLS from Weir to real servers with their own certificates: those MySQL makes for itself at its first start, and a
//! MariaDB with certificates of a test authority. Logins are written by hand, byte by byte.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking; helpers outside of #[test] functions too"
)]

use std::path::Path;

use tokio::net::TcpStream;
use weir_net::{
    ClientCertificate, ClientTlsMode, ClientTlsOptions, PacketStream, Socket, Stream, TlsVersions,
    client_config, server_name,
};
use weir_testkit::certs::Certs;
use weir_testkit::{Flavor, Server};

/// CLIENT_PROTOCOL_41, CLIENT_SSL, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH.
const CAPABILITIES: u32 = 1 << 9 | 1 << 11 | 1 << 15 | 1 << 19;

const TLS_MODES: [ClientTlsMode; 4] = [
    ClientTlsMode::Preferred,
    ClientTlsMode::Required,
    ClientTlsMode::VerifyCa,
    ClientTlsMode::VerifyIdentity,
];

/// How to connect.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    mode: ClientTlsMode,
    ca: &'a Path,
    host: &'a str,
    versions: TlsVersions,
    client_cert: Option<ClientCertificate<'a>>,
}

impl<'a> Attempt<'a> {
    fn new(mode: ClientTlsMode, ca: &'a Path, host: &'a str) -> Self {
        Self { mode, ca, host, versions: TlsVersions::Both, client_cert: None }
    }

    /// Greeting, SSLRequest, TLS.
    async fn secure(self, server: &Server) -> Result<PacketStream, String> {
        let options = ClientTlsOptions {
            mode: self.mode,
            ca: Some(self.ca),
            client_cert: self.client_cert,
            versions: self.versions,
        };
        let config = client_config(&options).unwrap().unwrap();
        let socket = TcpStream::connect(server.addr()).await.unwrap();
        let mut packets = PacketStream::new(Stream::Plain(Socket::Tcp(socket)), Vec::new(), 1 << 16);
        assert_eq!(packets.read().await.unwrap()[0], 10, "protocol version of the greeting");
        packets.write(&login_start()).await.unwrap();
        let name = server_name(self.host).unwrap();
        packets
            .upgrade(|stream, _| stream.connect_tls(name, config))
            .await
            .map_err(|error: std::io::Error| error.to_string())
    }

    /// A login without a password over TLS; the connection after its OK, or the server's error.
    async fn log_in(self, server: &Server, user: &str) -> Result<PacketStream, String> {
        let mut packets = self.secure(server).await?;
        let plugin = match server.flavor() {
            Flavor::MySql => "caching_sha2_password",
            Flavor::MariaDb => "mysql_native_password",
        };
        let mut login = login_start();
        login.extend(user.as_bytes());
        login.extend([0, 0]);
        login.extend(plugin.as_bytes());
        login.push(0);
        packets.write(&login).await.unwrap();
        let reply = packets.read().await.map_err(|error| error.to_string())?;
        match reply[0] {
            0x00 => Ok(packets),
            _ => Err(String::from_utf8_lossy(&reply).into_owned()),
        }
    }
}

/// The part that an SSLRequest and a handshake response share: capabilities, packet limit, character set, filler.
fn login_start() -> Vec<u8> {
    let mut bytes = CAPABILITIES.to_le_bytes().to_vec();
    bytes.extend((1_u32 << 24).to_le_bytes());
    bytes.push(45);
    bytes.resize(32, 0);
    bytes
}

/// Runs a statement whose reply is one OK packet.
async fn execute(packets: &mut PacketStream, statement: &str) {
    packets.set_seq(0);
    packets.write(&[b"\x03", statement.as_bytes()].concat()).await.unwrap();
    let reply = packets.read().await.unwrap();
    assert_eq!(reply[0], 0x00, "{statement}: {}", String::from_utf8_lossy(&reply));
}

fn strangers_ca(folder: &Path) -> Certs {
    Certs::generate(&folder.join("stranger")).unwrap()
}

/// From which mode on a connection is refused; every mode before it must log in.
async fn check(server: &Server, ca: &Path, host: &str, first_refusing: Option<ClientTlsMode>) {
    let mut refusing = false;
    for mode in TLS_MODES {
        refusing |= Some(mode) == first_refusing;
        match Attempt::new(mode, ca, host).log_in(server, "nopw").await {
            Ok(packets) => {
                assert!(!refusing && packets.stream().is_secure(), "{mode:?} {host} must be refused")
            }
            Err(reason) => assert!(refusing && reason.contains("certificate"), "{mode:?} {host}: {reason}"),
        }
    }
}

/// A user that must show a certificate gets in with the right one only.
async fn check_client_certificate(server: &Server, certs: &Certs, stranger: &Certs) {
    let attempt = Attempt::new(ClientTlsMode::VerifyCa, &certs.ca, "127.0.0.1");
    let mut root = attempt.log_in(server, "root").await.unwrap();
    execute(&mut root, "CREATE USER x509 REQUIRE X509").await;
    let shows = |certs: &'_ Certs| (certs.client_cert.clone(), certs.client_key.clone());
    for versions in [TlsVersions::Only12, TlsVersions::Only13] {
        let attempt = Attempt { versions, ..attempt };
        let reason = attempt.log_in(server, "x509").await.unwrap_err();
        assert!(reason.contains("Access denied"), "{versions:?}: {reason}");
        let (cert, key) = shows(certs);
        let client_cert = Some(ClientCertificate { cert: &cert, key: &key });
        Attempt { client_cert, ..attempt }.log_in(server, "x509").await.unwrap();
        let (cert, key) = shows(stranger);
        let client_cert = Some(ClientCertificate { cert: &cert, key: &key });
        let reason = Attempt { client_cert, ..attempt }.log_in(server, "x509").await.unwrap_err();
        assert!(!reason.contains("Access denied"), "the server ends TLS itself: {reason}");
    }
}

async fn check_versions(server: &Server, ca: &Path) {
    for (versions, name) in [(TlsVersions::Only12, "TLSv1.2"), (TlsVersions::Only13, "TLSv1.3")] {
        let attempt = Attempt { versions, ..Attempt::new(ClientTlsMode::VerifyCa, ca, "127.0.0.1") };
        let packets = attempt.log_in(server, "nopw").await.unwrap();
        assert_eq!(packets.stream().tls_version(), Some(name));
    }
}

#[tokio::test]
async fn mysql_with_the_certificates_it_makes_for_itself() {
    let server = Server::start(Flavor::MySql).unwrap();
    let certs = server.certs();
    // Its certificate has no alternative names: no mode but the one that asks for the name minds.
    check(&server, &certs.ca, "127.0.0.1", Some(ClientTlsMode::VerifyIdentity)).await;
    check(&server, &certs.ca, "localhost", Some(ClientTlsMode::VerifyIdentity)).await;
    let stranger = strangers_ca(server.home());
    check(&server, &stranger.ca, "127.0.0.1", Some(ClientTlsMode::VerifyCa)).await;
    check_versions(&server, &certs.ca).await;
    check_client_certificate(&server, &certs, &stranger).await;
}

#[tokio::test]
async fn mariadb_with_certificates_of_an_authority() {
    let server = Server::start(Flavor::MariaDb).unwrap();
    let certs = server.certs();
    check(&server, &certs.ca, "127.0.0.1", None).await;
    check(&server, &certs.ca, "localhost", None).await;
    check(&server, &certs.ca, "db.example.com", Some(ClientTlsMode::VerifyIdentity)).await;
    let stranger = strangers_ca(server.home());
    check(&server, &stranger.ca, "127.0.0.1", Some(ClientTlsMode::VerifyCa)).await;
    check_versions(&server, &certs.ca).await;
    check_client_certificate(&server, &certs, &stranger).await;
}
