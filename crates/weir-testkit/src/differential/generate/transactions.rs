//! Transactions, XA, locks.

use super::{Class, Session};

pub(super) fn transactions(s: &mut Session) {
    s.class(Class::Transactions);
    if s.rng.one_in(3) {
        s.one_of(&[
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "SET TRANSACTION READ ONLY",
            "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED, READ WRITE",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET SESSION TRANSACTION READ WRITE",
            "SET autocommit = 0",
            "SET @@autocommit = OFF",
        ]);
    }
    s.one_of(&[
        "BEGIN",
        "START TRANSACTION",
        "START TRANSACTION READ ONLY",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
        "/* x */ begin work",
        "START TRANSACTION READ WRITE",
    ]);
    for _ in 0..1 + s.rng.below(5) {
        let (n, word) = (s.small(), s.word());
        match s.rng.below(12) {
            0..=2 => s.q(format!("INSERT INTO t (v, n) VALUES ('{word}', {n})")),
            3 => s.q(format!("UPDATE t SET v = '{word}' WHERE id = {n}")),
            4 => s.q(format!("DELETE FROM t WHERE id = {}", n + 20)),
            5 => s.q("SAVEPOINT sp1"),
            6 => s.q("ROLLBACK TO SAVEPOINT sp1"),
            7 => s.q("RELEASE SAVEPOINT sp1"),
            8 => s.q("SELECT id, v FROM t ORDER BY id DESC LIMIT 3 FOR UPDATE"),
            9 => s.q("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"),
            10 => s.q("SELECT COUNT(*) FROM t LOCK IN SHARE MODE"),
            _ => s.stray(),
        }
    }
    s.one_of(&[
        "COMMIT",
        "COMMIT",
        "ROLLBACK",
        "ROLLBACK",
        "COMMIT AND CHAIN",
        "ROLLBACK AND CHAIN",
        "COMMIT WORK AND NO CHAIN NO RELEASE",
        "BEGIN",
        "CREATE TABLE IF NOT EXISTS implicit (x INT)",
        "SET autocommit = 1",
        "ROLLBACK TO nowhere",
    ]);
    s.q("SELECT COUNT(*), MAX(id), SUM(n) FROM t");
    if s.rng.one_in(2) {
        s.q("SET autocommit = 1");
        s.q("COMMIT");
    }
    if s.rng.one_in(25) {
        s.q("BEGIN");
        s.q("COMMIT RELEASE");
        s.q("SELECT 'the server has closed this connection'");
        let a = s.a.clone();
        s.q(format!("USE {a}"));
    }
    if s.rng.one_in(12) {
        s.q("DELETE FROM t WHERE id > 60 ORDER BY id LIMIT 200");
    }
}

pub(super) fn xa(s: &mut Session) {
    s.class(Class::Xa);
    let n = s.next();
    let xid = format!("'{}-{n}'", s.name);
    if s.rng.one_in(2) {
        s.q("COMMIT");
    }
    s.q(format!("XA START {xid}"));
    let word = s.word();
    s.q(format!("INSERT INTO t (v, n) VALUES ('{word}', 1)"));
    match s.rng.below(5) {
        0 => s.q("BEGIN"),
        1 => s.q("COMMIT"),
        2 => s.q("CREATE TABLE in_xa (x INT)"),
        3 => s.q(format!("XA COMMIT {xid}")),
        _ => s.stray(),
    }
    s.q(format!("XA END {xid}"));
    if s.rng.one_in(3) {
        s.q("SELECT 1 FROM t LIMIT 1");
        s.q("UPDATE t SET n = 1 WHERE id = 1");
    }
    match s.rng.below(3) {
        0 => {
            s.q(format!("XA PREPARE {xid}"));
            // Nothing that would wait for the locks of the prepared branch, which MySQL detaches.
            s.one_of(&["SELECT 5", "SELECT MAX(d) FROM dig", "INSERT INTO cs (b) VALUES ('xa')", "BEGIN"]);
            s.q("ROLLBACK");
        }
        1 => s.q(format!("XA COMMIT {xid} ONE PHASE")),
        _ => s.q(format!("XA ROLLBACK {xid}")),
    }
    // Whatever the state is by now, the branch must not outlive the scenario.
    s.q(format!("XA END {xid}"));
    let end = if s.rng.one_in(2) { "XA COMMIT" } else { "XA ROLLBACK" };
    s.q(format!("{end} {xid}"));
    s.q("COMMIT");
    s.q(format!("XA ROLLBACK {xid}"));
}

pub(super) fn locks(s: &mut Session) {
    s.class(Class::Locks);
    let name = s.name.clone();
    match s.rng.below(4) {
        0 | 1 => {
            s.q(format!("SELECT GET_LOCK('{name}x', 0), GET_LOCK('{name}y', 0)"));
            s.stray();
            s.q(format!("SELECT IS_FREE_LOCK('{name}x'), IS_USED_LOCK('{name}y') = CONNECTION_ID()"));
            s.q(format!("DO GET_LOCK('{name}x', 0)"));
            s.q(format!("SELECT RELEASE_LOCK('{name}x'), RELEASE_LOCK('{name}never')"));
            s.q("SELECT RELEASE_ALL_LOCKS()");
            s.q(format!("SELECT IS_FREE_LOCK('{name}x'), IS_FREE_LOCK('{name}y')"));
        }
        _ => {
            s.one_of(&["LOCK TABLES t READ", "LOCK TABLES t WRITE, dig READ", "LOCK TABLES t AS tt READ"]);
            s.q("INSERT INTO t (v) VALUES ('under lock')");
            s.q("SELECT COUNT(*) FROM k");
            s.q("SELECT MAX(d) FROM dig");
            s.stray();
            s.one_of(&["UNLOCK TABLES", "UNLOCK TABLES", "LOCK TABLES nowhere READ", "BEGIN"]);
            s.q("UNLOCK TABLES");
            s.q("SELECT COUNT(*) FROM k");
        }
    }
}
