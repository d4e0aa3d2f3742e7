//! P35: types that were bound to a prepared statement. MySQL reads values as the types that were bound to a server's statement first.

use weir_testkit::client::bytes::Fields;

use crate::cache_kit::ALL;
use crate::kit::*;
use crate::sharing_kit::*;
use command::Param;

/// The only value of the only row, a text.
pub fn text(response: &Response) -> String {
    assert_eq!(response.err(), None);
    let row = response.rows().next().unwrap_or_else(|| panic!("no row: {response:?}"));
    String::from_utf8(Fields(&row[2..]).lenenc_bytes().unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn p35_a_parameter_of_another_type_replaces_the_one_before_on_every_connection() {
    for (flavor, server) in &both() {
        database(server, "sh_types", &[]).await;
        let weir = sharing(server, 2, "", "");
        let [mut one, mut two, mut holder] = clients(&weir, "sh_types").await;
        let first = one.prepare("SELECT HEX(?)").await.unwrap().id;
        let second = two.prepare("SELECT HEX(?)").await.unwrap().id;
        for held in [false, true, false, true] {
            if held {
                // Now the others have one connection between them, and not always the same.
                holder.run("BEGIN").await.unwrap();
                row(&mut holder, "SELECT COUNT(*) FROM mysql.db").await;
            }
            assert_eq!(text(&execute(&mut one, first, &[Param::Int(255)], true).await), "FF", "{flavor:?}");
            assert_eq!(text(&execute(&mut two, second, &[Param::Text("a".into())], true).await), "61");
            assert_eq!(text(&execute(&mut one, first, &[Param::Int(16)], false).await), "10", "{flavor:?}");
            assert_eq!(text(&execute(&mut two, second, &[Param::Text("b".into())], false).await), "62");
            // NULL now, and a value again.
            let null = execute(&mut one, first, &[Param::Null], true).await;
            assert_eq!(null.rows().next(), Some(&[0, 4][..]), "{flavor:?}");
            assert_eq!(text(&execute(&mut two, second, &[Param::Text("c".into())], false).await), "63");
            if held {
                holder.run("COMMIT").await.unwrap();
            }
        }
        // Never bound at all, here or there.
        let unbound = one.prepare("SELECT ?, ?").await.unwrap().id;
        let refused = execute(&mut one, unbound, &[Param::Int(1), Param::Int(2)], false).await;
        assert!(refused.err().is_some(), "{flavor:?}: {refused:?}");
        turn(&mut two).await;
        assert_eq!(execute(&mut one, unbound, &[Param::Int(1), Param::Int(2)], true).await.rows().count(), 1);
    }
}

/// A statement of a client that is bound to integers on both connections, and gone: closed, or with the whole session.
async fn bound_and_gone(one: &mut Client, holder: &mut Client, reset: bool) {
    let id = one.prepare("SELECT HEX(?)").await.unwrap().id;
    assert_eq!(text(&execute(one, id, &[Param::Int(255)], true).await), "FF");
    elsewhere(holder).await;
    assert_eq!(text(&execute(one, id, &[Param::Int(16)], false).await), "10");
    holder.run("COMMIT").await.unwrap();
    match reset {
        true => one.command(command::RESET_CONNECTION, &[]).await.unwrap(),
        false => one.command(command::STMT_CLOSE, &id.to_le_bytes()).await.unwrap(),
    };
    free(one, "gone").await;
}

/// The holder takes the connection that was used last, and leaves the other.
async fn elsewhere(holder: &mut Client) {
    holder.run("BEGIN").await.unwrap();
    row(holder, "SELECT COUNT(*) FROM mysql.db").await;
}

#[tokio::test]
async fn p35_a_statement_prepared_again_has_nothing_of_the_types_of_the_one_before() {
    for (flavor, server) in &both() {
        database(server, "sh_types_again", &[]).await;
        for reset in [false, true] {
            let at = format!("{flavor:?} reset: {reset}");
            let weir = sharing(server, 2, "", "");
            let [mut one, mut holder] = clients(&weir, "sh_types_again").await;
            bound_and_gone(&mut one, &mut holder, reset).await;
            let id = one.prepare("SELECT HEX(?)").await.unwrap().id;
            elsewhere(&mut holder).await;
            assert_eq!(text(&execute(&mut one, id, &[Param::Text("a".into())], true).await), "61", "{at}");
            holder.run("COMMIT").await.unwrap();
            assert_eq!(text(&execute(&mut one, id, &[Param::Text("b".into())], false).await), "62", "{at}");
            // Without types it is refused, as by the server.
            bound_and_gone(&mut one, &mut holder, reset).await;
            let id = one.prepare("SELECT HEX(?)").await.unwrap().id;
            elsewhere(&mut holder).await;
            let refused = execute(&mut one, id, &[Param::Int(1)], false).await;
            assert_eq!(refused.err().map(|err| err.code), Some(1210), "{at}: {refused:?}");
            assert!(opened(&weir).await <= 2.0, "{at}");
        }
    }
}

#[tokio::test]
async fn an_answer_to_a_statement_prepared_again_is_kept_as_the_server_gives_it() {
    for (flavor, server) in &both() {
        database(server, "sh_again_kept", &[]).await;
        for reset in [false, true] {
            let at = format!("{flavor:?} reset: {reset}");
            let weir = sharing(server, 2, "", ALL);
            let [mut one, mut holder, mut other] = clients(&weir, "sh_again_kept").await;
            bound_and_gone(&mut one, &mut holder, reset).await;
            let id = one.prepare("SELECT HEX(?)").await.unwrap().id;
            elsewhere(&mut holder).await;
            assert_eq!(text(&execute(&mut one, id, &[Param::Text("a".into())], true).await), "61", "{at}");
            // What is asked behind the answer is over, and it is kept.
            shown(&mut one, "client_id").await;
            holder.run("COMMIT").await.unwrap();
            let id = other.prepare("SELECT HEX(?)").await.unwrap().id;
            assert_eq!(text(&execute(&mut other, id, &[Param::Text("a".into())], true).await), "61", "{at}");
        }
    }
}

/// What servers settle when they prepare a statement, and not when they execute it.
#[tokio::test]
async fn p35_what_counted_when_a_statement_was_prepared_counts_on_every_connection() {
    const TABLE: [&str; 2] = [
        "CREATE TABLE t (i INT, d DATE, ts TIMESTAMP NULL)",
        "INSERT INTO t VALUES (1, '2008-01-01', '2020-01-01 00:00:00')",
    ];
    for (flavor, server) in &both() {
        database(server, "sh_counted", &TABLE).await;
        let (then, now, sql) = match flavor {
            Flavor::MySql => (
                "SET time_zone = '+05:00', div_precision_increment = 10, default_week_format = 3, lc_time_names = 'de_DE'",
                "SET time_zone = '+00:00', div_precision_increment = 4, default_week_format = 0, lc_time_names = 'en_US'",
                "SELECT i / 3, WEEK(d), DAYNAME(d), ts >= TIMESTAMP'2020-01-01 00:00:00+00:00' FROM t",
            ),
            Flavor::MariaDb => (
                "SET old_mode = '', div_precision_increment = 10",
                "SET old_mode = 'UTF8_IS_UTF8MB3', div_precision_increment = 4",
                "SELECT CHARSET(CONVERT(i USING utf8)), i / 3 FROM t",
            ),
        };
        for rules in ["", ALL] {
            let weir = sharing(server, 2, "", rules);
            let open = || Twin::open(server, &weir, |options| options);
            let (mut one, mut other) = (open().await, open().await);
            let mut holder = client(&weir, "sh_counted").await;
            for twin in [&mut one, &mut other] {
                twin.run("USE sh_counted").await;
                // No warning is left.
                twin.run("SELECT i FROM t").await;
            }
            one.run(then).await;
            let (first, body) = (one.prepare(sql).await, |id| {
                command::Execute { id, flags: 0, params: &[], types: true, attributes: false }.body()
            });
            one.run(now).await;
            other.run(now).await;
            let second = other.prepare(sql).await;
            for held in [false, true, false, true] {
                if held {
                    elsewhere(&mut holder).await;
                }
                for _ in 0..2 {
                    one.on(first, command::STMT_EXECUTE, body).await;
                    other.on(second, command::STMT_EXECUTE, body).await;
                    one.run(sql).await;
                }
                if held {
                    holder.run("COMMIT").await.unwrap();
                }
            }
            assert!(opened(&weir).await <= 2.0, "{flavor:?}");
        }
    }
}
