//! Answers from memory in every form: over TLS and compression, and as executions of prepared statements.

use weir_testkit::certs::Certs;
use weir_wire::compress::Algorithm;

use crate::cache_kit::*;
use crate::kit::*;
use crate::packed_link::packed;
use crate::sharing_kit::*;

/// Frames are numbered where a link is compressed, and the packets' own numbers mean nothing.
fn unnumbered(mut response: Response) -> Response {
    response.packets.iter_mut().for_each(|packet| packet.seq = 0);
    response
}

#[tokio::test]
async fn an_answer_from_memory_is_the_same_over_every_link() {
    let folder = tempfile::tempdir().unwrap();
    let certs = Certs::generate(folder.path()).unwrap();
    let tls = tls_section(&certs);
    // A few bytes, more than one read brings, and more than one packet.
    let statements = [
        "SELECT v FROM t WHERE id=1",
        "SELECT id, v, REPEAT(v, 20000) FROM t ORDER BY id",
        "SELECT REPEAT(v, 6000000) FROM t WHERE id=1",
    ];
    for (flavor, server) in &both() {
        table(server, "ca_links").await;
        let limits = "[cache]\nmemory = \"512MiB\"\nmax_entry = \"64MiB\"\n";
        let weir = sharing(server, 8, "", &format!("{tls}{limits}{ALL}"));
        let plain = app(weir.addr()).database("ca_links");
        let mut direct = app(server.addr()).database("ca_links").connect().await.unwrap();
        let mut clients = [
            plain.connect().await.unwrap(),
            plain.clone().tls(Tls::Unverified).connect().await.unwrap(),
            plain.clone().tls(Tls::Version12).connect().await.unwrap(),
            packed(&plain, Algorithm::Zlib).await.unwrap(),
            packed(&plain, Algorithm::Zstd(3)).await.unwrap(),
        ];
        let mut expected = Vec::new();
        for sql in statements {
            expected.push(unnumbered(direct.query(sql).await.unwrap()));
            clients[0].query(sql).await.unwrap();
        }
        // What is asked behind the last answer is over.
        shown(&mut clients[0], "client_id").await;
        change(server, "UPDATE ca_links.t SET v='changed'").await;
        for (n, client) in clients.iter_mut().enumerate() {
            for (sql, expected) in statements.into_iter().zip(&expected) {
                let got = unnumbered(client.query(sql).await.unwrap());
                assert!(got == *expected, "{flavor:?}, link {n}: {sql}");
            }
            assert_eq!(row(client, "SELECT 'usable'").await, "usable", "{flavor:?}, link {n}");
        }
    }
}

/// PDO and Connector/J prepare what WordPress sends as text.
#[tokio::test]
async fn what_an_execution_found_is_told_after_it_was_answered_from_memory() {
    let sql = "SELECT SQL_CALC_FOUND_ROWS v FROM t WHERE id < ? ORDER BY id LIMIT 2";
    let nexts = ["SELECT FOUND_ROWS()", "SHOW WARNINGS", "SELECT @@warning_count", "SELECT ROW_COUNT()"];
    let union = "SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4";
    let params = [command::Param::Int(9)];
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_counted_t", "ca_counted_s"]) {
            table(server, name).await;
            let weir = sharing(server, 4, mode, ALL);
            for (n, next) in nexts.into_iter().enumerate() {
                let at = format!("{flavor:?} {mode}: {next}");
                let sql = sql.replace(" v ", &format!(" v AS c{n} "));
                let mut direct = app(server.addr()).database(name).connect().await.unwrap();
                let [mut through] = clients(&weir, name).await;
                let there = direct.prepare(&sql).await.unwrap().id;
                let here = through.prepare(&sql).await.unwrap().id;
                // MySQL has warned when it prepared that, and who has warnings to ask for is not served.
                through.run("/*nocache*/ SELECT id FROM t").await.unwrap();
                let mut expected = Vec::new();
                direct.run(union).await.unwrap();
                expected.push(execute(&mut direct, there, &params, true).await);
                expected.push(direct.query(next).await.unwrap());
                assert_eq!(execute(&mut through, here, &params, true).await, expected[0], "{at}");
                change(server, &format!("INSERT INTO {name}.t VALUES (4, 'four')")).await;
                through.run(union).await.unwrap();
                let hits = metric(&weir, "weir_cache_hits_total{rule=\"all\"}").await;
                let got =
                    [execute(&mut through, here, &params, false).await, through.query(next).await.unwrap()];
                assert_eq!(got[0].packets, expected[0].packets, "{at}");
                assert_eq!(got[1].packets, expected[1].packets, "{at}");
                assert!(
                    metric(&weir, "weir_cache_hits_total{rule=\"all\"}").await > hits,
                    "{at}: from memory"
                );
                change(server, &format!("DELETE FROM {name}.t WHERE id=4")).await;
            }
        }
    }
}
