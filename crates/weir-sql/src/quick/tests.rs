use super::*;
use crate::testing::both;

#[track_caller]
fn check(sql: &str, multi: bool, leading: Option<Keyword>, needs_full: bool) {
    for mode in both() {
        assert_eq!(quick(sql.as_bytes(), mode, multi), Quick { leading, needs_full }, "{sql}");
    }
}

#[test]
fn the_usual_statement_needs_no_second_look() {
    use Keyword::*;
    for multi in [false, true] {
        check("SELECT c FROM t WHERE id = 5", multi, Some(Select), false);
        check(" \n select 1 ;", multi, Some(Select), false);
        check("COMMIT", multi, Some(Commit), false);
        check("/*a*/-- b\nBEGIN", multi, Some(Begin), false);
        check("/*! UPDATE t */", multi, Some(Update), false);
        check("SELECT/**/1", multi, Some(Select), false);
        check("SHOW TABLES", multi, Some(Show), false);
        check("SET a = 1", multi, Some(Set), false);
        check("EXECUTE s", multi, Some(Execute), false);
        check("(SELECT 1)", multi, None, false);
        check("HANDLER t OPEN", multi, None, false);
        check("", multi, None, false);
        check("SHOW WEIR SESSION", multi, Some(Show), true);
        check("KILL 5", multi, Some(Kill), true);
        check("LOAD DATA INFILE 'a'", multi, Some(Load), true);
    }
}

#[test]
fn p32_a_semicolon_inside_asks_for_it_if_several_are_allowed() {
    check("SELECT 1; SELECT 2", true, Some(Keyword::Select), true);
    check("SELECT 1; SELECT 2", false, Some(Keyword::Select), false);
    check("SELECT ';'", true, Some(Keyword::Select), true);
    check("SELECT 1;; \n", true, Some(Keyword::Select), false);
}
