//! P16, P17, P19, P42: the users of shared connections: their passwords, their changes, their own ways to share.

use crate::kit::*;
use crate::sharing_kit::*;

/// utf8mb4_general_ci.
const UTF8MB4: u16 = 45;

async fn user(server: &Server, name: &str, password: &str) -> Client {
    let mut admin = app(server.addr()).connect().await.unwrap();
    admin.run(&format!("DROP USER IF EXISTS {name}")).await.unwrap();
    admin.run(&format!("CREATE USER {name} IDENTIFIED BY '{password}'")).await.unwrap();
    admin
}

#[tokio::test]
async fn p42_a_reset_makes_a_shared_session_new() {
    for (flavor, server) in &both() {
        database(server, "sh_p42", &["CREATE TABLE t (i INT PRIMARY KEY AUTO_INCREMENT)"]).await;
        let weir = sharing(server, 1, "", "");
        let [mut one, mut two] = clients(&weir, "sh_p42").await;
        let read =
            "SELECT @u, LAST_INSERT_ID(), @@sql_mode, @@time_zone, @@collation_connection, @@autocommit";
        two.run("SET @u = 'two'").await.unwrap();
        let mut direct = app(server.addr()).database("sh_p42").connect().await.unwrap();
        direct.command(command::RESET_CONNECTION, &[]).await.unwrap();
        let fresh = row(&mut direct, read).await;
        for _ in 0..3 {
            let id = one.prepare("SELECT 1").await.unwrap().id;
            one.run("SET NAMES latin1, @u = 7, sql_mode = 'ANSI', time_zone = '+01:00'").await.unwrap();
            one.run("INSERT INTO t VALUES (NULL)").await.unwrap();
            turn(&mut two).await;
            let reset = one.command(command::RESET_CONNECTION, &[]).await.unwrap();
            assert!(reset.ok().is_some(), "{flavor:?}: {reset:?}");
            turn(&mut two).await;
            assert_eq!(row(&mut one, read).await, fresh, "{flavor:?}");
            let gone = execute(&mut one, id, &[], true).await;
            assert_eq!(gone.err().map(|err| err.code), Some(1243), "{flavor:?}: {gone:?}");
            one.command(command::INIT_DB, b"sh_p42").await.unwrap();
            assert_eq!(row(&mut two, "SELECT @u, DATABASE()").await, "two|sh_p42", "{flavor:?}");
            free(&mut one, "a new session").await;
        }
        assert_eq!(opened(&weir).await, 1.0, "{flavor:?}");
    }
}

#[tokio::test]
async fn p17_change_user_makes_another_user_of_a_client_on_shared_connections() {
    for (flavor, server) in &both() {
        database(server, "sh_p17", &[]).await;
        let mut admin = user(server, "sh_p17", "p17-pw").await;
        admin.run("GRANT SELECT ON sh_p17.* TO sh_p17").await.unwrap();
        let weir = sharing(server, 2, "", "");
        let [mut one, mut two] = clients(&weir, "sh_p17").await;
        one.run("SET @u = 1").await.unwrap();
        for _ in 0..2 {
            let changed = one.change_user("sh_p17", "p17-pw", "sh_p17", UTF8MB4).await.unwrap();
            assert!(changed.ok().is_some(), "{flavor:?}: {changed:?}");
            for _ in 0..2 {
                let me =
                    row(&mut one, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1), DATABASE(), @u").await;
                assert_eq!(me, "sh_p17|sh_p17|NULL", "{flavor:?}");
                // The other one's connection is not changed along.
                let other = row(&mut two, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)").await;
                assert_eq!(other, "app", "{flavor:?}");
            }
            let refused = one.query("CREATE TABLE sh_p17.forbidden (i INT)").await.unwrap();
            assert_eq!(refused.err().map(|err| err.code), Some(1142), "{flavor:?}: {refused:?}");
            let back = one.change_user("app", "app-pw", "sh_p17", UTF8MB4).await.unwrap();
            assert!(back.ok().is_some(), "{flavor:?}: {back:?}");
            let me = row(&mut one, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)").await;
            assert_eq!(me, "app", "{flavor:?}");
        }
        let refused = one.change_user("sh_p17", "wrong", "", UTF8MB4).await.unwrap();
        assert_eq!(refused.err().map(|err| err.code), Some(1045), "{flavor:?}: {refused:?}");
        // MariaDB goes on as the old user, MySQL closes.
        if let Ok(response) = one.query("SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)").await
            && !response.closed
        {
            assert_eq!(response.rows().next(), Some(&b"\x03app"[..]), "{flavor:?}: {response:?}");
        }
        turn(&mut two).await;
    }
}

/// MariaDB goes back to the character set that the last COM_CHANGE_USER has named, even one that it has refused.
#[tokio::test]
async fn p17_p42_a_reset_goes_back_to_the_names_of_the_last_change_of_user() {
    for (flavor, server) in &both() {
        database(server, "sh_names", &[]).await;
        user(server, "sh_names", "names-pw").await;
        let mut changes = vec![("app", "app-pw", "sh_names", UTF8MB4)];
        if *flavor == Flavor::MariaDb {
            // MySQL ends the session behind a refusal. These come last: they keep the connection.
            changes.extend([("app", "app-pw", "no_such_schema", 33), ("sh_names", "wrong", "", 63)]);
            changes.push(("app", "app-pw", "sh_names", 8));
        }
        for mode in ["sharing = \"transaction\"\n", "sharing = \"session\"\n"] {
            let weir = sharing(server, 3, mode, "");
            let mut other = client(&weir, "sh_names").await;
            // cp1251_general_ci.
            let mut twin = Twin::open(server, &weir, |options| options.collation(51)).await;
            for (user, password, schema, collation) in &changes {
                let (direct, through) = tokio::join!(
                    twin.direct.change_user(user, password, schema, *collation),
                    twin.weir.change_user(user, password, schema, *collation)
                );
                let (direct, through) = (direct.unwrap(), through.unwrap());
                let code = direct.err().map(|err| err.code);
                assert_eq!(code, through.err().map(|err| err.code), "{flavor:?} {mode}");
                assert_eq!(code.is_some(), *password == "wrong" || *schema == "no_such_schema", "{direct:?}");
                let read = "SELECT @@character_set_client, @@collation_connection, @@character_set_results";
                for _ in 0..2 {
                    turn(&mut other).await;
                    twin.run(read).await;
                    twin.run("SET NAMES latin2").await;
                    twin.command(command::RESET_CONNECTION, &[]).await;
                    twin.run(read).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn p19_a_login_on_an_idle_connection_asks_the_server_about_the_password() {
    for (flavor, server) in &both() {
        database(server, "sh_p19", &[]).await;
        let mut admin = user(server, "sh_p19", "one").await;
        let weir = sharing(server, 1, "", "");
        let login =
            async |password: &str| ConnectOptions::tcp(weir.addr(), "sh_p19", password).connect().await;
        let first = login("one").await.unwrap();
        let mut second = login("one").await.unwrap();
        for wrong in ["two", ""] {
            let err = refusal(login(wrong).await);
            assert_eq!((err.code, err.state.as_str()), (1045, "28000"), "{flavor:?}: {err}");
            turn(&mut second).await;
        }
        first.quit().await.unwrap();
        admin.run("ALTER USER sh_p19 IDENTIFIED BY 'two'").await.unwrap();
        assert_eq!(refusal(login("one").await).code, 1045, "{flavor:?}: the old password");
        let mut third = login("two").await.unwrap();
        turn(&mut third).await;
        assert_eq!(refusal(login("one").await).code, 1045, "{flavor:?}: the old password, later");
        third.quit().await.unwrap();
        admin.run("DROP USER sh_p19").await.unwrap();
        assert_eq!(refusal(login("two").await).code, 1045, "{flavor:?}: the user is gone");
        // Others are not harmed.
        turn(&mut client(&weir, "sh_p19").await).await;
    }
}

#[tokio::test]
async fn p17_p19_a_login_takes_nothing_from_the_user_whose_connection_it_changes() {
    for (flavor, server) in &both() {
        database(server, "sh_own", &[]).await;
        user(server, "sh_own", "own-pw").await;
        let weir = sharing(server, 1, "", "");
        let mut one = client(&weir, "sh_own").await;
        one.run("SET @secret = 'of app', sql_mode = 'ANSI'").await.unwrap();
        let id = one.prepare("SELECT @secret").await.unwrap().id;
        execute(&mut one, id, &[], true).await;
        let options = ConnectOptions::tcp(weir.addr(), "sh_own", "own-pw");
        let mut two = options.connect().await.unwrap();
        let seen = "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1), @secret, DATABASE(), @@sql_mode = 'ANSI'";
        for _ in 0..3 {
            assert_eq!(row(&mut two, seen).await, "sh_own|NULL|NULL|0", "{flavor:?}");
            assert_eq!(
                two.query("USE sh_own").await.unwrap().err().map(|err| err.code),
                Some(1044),
                "{flavor:?}"
            );
            let mine =
                row(&mut one, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1), @secret, DATABASE()").await;
            assert_eq!(mine, "app|of app|sh_own", "{flavor:?}");
            let gone = execute(&mut two, id, &[], true).await;
            assert_eq!(gone.err().map(|err| err.code), Some(1243), "{flavor:?}: {gone:?}");
            assert_eq!(execute(&mut one, id, &[], true).await.rows().next(), Some(&b"\0\0\x06of app"[..]));
        }
    }
}

#[tokio::test]
async fn users_share_or_not_as_each_is_told() {
    for (flavor, server) in &both() {
        database(server, "sh_each", &[]).await;
        let mut admin = user(server, "sh_each", "each-pw").await;
        admin.run("GRANT ALL ON sh_each.* TO sh_each").await.unwrap();
        for (everyone, app_does, other_does) in
            [("session", "transaction", "session"), ("transaction", "transaction", "session")]
        {
            let users = format!(
                "[[user]]\nname = \"app\"\npassword = \"app-pw\"\n{}\
                 [[user]]\nname = \"sh_each\"\npassword = \"each-pw\"\n{}",
                if everyone == app_does { "" } else { "sharing = \"transaction\"\n" },
                if everyone == other_does { "" } else { "sharing = \"session\"\n" },
            );
            let weir = sharing(server, 5, &format!("sharing = \"{everyone}\"\n"), &users);
            let options = ConnectOptions::tcp(weir.addr(), "sh_each", "each-pw").database("sh_each");
            let mut own = [options.connect().await.unwrap(), options.connect().await.unwrap()];
            let mut shared: [Client; 4] = clients(&weir, "sh_each").await;
            let mut ids = Vec::new();
            for _ in 0..2 {
                for client in &mut own {
                    assert_eq!(shown(client, "sharing").await, "session", "{flavor:?} {everyone}");
                    assert!(shown(client, "pinned").await.starts_with("yes"));
                    ids.push(row(client, "SELECT CONNECTION_ID()").await);
                }
                for (i, client) in shared.iter_mut().enumerate() {
                    assert_eq!(shown(client, "sharing").await, "transaction", "{flavor:?} {everyone}");
                    client.run(&format!("SET @me = {i}")).await.unwrap();
                    free(client, "SET").await;
                }
                for (i, client) in shared.iter_mut().enumerate() {
                    assert_eq!(row(client, "SELECT @me").await, i.to_string());
                }
            }
            assert!(ids[0] == ids[2] && ids[1] == ids[3] && ids[0] != ids[1], "{flavor:?}: {ids:?}");
            assert_eq!(
                opened(&weir).await,
                3.0,
                "{flavor:?} {everyone}: two of their own, one that is shared"
            );
        }
    }
}

/// MariaDB has begun the session anew before it finds that it must refuse.
#[tokio::test]
async fn p17_what_a_refused_change_of_user_leaves_is_the_servers() {
    let server = server(Flavor::MariaDb);
    database(&server, "sh_unsure", &["CREATE TABLE t (i INT)"]).await;
    let weir = sharing(&server, 2, "", "");
    let mut twin = Twin::open(&server, &weir, |options| options.database("sh_unsure")).await;
    let ids = twin.prepare("SELECT 1").await;
    let body = |id| command::Execute { id, flags: 0, params: &[], types: true, attributes: false }.body();
    twin.on(ids, command::STMT_EXECUTE, body).await;
    for sql in [
        "USE sh_unsure",
        "SET @mine = 5",
        "SET sql_mode = 'ANSI_QUOTES'",
        "BEGIN",
        "INSERT INTO t VALUES (1)",
    ] {
        twin.run(sql).await;
    }
    for client in [&mut twin.direct, &mut twin.weir] {
        let refused = client.change_user("app", "wrong", "", 45).await.unwrap();
        assert_eq!(refused.err().map(|err| err.code), Some(1045), "{refused:?}");
    }
    for sql in ["SELECT @mine", "SELECT @@sql_mode", "SELECT DATABASE()", "SELECT COUNT(*) FROM sh_unsure.t"]
    {
        twin.query(sql).await;
    }
    for _ in 0..2 {
        let mut codes = Vec::new();
        for (client, id) in [(&mut twin.direct, ids.direct), (&mut twin.weir, ids.weir)] {
            let answer = client.command(command::STMT_EXECUTE, &body(id)).await.unwrap();
            codes.push(answer.err().map(|err| err.code));
        }
        assert_eq!(codes, [Some(1243), Some(1243)]);
    }
}

/// How many columns the first row has.
fn columns(answer: &Response) -> Option<usize> {
    answer.rows().next().map(|row| weir_testkit::client::bytes::text_row(row).unwrap().len())
}

/// MariaDB goes back to its global character set before it refuses a change of user. What Weir looks for in statements it finds as
/// the server reads them.
#[tokio::test]
async fn p31_after_a_refused_change_of_user_statements_are_read_as_by_the_server() {
    let server = server(Flavor::MariaDb);
    database(&server, "sh_reread", &["CREATE TABLE secret (v INT)", "INSERT INTO secret VALUES (7)"]).await;
    let deny = "[[rule]]\nname = \"table\"\nmatch = { table = \"sh_reread.secret\" }\ndeny = \"not here\"\n";
    // In GBK the backslash is the second byte of a character, and the string ends behind it.
    let sql = b"SELECT '\xe4\xbd\xa0\\' /* ', v FROM secret -- */";
    // The rule is there, or comes.
    let modes = ["sharing = \"transaction\"\n", "sharing = \"session\"\n"];
    for (mode, rules) in modes.into_iter().flat_map(|mode| [(mode, deny), (mode, "")]) {
        let mut weir = sharing(&server, 4, mode, rules);
        for addr in [server.addr(), weir.addr()] {
            // gbk_chinese_ci
            let mut client = app(addr).database("sh_reread").collation(28).connect().await.unwrap();
            assert_eq!(columns(&client.query(sql).await.unwrap()), Some(1), "{mode}");
            let refused = client.change_user("app", "app-pw", "no_such_schema", 28).await.unwrap();
            assert_eq!(refused.err().map(|err| err.code), Some(1049), "{mode}");
            // The error is there as at the server.
            assert_eq!(row(&mut client, "SHOW WARNINGS").await.split('|').nth(1), Some("1049"), "{mode}");
            client.run("USE sh_reread").await.unwrap();
            if rules.is_empty() && addr == weir.addr() {
                weir.reload(&sharing_config(&server.addr().to_string(), 4, mode, deny)).unwrap();
                let reloaded = async || metric(&weir, "weir_config_reloads_total{result=\"ok\"}").await;
                until("the rule is in force", async || (reloaded().await == 1.0).then_some(())).await;
            }
            let answer = client.query(sql).await.unwrap();
            match addr == weir.addr() {
                true => assert_eq!(answer.err().map(|err| err.code), Some(1227), "{mode}: {answer:?}"),
                false => assert_eq!(columns(&answer), Some(2), "{answer:?}"),
            }
        }
    }
}
