//! The digests of our own statements, held against those of a real MySQL.

#![allow(clippy::unwrap_used)]

use weir_testkit::digests::compare;
use weir_testkit::{ConnectOptions, Flavor, Server};

/// A statement and the digest that the unit tests of `weir-sql` expect of it, in turn.
const CASES: &str = include_str!("../../weir-sql/src/digest/tests/cases.txt");

#[tokio::test]
async fn our_digests_are_those_of_the_server() {
    let lines = CASES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let statements: Vec<_> = lines.step_by(2).map(|line| line.as_bytes().to_vec()).collect();
    // With the server's own limit, and with one that no statement of ours reaches.
    for limit in [1_024, 16_384] {
        let limit = format!("--max-digest-length={limit}");
        let server = Server::builder(Flavor::MySql).arg(limit).start().unwrap();
        let mut root = ConnectOptions::tcp(server.addr(), "root", "").connect().await.unwrap();
        for sql in ["SET NAMES utf8mb4", "CREATE DATABASE digests", "USE digests"] {
            root.run(sql).await.unwrap();
        }
        let report = compare(&mut root, &statements).await.unwrap();
        assert!(report.differences.is_empty(), "{:#?}", report.differences);
        assert_eq!((report.compared, report.refused), (statements.len(), 0));
    }
}
