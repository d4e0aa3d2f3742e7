//! Commands other than queries, and what is no command at all.

use crate::client::command;

use super::{Action, Class, Session};

pub(super) fn commands(s: &mut Session) {
    s.class(Class::Commands);
    let a = s.a.clone();
    match s.rng.below(14) {
        0 | 1 => s.act(Action::Command { code: command::PING, body: Vec::new() }),
        2 => s.act(Action::Command { code: command::STATISTICS, body: Vec::new() }),
        3 | 4 => {
            let (table, wildcard) =
                [("t", ""), ("types", "b%"), ("vw", ""), ("not_there", ""), ("types", "nothing")]
                    [s.rng.below(5)];
            s.act(Action::Command { code: command::FIELD_LIST, body: command::field_list(table, wildcard) });
        }
        5..=7 => {
            s.q("SET @x = 'lost', sql_mode = 'ANSI_QUOTES', autocommit = 0");
            s.q("CREATE TEMPORARY TABLE IF NOT EXISTS lost (x INT)");
            s.q("INSERT INTO t (v) VALUES ('rolled back')");
            s.act(Action::Command { code: command::RESET_CONNECTION, body: Vec::new() });
            s.q("SELECT @x, @@sql_mode, @@autocommit, DATABASE(), @@character_set_client, LAST_INSERT_ID()");
            s.q("SELECT * FROM lost");
            s.q(format!("USE {a}"));
        }
        8..=10 => change_user(s, &a),
        11 => s.act(Action::QueryWithAttribute {
            sql: "SELECT 'with an attribute', @x".into(),
            name: "note".into(),
            value: "SET @x = 'not a statement'; SELECT 1".into(),
        }),
        12 => s.act(Action::Command { code: command::SET_OPTION, body: vec![9, 0] }),
        _ => {
            s.act(Action::Command { code: command::INIT_DB, body: a.into_bytes() });
            s.act(Action::Command { code: command::INIT_DB, body: b"mysql".to_vec() });
            let b = s.b.clone();
            s.act(Action::Command { code: command::INIT_DB, body: b.into_bytes() });
            s.q("SELECT DATABASE()");
            let a = s.a.clone();
            s.q(format!("USE {a}"));
        }
    }
}

fn change_user(s: &mut Session, schema: &str) {
    let users = [("app", "app-pw"), ("nopw", ""), ("root", ""), ("app", "app-pw")];
    let (user, password) = users[s.rng.below(users.len())];
    let database = if s.rng.one_in(2) { schema } else { "" };
    let collation = [45, 8, 33, 63][s.rng.below(4)];
    let login = |user: &str, password: &str, database: &str| Action::ChangeUser {
        user: user.into(),
        password: password.into(),
        database: database.into(),
        collation,
    };
    s.q("SET @x = 'gone after the change'");
    s.act(login(user, password, database));
    s.q("SELECT CURRENT_USER(), DATABASE(), @x, @@collation_connection");
    s.act(login("app", "app-pw", schema));
    match s.rng.below(6) {
        0 => s.act(login("app", "wrong", schema)),
        1 => s.act(login("nobody-here", "wrong", schema)),
        2 => s.act(login("app", "app-pw", "no_such_schema")),
        _ => return,
    }
    // The refused change may have cost the connection; the next statement shows it.
    s.act(Action::Command { code: command::PING, body: Vec::new() });
    s.q(format!("USE {schema}"));
}

/// Codes that no server of today knows, or that are for the server's own use.
const UNKNOWN: [u8; 12] = [0x00, 0x0b, 0x0f, 0x10, 0x14, 0x1d, 0x22, 0x40, 0x77, 0x80, 0xc0, 0xf0];

pub(super) fn malformed(s: &mut Session) {
    s.class(Class::Malformed);
    let code = UNKNOWN[s.rng.below(UNKNOWN.len())];
    let noise: Vec<u8> = (0..s.rng.below(12)).map(|_| s.rng.bits() as u8).collect();
    match s.rng.below(9) {
        0..=2 => s.act(Action::Uncertain { code, body: noise }),
        3 => s.act(Action::Uncertain { code: command::STMT_EXECUTE, body: noise }),
        4 => s.act(Action::Uncertain { code: command::STMT_FETCH, body: noise }),
        5 => s.act(Action::Uncertain { code: command::STMT_CLOSE, body: noise }),
        6 => s.act(Action::Uncertain { code: command::STMT_SEND_LONG_DATA, body: noise }),
        7 => s.act(Action::Uncertain { code: command::STMT_RESET, body: noise }),
        _ => {
            s.act(Action::Uncertain { code: command::SET_OPTION, body: noise[..noise.len().min(1)].to_vec() })
        }
    }
    s.q("SELECT 'still in step', DATABASE()");
    let a = s.a.clone();
    if s.rng.one_in(4) {
        s.q(format!("USE {a}"));
    }
    if s.rng.one_in(30) && !s.maria() {
        // A truncated COM_CHANGE_USER ends the connection on MySQL, as it does through Weir. MariaDB goes on, which is a
        // difference that docs/compatibility.md lists.
        s.act(Action::Uncertain { code: command::CHANGE_USER, body: b"app\0\x14abc".to_vec() });
        s.q(format!("USE {a}"));
        s.q(format!("USE {a}"));
    }
}
