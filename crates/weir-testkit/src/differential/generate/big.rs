//! Values from a kilobyte to seventeen megabytes, many rows, and files from the client.

use crate::client::command::Param;

use super::{Action, Class, Session, Text};

/// Around the point where a payload no longer fits one packet.
const EDGES: [usize; 5] = [0xff_fffa, 0xff_fffe, 0xff_ffff, 0x100_0000, 17_000_000];

pub(super) fn big_values(s: &mut Session) {
    s.class(Class::BigValues);
    let kilobytes = 1 + s.rng.below(300);
    let length = kilobytes * 1000 + s.rng.below(1000);
    if s.rng.one_in(60) {
        edge(s);
        return;
    }
    let fill = (s.rng.bits(), length);
    let quoted = |before: &str, after: &str| Text { before: before.into(), fill, after: after.into() };
    match s.rng.below(7) {
        0 => s.q(format!("SELECT REPEAT('0123456789abc', {})", length / 13)),
        1 => s.act(Action::Query(quoted("SELECT LENGTH('", "'), 'short'"))),
        2 => s.act(Action::Query(quoted("SELECT '", "' AS echoed"))),
        3 => {
            s.act(Action::Query(quoted("INSERT INTO big (d) VALUES ('", "')")));
            s.q("SELECT id, d FROM big ORDER BY id DESC LIMIT 1");
            s.q("DELETE FROM big WHERE id < (SELECT m FROM (SELECT MAX(id) - 2 AS m FROM big) x)");
        }
        4 => {
            let rows = s.rng.between(200, 3000);
            s.q(format!(
                "SELECT a.d + 10*b.d + 100*c.d + 1000*e.d AS n, REPEAT('v', a.d * 5) FROM dig a, dig b, dig c, dig e \
                 ORDER BY n LIMIT {rows}"
            ));
        }
        5 => {
            s.slots += 1;
            let slot = s.slots;
            s.act(Action::Prepare { slot, sql: "SELECT ?, LENGTH(?)".into() });
            let params = vec![Param::Bytes(s.rng.text(length / 4)), Param::Bytes(s.rng.text(10))];
            s.act(Action::Execute { slot, params, flags: 0, types: true });
            s.act(Action::Close { slot });
        }
        _ => {
            // A long comment ahead of a short statement, and a long statement that fails at its end.
            s.act(Action::Query(quoted("/* ", " */ SELECT 'after the comment'")));
            s.act(Action::Query(quoted("SELECT '", "' FROM not_there")));
        }
    }
}

/// Requests and rows of exactly 16 MiB - 1 and its neighbours.
fn edge(s: &mut Session) {
    let size = EDGES[s.rng.below(EDGES.len())];
    match s.rng.below(3) {
        0 => {
            // The command byte and, with query attributes, two more bytes belong to the payload.
            let (before, after) = ("SELECT LENGTH('", "')");
            let length = size - before.len() - after.len() - 1;
            let fill = (s.rng.bits(), length);
            s.act(Action::Query(Text { before: before.into(), fill, after: after.into() }));
        }
        // A row's payload has four bytes of length ahead of the value.
        1 => s.q(format!("SELECT REPEAT('x', {} - 4)", size)),
        _ => {
            s.q(format!("SELECT 'ahead', REPEAT('y', {} - 10) UNION ALL SELECT 'behind', 'z'", size));
        }
    }
    s.q("SELECT 'still here'");
}

pub(super) fn local_infile(s: &mut Session) {
    s.class(Class::LocalInfile);
    let rows = s.rng.below(40);
    let mut data = Vec::new();
    for _ in 0..rows {
        let (n, word) = (s.small(), s.word());
        data.extend(format!("{word}\t{n}\n").into_bytes());
    }
    if s.rng.one_in(3) {
        // Bytes that would be commands if anybody mistook them.
        data.splice(0..0, b"\x03DROP TABLE t\t1\n\x01\x00\x00\x00\x01\t2\n".iter().copied());
    }
    if s.rng.one_in(6) {
        data = s.rng.text(300_000);
    }
    let most = if s.rng.one_in(2) { 40 } else { 60_000 };
    let chunk = 1 + s.rng.below(most);
    let sql = s
        .rng
        .pick(&[
            "LOAD DATA LOCAL INFILE 'some file' INTO TABLE t (v, n)",
            "LOAD DATA LOCAL INFILE 'some file' IGNORE INTO TABLE t (v, n)",
            "LOAD DATA LOCAL INFILE 'dup' INTO TABLE k (v, id)",
            "load data /* x */ low_priority local infile 'lower' into table t fields terminated by '\\t' (v, n)",
            "LOAD DATA LOCAL INFILE 'nowhere' INTO TABLE not_there",
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE t (no_such_column)",
            "SELECT 'first'; LOAD DATA LOCAL INFILE 'second' INTO TABLE t (v, n); SELECT 'third'",
        ])
        .to_owned();
    // Tiny packets of long data would only measure patience.
    let chunk = chunk.max(data.len() / 2000);
    s.act(Action::LocalInfile { sql, data, chunk });
    s.one_of(&["SHOW WARNINGS LIMIT 3", "SELECT ROW_COUNT(), COUNT(*) FROM t", "SELECT COUNT(*) FROM k"]);
    s.q("DELETE FROM t WHERE id > 30 LIMIT 500");
    s.q("DELETE FROM k WHERE id > 3 OR id < 1");
}
