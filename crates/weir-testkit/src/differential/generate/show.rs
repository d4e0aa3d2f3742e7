//! SHOW, DESCRIBE, EXPLAIN: as far as their answers do not change by themselves.

use super::{Class, Session};

pub(super) fn show(s: &mut Session) {
    s.class(Class::Show);
    let name = s.name.clone();
    for _ in 0..1 + s.rng.below(2) {
        match s.rng.below(4) {
            0 => s.q(format!("SHOW DATABASES LIKE '{name}%'")),
            _ => s.one_of(&[
                "SHOW TABLES",
                "SHOW FULL TABLES LIKE 't%'",
                "SHOW COLUMNS FROM types",
                "SHOW FULL COLUMNS FROM t LIKE 'v%'",
                "DESCRIBE k",
                "DESC not_there",
                "SHOW CREATE TABLE k",
                "SHOW CREATE TABLE types",
                "SHOW CREATE VIEW vw",
                "SHOW CREATE PROCEDURE pr_out",
                "SHOW VARIABLES LIKE 'sql_mode'",
                "SHOW SESSION VARIABLES WHERE Variable_name IN ('time_zone', 'autocommit', 'lc_time_names')",
                "SHOW VARIABLES LIKE 'character_set_c%'",
                "SHOW COLLATION LIKE 'latin1_g%'",
                "SHOW CHARACTER SET LIKE 'utf8%'",
                "SHOW GRANTS FOR CURRENT_USER()",
                "SHOW PRIVILEGES",
                "SHOW STORAGE ENGINES",
                "SHOW NONSENSE",
                "SHOW CREATE TABLE not_there",
                "EXPLAIN SELECT 1",
                "SHOW STATUS LIKE 'no_such_status'",
                "SHOW OPEN TABLES LIKE 'no_such_table'",
                "HELP 'no such topic at all'",
                "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1",
            ]),
        }
    }
}
