use weir_session::{Assigned, Effect, FoundRows, Kind, Memory, Schema, State, Statement, Variable};
use weir_testkit::{Flavor, Server};

use crate::peer::Peer;

/// Values besides the default for variables that are neither switches nor numbers.
const VALUES: [(&str, &str); 22] = [
    ("block_encryption_mode", "aes-256-cbc"),
    ("character_set_client", "latin1"),
    ("character_set_collations", "latin1=latin1_bin"),
    ("character_set_results", "latin1"),
    ("collation_connection", "latin1_bin"),
    ("collation_server", "latin1_german1_ci"),
    ("completion_type", "CHAIN"),
    ("default_collation_for_utf8mb4", "utf8mb4_general_ci"),
    ("default_regex_flags", "DOTALL"),
    ("default_storage_engine", "MEMORY"),
    ("default_tmp_storage_engine", "MEMORY"),
    ("explain_format", "JSON"),
    ("lc_messages", "de_DE"),
    ("lc_time_names", "fr_FR"),
    ("old_mode", ""),
    ("optimizer_switch", "index_merge=off"),
    ("session_track_gtids", "OWN_GTID"),
    ("session_track_system_variables", "autocommit"),
    ("session_track_transaction_info", "STATE"),
    ("sql_mode", "ansi,no_backslash_escapes"),
    ("time_zone", "+1:00"),
    ("transaction_isolation", "read-committed"),
];

/// Values for variables that have neither a switch, a number nor a row above.
const MORE: [(&str, &str); 7] = [
    ("max_join_size", "1000000000"),
    ("max_session_mem_used", "1000000000"),
    ("max_execution_time", "60000"),
    ("max_statement_time", "60"),
    ("updatable_views_with_limit", "NO"),
    ("use_stat_tables", "NEVER"),
    ("storage_engine", "MEMORY"),
];

/// Texts that a client may write to give a variable another value.
fn candidates(v: Variable, now: Option<&str>) -> Vec<String> {
    if let Some((_, value)) = VALUES.iter().chain(&MORE).find(|(name, _)| *name == v.name()) {
        return vec![(*value).to_owned()];
    }
    match (v.kind(), now) {
        (Kind::Switch, Some("ON")) => vec!["0".to_owned()],
        (Kind::Switch, _) => vec!["true".to_owned()],
        _ => ["65536", "131072", "2", "3", "1", "0"].map(str::to_owned).to_vec(),
    }
}

fn text(state: &State, v: Variable) -> Option<String> {
    state.get(v)?.map(|value| String::from_utf8(value.to_vec()).unwrap())
}

/// Sets a variable as a client would, learns it, and checks that nothing wrong was learned.
async fn set(peer: &mut Peer, v: Variable, memory: &mut Memory) {
    let before = text(&peer.state, v);
    let name = v.name_on(peer.server);
    for value in candidates(v, before.as_deref()) {
        let bare = matches!(v.kind(), Kind::Switch | Kind::Numeric);
        let sql = if bare { format!("SET {name}={value}") } else { format!("SET {name}='{value}'") };
        let effects =
            [Effect::Variable { name: name.as_bytes(), value: Assigned::Literal(value.as_bytes()) }];
        let statement = Statement { effects: &effects, found_rows: FoundRows::Kept, ..Statement::PLAIN };
        let outcome = peer.learn(&sql, &statement, memory).await;
        assert!(outcome.is_ok(), "{sql}: {outcome:?}");
        let truth = peer.true_state().await;
        for other in truth.base().present().iter() {
            assert_eq!(peer.state.get(other), truth.get(other), "{} after {sql}", other.name());
        }
        if text(&peer.state, v) != before {
            return;
        }
    }
    panic!("no candidate changes {name}, which is {before:?}");
}

/// Every movable variable, one by one and all together, from connection A to connection B and back.
async fn every_variable_moves(flavor: Flavor, first: &[&str]) {
    let server = Server::start(flavor).unwrap();
    let mut b = Peer::connect(&server, first).await;
    let fresh = b.state.clone();
    let fresh_shown = b.shown().await;
    let mut memory = Memory::new(7);
    let mut all = Peer::connect(&server, first).await;
    for v in fresh.base().present().iter() {
        let mut a = Peer::connect(&server, first).await;
        assert!(a.state.same_as(&fresh));
        set(&mut a, v, &mut memory).await;
        b.sync(&a.state, &mut memory).await;
        assert_eq!(a.shown().await, b.shown().await, "{} on both", v.name());
        assert!(b.sync(&a.state, &mut memory).await.is_empty(), "nothing is sent twice");
        b.sync(&fresh, &mut memory).await;
        assert_eq!(b.shown().await, fresh_shown, "{} back to the base", v.name());
        set(&mut all, v, &mut memory).await;
    }
    // All at once; what was accepted before is not awaited, unless it needs a privilege.
    let steps = b.sync(&all.state, &mut memory).await;
    assert_eq!(steps.len(), 1);
    assert_eq!(all.shown().await, b.shown().await, "all on both");
    b.sync(&fresh, &mut memory).await;
    assert_eq!(b.shown().await, fresh_shown, "all back to the base");
}

#[tokio::test]
async fn every_variable_moves_with_the_trackers_defaults() {
    for flavor in Flavor::BOTH {
        every_variable_moves(flavor, &[]).await;
    }
}

#[tokio::test]
async fn every_variable_moves_with_all_tracked() {
    for flavor in Flavor::BOTH {
        every_variable_moves(flavor, &["SET session_track_system_variables='*'"]).await;
    }
}

#[tokio::test]
async fn set_names_is_learned_and_needs_no_second_reading() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let mut memory = Memory::new(7);
        for (sql, charset, collation) in [
            ("SET NAMES latin1", "latin1", None),
            ("SET NAMES utf8mb4 COLLATE utf8mb4_bin", "utf8mb4", Some("utf8mb4_bin")),
            ("SET NAMES utf8mb4", "utf8mb4", None),
            ("SET NAMES binary", "binary", None),
        ] {
            let effects = [Effect::Names {
                charset: Some(charset.as_bytes()),
                collation: collation.map(str::as_bytes),
            }];
            let statement = Statement { effects: &effects, ..Statement::PLAIN };
            let mut a = Peer::connect(&server, &[]).await;
            a.learn(sql, &statement, &mut memory).await;
            assert!(a.true_state().await.same_as(&a.state), "{flavor:?} {sql}");
            let mut b = Peer::connect(&server, &[]).await;
            let steps = b.sync(&a.state, &mut memory).await;
            assert!(steps.iter().all(|s| !s.must_await), "{steps:?}");
            assert_eq!(a.shown().await, b.shown().await);
            // The second client's SET NAMES needs no reading back.
            let mut c = Peer::connect(&server, &[]).await;
            let known = c.state.clone();
            c.client.run(sql).await.unwrap();
            c.state.learn(&statement, OK, &[], &memory);
            assert!(c.state.is_known() && c.true_state().await.same_as(&c.state), "{sql} on {known:?}");
        }
    }
}

const OK: weir_session::Outcome =
    weir_session::Outcome::Ok { status: 2, affected_rows: 0, insert_id: 0, warnings: 0 };

#[tokio::test]
async fn schemas_of_any_name_are_entered_from_any_character_set() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let mut memory = Memory::new(7);
        let mut a = Peer::connect(&server, &["CREATE DATABASE `zür'ich`", "USE `zür'ich`"]).await;
        assert_eq!(a.state.schema(), &Schema::Known("zür'ich".as_bytes().into()));
        for first in ["SET NAMES latin1", "SET NAMES gbk", "SET NAMES utf8mb4"] {
            let mut b = Peer::connect(&server, &[first]).await;
            let steps = b.sync(&a.state, &mut memory).await;
            assert!(steps.iter().any(|s| s.must_await));
            assert!(b.true_state().await.same_as(&a.state), "{flavor:?} {first}");
            // The other way: a client that speaks another character set, on a connection that speaks utf8.
            let mut wanted = b.state.clone();
            wanted.set(Variable::CHARACTER_SET_CLIENT, Some(b"latin1"[..].into()));
            wanted.set_schema(Schema::Known(b"mysql"[..].into()));
            b.sync(&wanted, &mut memory).await;
            assert!(b.true_state().await.same_as(&wanted));
        }
        assert!(a.true_state().await.same_as(&a.state));
    }
}

#[tokio::test]
async fn a_reset_keeps_the_schema_and_gives_back_the_base() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let mut a = Peer::connect(&server, &[]).await;
        let fresh = a.state.clone();
        for sql in ["SET NAMES gbk", "SET sql_mode='ANSI', autocommit=0", "USE mysql"] {
            a.client.run(sql).await.unwrap();
        }
        a.reset().await;
        let mut truth = a.true_state().await;
        assert_eq!(truth.schema(), &Schema::Known(b"mysql"[..].into()), "{flavor:?}");
        truth.set_schema(Schema::None);
        for v in truth.base().present().iter() {
            // MySQL forgets which collation the client asked for in the handshake.
            if v != Variable::COLLATION_CONNECTION {
                assert_eq!(truth.get(v), fresh.get(v), "{flavor:?} {}", v.name());
            }
        }
    }
}

/// What clients write, read by weir-sql, run and learned; the server's word at the end of each.
const TEXTS: [&str; 24] = [
    "CREATE DATABASE gone",
    "USE gone",
    "DROP DATABASE gone",
    "SET sql_mode = 'ansi', time_zone = '+2:00'",
    "SET sql_mode = CONCAT(@@sql_mode, ',NO_ZERO_DATE'), sql_select_limit = DEFAULT",
    "SET NAMES latin1",
    "/*!50000 SET NAMES utf8mb4 COLLATE utf8mb4_bin */",
    "SET CHARACTER SET latin1",
    "SET character_set_results = NULL",
    "SET character_set_connection = utf8mb4",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY",
    "SET SESSION TRANSACTION READ WRITE",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET max_join_size = 1000000, sql_big_selects = 1",
    "SET max_join_size = DEFAULT",
    "SET sql_mode = nosuch",
    "SET @v = (SELECT 1), autocommit = 0",
    "SET autocommit = 1",
    "SET GLOBAL wait_timeout = 1000",
    "SET @@wait_timeout = 2000",
    "USE nowhere",
    "USE mysql",
    "SET default_storage_engine = myisam; SET foreign_key_checks = 0",
    "SET STATEMENT sort_buffer_size = 100000 FOR SELECT 1",
];

#[tokio::test]
async fn p21_what_the_texts_of_clients_do_is_known_or_read_back() {
    for flavor in Flavor::BOTH {
        for first in [&[][..], &["SET session_track_system_variables='*'"]] {
            let server = Server::start(flavor).unwrap();
            let mut memory = Memory::new(7);
            // The second time, much of it is remembered.
            for _ in 0..2 {
                let mut a = Peer::connect(&server, first).await;
                for sql in TEXTS {
                    let (family, version) = (a.server.family, a.server.version);
                    let facts =
                        weir_sql::Facts::of(sql.as_bytes(), weir_sql::LexMode::new(family, version), true);
                    a.learn_text(sql, &facts, &mut memory).await;
                    let truth = a.true_state().await;
                    assert_eq!(a.state.schema(), truth.schema(), "{flavor:?} {sql}");
                    for v in truth.base().present().iter() {
                        assert_eq!(a.state.get(v), truth.get(v), "{flavor:?} {} after {sql}", v.name());
                    }
                }
            }
        }
    }
}
