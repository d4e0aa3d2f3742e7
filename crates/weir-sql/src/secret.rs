/// What comes ahead of a password, in a word or at its end. All account statements of both servers have one of these words.
const NAMES: [&[u8]; 2] = [b"IDENTIFIED", b"PASSWORD"];

/// With `PASSWORD`, one of these tells a statement that sets or sends one from one that asks an application's table for it.
const VERBS: [&[u8]; 6] = [b"SET", b"CREATE", b"ALTER", b"CHANGE", b"START", b"SERVER"];

/// Whether a statement may carry an account's password: `CREATE USER`, `ALTER USER`, `GRANT ... IDENTIFIED`, `SET PASSWORD`,
/// `CHANGE MASTER`, `CHANGE REPLICATION SOURCE`, `START REPLICA`, `CREATE SERVER`, `ALTER SERVER`, `CLONE`. Both servers leave these out of
/// their own logs (MySQL manual, "Passwords and Logging").
///
/// It goes by words alone, wherever they stand: behind other statements of the same packet, in a procedure's body, in a comment that is
/// run, in the text that is given to PREPARE. So it is true of some that carry none, such as an UPDATE of a column `password`; whatever it is
/// asked for, that is a text less to be seen. Of a statement that was cut it tells enough: the words stand ahead of the password.
pub fn may_carry_password(sql: &[u8]) -> bool {
    let ends_with = |word: &[u8], end: &[u8]| {
        word.len().checked_sub(end.len()).is_some_and(|from| word[from..].eq_ignore_ascii_case(end))
    };
    let contains = |word: &[u8], part: &[u8]| word.windows(part.len()).any(|w| w.eq_ignore_ascii_case(part));
    let [identified, password] = NAMES;
    let (mut is_named, mut has_verb) = (false, false);
    for word in sql.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_') {
        if contains(word, identified) {
            return true;
        }
        is_named |= contains(word, password);
        // Behind a backslash of a literal a letter more may stand.
        has_verb |= VERBS.iter().any(|verb| ends_with(word, verb));
    }
    is_named && has_verb
}

#[cfg(test)]
mod tests {
    use super::may_carry_password;

    #[test]
    fn statements_that_carry_passwords_are_told_from_others() {
        for sql in [
            "CREATE USER a@b IDENTIFIED BY 'x'",
            "create or replace user a identified via ed25519 using password('x')",
            "ALTER USER USER() IDENTIFIED BY 'x' REPLACE 'y'",
            "ALTER USER a IDENTIFIED WITH caching_sha2_password AS 'x'",
            "GRANT ALL ON *.* TO a IDENTIFIED BY 'x'",
            "SET PASSWORD = 'x'",
            "SET/**/PASSWORD/* for */FOR a = PASSWORD('x')",
            "CHANGE MASTER TO MASTER_USER = 'u', MASTER_PASSWORD = 'x'",
            "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD='x'",
            "START REPLICA USER='u' PASSWORD='x'",
            "START SLAVE UNTIL SQL_AFTER_GTIDS='y' USER='u' PASSWORD='x'",
            "START GROUP_REPLICATION USER='u', PASSWORD='x'",
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'x')",
            "ALTER SERVER s OPTIONS (PASSWORD 'x')",
            "CLONE INSTANCE FROM u@h:3306 IDENTIFIED BY 'x'",
            "SELECT 1; SET PASSWORD = 'x'",
            "/*!50701 ALTER USER a IDENTIFIED BY 'x' */",
            "PREPARE s FROM 'SET PASSWORD = ''x'''",
            "EXECUTE IMMEDIATE 'alter user a\\nidentified by ''x'''",
            "CREATE PROCEDURE p() BEGIN ALTER USER a IDENTIFIED BY 'x'; END",
            // No account's, and no harm.
            "UPDATE users SET password = 'x' WHERE id = 1",
        ] {
            assert!(may_carry_password(sql.as_bytes()), "{sql}");
            assert!(may_carry_password(sql.to_lowercase().as_bytes()), "{sql}");
        }
        for sql in [
            "",
            "SELECT password FROM users WHERE name = 'x'",
            "SELECT v FROM t WHERE id = 1",
            "SET NAMES utf8mb4",
            "CREATE TABLE t (a INT)",
            "GRANT SELECT ON t TO a",
            "DROP USER a",
            "INSERT INTO t VALUES ('pass', 'word')",
        ] {
            assert!(!may_carry_password(sql.as_bytes()), "{sql}");
        }
    }

    /// As a log keeps it.
    #[test]
    fn no_cut_ahead_of_the_end_shows_a_part_of_the_password() {
        for sql in
            ["CREATE USER a IDENTIFIED BY 'x", "SET PASSWORD = 'x", "CHANGE MASTER TO MASTER_PASSWORD = 'x"]
        {
            let password = sql.len() - 1;
            assert!((password..=sql.len()).all(|end| may_carry_password(&sql.as_bytes()[..end])), "{sql}");
        }
    }
}
