//! A statement that must be prepared again waits for the locks of its tables as it would at the server, and may be ended as there.

use std::time::Duration;

use crate::api_kit::told;
use crate::cache_kit::{ALL, change};
use crate::kit::*;
use crate::sharing_kit::*;
use command::Param;
use weir_testkit::relay::{Direction, Relay};

/// Far less than the tests wait for a lock.
const LIMITS: &str = "[limits]\nauth_failure_delay = \"20ms\"\nserver_connect_timeout = \"2s\"\nserver_read_timeout = \"20s\"\n";
const WAIT: Duration = Duration::from_millis(3500);

const TABLES: [&str; 3] =
    ["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "CREATE TABLE u (v INT)"];

/// A table that is read by an open transaction, and an ALTER TABLE behind that.
struct Locked {
    reader: Client,
    alter: Client,
    database: &'static str,
}

impl Locked {
    async fn new(server: &Server, database: &'static str) -> Self {
        Self::by(server, database, "ALTER TABLE t ADD COLUMN more INT").await
    }

    async fn by(server: &Server, database: &'static str, sql: &str) -> Self {
        let mut reader = app(server.addr()).database(database).connect().await.unwrap();
        let mut alter = app(server.addr()).database(database).connect().await.unwrap();
        reader.run("BEGIN").await.unwrap();
        reader.run("SELECT * FROM t").await.unwrap();
        alter.send(command::QUERY, sql.as_bytes()).await.unwrap();
        let mut locked = Self { reader, alter, database };
        locked.until_waiting(1).await;
        locked
    }

    /// So many wait for the lock now, the ALTER TABLE among them.
    async fn until_waiting(&mut self, count: u32) {
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '{}' AND STATE LIKE 'Waiting for table metadata lock'",
            self.database
        );
        let count = count.to_string();
        until("they wait for the lock", async || (row(&mut self.reader, &sql).await == count).then_some(()))
            .await;
    }

    /// What the others wait for ends.
    async fn end(mut self) {
        self.reader.run("COMMIT").await.unwrap();
        assert_eq!(self.alter.receive(command::QUERY).await.unwrap().err(), None);
    }
}

fn execution(id: u32) -> Vec<u8> {
    command::Execute { id, flags: 0, params: &[Param::Int(1)], types: true, attributes: false }.body()
}

/// A session with a statement that the connection of its next statement does not have; `begin` is that next one.
async fn elsewhere(weir: &Weir, database: &str, begin: &str) -> (Client, u32) {
    let mut one = client(weir, database).await;
    let id = one.prepare("SELECT id FROM t WHERE id = ?").await.unwrap().id;
    assert_eq!(execute(&mut one, id, &[Param::Int(1)], true).await.rows().count(), 1);
    one.run(&format!("/*weir: fresh*/ {begin}")).await.unwrap();
    (one, id)
}

async fn count(server: &Server, database: &str) -> String {
    let mut direct = app(server.addr()).database(database).connect().await.unwrap();
    row(&mut direct, "SELECT COUNT(*) FROM u").await
}

#[tokio::test]
async fn a_preparation_waits_for_a_lock_as_its_statement_would() {
    for (flavor, server) in &both() {
        for transaction in [true, false] {
            let at = format!("{flavor:?} transaction: {transaction}");
            database(server, "sl_wait", &TABLES).await;
            let weir = sharing(server, 8, "", LIMITS);
            let (mut one, id) = elsewhere(&weir, "sl_wait", "BEGIN").await;
            one.run("INSERT INTO u VALUES (1)").await.unwrap();
            if !transaction {
                one.run("COMMIT").await.unwrap();
            }
            let mut locked = Locked::new(server, "sl_wait").await;
            one.send(command::STMT_EXECUTE, &execution(id)).await.unwrap();
            locked.until_waiting(2).await;
            let answer = {
                let mut answer = std::pin::pin!(one.receive(command::STMT_EXECUTE));
                let early = tokio::time::timeout(WAIT, &mut answer).await;
                assert!(early.is_err(), "{at}: {early:?}");
                locked.end().await;
                answer.await.unwrap()
            };
            assert_eq!((answer.err(), answer.rows().count()), (None, 1), "{at}: {answer:?}");
            numbered(&answer, 1);
            one.run("INSERT INTO u VALUES (2)").await.unwrap();
            if transaction {
                one.run("COMMIT").await.unwrap();
            }
            assert_eq!(count(server, "sl_wait").await, "2", "{at}");
        }
    }
}

#[tokio::test]
async fn p43_kill_query_ends_a_preparation_that_waits_and_the_transaction_goes_on() {
    for (flavor, server) in &both() {
        database(server, "sl_kill", &TABLES).await;
        let weir = sharing(server, 8, "", LIMITS);
        let mut killer = client(&weir, "sl_kill").await;
        let (mut one, id) = elsewhere(&weir, "sl_kill", "BEGIN").await;
        one.run("INSERT INTO u VALUES (1)").await.unwrap();
        for _ in 0..3 {
            let mut locked = Locked::new(server, "sl_kill").await;
            one.send(command::STMT_EXECUTE, &execution(id)).await.unwrap();
            locked.until_waiting(2).await;
            killer.run(&format!("KILL QUERY {}", one.greeting().connection_id)).await.unwrap();
            let answer = one.receive(command::STMT_EXECUTE).await.unwrap();
            assert_eq!(answer.err().map(|err| err.code), Some(1317), "{flavor:?}: {answer:?}");
            numbered(&answer, 1);
            locked.until_waiting(1).await;
            locked.end().await;
            app(server.addr())
                .database("sl_kill")
                .connect()
                .await
                .unwrap()
                .run("ALTER TABLE t DROP COLUMN more")
                .await
                .unwrap();
        }
        one.run("COMMIT").await.unwrap();
        assert_eq!(count(server, "sl_kill").await, "1", "{flavor:?}");
    }
}

/// How many COM_PING the session's connection has seen, among others that do nothing.
async fn pings(client: &mut Client) -> u32 {
    let shown = row(client, "SHOW SESSION STATUS LIKE 'Com_admin_commands'").await;
    shown.rsplit('|').next().and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{shown}"))
}

/// A Weir whose KILLs can be held up.
async fn relayed(server: &Server) -> (Relay, Weir) {
    let relay = Relay::start(server.addr()).await.unwrap();
    let limits = LIMITS.replace("\"2s\"", "\"3s\"").replace("20s", "60s");
    let weir = Weir::config(sharing_config(&relay.addr().to_string(), 8, "", &limits)).start().unwrap();
    weir.wait_for_line("accepting clients", PATIENCE).unwrap();
    (relay, weir)
}

/// The answer to an execution whose preparation waits for a lock, and is ended by a KILL of which Weir does not hear whether it
/// has come.
async fn killed_unheard(
    (relay, weir): (&Relay, &Weir),
    one: &mut Client,
    id: u32,
    locked: &mut Locked,
) -> Response {
    one.send(command::STMT_EXECUTE, &execution(id)).await.unwrap();
    locked.until_waiting(2).await;
    // A login of the one who kills takes less than there is time, and with the KILL behind it more.
    relay.faults(Direction::ToServer, |faults| faults.delay = Duration::from_secs(2));
    told(weir, &["kill", &one.greeting().connection_id.to_string(), "--query"]);
    locked.until_waiting(1).await;
    relay.heal();
    one.receive(command::STMT_EXECUTE).await.unwrap()
}

/// What such a KILL may meet is closed, and who had nothing there but what can be asked for again goes on.
#[tokio::test]
async fn p43_a_session_goes_on_elsewhere_where_a_lost_kill_may_still_come() {
    for (flavor, server) in &both() {
        database(server, "sl_courtesy", &TABLES).await;
        let (relay, weir) = relayed(server).await;
        let (mut one, id) = elsewhere(&weir, "sl_courtesy", "INSERT INTO u VALUES (1), (2)").await;
        let kept = pinned(&mut one, "row_count", "two rows").await;
        let mut locked = Locked::new(server, "sl_courtesy").await;
        let answer = killed_unheard((&relay, &weir), &mut one, id, &mut locked).await;
        assert_eq!(answer.err().map(|err| err.code), Some(1317), "{flavor:?}: {answer:?}");
        numbered(&answer, 1);
        // What there was to ask for is gone, and never told wrong.
        let lost = one.query("SHOW WARNINGS").await.unwrap();
        assert_eq!(lost.err().map(|err| err.code), Some(1105), "{flavor:?}: {lost:?}");
        locked.end().await;
        assert_eq!(execute(&mut one, id, &[Param::Int(1)], true).await.rows().count(), 1, "{flavor:?}");
        one.run("BEGIN").await.unwrap();
        assert_ne!(shown(&mut one, "server_connection_id").await, kept, "{flavor:?}");
        assert_eq!(row(&mut one, "SELECT COUNT(*) FROM u").await, "2", "{flavor:?}");
    }
}

/// Whether the KILL has reached the server, and when it will, is not known: nothing of the session may run on that connection.
#[tokio::test]
async fn p43_a_transaction_that_a_lost_kill_may_still_meet_ends_with_a_word() {
    for (flavor, server) in &both() {
        database(server, "sl_unknown", &TABLES).await;
        let (relay, weir) = relayed(server).await;
        let (mut one, id) = elsewhere(&weir, "sl_unknown", "BEGIN").await;
        one.run("INSERT INTO u VALUES (1)").await.unwrap();
        let mut locked = Locked::new(server, "sl_unknown").await;
        let answer = killed_unheard((&relay, &weir), &mut one, id, &mut locked).await;
        assert_eq!(answer.err().map(|err| err.code), Some(1158), "{flavor:?}: {answer:?}");
        numbered(&answer, 1);
        let after = one.run("SELECT 1").await;
        assert!(after.as_ref().map_or(true, |answer| answer.closed), "{flavor:?}: {after:?}");
        locked.end().await;
        assert_eq!(count(server, "sl_unknown").await, "0", "{flavor:?}");
    }
}

/// Of several rows only that connection knows the first id: another's would be told in its place.
#[tokio::test]
async fn p43_an_id_that_only_the_lost_connection_knows_is_not_told_wrong() {
    for (flavor, server) in &both() {
        database(server, "sl_numbered", &TABLES).await;
        let (relay, weir) = relayed(server).await;
        change(server, "CREATE TABLE sl_numbered.n (n INT AUTO_INCREMENT PRIMARY KEY, v INT)").await;
        let rows = "INSERT INTO n (v) VALUES (1), (2)";
        let (mut one, id) = elsewhere(&weir, "sl_numbered", rows).await;
        let mut locked = Locked::new(server, "sl_numbered").await;
        let answer = killed_unheard((&relay, &weir), &mut one, id, &mut locked).await;
        assert_eq!(answer.err().map(|err| err.code), Some(1158), "{flavor:?}: {answer:?}");
        locked.end().await;
    }
}

#[tokio::test]
async fn p46_a_client_that_leaves_while_its_statement_is_prepared_leaves_no_locks() {
    for (flavor, server) in &both() {
        database(server, "sl_leave", &TABLES).await;
        let weir = sharing(server, 8, "", LIMITS);
        let (mut one, id) = elsewhere(&weir, "sl_leave", "BEGIN").await;
        one.run("INSERT INTO u VALUES (1)").await.unwrap();
        let mut locked = Locked::new(server, "sl_leave").await;
        one.send(command::STMT_EXECUTE, &execution(id)).await.unwrap();
        locked.until_waiting(2).await;
        drop(one);
        locked.until_waiting(1).await;
        until("it is rolled back", async || {
            let mut direct = app(server.addr()).database("sl_leave").connect().await.unwrap();
            (row(&mut direct, "SELECT COUNT(*) FROM u FOR UPDATE").await == "0").then_some(())
        })
        .await;
        assert_eq!(metric(&weir, "weir_kills_sent_total").await, 1.0, "{flavor:?}");
        locked.end().await;
    }
}

#[tokio::test]
async fn a_transaction_whose_statement_cannot_be_prepared_in_time_ends_with_a_word() {
    for (flavor, server) in &both() {
        database(server, "sl_word", &TABLES).await;
        let weir = sharing(server, 8, "", &LIMITS.replace("20s", "4s"));
        let (mut one, id) = elsewhere(&weir, "sl_word", "BEGIN").await;
        one.run("INSERT INTO u VALUES (1)").await.unwrap();
        let mut locked = Locked::new(server, "sl_word").await;
        one.send(command::STMT_EXECUTE, &execution(id)).await.unwrap();
        let answer = one.receive(command::STMT_EXECUTE).await.unwrap();
        assert_eq!(answer.err().map(|err| err.code), Some(1159), "{flavor:?}: {answer:?}");
        numbered(&answer, 1);
        locked.until_waiting(1).await;
        locked.end().await;
        assert_eq!(count(server, "sl_word").await, "0", "{flavor:?}");
    }
}

/// The client of what runs behind an answer from memory has that answer, and goes on.
#[tokio::test]
async fn a_preparation_behind_a_cached_answer_does_not_hold_up_its_client() {
    for (flavor, server) in &both() {
        database(server, "sl_behind", &TABLES).await;
        let rules = ALL.replace("ttl = \"1h\"", "ttl = \"1h\", soft_ttl = \"50ms\"");
        let weir = sharing(server, 8, "", &format!("{LIMITS}{rules}"));
        let [mut one] = clients(&weir, "sl_behind").await;
        let id = one.prepare("SELECT id FROM t WHERE id = ?").await.unwrap().id;
        assert_eq!(execute(&mut one, id, &[Param::Int(1)], true).await.rows().count(), 1);
        // It is kept, and the connections that have the statement go.
        shown(&mut one, "client_id").await;
        let mut admin = app(server.addr()).connect().await.unwrap();
        let idle =
            admin.run("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = 'sl_behind'").await.unwrap();
        let ids = idle.rows().map(|row| String::from_utf8_lossy(&row[1..]).into_owned());
        for id in ids.collect::<Vec<_>>() {
            admin.run(&format!("KILL {id}")).await.unwrap();
        }
        let mut locked = Locked::new(server, "sl_behind").await;
        until("the answer is renewed", async || {
            assert_eq!(execute(&mut one, id, &[Param::Int(1)], true).await.rows().count(), 1);
            let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = 'sl_behind' AND STATE LIKE 'Waiting for table%'";
            (row(&mut locked.reader, sql).await == "2").then_some(())
        })
        .await;
        assert_eq!(row(&mut one, "SELECT COUNT(*) FROM u").await, "0", "{flavor:?}");
        // And nothing of it is left at the server.
        locked.until_waiting(1).await;
        locked.end().await;
    }
}

/// A KILL QUERY that is on its way while the server refuses the preparation.
#[tokio::test]
async fn p43_a_kill_behind_a_refused_preparation_meets_no_other_statement() {
    for (flavor, server) in &both() {
        database(server, "sl_late", &TABLES).await;
        let relay = Relay::start(server.addr()).await.unwrap();
        let limits = LIMITS.replace("\"2s\"", "\"30s\"");
        let config = sharing_config(&relay.addr().to_string(), 8, "", &limits);
        let weir = Weir::config(config).start().unwrap();
        weir.wait_for_line("accepting clients", PATIENCE).unwrap();
        let mut killer = client(&weir, "sl_late").await;
        let (mut one, id) = elsewhere(&weir, "sl_late", "BEGIN").await;
        one.run("INSERT INTO u VALUES (1)").await.unwrap();
        let before = pings(&mut one).await;
        let mut locked = Locked::by(server, "sl_late", "RENAME TABLE t TO gone").await;
        one.send(command::STMT_EXECUTE, &execution(id)).await.unwrap();
        locked.until_waiting(2).await;
        let accepted = relay.accepted();
        relay.stall(Direction::ToServer);
        let kill = format!("KILL QUERY {}", one.greeting().connection_id);
        killer.run(&kill).await.unwrap();
        until("it is on its way", async || (relay.accepted() > accepted).then_some(())).await;
        locked.end().await;
        let mut admin = app(server.addr()).connect().await.unwrap();
        let running =
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = 'sl_late' AND COMMAND <> 'Sleep'";
        until("the preparation is refused", async || (row(&mut admin, running).await == "0").then_some(()))
            .await;
        relay.resume(Direction::ToServer);
        let answer = one.receive(command::STMT_EXECUTE).await.unwrap();
        assert_eq!(answer.err().map(|err| err.code), Some(1146), "{flavor:?}: {answer:?}");
        // A server keeps a KILL for the next command only for a moment: nobody can wait for that.
        assert_eq!(pings(&mut one).await, before + 1, "{flavor:?}");
        assert_eq!(metric(&weir, "weir_kills_sent_total").await, 1.0, "{flavor:?}");
        one.run("INSERT INTO u VALUES (2)").await.unwrap();
        one.run("COMMIT").await.unwrap();
        assert_eq!(count(server, "sl_late").await, "2", "{flavor:?}");
    }
}
