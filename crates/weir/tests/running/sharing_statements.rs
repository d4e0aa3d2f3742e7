//! P35, P36, P39, P40: prepared statements of clients that take turns on fewer connections. The ids are Weir's, and each
//! connection has its own.

use crate::kit::*;
use crate::sharing_kit::*;
use crate::sharing_types::text;
use command::Param;

/// The only value of the only row, an INT or a BIGINT.
pub fn number(response: &Response) -> i64 {
    assert_eq!(response.err(), None);
    let row = response.rows().next().unwrap_or_else(|| panic!("no row: {response:?}"));
    match row[2..].len() {
        4 => i64::from(i32::from_le_bytes(row[2..].try_into().unwrap())),
        8 => i64::from_le_bytes(row[2..].try_into().unwrap()),
        _ => panic!("no number: {row:?}"),
    }
}

fn id(prepared: weir_testkit::client::Prepared) -> u32 {
    prepared.id
}

#[tokio::test]
async fn p35_the_same_text_of_several_clients_is_each_ones_own_statement() {
    for (flavor, server) in &both() {
        database(server, "sh_p35", &[]).await;
        let weir = sharing(server, 2, "", "");
        let mut all: [Client; 3] = clients(&weir, "sh_p35").await;
        let sql = "SELECT CAST(? AS SIGNED) + 0";
        let mut ids = Vec::new();
        for client in &mut all {
            ids.push(id(client.prepare(sql).await.unwrap()));
            free(client, "a prepared statement pins nobody").await;
        }
        // Types are bound by each once, and differ; then they are left out, whoever was there in between.
        let param = |who: usize, step: i64| match who {
            0 => Param::Int(step),
            1 => Param::Text(format!("{}", 100 + step)),
            _ => Param::Double(200.0 + step as f64),
        };
        let expected = |who: usize, step: i64| who as i64 * 100 + step;
        for step in 0..12 {
            for turn in 0..3 {
                // In another order each time, and two at the same time, so that they need both connections.
                let who = (turn * 2 + step as usize) % 3;
                let next = (who + 1) % 3;
                let bound = |who| {
                    command::Execute {
                        id: ids[who],
                        flags: 0,
                        params: &[param(who, step)],
                        types: step == 0,
                        attributes: false,
                    }
                    .body()
                };
                for who in [who, next] {
                    all[who].send(command::STMT_EXECUTE, &bound(who)).await.unwrap();
                }
                for who in [who, next] {
                    let response = all[who].receive(command::STMT_EXECUTE).await.unwrap();
                    assert_eq!(number(&response), expected(who, step), "{flavor:?} {who} {step}");
                }
            }
        }
        assert!(opened(&weir).await <= 2.0);
    }
}

#[tokio::test]
async fn p36_a_closed_statement_is_gone_for_its_client_only() {
    for (flavor, server) in &both() {
        database(server, "sh_p36", &[]).await;
        let weir = sharing(server, 2, "", "");
        let [mut one, mut two, mut three] = clients(&weir, "sh_p36").await;
        let sql = "SELECT CAST(? AS SIGNED) + 0";
        let (first, second) = (one.prepare(sql).await.unwrap().id, two.prepare(sql).await.unwrap().id);
        for round in 0..5 {
            let mut mine = Vec::new();
            for _ in 0..4 {
                mine.push(one.prepare(sql).await.unwrap().id);
            }
            mine.sort_unstable();
            mine.dedup();
            assert_eq!((mine.len(), mine.contains(&first)), (4, false), "ids of one client are told apart");
            turn(&mut three).await;
            for id in &mine {
                let response = execute(&mut one, *id, &[Param::Int(round)], true).await;
                assert_eq!(number(&response), round, "{flavor:?}");
                assert!(
                    one.command(command::STMT_CLOSE, &id.to_le_bytes()).await.unwrap().packets.is_empty()
                );
                let gone = execute(&mut one, *id, &[Param::Int(round)], true).await;
                assert_eq!(gone.err().map(|err| err.code), Some(1243), "{flavor:?}: {gone:?}");
            }
            assert_eq!(number(&execute(&mut two, second, &[Param::Int(7)], round == 0).await), 7);
            assert_eq!(number(&execute(&mut one, first, &[Param::Int(8)], round == 0).await), 8);
        }
        assert_eq!(shown(&mut one, "prepared_statements").await, "1");
        // What the client closes twice, or never had, has no answer; what follows is answered.
        for id in [first, first, 4711] {
            one.command(command::STMT_CLOSE, &id.to_le_bytes()).await.unwrap();
        }
        assert!(one.command(command::PING, &[]).await.unwrap().ok().is_some());
        assert_eq!(number(&execute(&mut two, second, &[Param::Int(9)], false).await), 9);
    }
}

#[tokio::test]
async fn p39_an_id_that_only_another_client_has_is_unknown() {
    for (flavor, server) in &both() {
        database(server, "sh_p39", &[]).await;
        let weir = sharing(server, 1, "", "");
        let [mut one, mut two] = clients(&weir, "sh_p39").await;
        let mut known = Vec::new();
        for i in 0..5 {
            known.push(one.prepare(&format!("SELECT {i}")).await.unwrap().id);
        }
        let direct = {
            let mut client = app(server.addr()).connect().await.unwrap();
            let codes = [command::STMT_EXECUTE, command::STMT_FETCH, command::STMT_RESET];
            let mut answers = Vec::new();
            for code in codes {
                answers.push((code, client.command(code, &command::fetch(999_999, 1)).await.unwrap()));
            }
            answers
        };
        // The server's ids are small numbers too.
        for unknown in known.iter().copied().chain(1..20) {
            for (code, direct) in &direct {
                let body = match *code {
                    command::STMT_EXECUTE => command::Execute {
                        id: unknown,
                        flags: 0,
                        params: &[],
                        types: true,
                        attributes: false,
                    }
                    .body(),
                    command::STMT_FETCH => command::fetch(unknown, 1),
                    _ => unknown.to_le_bytes().to_vec(),
                };
                let response = two.command(*code, &body).await.unwrap();
                let err =
                    response.err().unwrap_or_else(|| panic!("{flavor:?} {code:#x} {unknown}: {response:?}"));
                assert_eq!((err.code, &err.state), (1243, &direct.err().unwrap().state), "{flavor:?} {err}");
            }
            // Neither of these has an answer, nor an effect.
            two.command(command::STMT_SEND_LONG_DATA, &command::long_data(unknown, 0, b"x")).await.unwrap();
            two.command(command::STMT_CLOSE, &unknown.to_le_bytes()).await.unwrap();
        }
        for (i, id) in known.into_iter().enumerate() {
            assert_eq!(number(&execute(&mut one, id, &[], true).await), i as i64, "{flavor:?}");
        }
        free(&mut two, "nothing of it pins").await;
    }
}

#[tokio::test]
async fn p35_an_alter_table_in_between_shows_in_the_next_execution() {
    for (flavor, server) in &both() {
        let table = ["CREATE TABLE t (i BIGINT)", "INSERT INTO t VALUES (1)"];
        database(server, "sh_alter", &table).await;
        let weir = sharing(server, 2, "", "");
        let mut all: [Client; 3] = clients(&weir, "sh_alter").await;
        let mut ids = Vec::new();
        for client in &mut all {
            ids.push(client.prepare("SELECT * FROM t").await.unwrap().id);
        }
        let mut admin = app(server.addr()).database("sh_alter").connect().await.unwrap();
        for (change, columns) in [
            ("INSERT INTO t VALUES (2)", 1),
            ("ALTER TABLE t ADD COLUMN j BIGINT DEFAULT 5", 2),
            ("ALTER TABLE t ADD COLUMN k VARCHAR(9) DEFAULT 'k' FIRST", 3),
            ("ALTER TABLE t DROP COLUMN i", 2),
        ] {
            admin.run(change).await.unwrap();
            for (client, id) in all.iter_mut().zip(&ids) {
                let response = execute(client, *id, &[], true).await;
                let result = response.results().next().unwrap_or_else(|| panic!("{change}: {response:?}"));
                assert_eq!((result.columns.len(), result.rows.len()), (columns, 2), "{flavor:?}: {change}");
            }
        }
        admin.run("DROP TABLE t").await.unwrap();
        for (client, id) in all.iter_mut().zip(&ids) {
            let response = execute(client, *id, &[], true).await;
            assert_eq!(response.err().map(|err| err.code), Some(1146), "{flavor:?}: {response:?}");
        }
    }
}

#[tokio::test]
async fn p35_a_statement_is_read_as_it_was_when_it_was_prepared() {
    for (flavor, server) in &both() {
        database(server, "sh_then", &["CREATE TABLE t (v VARCHAR(9))", "INSERT INTO t VALUES ('then')"])
            .await;
        database(server, "sh_now", &["CREATE TABLE t (v VARCHAR(9))", "INSERT INTO t VALUES ('now')"]).await;
        // The second connection has not seen the statement.
        let weir = sharing(server, 2, "", "");
        let [mut one, mut holder] = clients(&weir, "sh_then").await;
        one.run("SET sql_mode = 'ANSI_QUOTES'").await.unwrap();
        let id = one.prepare("SELECT \"v\" FROM t").await.unwrap().id;
        one.run("USE sh_now").await.unwrap();
        one.run("SET sql_mode = ''").await.unwrap();
        for _ in 0..2 {
            assert_eq!(text(&execute(&mut one, id, &[], true).await), "then", "{flavor:?}");
            assert_eq!(row(&mut one, "SELECT v, \"v\" FROM t").await, "now|v", "{flavor:?}");
            // The idle connection, which the statement is known on, goes to the other.
            holder.run("BEGIN").await.unwrap();
            row(&mut holder, "SELECT COUNT(*) FROM t").await;
        }
        assert_eq!(opened(&weir).await, 2.0, "{flavor:?}");
    }
}

#[tokio::test]
async fn p40_statements_of_one_client_and_of_all_are_bounded() {
    for flavor in Flavor::BOTH {
        let mine = Server::builder(flavor).arg("--max-prepared-stmt-count=45").start().unwrap();
        database(&mine, "sh_p40", &[]).await;
        let weir = sharing(&mine, 10, "server_statements = 45\n", "[limits]\nmax_statements = 40\n");
        let mut all: [Client; 8] = clients(&weir, "sh_p40").await;
        for client in &mut all {
            // Each on a connection of its own.
            client.run("BEGIN").await.unwrap();
        }
        // More texts than the server would keep.
        let mut ids = [const { Vec::new() }; 8];
        for i in 0..40i64 {
            for (who, client) in all.iter_mut().enumerate() {
                let sql = format!("SELECT CAST({} AS SIGNED)", i * 8 + who as i64);
                let prepared = client.prepare(&sql).await;
                ids[who].push(prepared.unwrap_or_else(|error| panic!("{flavor:?} {i} {who}: {error:#}")).id);
            }
        }
        for i in (0..40).rev() {
            for (who, client) in all.iter_mut().enumerate() {
                let response = execute(client, ids[who][i], &[], true).await;
                assert_eq!(number(&response), i as i64 * 8 + who as i64, "{flavor:?}");
            }
        }
        let mut admin = app(mine.addr()).connect().await.unwrap();
        let kept = row(&mut admin, "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'").await;
        let kept: f64 = kept.split('|').nth(1).unwrap().parse().unwrap();
        assert!(opened(&weir).await >= 8.0, "{flavor:?}");
        assert!((8.0..=45.0).contains(&kept), "{flavor:?}: {kept}");
        let response = all[0].command(command::STMT_PREPARE, b"SELECT 1").await.unwrap();
        let err = response.err().cloned().unwrap_or_else(|| panic!("{flavor:?}: {response:?}"));
        assert_eq!((err.code, err.state.as_str()), (1461, "42000"), "{err}");
        assert!(err.message.contains("limits.max_statements"), "{err}");
        let first = ids[0][0];
        all[0].command(command::STMT_CLOSE, &first.to_le_bytes()).await.unwrap();
        all[0].prepare("SELECT 1").await.unwrap();
    }
}

#[tokio::test]
async fn p40_few_connections_keep_their_statements_however_many_there_may_be() {
    for flavor in Flavor::BOTH {
        // Its own, for what a server prepares is counted for all.
        let mine = Server::start(flavor).unwrap();
        database(&mine, "sh_p40_few", &[]).await;
        let weir = sharing(&mine, 3000, "", "");
        let mut all: [Client; 4] = clients(&weir, "sh_p40_few").await;
        let mut ids = [const { Vec::new() }; 4];
        for (client, ids) in all.iter_mut().zip(&mut ids) {
            // Each on a connection of its own.
            client.run("BEGIN").await.unwrap();
            for i in 0..50i64 {
                ids.push(client.prepare(&format!("SELECT CAST({i} AS SIGNED)")).await.unwrap().id);
            }
        }
        let mut admin = app(mine.addr()).connect().await.unwrap();
        let counted = "SHOW GLOBAL STATUS LIKE 'Com_stmt_prepare'";
        let before = row(&mut admin, counted).await;
        for round in 0..2 {
            for (client, ids) in all.iter_mut().zip(&ids) {
                for (i, id) in ids.iter().enumerate() {
                    assert_eq!(
                        number(&execute(client, *id, &[], true).await),
                        i as i64,
                        "{flavor:?} {round}"
                    );
                }
            }
        }
        assert_eq!(row(&mut admin, counted).await, before, "{flavor:?}: nothing is prepared anew");
        assert!(opened(&weir).await >= 4.0, "{flavor:?}");
        // What clients close is kept for others, unless it is of no use to them.
        for (client, ids) in all.iter_mut().zip(&ids) {
            for id in ids {
                client.command(command::STMT_CLOSE, &id.to_le_bytes()).await.unwrap();
            }
            client.run("COMMIT").await.unwrap();
        }
        let [one, ..] = &mut all;
        for i in 50..100 {
            let id = one.prepare(&format!("SELECT CAST({i} AS SIGNED)")).await.unwrap().id;
            assert_eq!(number(&execute(one, id, &[], true).await), i, "{flavor:?}");
            one.command(command::STMT_CLOSE, &id.to_le_bytes()).await.unwrap();
        }
        turn(one).await;
        let kept = row(&mut admin, "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'").await;
        let kept: u32 = kept.split('|').nth(1).unwrap().parse().unwrap();
        match flavor {
            Flavor::MySql => assert!(kept <= 5, "{kept}"),
            Flavor::MariaDb => assert_eq!(kept, 4 * 50 + 50),
        }
    }
}

#[tokio::test]
async fn p39_the_statement_prepared_last_is_executed_as_by_the_server_wherever_that_is() {
    const LAST: [u8; 4] = u32::MAX.to_le_bytes();
    for (flavor, server) in &both() {
        database(server, "sh_last", &[]).await;
        let weir = sharing(server, 1, "", "");
        let mut two = client(&weir, "sh_last").await;
        let typed = command::Execute {
            id: u32::MAX,
            flags: 0,
            params: &[Param::Text("now".into())],
            types: true,
            attributes: false,
        };
        let bodies = [
            // It ends ahead of the types; it says that they are as before; it has them.
            [&LAST[..], &[0, 1, 0, 0, 0]].concat(),
            [&LAST[..], &[0, 1, 0, 0, 0, 0, 0]].concat(),
            typed.body(),
        ];
        let mut one = client(&weir, "sh_last").await;
        let mut direct = app(server.addr()).database("sh_last").connect().await.unwrap();
        for bound in [false, true] {
            for body in &bodies {
                let mut answers = Vec::new();
                for client in [&mut direct, &mut one] {
                    let id = client.prepare("SELECT ?").await.unwrap().id;
                    if bound {
                        execute(client, id, &[Param::Text("before".into())], true).await;
                    }
                }
                // The connection prepares something else meanwhile.
                two.prepare(&format!("SELECT {}, {bound}", body.len())).await.unwrap();
                for client in [&mut direct, &mut one] {
                    answers.push(client.command(command::STMT_EXECUTE, body).await.unwrap().packets);
                    answers.push(client.command(command::PING, b"").await.unwrap().packets);
                }
                assert_eq!(answers[..2], answers[2..], "{flavor:?}, bound: {bound}, {body:?}");
            }
        }
    }
}

/// Where they have no collation of their own, those of the login and of SET NAMES may be told apart: on MariaDB.
#[tokio::test]
async fn text_parameters_have_the_collation_of_a_direct_connection() {
    /// utf8mb4_bin, utf8mb4_general_ci, utf8mb4_unicode_ci.
    const LOGINS: [[u8; 2]; 3] = [[46, 45], [45, 46], [224, 45]];
    for (flavor, server) in &both() {
        for [login, others] in LOGINS {
            let weir = sharing(server, 1, "", "");
            let mut other = app(weir.addr()).collation(others).connect().await.unwrap();
            let mut twin = Twin::open(server, &weir, |options| options.collation(login)).await;
            let text = || command::Param::Text("ev".to_owned());
            let body = |id| {
                let params = [text(), text()];
                command::Execute { id, flags: 0, params: &params, types: true, attributes: false }.body()
            };
            let collate = "SET NAMES utf8mb4 COLLATE utf8mb4_bin";
            for set in ["", "SET NAMES utf8mb4", "SET character_set_client = utf8mb4", collate, ""] {
                if set.is_empty() {
                    twin.command(command::RESET_CONNECTION, &[]).await;
                } else {
                    twin.run(set).await;
                }
                let ids = twin.prepare("SELECT ?, CONCAT(?, '') = 'EV'").await;
                for _ in 0..2 {
                    turn(&mut other).await;
                    twin.on(ids, command::STMT_EXECUTE, body).await;
                }
            }
            free(&mut twin.weir, &format!("{flavor:?}")).await;
        }
    }
}

/// The server describes each parameter and each column when it prepares: more bytes than Weir holds of an answer to its own command.
#[tokio::test]
async fn a_statement_of_very_many_parameters_is_prepared_anew() {
    // Less than what Weir reads at a time, with the command.
    const PARAMS: usize = 32_000;
    for (flavor, server) in &both() {
        let columns: Vec<_> = (0..500).map(|n| format!("{}{n} INT", "c".repeat(60))).collect();
        let table = format!("CREATE TABLE {} ({})", "t".repeat(64), columns.join(","));
        database(server, "sh_parameters", &[&table]).await;
        let weir = sharing(server, 4, "", "");
        let mut one = client(&weir, "sh_parameters").await;
        let name = "t".repeat(64);
        let sql = format!(
            "SELECT * FROM {name} a, {name} b, {name} c, {name} d WHERE 7 IN ({}?)",
            "?,".repeat(PARAMS - 1)
        );
        let id = one.prepare(&sql).await.unwrap().id;
        free(&mut one, "prepared").await;
        one.run("/*weir: fresh*/ BEGIN").await.unwrap();
        let answer = execute(&mut one, id, &vec![Param::Int(7); PARAMS], true).await;
        assert_eq!(answer.err(), None, "{flavor:?}");
        one.run("COMMIT").await.unwrap();
    }
}

#[tokio::test]
async fn p40_statements_of_clients_that_have_gone_are_closed_where_nobody_prepares() {
    // Its own, for the prepared statements of a server are counted together. MariaDB's are for whoever prepares the same.
    let server = Server::start(Flavor::MySql).unwrap();
    database(&server, "sh_left", &[]).await;
    let weir = sharing(&server, 4, "", "");
    let mut admin = app(server.addr()).connect().await.unwrap();
    let [mut stays, mut goes] = clients(&weir, "sh_left").await;
    let id = stays.prepare("SELECT CAST(7 AS SIGNED)").await.unwrap().id;
    for i in 0..40 {
        goes.prepare(&format!("SELECT {i}, ?")).await.unwrap();
    }
    let count = async |admin: &mut Client| row(admin, "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'").await;
    assert_eq!(count(&mut admin).await, "Prepared_stmt_count|41");
    // One that forgets them and stays is no better than one that goes. Its reset closes those of another connection.
    stays.run("BEGIN").await.unwrap();
    goes.run("BEGIN").await.unwrap();
    stays.run("COMMIT").await.unwrap();
    goes.command(command::RESET_CONNECTION, &[]).await.unwrap();
    assert_eq!(count(&mut admin).await, "Prepared_stmt_count|41");
    // It takes that again, and the others are on the one that is used now.
    goes.run("USE sh_left").await.unwrap();
    goes.run("BEGIN").await.unwrap();
    let closed = async |stays: &mut Client, admin: &mut Client| {
        until("they are closed", async || {
            turn(stays).await;
            (count(admin).await == "Prepared_stmt_count|1").then_some(())
        })
        .await;
    };
    closed(&mut stays, &mut admin).await;
    goes.run("COMMIT").await.unwrap();
    for i in 0..40 {
        goes.prepare(&format!("SELECT {i}, ?")).await.unwrap();
    }
    goes.quit().await.unwrap();
    closed(&mut stays, &mut admin).await;
    assert_eq!(number(&execute(&mut stays, id, &[], true).await), 7);
}
