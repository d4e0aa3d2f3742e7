//! Who is given which answer from memory: each of these is a mistake that a cache with a loose key has made.

use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

#[tokio::test]
async fn nothing_inside_a_statement_is_normalised() {
    for (flavor, server) in &both() {
        table(server, "ca_bytes").await;
        let weir = sharing(server, 4, "", ALL);
        let [mut client] = clients(&weir, "ca_bytes").await;
        let mut direct = app(server.addr()).database("ca_bytes").connect().await.unwrap();
        for sql in [
            "SELECT id+1 FROM t WHERE id=1",
            "SELECT id + 1 FROM t WHERE id=1",
            "SELECT id /*x*/ + 1 FROM t WHERE id=1",
            "select id + 1 from t where id=1",
            "SELECT 'a' 'b' FROM t WHERE id=1",
            "SELECT 'ab' FROM t WHERE id=1",
        ] {
            let expected = direct.query(sql).await.unwrap();
            assert_eq!(client.query(sql).await.unwrap(), expected, "{flavor:?}: {sql}");
            for around in [format!("  {sql}"), format!("/* plain */ {sql} -- behind"), format!("{sql}\n")] {
                assert_eq!(client.query(&around).await.unwrap(), expected, "{flavor:?}: {around}");
            }
        }
    }
}

#[tokio::test]
async fn clients_of_each_form_of_the_protocol_get_their_own() {
    for (flavor, server) in &both() {
        table(server, "ca_form").await;
        let weir = sharing(server, 8, "", ALL);
        let forms: [fn(ConnectOptions) -> ConnectOptions; 4] = [
            |o| o,
            // Weir does not agree on the other where connections are shared.
            |o| o.with(SHAPING).without(Caps::MARIADB_CACHE_METADATA),
            |o| o.without(Caps::DEPRECATE_EOF),
            |o| o.without(Caps::DEPRECATE_EOF).without(Caps::SESSION_TRACK),
        ];
        for round in 0..2 {
            for (number, form) in forms.iter().enumerate() {
                let mut direct = form(app(server.addr()).database("ca_form")).connect().await.unwrap();
                let mut client = form(app(weir.addr()).database("ca_form")).connect().await.unwrap();
                for sql in ["SELECT id, v FROM t ORDER BY id", "SELECT v FROM t WHERE id=17"] {
                    let at = format!("{flavor:?}, form {number}, round {round}: {sql}");
                    assert_eq!(client.query(sql).await.unwrap(), direct.query(sql).await.unwrap(), "{at}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_user_is_not_given_what_another_may_read() {
    for (flavor, server) in &both() {
        table(server, "ca_grant").await;
        let mut admin = app(server.addr()).connect().await.unwrap();
        for sql in [
            "DROP USER IF EXISTS ca_grant",
            "CREATE USER ca_grant IDENTIFIED BY 'grant-pw'",
            "GRANT SELECT ON ca_grant.t TO ca_grant",
        ] {
            admin.run(sql).await.unwrap();
        }
        let weir =
            sharing(server, 8, "", &format!("[[user]]\nname = \"ca_grant\"\npassword = \"grant-pw\"\n{ALL}"));
        let [mut app_client] = clients(&weir, "ca_grant").await;
        let other = ConnectOptions::tcp(weir.addr(), "ca_grant", "grant-pw").database("ca_grant");
        let mut other = other.connect().await.unwrap();
        assert_eq!(value(&mut app_client, 1).await, "one", "{flavor:?}");
        change(server, "UPDATE ca_grant.t SET v='changed'").await;
        assert_eq!(value(&mut other, 1).await, "changed", "{flavor:?}: entries are of one user");
        change(server, "UPDATE ca_grant.t SET v='again'").await;
        assert_eq!(value(&mut other, 1).await, "changed", "{flavor:?}");
        // What takes a right away through Weir ends what was kept.
        app_client.run("REVOKE SELECT ON ca_grant.t FROM ca_grant").await.unwrap();
        let refused = other.query("SELECT v FROM t WHERE id=1").await.unwrap();
        assert!(refused.err().is_some(), "{flavor:?}: {refused:?}");
    }
}

#[tokio::test]
async fn what_changes_a_table_itself_ends_what_was_made_of_it() {
    for (flavor, server) in &both() {
        table(server, "ca_ddl").await;
        let weir = sharing(server, 8, "", ALL);
        let [mut one, mut two] = clients(&weir, "ca_ddl").await;
        let all = "SELECT * FROM t WHERE id=1";
        for (ddl, expected) in [
            ("ALTER TABLE t ADD COLUMN w INT DEFAULT 5", "one|5"),
            ("ALTER TABLE t DROP COLUMN v", "1|5"),
            ("DROP TABLE t", ""),
        ] {
            row(&mut two, all).await;
            one.run(ddl).await.unwrap();
            let answer = two.query(all).await.unwrap();
            match expected {
                "" => assert!(answer.err().is_some(), "{flavor:?} {ddl}: {answer:?}"),
                _ => assert!(row(&mut two, all).await.ends_with(expected), "{flavor:?} {ddl}"),
            }
        }
    }
}

#[tokio::test]
async fn a_table_that_a_temporary_one_hides_is_not_answered_from_memory() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_temp_t", "ca_temp_s"]) {
            table(server, name).await;
            let weir = sharing(server, 4, mode, ALL);
            let [mut one, mut two] = clients(&weir, name).await;
            assert_eq!(value(&mut one, 1).await, "one", "{flavor:?} {mode}");
            one.run("CREATE TEMPORARY TABLE t (id INT, v VARCHAR(40))").await.unwrap();
            one.run("INSERT INTO t VALUES (1, 'hidden')").await.unwrap();
            assert_eq!(value(&mut one, 1).await, "hidden", "{flavor:?} {mode}");
            assert_eq!(value(&mut two, 1).await, "one", "{flavor:?} {mode}");
            one.run("DROP TEMPORARY TABLE t").await.unwrap();
            assert_eq!(value(&mut one, 1).await, "one", "{flavor:?} {mode}");
        }
    }
}

#[tokio::test]
async fn what_names_hide_is_looked_up_before_anything_is_kept() {
    for (flavor, server) in &both() {
        table(server, "ca_names").await;
        for sql in [
            "CREATE VIEW ca_names.plain AS SELECT id, v FROM ca_names.t",
            "CREATE VIEW ca_names.deep AS SELECT id, v FROM ca_names.plain",
            "CREATE VIEW ca_names.timed AS SELECT id, NOW(6) AS v FROM ca_names.t",
            "CREATE VIEW ca_names.deep_timed AS SELECT id, v FROM ca_names.timed",
            "CREATE TABLE ca_names.clock (id INT, v TIME)",
            "INSERT INTO ca_names.clock VALUES (1, '10:00')",
            "CREATE FUNCTION ca_names.f() RETURNS VARCHAR(40) NO SQL RETURN UUID()",
        ] {
            change(server, sql).await;
        }
        for views in [false, true] {
            let rules = ALL.replace("ttl = \"1h\"", &format!("ttl = \"1h\", views = {views}"));
            let weir = sharing(server, 4, "", &rules);
            let [mut client] = clients(&weir, "ca_names").await;
            for (sql, kept) in [
                ("SELECT v FROM plain WHERE id=1", true),
                ("SELECT v FROM deep WHERE id=1", true),
                ("SELECT v FROM timed WHERE id=1", views),
                ("SELECT v FROM deep_timed WHERE id=1", views),
                ("SELECT f() AS v FROM t WHERE id=1", false),
            ] {
                let before = row(&mut client, sql).await;
                change(server, &format!("UPDATE ca_names.t SET v='{sql:.20}{views}'").replace("='S", "='s"))
                    .await;
                let after = row(&mut client, sql).await;
                assert_eq!(before == after, kept, "{flavor:?}, views = {views}: {sql}");
            }
            let timed = "SELECT v FROM clock WHERE id=1";
            row(&mut client, timed).await;
            change(server, "UPDATE ca_names.clock SET v=ADDTIME(v, '0:01')").await;
            let mut direct = app(server.addr()).database("ca_names").connect().await.unwrap();
            assert_eq!(row(&mut client, timed).await, row(&mut direct, timed).await, "{flavor:?}");
        }
    }
}

#[tokio::test]
async fn users_share_answers_where_the_rule_says_so_and_the_server_has_answered_both() {
    let rules = ALL.replace("ttl = \"1h\"", "ttl = \"1h\", stale_if_error = \"1h\", share = \"grants\"");
    for flavor in Flavor::BOTH {
        let server = &mut Server::start(flavor).unwrap();
        table(server, "ca_share").await;
        let mut admin = app(server.addr()).connect().await.unwrap();
        let mut users = String::new();
        for user in ["ca_share1", "ca_share2"] {
            admin.run(&format!("DROP USER IF EXISTS {user}")).await.unwrap();
            admin.run(&format!("CREATE USER {user} IDENTIFIED BY 'share-pw'")).await.unwrap();
            users += &format!("[[user]]\nname = \"{user}\"\npassword = \"share-pw\"\n");
        }
        admin.run("GRANT SELECT ON ca_share.t TO ca_share1").await.unwrap();
        admin.run("GRANT INSERT ON ca_share.t TO ca_share2").await.unwrap();
        let weir = sharing(server, 8, "", &format!("{users}{rules}"));
        let [mut first] = clients(&weir, "ca_share").await;
        for _ in 0..2 {
            assert_eq!(value(&mut first, 1).await, "one", "{flavor:?}");
        }
        change(server, "UPDATE ca_share.t SET v='changed'").await;
        let login = |user| ConnectOptions::tcp(weir.addr(), user, "share-pw").database("ca_share");
        let mut may = login("ca_share1").connect().await.unwrap();
        assert_eq!(value(&mut may, 1).await, "changed", "{flavor:?}: the server is asked once for each user");
        assert_eq!(value(&mut may, 1).await, "one", "{flavor:?}: then it has what the others have");
        assert_eq!(value(&mut first, 1).await, "one", "{flavor:?}");
        let mut must_not = login("ca_share2").connect().await.unwrap();
        for _ in 0..3 {
            let refused = must_not.query("SELECT v FROM t WHERE id=1").await.unwrap();
            assert!(refused.err().is_some(), "{flavor:?}: {refused:?}");
        }
        let wipe = must_not.query("/*wipe*/ SELECT v FROM t WHERE id=1").await.unwrap();
        assert!(wipe.err().is_some(), "{flavor:?}: {wipe:?}");
        assert_eq!(value(&mut first, 1).await, "one", "{flavor:?}: who may not read it does not wipe it");
        // A server that cannot say so makes nobody's right of it.
        let mut must_not = login("ca_share2").connect().await.unwrap();
        server.kill9().unwrap();
        assert_eq!(value(&mut may, 1).await, "one", "{flavor:?}");
        let refused = must_not.query("SELECT v FROM t WHERE id=1").await.unwrap();
        assert!(refused.err().is_some(), "{flavor:?}: {refused:?}");
    }
}

/// A view that calls what changes: trusted by the rule of one user, and not by that of the other.
#[tokio::test]
async fn what_one_rule_trusts_is_not_for_others() {
    let trusting = "[[user]]\nname = \"ca_views\"\npassword = \"views-pw\"\n[[rule]]\nname = \"trusting\"\n\
        match = { user = \"ca_views\" }\ncache = { ttl = \"1h\", views = true }\n";
    for (flavor, server) in &both() {
        table(server, "ca_views").await;
        for sql in [
            "CREATE OR REPLACE VIEW ca_views.w AS SELECT CONCAT(v, RAND()) v FROM ca_views.t WHERE id=1",
            "DROP USER IF EXISTS ca_views",
            "CREATE USER ca_views IDENTIFIED BY 'views-pw'",
            "GRANT SELECT ON ca_views.* TO ca_views",
        ] {
            change(server, sql).await;
        }
        let weir = sharing(server, 8, "", &format!("{trusting}{ALL}"));
        let login = ConnectOptions::tcp(weir.addr(), "ca_views", "views-pw").database("ca_views");
        let (mut trusts, [mut does_not]) = (login.connect().await.unwrap(), clients(&weir, "ca_views").await);
        let sql = "SELECT v FROM w";
        let kept = row(&mut trusts, sql).await;
        assert_eq!(row(&mut trusts, sql).await, kept, "{flavor:?}: trusted");
        let first = row(&mut does_not, sql).await;
        assert_ne!(row(&mut does_not, sql).await, first, "{flavor:?}: not trusted");
    }
}

#[tokio::test]
async fn a_client_that_was_told_of_other_columns_hears_that_they_have_changed() {
    for (flavor, server) in &both() {
        table(server, "ca_columns").await;
        let weir = sharing(server, 8, "", ALL);
        let mut direct = app(server.addr()).database("ca_columns").connect().await.unwrap();
        let [mut early, mut late] = clients(&weir, "ca_columns").await;
        let sql = "SELECT * FROM t WHERE id=1";
        let (told, own) = (direct.prepare(sql).await.unwrap(), early.prepare(sql).await.unwrap());
        for _ in 0..2 {
            let expected = execute(&mut direct, told.id, &[], true).await;
            assert_eq!(execute(&mut early, own.id, &[], true).await, expected, "{flavor:?}");
        }
        late.run("ALTER TABLE t ADD COLUMN w INT DEFAULT 5").await.unwrap();
        let other = late.prepare(sql).await.unwrap();
        for _ in 0..2 {
            execute(&mut late, other.id, &[], true).await;
        }
        for _ in 0..2 {
            let expected = execute(&mut direct, told.id, &[], true).await;
            assert_eq!(execute(&mut early, own.id, &[], true).await, expected, "{flavor:?}");
        }
    }
}

/// MariaDB leaves the columns out of an answer where it takes its client to know them (MARIADB_CLIENT_CACHE_METADATA).
#[tokio::test]
async fn an_answer_tells_of_its_columns_to_whoever_gets_it() {
    let server = server(Flavor::MariaDb);
    for (mode, name) in MODES.iter().zip(["ca_meta_t", "ca_meta_s"]) {
        database(
            &server,
            name,
            &["CREATE TABLE t (id INT PRIMARY KEY, c INT)", "INSERT INTO t VALUES (1, 7)"],
        )
        .await;
        let weir = sharing(&server, 4, mode, ALL);
        let login = async || app(weir.addr()).database(name).with(SHAPING).connect().await.unwrap();
        let (mut early, mut late) = (login().await, login().await);
        let sql = "SELECT c FROM t WHERE id=1";
        let known = early.prepare(sql).await.unwrap();
        change(&server, &format!("ALTER TABLE {name}.t MODIFY c VARCHAR(20)")).await;
        let other = late.prepare(sql).await.unwrap();
        for _ in 0..2 {
            execute(&mut late, other.id, &[], true).await;
        }
        let answer = execute(&mut early, known.id, &[], true).await;
        let rows = answer.results().next().unwrap();
        assert!(rows.metadata, "{mode}: an answer without its columns");
        assert_eq!(rows.columns[0].kind, 253, "{mode}: VAR_STRING");
    }
}

#[tokio::test]
async fn another_user_of_the_same_connection_has_other_rules() {
    let rules = ALL.replace("kind = \"read\"", "kind = \"read\", user = \"app\"");
    for (flavor, server) in &both() {
        table(server, "ca_change").await;
        let mut admin = app(server.addr()).connect().await.unwrap();
        admin.run("DROP USER IF EXISTS ca_change").await.unwrap();
        admin.run("CREATE USER ca_change IDENTIFIED BY 'change-pw'").await.unwrap();
        admin.run("GRANT SELECT ON ca_change.* TO ca_change").await.unwrap();
        let user = "[[user]]\nname = \"ca_change\"\npassword = \"change-pw\"\n";
        let weir = sharing(server, 8, "", &format!("{user}{rules}"));
        let [mut client] = clients(&weir, "ca_change").await;
        assert_eq!(value(&mut client, 1).await, "one", "{flavor:?}");
        change(server, "UPDATE ca_change.t SET v='changed'").await;
        assert_eq!(value(&mut client, 1).await, "one", "{flavor:?}");
        client.change_user("ca_change", "change-pw", "ca_change", 45).await.unwrap();
        assert_eq!(value(&mut client, 1).await, "changed", "{flavor:?}");
        change(server, "UPDATE ca_change.t SET v='again'").await;
        assert_eq!(value(&mut client, 1).await, "again", "{flavor:?}: no rule is about this user");
    }
}

#[tokio::test]
async fn what_changes_a_table_ends_what_came_out_of_views_on_it() {
    for (flavor, server) in &both() {
        table(server, "ca_view").await;
        change(server, "CREATE VIEW ca_view.w AS SELECT id, v FROM ca_view.t").await;
        let weir = sharing(server, 8, "", ALL);
        let [mut one, mut two] = clients(&weir, "ca_view").await;
        // Once with what its names stand for looked up behind it, and once with that known before.
        for (n, sql) in ["SELECT v FROM w WHERE id=1", "SELECT v FROM w WHERE id=1 "].iter().enumerate() {
            change(server, &format!("UPDATE ca_view.t SET v='{n}'")).await;
            for _ in 0..=n {
                two.run(&format!("/*wipe*/ {sql}")).await.unwrap();
            }
            assert_eq!(row(&mut two, sql).await, n.to_string(), "{flavor:?}");
            change(server, "UPDATE ca_view.t SET v='changed'").await;
            assert_eq!(row(&mut two, sql).await, n.to_string(), "{flavor:?}: out of memory");
            one.run(&format!("ALTER TABLE t ADD COLUMN c{n} INT")).await.unwrap();
            assert_eq!(row(&mut two, sql).await, "changed", "{flavor:?}, {n}");
        }
    }
}

/// MariaDB: what "the statement prepared last" binds has the types that come with it, and no older ones.
#[tokio::test]
async fn the_statement_prepared_last_is_refused_without_types_whatever_is_kept() {
    let server = server(Flavor::MariaDb);
    for (mode, name) in MODES.iter().zip(["ca_typeless_t", "ca_typeless_s"]) {
        table(&server, name).await;
        let weir = sharing(&server, 4, mode, ALL);
        let [mut client] = clients(&weir, name).await;
        let mut direct = app(server.addr()).database(name).connect().await.unwrap();
        let (last, id) = (u32::MAX, [command::Param::Int(1)]);
        let mut told = Vec::new();
        for client in [&mut direct, &mut client] {
            change(&server, &format!("UPDATE {name}.t SET v='one' WHERE id=1")).await;
            client.prepare("SELECT v FROM t WHERE id=?").await.unwrap();
            let mut rows = Vec::new();
            // The first one tells how many columns there are, and the second is kept.
            for v in ["one", "changed", "changed"] {
                rows.extend(execute(client, last, &id, true).await.rows().map(|row| row[3..].to_vec()));
                change(&server, &format!("UPDATE {name}.t SET v='{v}' WHERE id=1")).await;
            }
            let refused = execute(client, last, &id, false).await;
            told.push((rows, refused.err().map(|err| err.code)));
        }
        let rows = |all: [&str; 3]| all.map(|v| v.as_bytes().to_vec()).to_vec();
        assert_eq!(told[0].0, rows(["one", "one", "changed"]), "{mode}");
        assert_eq!(told[1].0, rows(["one", "one", "one"]), "{mode}: it is kept");
        assert!(told[0].1.is_some() && told[0].1 == told[1].1, "{mode}: {told:?}");
    }
}

/// A column that its user may not see is not taken for one that is not there: who reads a table through a view sees only those of
/// its columns to which there is a right, and what the view shows may come from another.
#[tokio::test]
async fn a_column_behind_a_view_that_its_user_may_not_see_is_not_taken_for_none() {
    let server = server(Flavor::MariaDb);
    for grant in ["SELECT (a)", "DELETE", "SELECT"] {
        let all = [
            "CREATE TABLE g (a INT, b VARCHAR(40) AS (UUID()) VIRTUAL)",
            "INSERT INTO g (a) VALUES (1)",
            "CREATE VIEW w AS SELECT b FROM g",
            "CREATE TABLE plain (a INT, b INT)",
            "INSERT INTO plain VALUES (1, 1)",
            "CREATE VIEW p AS SELECT b FROM plain",
            "DROP USER IF EXISTS ca_unseen",
            "CREATE USER ca_unseen IDENTIFIED BY 'other-pw'",
            &format!("GRANT {grant} ON g TO ca_unseen"),
            &format!("GRANT {grant} ON plain TO ca_unseen"),
            "GRANT SELECT, SHOW VIEW ON w TO ca_unseen",
            "GRANT SELECT, SHOW VIEW ON p TO ca_unseen",
        ];
        database(&server, "ca_unseen", &all).await;
        let user = "[[user]]\nname = \"ca_unseen\"\npassword = \"other-pw\"\n";
        let weir = sharing(&server, 4, "", &format!("{user}{ALL}"));
        let login = ConnectOptions::tcp(weir.addr(), "ca_unseen", "other-pw").database("ca_unseen");
        let mut client = login.connect().await.unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for id in ["1", "2", "3"] {
            seen.insert(row(&mut client, "SELECT b FROM w").await);
            assert_eq!(seen.len().to_string(), id, "{grant}: {seen:?}");
            change(&server, &format!("UPDATE ca_unseen.plain SET b={id}")).await;
            // Where all is seen there is nothing against keeping it.
            let expected = if grant == "SELECT" { "1" } else { id };
            assert_eq!(row(&mut client, "SELECT b FROM p").await, expected, "{grant}");
        }
    }
}

/// Without quotes, a definition does not tell which of its lines are columns.
#[tokio::test]
async fn a_column_that_is_shown_without_quotes_is_not_overlooked() {
    let server = server(Flavor::MariaDb);
    let all = [
        "CREATE TABLE g (`key` INT, v VARCHAR(40) AS (UUID()) VIRTUAL)",
        "INSERT INTO g (`key`) VALUES (1)",
        "CREATE VIEW w AS SELECT v FROM g",
        "DROP USER IF EXISTS ca_unquoted",
        "CREATE USER ca_unquoted IDENTIFIED BY 'other-pw'",
        "GRANT SELECT (`key`), DELETE ON g TO ca_unquoted",
        "GRANT SELECT, SHOW VIEW ON w TO ca_unquoted",
    ];
    database(&server, "ca_unquoted", &all).await;
    let user = "[[user]]\nname = \"ca_unquoted\"\npassword = \"other-pw\"\n";
    let weir = sharing(&server, 4, "", &format!("{user}{ALL}"));
    let login = ConnectOptions::tcp(weir.addr(), "ca_unquoted", "other-pw").database("ca_unquoted");
    let mut client = login.connect().await.unwrap();
    client.run("SET sql_quote_show_create = 0").await.unwrap();
    let first = row(&mut client, "SELECT v FROM w").await;
    assert_ne!(row(&mut client, "SELECT v FROM w").await, first);
}

/// What one user is not told of a view is no reason to keep nothing for those who are.
#[tokio::test]
async fn who_may_not_see_what_is_behind_a_view_keeps_nobody_else_from_being_served() {
    for (flavor, server) in &both() {
        for grant in ["SELECT (a) ON g", "SHOW VIEW ON w"] {
            let all = [
                "CREATE TABLE g (a INT, b INT)",
                "INSERT INTO g VALUES (1, 1)",
                "CREATE VIEW w AS SELECT b FROM g",
                "DROP USER IF EXISTS ca_partly",
                "CREATE USER ca_partly IDENTIFIED BY 'other-pw'",
                "GRANT SELECT ON w TO ca_partly",
                &format!("GRANT {grant} TO ca_partly"),
            ];
            database(server, "ca_partly", &all).await;
            let user = "[[user]]\nname = \"ca_partly\"\npassword = \"other-pw\"\n";
            let weir = sharing(server, 4, "", &format!("{user}{ALL}"));
            let login = ConnectOptions::tcp(weir.addr(), "ca_partly", "other-pw").database("ca_partly");
            let mut partly = login.connect().await.unwrap();
            let mut all = client(&weir, "ca_partly").await;
            for (value, kept) in [("1", "1"), ("2", "1"), ("3", "1")] {
                change(server, &format!("UPDATE ca_partly.g SET b={value}")).await;
                if value < "3" {
                    // Asked ahead of the other, and not served itself.
                    assert_eq!(row(&mut partly, "SELECT b FROM w").await, value, "{flavor:?} {grant}");
                }
                assert_eq!(row(&mut all, "SELECT b FROM w").await, kept, "{flavor:?} {grant}");
            }
        }
    }
}
