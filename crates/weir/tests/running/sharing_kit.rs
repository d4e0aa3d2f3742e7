//! What the tests of shared connections have in common: a Weir with few connections, and how a session stands.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::kit::*;

/// A Weir in front of `server` whose clients share this many connections. `pool` are more keys of `[pool]`, `more` are
/// tables besides. It has one worker, so that commands are taken in the order in which they were sent.
pub fn sharing(server: &Server, connections: u32, pool: &str, more: &str) -> Weir {
    let weir = Weir::config(sharing_config(&server.addr().to_string(), connections, pool, more));
    let weir = weir.start().unwrap();
    weir.wait_for_line("accepting clients", PATIENCE).unwrap();
    weir
}

pub fn sharing_config(address: &str, connections: u32, pool: &str, more: &str) -> String {
    let pool = if pool.contains("sharing =") { pool.to_owned() } else { format!("{SHARING}{pool}") };
    config(address, &format!("[pool]\n{pool}\n[runtime]\nworkers = 1\n{more}"))
        .replace("max_connections = 1000", &format!("max_connections = {connections}"))
}

const SHARING: &str = "sharing = \"transaction\"\n";

/// The shared server of each flavor, both held to the end of the test: a server that nobody holds ends, and the next test
/// would have to start it again.
pub fn both() -> [(Flavor, Arc<Server>); 2] {
    Flavor::BOTH.map(|flavor| (flavor, server(flavor)))
}

/// Which test has which database on which server: tests run beside each other, and one that empties another's fails it at times.
static TAKEN: Mutex<BTreeMap<(SocketAddr, String), Option<String>>> = Mutex::new(BTreeMap::new());

fn take(server: &Server, name: &str) {
    let test = std::thread::current().name().map(str::to_owned);
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let by = taken.entry((server.addr(), name.to_owned())).or_insert_with(|| test.clone());
    assert!(*by == test, "the database {name} is {by:?}'s: give {test:?} one with another name");
}

/// A database of a test's own, and in it what these statements make.
pub async fn database(server: &Server, name: &str, statements: &[&str]) {
    take(server, name);
    let mut admin = app(server.addr()).connect().await.unwrap();
    for sql in
        [format!("DROP DATABASE IF EXISTS {name}"), format!("CREATE DATABASE {name}"), format!("USE {name}")]
    {
        admin.run(&sql).await.unwrap();
    }
    for sql in statements {
        admin.run(sql).await.unwrap();
    }
}

/// A session in a test's database.
pub async fn client(weir: &Weir, database: &str) -> Client {
    app(weir.addr()).database(database).connect().await.unwrap()
}

/// Some of them, one after the other.
pub async fn clients<const N: usize>(weir: &Weir, database: &str) -> [Client; N] {
    let mut all = Vec::new();
    for _ in 0..N {
        all.push(client(weir, database).await);
    }
    all.try_into().unwrap()
}

/// The first row as text: NULL is `NULL`, and a `|` stands between columns.
pub async fn row(client: &mut Client, sql: &str) -> String {
    let response = client.run(sql).await.unwrap();
    let row = response.rows().next().unwrap_or_else(|| panic!("{sql}: no row"));
    let values = weir_testkit::client::bytes::text_row(row).unwrap();
    let text = |value: Option<Vec<u8>>| match value {
        Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        None => "NULL".to_owned(),
    };
    values.into_iter().map(text).collect::<Vec<_>>().join("|")
}

/// The session has no server connection.
pub async fn free(client: &mut Client, after: &str) {
    assert_eq!(shown(client, "pinned").await, "no", "{after}");
    assert_eq!(shown(client, "server_connection_id").await, "0", "{after}");
}

/// Weir has taken the session's server connection back: after a command without an answer nobody hears when.
pub async fn freed(client: &mut Client) {
    until("the connection is given back", async || {
        (shown(client, "server_connection_id").await == "0").then_some(())
    })
    .await;
    free(client, "given back").await;
}

/// The session keeps its server connection, and this is one of the reasons. Says which connection.
pub async fn pinned(client: &mut Client, reason: &str, after: &str) -> String {
    let reasons = shown(client, "pinned").await;
    assert!(reasons.split(", ").any(|each| each == reason), "{after}: {reasons}, not {reason}");
    let id = shown(client, "server_connection_id").await;
    assert_ne!(id, "0", "{after}");
    id
}

/// Another session's statement runs on the connection that the others use.
pub async fn turn(other: &mut Client) {
    assert_eq!(row(other, "SELECT 'another'").await, "another");
}

/// Every command that was sent before this has been taken: Weir answers this itself, and takes one after the other.
pub async fn taken(witness: &mut Client) {
    for _ in 0..3 {
        shown(witness, "client_id").await;
    }
}

/// How many connections Weir has opened to its server.
pub async fn opened(weir: &Weir) -> f64 {
    metric(weir, "weir_server_connections_opened_total").await
}

/// An execution with these parameters and, if `types`, with their types.
pub async fn execute(client: &mut Client, id: u32, params: &[command::Param], types: bool) -> Response {
    let body = command::Execute { id, flags: 0, params, types, attributes: false }.body();
    client.command(command::STMT_EXECUTE, &body).await.unwrap()
}
