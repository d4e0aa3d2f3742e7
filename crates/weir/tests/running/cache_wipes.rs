//! What changes tables or rights through Weir ends what was made of them, however it comes.

use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

/// A rule for the reads of one user alone: sessions of others are not followed.
fn only(user: &str) -> String {
    ALL.replace("kind = \"read\"", &format!("kind = \"read\", user = \"{user}\""))
}

/// A second account that may do everything in a database, and its table of the configuration.
async fn another(server: &Server, user: &str, database_name: &str) -> String {
    let mut admin = app(server.addr()).connect().await.unwrap();
    for sql in [
        format!("DROP USER IF EXISTS {user}"),
        format!("CREATE USER {user} IDENTIFIED BY 'other-pw'"),
        format!("GRANT ALL ON {database_name}.* TO {user}"),
    ] {
        admin.run(&sql).await.unwrap();
    }
    format!("[[user]]\nname = \"{user}\"\npassword = \"other-pw\"\n")
}

async fn login(weir: &Weir, user: &str, database_name: &str) -> Client {
    let options = ConnectOptions::tcp(weir.addr(), user, "other-pw").database(database_name);
    options.with(Caps::MULTI_STATEMENTS).connect().await.unwrap()
}

/// Runs a text that may answer with several results, none of them an error.
async fn run_all(client: &mut Client, sql: &str) {
    let answer = client.query(sql).await.unwrap();
    assert_eq!(answer.err(), None, "{sql:.100}");
}

#[tokio::test]
async fn a_session_that_is_not_followed_takes_out_what_it_changes() {
    for (flavor, server) in &both() {
        table(server, "ca_untold_w").await;
        let user = another(server, "ca_untold_w", "ca_untold_w").await;
        for sql in [
            "CREATE VIEW w AS SELECT v FROM t WHERE id=1",
            "CREATE PROCEDURE p() SELECT 1",
            "CREATE TABLE other (i INT)",
        ] {
            let mut admin = app(server.addr()).database("ca_untold_w").connect().await.unwrap();
            admin.run(sql).await.unwrap();
        }
        // What is known of a text from its digest is known the second time only, and not of every text.
        for analytics in ["", "[analytics]\nenabled = false\n"] {
            let more = format!("{analytics}{user}{}", only("app"));
            let weir = sharing(server, 8, MODES[1], &more);
            let [mut client] = clients(&weir, "ca_untold_w").await;
            let mut other = login(&weir, "ca_untold_w", "ca_untold_w").await;
            let blanks = " ".repeat(5 << 10);
            let more_blanks = " ".repeat(100 << 10);
            for (id, change) in [
                (1, "CREATE OR REPLACE VIEW w AS SELECT v FROM t WHERE id=1".to_owned()),
                (2, format!("CREATE OR REPLACE VIEW w AS SELECT v{blanks}FROM t WHERE id=2")),
                (3, format!("CREATE OR REPLACE VIEW w AS SELECT v{more_blanks}FROM t WHERE id=3")),
                (1, "CREATE OR REPLACE VIEW w AS SELECT v FROM t WHERE id=1; CALL p()".to_owned()),
                (2, format!("/*{blanks}*/ CREATE OR REPLACE VIEW w AS SELECT v FROM t WHERE id=2; DO 1")),
                (
                    3,
                    "PREPARE s FROM 'CREATE OR REPLACE VIEW w AS SELECT v FROM t WHERE id=3'; EXECUTE s"
                        .to_owned(),
                ),
            ] {
                let at = format!("{flavor:?} {analytics} {change:.60}, {} bytes", change.len());
                row(&mut client, "SELECT v FROM w").await;
                run_all(&mut other, &change).await;
                let expected = ["one", "two", "three"][id - 1];
                assert_eq!(row(&mut client, "SELECT v FROM w").await, expected, "{at}");
            }
            row(&mut client, "SELECT v FROM w").await;
            other.run(&format!("INSERT INTO other VALUES (1){blanks}")).await.unwrap();
            run_all(&mut other, "SELECT 1; CALL p()").await;
            change(server, "UPDATE ca_untold_w.t SET v='changed' WHERE id=3").await;
            assert_eq!(
                row(&mut client, "SELECT v FROM w").await,
                "three",
                "{flavor:?}: nothing but what changes tables"
            );
            change(server, "UPDATE ca_untold_w.t SET v='three' WHERE id=3").await;
        }
    }
}

/// COM_SET_OPTION switches several statements on; what stands behind the part of a long text that is looked at is not seen.
#[tokio::test]
async fn what_stands_behind_a_long_text_counts_where_several_statements_were_switched_on() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_option_t", "ca_option_s"]) {
            for rules in [ALL.to_owned(), only("app")] {
                table(server, name).await;
                let user = another(server, name, name).await;
                let weir = sharing(server, 8, mode, &format!("{user}{rules}"));
                let [mut client] = clients(&weir, name).await;
                let single = ConnectOptions::tcp(weir.addr(), name, "other-pw").database(name);
                let mut other = single.without(Caps::MULTI_STATEMENTS).connect().await.unwrap();
                let on = other.command(command::SET_OPTION, &[0, 0]).await.unwrap();
                assert_eq!(on.err(), None, "{flavor:?} {mode}");
                assert_eq!(value(&mut client, 1).await, "one", "{flavor:?} {mode}");
                change(server, &format!("UPDATE {name}.t SET v='changed' WHERE id=1")).await;
                assert_eq!(value(&mut client, 1).await, "one", "{flavor:?} {mode}: it is kept");
                let long = "x".repeat(1200 << 10);
                run_all(&mut other, &format!("SELECT LENGTH('{long}'); ALTER TABLE t ADD COLUMN w INT"))
                    .await;
                assert_eq!(value(&mut client, 1).await, "changed", "{flavor:?} {mode} {rules}");
            }
        }
    }
}

/// MariaDB's clients execute the statement that they have prepared last without its number.
#[tokio::test]
async fn what_is_executed_as_the_statement_prepared_last_takes_out_what_it_changes() {
    let server = server(Flavor::MariaDb);
    for (mode, name) in MODES.iter().zip(["ca_last_t", "ca_last_s"]) {
        for analytics in ["", "[analytics]\nenabled = false\n"] {
            for rules in [ALL.to_owned(), only("app")] {
                table(&server, name).await;
                let user = another(&server, name, name).await;
                let weir = sharing(&server, 8, mode, &format!("{analytics}{user}{rules}"));
                let [mut client] = clients(&weir, name).await;
                let mut other = login(&weir, name, name).await;
                other.prepare("ALTER TABLE t ADD COLUMN w INT").await.unwrap();
                assert_eq!(value(&mut client, 1).await, "one", "{mode}");
                change(&server, &format!("UPDATE {name}.t SET v='changed' WHERE id=1")).await;
                assert_eq!(value(&mut client, 1).await, "one", "{mode}: it is kept");
                let done = execute(&mut other, u32::MAX, &[], true).await;
                assert_eq!(done.err(), None, "{mode}");
                assert_eq!(value(&mut client, 1).await, "changed", "{mode} {analytics} {rules}");
            }
        }
    }
}

/// Names are looked up in the schema in which a statement was prepared, whatever `USE` has chosen since.
#[tokio::test]
async fn what_is_prepared_takes_out_the_tables_of_its_own_schema() {
    for (flavor, server) in &both() {
        table(server, "ca_there").await;
        table(server, "ca_here").await;
        let weir = sharing(server, 8, MODES[0], ALL);
        let [mut client, mut other] = clients(&weir, "ca_there").await;
        let truncate = other.prepare("TRUNCATE TABLE t").await.unwrap().id;
        other.run("USE ca_here").await.unwrap();
        let all = "SELECT COUNT(*) FROM t";
        assert_eq!(row(&mut client, all).await, "3", "{flavor:?}");
        assert_eq!(execute(&mut other, truncate, &[], true).await.err(), None, "{flavor:?}");
        assert_eq!(row(&mut other, all).await, "3", "{flavor:?}: it is the other schema's table");
        assert_eq!(row(&mut client, all).await, "0", "{flavor:?}");
    }
}

/// A session with a connection of its own may have more statements at its server than Weir keeps.
#[tokio::test]
async fn what_is_executed_and_not_kept_takes_out_what_it_changes() {
    for (flavor, server) in &both() {
        table(server, "ca_many").await;
        let user = another(server, "ca_many", "ca_many").await;
        let limits = "[limits]\nmax_statements = 2\n";
        let weir = sharing(server, 8, MODES[1], &format!("{user}{}{limits}", only("app")));
        let [mut client] = clients(&weir, "ca_many").await;
        let mut other = login(&weir, "ca_many", "ca_many").await;
        for sql in ["DO 1", "DO 2"] {
            other.prepare(sql).await.unwrap();
        }
        let reads = other.prepare("SELECT 3").await.unwrap().id;
        let alters = other.prepare("ALTER TABLE t ADD COLUMN w INT").await.unwrap().id;
        assert_eq!(value(&mut client, 1).await, "one", "{flavor:?}");
        change(server, "UPDATE ca_many.t SET v='changed' WHERE id=1").await;
        assert_eq!(execute(&mut other, reads, &[], true).await.err(), None, "{flavor:?}");
        let unknown = execute(&mut other, alters + 1, &[], true).await;
        assert_eq!(unknown.err().map(|err| err.code), Some(1243), "{flavor:?}");
        assert_eq!(value(&mut client, 1).await, "one", "{flavor:?}: it is kept");
        assert_eq!(execute(&mut other, alters, &[], true).await.err(), None, "{flavor:?}");
        assert_eq!(value(&mut client, 1).await, "changed", "{flavor:?}");
    }
}

/// MariaDB makes a table a partition of another one, and back.
#[tokio::test]
async fn a_table_that_becomes_a_partition_is_read_no_more() {
    let server = server(Flavor::MariaDb);
    for (mode, name) in MODES.iter().zip(["ca_convert_t", "ca_convert_s"]) {
        let of_partitions =
            "CREATE TABLE p (i INT) PARTITION BY RANGE (i) (PARTITION p0 VALUES LESS THAN (10))";
        let all = [of_partitions, "CREATE TABLE n (i INT)", "INSERT INTO n VALUES (11)"];
        database(&server, name, &all).await;
        let weir = sharing(&server, 8, mode, ALL);
        let [mut client, mut other] = clients(&weir, name).await;
        assert_eq!(row(&mut client, "SELECT i FROM n").await, "11", "{mode}");
        change(&server, &format!("UPDATE {name}.n SET i=12")).await;
        assert_eq!(row(&mut client, "SELECT i FROM n").await, "11", "{mode}: it is kept");
        let convert = "ALTER TABLE p CONVERT TABLE n TO PARTITION p1 VALUES LESS THAN (20)";
        other.run(convert).await.unwrap();
        let gone = client.query("SELECT i FROM n").await.unwrap();
        assert_eq!(gone.err().map(|err| err.code), Some(1146), "{mode}");
    }
}

#[tokio::test]
async fn a_session_that_is_followed_takes_out_what_it_changes_in_the_middle_of_other_things() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_beside_t", "ca_beside_s"]) {
            table(server, name).await;
            let user = another(server, name, name).await;
            change(server, &format!("CREATE PROCEDURE {name}.p() SELECT 1")).await;
            let weir = sharing(server, 8, mode, &format!("{user}{ALL}"));
            let [mut client] = clients(&weir, name).await;
            let mut other = login(&weir, name, name).await;
            let prepare = "PREPARE s FROM 'ALTER TABLE t ADD COLUMN c5 INT'";
            other.run(prepare).await.unwrap();
            let long = " ".repeat(1200 << 10);
            for change_with in [
                "ALTER TABLE t ADD COLUMN c1 INT; CALL p()".to_owned(),
                format!("ALTER TABLE t ADD COLUMN c2 INT; {prepare}"),
                "ALTER TABLE t ADD COLUMN c3 INT; HANDLER t OPEN; HANDLER t CLOSE".to_owned(),
                format!("ALTER TABLE t ADD COLUMN c4{long}INT"),
                "EXECUTE s".to_owned(),
            ] {
                let at = format!("{flavor:?} {mode} {change_with:.60}");
                change(server, &format!("UPDATE {name}.t SET v='one' WHERE id=1")).await;
                row(&mut client, "/*wipe*/ SELECT v FROM t WHERE id=1").await;
                change(server, &format!("UPDATE {name}.t SET v='changed' WHERE id=1")).await;
                assert_eq!(value(&mut client, 1).await, "one", "{at}: it is kept");
                run_all(&mut other, &change_with).await;
                assert_eq!(value(&mut client, 1).await, "changed", "{at}");
            }
            change(server, &format!("UPDATE {name}.t SET v='again' WHERE id=1")).await;
            run_all(&mut other, "CALL p()").await;
            // Of this nothing may stand behind what was read.
            let single = ConnectOptions::tcp(weir.addr(), name, "other-pw").database(name);
            let mut single = single.without(Caps::MULTI_STATEMENTS).connect().await.unwrap();
            single.run(&format!("INSERT INTO t (id) VALUES (77){long}")).await.unwrap();
            assert_eq!(
                value(&mut client, 1).await,
                "changed",
                "{flavor:?} {mode}: nothing but what changes tables"
            );
        }
    }
}

#[tokio::test]
async fn a_change_of_which_nobody_knows_what_became_counts_as_one() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_unknown_t", "ca_unknown_s"]) {
            for (followed, rules) in [(true, ALL.to_owned()), (false, only("app"))] {
                table(server, name).await;
                let at = format!("{flavor:?} {mode} followed: {followed}");
                let user = another(server, name, name).await;
                let more = format!("[limits]\nserver_read_timeout = \"1s\"\n{user}{rules}");
                let weir = sharing(server, 8, mode, &more);
                let [mut client] = clients(&weir, name).await;
                let mut other = login(&weir, name, name).await;
                assert_eq!(value(&mut client, 1).await, "one", "{at}");
                change(server, &format!("UPDATE {name}.t SET v='changed'")).await;
                assert_eq!(value(&mut client, 1).await, "one", "{at}: it is kept");
                // The change waits for this, and Weir does not wait for the change.
                let mut holder = app(server.addr()).database(name).connect().await.unwrap();
                holder.run("BEGIN").await.unwrap();
                holder.run("SELECT * FROM t").await.unwrap();
                let lost = other.query("ALTER TABLE t ADD COLUMN w INT").await.unwrap();
                assert_eq!(lost.err().map(|err| err.code), Some(1159), "{at}");
                holder.run("ROLLBACK").await.unwrap();
                assert_eq!(value(&mut client, 1).await, "changed", "{at}");
            }
        }
    }
}

/// A statement that was refused before it was sent has changed nothing, and leaves no word of what it would have changed.
#[tokio::test]
async fn what_a_refused_statement_would_have_changed_is_not_what_the_next_one_changes() {
    for (flavor, server) in &both() {
        let tables = ["CREATE TABLE a (v INT)", "CREATE TABLE b (v INT)", "INSERT INTO b VALUES (1)"];
        database(server, "ca_unsent", &tables).await;
        // What is longer is decided by its beginning.
        let limits = "[limits]\nstatement_bytes = \"64KiB\"\n";
        let weir = sharing(server, 1, "", &format!("{limits}{ALL}"));
        let [mut one, mut holder, mut witness] = clients(&weir, "ca_unsent").await;
        assert_eq!(row(&mut one, "SELECT * FROM b").await, "1", "{flavor:?}");
        change(server, "UPDATE ca_unsent.b SET v=2").await;
        assert_eq!(row(&mut one, "SELECT * FROM b").await, "1", "{flavor:?}: it is kept");
        holder.run("BEGIN").await.unwrap();
        let waits = async || (metric(&weir, "weir_pool_waiting").await == 1.0).then_some(());
        one.send(command::QUERY, b"ALTER TABLE a ADD COLUMN w INT").await.unwrap();
        until("it waits", waits).await;
        witness.run(&format!("KILL QUERY {}", one.greeting().connection_id)).await.unwrap();
        let refused = one.receive(command::QUERY).await.unwrap();
        assert_eq!(refused.err().map(|err| err.code), Some(1317), "{flavor:?}: {refused:?}");
        let sql = format!("ALTER TABLE b ADD COLUMN /*{}*/ w INT", "x".repeat(70 << 10));
        let mut packet = ((sql.len() + 1) as u32).to_le_bytes().to_vec();
        packet.push(command::QUERY);
        packet.extend(sql.as_bytes());
        let (first, rest) = packet.split_at(66 << 10);
        one.stream().write_raw(first).await.unwrap();
        until("it waits", waits).await;
        one.stream().write_raw(rest).await.unwrap();
        taken(&mut witness).await;
        holder.run("COMMIT").await.unwrap();
        let altered = one.receive(command::QUERY).await.unwrap();
        assert_eq!(altered.err(), None, "{flavor:?}");
        // A statement of which that much was not read keeps its connection.
        drop(one);
        // Who has written nothing itself.
        assert_eq!(row(&mut witness, "SELECT * FROM b").await, "2|NULL", "{flavor:?}");
    }
}

/// What is read, what changes it where only the server knows, what goes through Weir, and what is read then.
const GONE: [(&str, &str, &str, &str); 5] = [
    ("SELECT COUNT(*) FROM emptied", "DELETE FROM emptied WHERE v=1", "TRUNCATE TABLE emptied", "0"),
    ("SELECT v FROM a", "UPDATE a SET v=3", "RENAME TABLE a TO c, b TO a", "2"),
    ("SELECT v FROM d", "UPDATE d SET v=3", "ALTER TABLE d RENAME TO e", ""),
    ("SELECT v FROM f", "UPDATE f SET v=3", "DROP TABLE IF EXISTS nowhere, f", ""),
    ("SELECT v FROM $D_gone.t", "UPDATE $D_gone.t SET v=3", "DROP DATABASE $D_gone", ""),
];

#[tokio::test]
async fn what_is_emptied_renamed_or_dropped_through_weir_is_read_no_more() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_gone_t", "ca_gone_s"]) {
            let all: Vec<_> = ["emptied", "a", "b", "d", "f"]
                .into_iter()
                .zip([1, 1, 2, 1, 1])
                .flat_map(|(t, v)| {
                    [format!("CREATE TABLE {t} (v INT)"), format!("INSERT INTO {t} VALUES ({v})")]
                })
                .collect();
            database(server, name, &all.iter().map(String::as_str).collect::<Vec<_>>()).await;
            let one = ["CREATE TABLE t (v INT)", "INSERT INTO t VALUES (1)"];
            database(server, &format!("{name}_gone"), &one).await;
            let weir = sharing(server, 8, mode, ALL);
            let [mut client, mut other] = clients(&weir, name).await;
            let mut direct = app(server.addr()).database(name).connect().await.unwrap();
            for (sql, change_with, goes, expected) in GONE {
                let [sql, change_with, goes] = [sql, change_with, goes].map(|text| text.replace("$D", name));
                let at = format!("{flavor:?} {mode} {goes}");
                // Who has an error to ask for is not served.
                client.run("/*nocache*/ SELECT COUNT(*) FROM emptied").await.unwrap();
                let kept = row(&mut client, &sql).await;
                direct.run(&change_with).await.unwrap();
                assert_eq!(row(&mut client, &sql).await, kept, "{at}: it is kept");
                other.run(&goes).await.unwrap();
                let answer = same(direct.query(&sql).await.unwrap(), client.query(&sql).await.unwrap(), &at);
                match expected {
                    "" => assert!(answer.err().is_some(), "{at}: {answer:?}"),
                    _ => assert_eq!(row(&mut client, &sql).await, expected, "{at}"),
                }
            }
        }
    }
}

/// What a session of an account may do that is no more is the server's to say, not memory's.
#[tokio::test]
async fn what_an_account_has_read_is_not_served_when_it_is_dropped_or_renamed() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_account_t", "ca_account_s"]) {
            table(server, name).await;
            for goes in ["DROP USER $U", "RENAME USER $U TO $U_other"] {
                let at = format!("{flavor:?} {mode} {goes}");
                change(server, &format!("DROP USER IF EXISTS {name}_other")).await;
                let user = another(server, name, name).await;
                let weir = sharing(server, 8, mode, &format!("{user}{ALL}"));
                let [mut admin] = clients(&weir, name).await;
                let mut through = login(&weir, name, name).await;
                let direct = ConnectOptions::tcp(server.addr(), name, "other-pw").database(name);
                let mut direct = direct.with(Caps::MULTI_STATEMENTS).connect().await.unwrap();
                assert_eq!(value(&mut through, 1).await, "one", "{at}");
                change(server, &format!("UPDATE {name}.t SET v='changed' WHERE id=1")).await;
                assert_eq!(value(&mut through, 1).await, "one", "{at}: it is kept");
                admin.run(&goes.replace("$U", name)).await.unwrap();
                let sql = "SELECT v FROM t WHERE id=1";
                let (there, here) = (direct.query(sql).await.unwrap(), through.query(sql).await.unwrap());
                let now = lenenc_text("changed");
                assert!(here.err().is_some() || here.rows().eq([&now[..]]), "{at}: {here:?}");
                if *mode == MODES[1] {
                    same(there, here, &at);
                }
                change(server, &format!("UPDATE {name}.t SET v='one' WHERE id=1")).await;
            }
        }
    }
}
