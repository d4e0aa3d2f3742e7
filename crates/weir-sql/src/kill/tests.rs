use super::*;
use crate::testing::{both, mariadb, mysql};

#[track_caller]
fn check(sql: &str, mode: LexMode, expected: Option<(KillTarget, Option<KillStrength>, u64)>) {
    let kill = parse_kill(sql.as_bytes(), mode);
    if let Some(kill) = &kill {
        assert_eq!(sql[kill.id_span.clone()].parse(), Ok(kill.id), "{sql}");
    }
    assert_eq!(kill.map(|k| (k.target, k.strength, k.id)), expected, "{sql}");
}

#[test]
fn p43_kill_of_a_number_is_read() {
    use KillTarget::{Connection, Query};
    for mode in both() {
        check("KILL 5", mode, Some((Connection, None, 5)));
        check("kill connection 007;", mode, Some((Connection, None, 7)));
        check(" /*a*/ Kill/*b*/Query -- c\n 12 ; # d", mode, Some((Query, None, 12)));
        check("KILL /*!40000 QUERY */ 12", mode, Some((Query, None, 12)));
        // The servers take a NUL at the end of the packet for its end.
        check("KILL 12\0 ;", mode, Some((Connection, None, 12)));
        check("/*! KILL 12 */", mode, Some((Connection, None, 12)));
        check("KILL 18446744073709551615", mode, Some((Connection, None, u64::MAX)));
    }
    check("KILL HARD 5", mariadb(), Some((Connection, Some(KillStrength::Hard), 5)));
    check("KILL SOFT QUERY 5", mariadb(), Some((Query, Some(KillStrength::Soft), 5)));
    check("KILL HARD 5", mysql(), None);
}

#[test]
fn p43_any_other_kill_is_left_to_the_server() {
    let cases = [
        "",
        "KILL",
        "KILL QUERY",
        "KILL USER 'a'@'b'",
        "KILL QUERY ID 5",
        "KILL CONNECTION HARD 5",
        "KILL 0x10",
        "KILL 1e3",
        "KILL 5.0",
        "KILL +5",
        "KILL -5",
        "KILL (5)",
        "KILL '5'",
        "KILL ?",
        "KILL @a",
        "KILL 5+1",
        "KILL 5 6",
        "KILL 18446744073709551616",
        "KILL 5; SELECT 1",
        "KILL 5 /*",
        "KILL 5\0 6",
        "KILL 5\0\0",
        "KILL `5`",
        "SELECT 5",
        "KILLS 5",
        "KILL5",
        "x.KILL 5",
        "'KILL' 5",
        "-- KILL 5",
        "KILL CONNECTION QUERY 5",
    ];
    for mode in both() {
        for sql in cases {
            check(sql, mode, None);
        }
    }
}

#[test]
fn another_id_is_no_version_of_a_comment() {
    for (sql, other) in
        [("KILL/*!50*/", "KILL/*! 18446744073709551615*/"), ("KILL 5;", "KILL  18446744073709551615;")]
    {
        let kill = parse_kill(sql.as_bytes(), mysql()).unwrap();
        let span = kill.id_span.clone();
        let changed = format!("{}{}{}", &sql[..span.start], Kill::other_id(u64::MAX), &sql[span.end..]);
        assert_eq!(changed, other);
        assert_eq!(parse_kill(changed.as_bytes(), mysql()).unwrap().id, u64::MAX);
    }
}
