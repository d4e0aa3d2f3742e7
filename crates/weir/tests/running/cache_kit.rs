//! What the tests of the result cache have in common: a Weir with rules, and how to tell that an answer is not the server's.

use crate::kit::*;
use crate::sharing_kit::*;

/// A rule for all reads.
pub const ALL: &str = "[[rule]]\nname = \"all\"\nmatch = { kind = \"read\" }\ncache = { ttl = \"1h\" }\n";

/// How clients keep server connections.
pub const MODES: [&str; 2] = ["sharing = \"transaction\"\n", "sharing = \"session\"\n"];

/// Changes the data so that only the server knows: what Weir has in memory is older now.
pub async fn change(server: &Server, sql: &str) {
    app(server.addr()).connect().await.unwrap().run(sql).await.unwrap();
}

/// A table of two columns with three rows, in a database of its own.
pub async fn table(server: &Server, database_name: &str) {
    let rows = "INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')";
    let create = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(40) CHARACTER SET utf8mb4)";
    database(server, database_name, &[create, rows]).await;
}

/// The statement is answered from memory, or not: the row of `id` has been changed behind Weir's back since it was asked last.
pub async fn value(client: &mut Client, id: u32) -> String {
    row(client, &format!("SELECT v FROM t WHERE id={id}")).await
}
