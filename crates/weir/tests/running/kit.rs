//! What the tests share: one server of each flavor, a Weir in front of it, and pairs of sessions to compare.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
pub use weir_testkit::client::caps::Capabilities as Caps;
pub use weir_testkit::client::{ErrPacket, LoginRefused, Outcome, Response, Tls, command};
use weir_testkit::weir::AUTHORIZATION;
pub use weir_testkit::{Client, ConnectOptions, Flavor, Server, Weir};

/// How long anything may take that is awaited. Far more than it needs: it only bounds a failure.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Flags that change what packets look like, on both families.
pub const SHAPING: Caps = Caps(
    Caps::SESSION_TRACK.0
        | Caps::DEPRECATE_EOF.0
        | Caps::OPTIONAL_RESULTSET_METADATA.0
        | Caps::QUERY_ATTRIBUTES.0
        | Caps::CONNECT_ATTRS.0
        | Caps::MARIADB_BULK.0
        | Caps::MARIADB_EXTENDED_METADATA.0
        | Caps::MARIADB_CACHE_METADATA.0,
);

/// The server of a flavor that all tests share as long as one of them holds it, so that it ends with the last.
pub fn server(flavor: Flavor) -> Arc<Server> {
    static SERVERS: Mutex<[Weak<Server>; 2]> = Mutex::new([Weak::new(), Weak::new()]);
    let mut servers = lock(&SERVERS);
    let known = &mut servers[flavor as usize];
    known.upgrade().unwrap_or_else(|| {
        let server = Arc::new(Server::builder(flavor).max_connections(2000).start().unwrap());
        *known = Arc::downgrade(&server);
        server
    })
}

/// A poisoned lock only says that another test has failed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The configuration of a Weir in front of `address`. Tables of `more` follow.
pub fn config(address: &str, more: &str) -> String {
    format!(
        "[[server]]\nname = \"db1\"\naddress = \"{address}\"\nmax_connections = 1000\n{}{}{more}",
        if more.contains("[server.tls]") { "" } else { "tls = { mode = \"disabled\" }\n" },
        if more.contains("[listen]") {
            ""
        } else {
            "[listen]\nmysql = [\"$LISTEN\", \"unix:$DIR/weir.sock\"]\nadmin = \"$ADMIN\"\n"
        },
    ) + if more.contains("[limits]") { "" } else { "\n[limits]\nauth_failure_delay = \"20ms\"\n" }
}

/// A Weir in front of `server`, with these tables besides the usual ones.
pub fn weir_with(server: &Server, more: &str) -> Weir {
    let weir = Weir::config(config(&server.addr().to_string(), more)).start().unwrap();
    // Then the unix socket and the admin port listen too.
    weir.wait_for_line("accepting clients", PATIENCE).unwrap();
    weir
}

/// A Weir in front of `server`.
pub fn weir(server: &Server) -> Weir {
    weir_with(server, "")
}

/// The account with all privileges.
pub fn app(addr: std::net::SocketAddr) -> ConnectOptions {
    ConnectOptions::tcp(addr, "app", "app-pw")
}

/// Why a login was refused.
pub fn refusal(result: anyhow::Result<Client>) -> ErrPacket {
    refused(result).error
}

pub fn refused(result: anyhow::Result<Client>) -> LoginRefused {
    match result {
        Ok(client) => panic!("a login that should be refused succeeded: {client:?}"),
        Err(error) => match error.downcast::<LoginRefused>() {
            Ok(refused) => refused,
            Err(error) => panic!("no error packet: {error:#}"),
        },
    }
}

/// The same session twice: one at the server, one through Weir. Both get the same bytes, and every packet of the
/// answers has to be the same.
pub struct Twin {
    pub direct: Client,
    pub weir: Client,
}

impl Twin {
    pub async fn open(
        server: &Server,
        weir: &Weir,
        change: impl Fn(ConnectOptions) -> ConnectOptions,
    ) -> Self {
        let direct = change(app(server.addr())).connect().await.unwrap();
        let weir = change(app(weir.addr())).connect().await.unwrap();
        let mut twin = Self { direct, weir };
        assert_eq!(twin.direct.capabilities(), twin.weir.capabilities());
        for client in [&mut twin.direct, &mut twin.weir] {
            client.run("CREATE DATABASE IF NOT EXISTS it").await.unwrap();
        }
        twin.query("USE it").await;
        twin
    }

    pub async fn command(&mut self, code: u8, body: &[u8]) -> Response {
        let (direct, weir) = tokio::join!(self.direct.command(code, body), self.weir.command(code, body));
        same(direct.unwrap(), weir.unwrap(), &format!("command {code:#x} {}", short(body)))
    }

    pub async fn query(&mut self, sql: impl AsRef<[u8]>) -> Response {
        let sql = sql.as_ref();
        let (direct, weir) = tokio::join!(self.direct.query(sql), self.weir.query(sql));
        same(direct.unwrap(), weir.unwrap(), &short(sql))
    }

    /// A statement that must succeed.
    pub async fn run(&mut self, sql: &str) -> Response {
        let response = self.query(sql).await;
        assert_eq!(response.err(), None, "{}", short(sql.as_bytes()));
        response
    }

    /// Prepares on both. The answers are the same but for the statement's id, which each session counts by itself.
    pub async fn prepare(&mut self, sql: &str) -> Prepared {
        let code = command::STMT_PREPARE;
        let (direct, weir) =
            tokio::join!(self.direct.command(code, sql.as_bytes()), self.weir.command(code, sql.as_bytes()));
        let (mut direct, mut weir) = (direct.unwrap(), weir.unwrap());
        let id = |response: &Response| match response.outcomes.first() {
            Some(Outcome::Prepared(prepared)) => prepared.id,
            other => panic!("{}: {other:?}", short(sql.as_bytes())),
        };
        let ids = Prepared { direct: id(&direct), weir: id(&weir) };
        for response in [&mut direct, &mut weir] {
            response.packets[0].payload[1..5].fill(0);
        }
        same(direct, weir, sql);
        ids
    }

    /// A command about a prepared statement; `body` is made for each side's id.
    pub async fn on(&mut self, ids: Prepared, code: u8, body: impl Fn(u32) -> Vec<u8>) -> Response {
        let (to_direct, to_weir) = (body(ids.direct), body(ids.weir));
        let (direct, weir) =
            tokio::join!(self.direct.command(code, &to_direct), self.weir.command(code, &to_weir));
        same(direct.unwrap(), weir.unwrap(), &format!("command {code:#x} {}", short(&to_weir)))
    }
}

/// The two ids of a statement that both sessions have prepared.
#[derive(Debug, Clone, Copy)]
pub struct Prepared {
    pub direct: u32,
    pub weir: u32,
}

/// Compares two answers packet by packet; returns one of them.
pub fn same(direct: Response, weir: Response, what: &str) -> Response {
    assert_eq!(direct.packets, weir.packets, "{what}: the packets differ");
    assert_eq!(direct.closed, weir.closed, "{what}: one side closed; {:?}", direct.packets.last());
    direct
}

fn short(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(200)].escape_ascii().to_string()
}

/// Each packet of an answer carries the number behind the one before it.
pub fn numbered(response: &Response, first: u8) {
    let mut expected = first;
    for packet in &response.packets {
        assert_eq!(packet.seq, expected, "{packet:?}");
        expected = expected.wrapping_add(packet.frames as u8);
    }
}

/// Asks until `done` says so: for what a server tells no one about.
pub async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{what}: not after {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The body of `GET path` from Weir's admin listener, and the status.
pub async fn http(weir: &Weir, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(weir.admin_addr()).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: weir\r\n{AUTHORIZATION}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split_whitespace().nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1.to_owned();
    (status, body)
}

/// The value of a sample of /metrics; 0 where there is none.
pub async fn metric(weir: &Weir, sample: &str) -> f64 {
    let (_, body) = http(weir, "/metrics").await;
    let line = body.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().unwrap())
}

/// What SHOW WEIR SESSION says of one thing.
pub async fn shown(client: &mut Client, name: &str) -> String {
    let response = client.run("SHOW WEIR SESSION").await.unwrap();
    let rows: Vec<_> =
        response.rows().map(|row| weir_testkit::client::bytes::text_row(row).unwrap()).collect();
    let row = rows.iter().find(|row| row[0].as_deref() == Some(name.as_bytes()));
    String::from_utf8(row.unwrap_or_else(|| panic!("no {name}"))[1].clone().unwrap()).unwrap()
}

/// A short text as a row of the text protocol holds it.
pub fn lenenc_text(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    weir_testkit::client::bytes::put_lenenc_bytes(&mut out, text.as_bytes());
    out
}

/// The section with which Weir shows these certificates to clients.
pub fn tls_section(certs: &weir_testkit::certs::Certs) -> String {
    let (cert, key) = (certs.server_cert.display(), certs.server_key.display());
    format!("[tls]\ncert = \"{cert}\"\nkey = \"{key}\"\n")
}
