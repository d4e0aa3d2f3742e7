use super::*;
use crate::testing::both;

#[track_caller]
fn check(sql: &str, expected: &[&str]) {
    for mode in both() {
        let found: Vec<_> = hints(sql.as_bytes(), mode).collect();
        let texts: Vec<_> = found.iter().map(|h| String::from_utf8_lossy(h.text)).collect();
        assert_eq!(texts, expected, "{sql}");
        for hint in found {
            let comment = &sql[hint.span];
            assert!(comment.starts_with("/*") && comment.ends_with("*/"), "{sql}: {comment}");
        }
    }
}

#[test]
fn hints_stand_in_leading_comments() {
    check("/*weir: fresh*/ SELECT 1", &["fresh"]);
    check("/* WEIR:  ttl=5, fresh */SELECT 1", &["ttl=5, fresh"]);
    check("/*nocache*//*a*/ -- b\n/* Wipe */ SELECT 1", &["nocache", "Wipe"]);
    check("/*weir:*/SELECT 1", &[""]);
    check("/*nocache*/", &["nocache"]);
}

#[test]
fn what_is_no_hint_is_none() {
    for sql in [
        "",
        "SELECT 1",
        "SELECT /*nocache*/ 1",
        "SELECT 1; /*nocache*/ SELECT 1",
        "-- nocache\nSELECT 1",
        "/*weir*/SELECT 1",
        "/*nocaches*/SELECT 1",
        "/*! nocache */",
        "/*!999999 nocache */SELECT 1",
        "/*+ nocache */SELECT 1",
        "/*nocache",
        "'/*nocache*/'",
        "(/*nocache*/ SELECT 1)",
        "/**/SELECT 1",
        "/*/SELECT 1",
    ] {
        check(sql, &[]);
    }
}
