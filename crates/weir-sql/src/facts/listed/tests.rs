use super::*;
use crate::testing::{all_modes, both, mysql};
use crate::{Facts, LexMode};
use proptest::prelude::*;

fn reads(sql: &str, mode: LexMode) -> LeftoverSet {
    Facts::of(sql.as_bytes(), mode, true).reads
}

/// LIKE as the manual has it, of characters that are a byte each.
fn reference(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], _) => name.is_empty(),
        ([b'%', rest @ ..], _) => (0..=name.len()).any(|taken| reference(rest, &name[taken..])),
        ([b'_', rest @ ..], [_, behind @ ..]) => reference(rest, behind),
        ([b'\\', byte, rest @ ..] | [byte, rest @ ..], [first, behind @ ..]) => {
            byte.eq_ignore_ascii_case(first) && reference(rest, behind)
        }
        _ => false,
    }
}

fn revealed_by_reference(pattern: &str) -> LeftoverSet {
    revealed(|name| reference(pattern.as_bytes(), name))
}

#[test]
fn the_list_is_of_names_that_the_matcher_can_take() {
    for (name, reveals) in REVEALING {
        assert!(name.len() < 32 && name.iter().all(|byte| is_of_names(*byte) && !byte.is_ascii_uppercase()));
        assert!(!reveals.is_empty() && reveals.is_subset(SHOWN_BY_VARIABLES));
    }
    let all = REVEALING.iter().fold(LeftoverSet::EMPTY, |all, (_, reveals)| all.union(*reveals));
    assert_eq!(all, SHOWN_BY_VARIABLES);
}

#[test]
fn p26_what_a_select_of_the_variable_reads_a_show_of_it_reads_too() {
    for mode in both() {
        for (name, _) in REVEALING {
            let name = std::str::from_utf8(name).unwrap();
            let selected = reads(&format!("SELECT @@{name}"), mode);
            for sql in [
                format!("SHOW VARIABLES LIKE '{name}'"),
                format!("SHOW VARIABLES WHERE Variable_name = '{name}'"),
                format!("SHOW VARIABLES WHERE Variable_name IN ('a', '{name}')"),
            ] {
                assert!(!reads(&sql, mode).is_empty() && selected.is_subset(reads(&sql, mode)), "{sql}");
            }
        }
    }
}

#[test]
fn p31_a_backslash_is_an_escape_in_every_mode_for_mariadb_takes_it_so() {
    for mode in all_modes() {
        let id = LeftoverSet::of(&[Leftover::LastInsertId]);
        assert_eq!(reads(r"SHOW VARIABLES LIKE 'last\_insert\_id'", mode), id, "{mode:?}");
        assert_eq!(reads(r"SHOW VARIABLES LIKE 'last\__nsert\_id'", mode), id, "{mode:?}");
        assert!(reads(r"SHOW VARIABLES LIKE 'sql\_mode'", mode).is_empty(), "{mode:?}");
        assert!(reads(r"SHOW VARIABLES LIKE 'last\%'", mode).is_empty(), "{mode:?}");
        for unclear in [r"\sql_mode", r"sql\\_mode", r"sql_mode\\", r"sql_mode%\'"] {
            let sql = format!("SHOW VARIABLES LIKE '{unclear}'");
            assert_eq!(reads(&sql, mode), SHOWN_BY_VARIABLES, "{sql} {mode:?}");
        }
    }
}

#[test]
fn p31_double_quotes_are_a_name_or_a_string() {
    let ansi = LexMode { ansi_quotes: true, ..mysql() };
    for (sql, as_ansi, otherwise) in [
        ("SHOW VARIABLES LIKE \"sql_mode\"", SHOWN_BY_VARIABLES, LeftoverSet::EMPTY),
        ("SHOW VARIABLES WHERE Variable_name = \"sql_mode\"", SHOWN_BY_VARIABLES, LeftoverSet::EMPTY),
        ("SHOW VARIABLES WHERE \"Variable_name\" = 'sql_mode'", LeftoverSet::EMPTY, SHOWN_BY_VARIABLES),
    ] {
        assert_eq!((reads(sql, ansi), reads(sql, mysql())), (as_ansi, otherwise), "{sql}");
    }
}

#[test]
fn p5_a_long_pattern_is_read_once() {
    let long = format!("{}x", "%_".repeat(100_000));
    assert!(!matches(long.as_bytes(), b"last_insert_id"));
    assert!(matches("%".repeat(100_000).as_bytes(), b"last_insert_id"));
}

/// A name of the list or another, cut into and set together with wildcards.
fn pattern() -> impl Strategy<Value = String> {
    let names = REVEALING.map(|(name, _)| String::from_utf8_lossy(name).into_owned());
    let near = (
        prop::sample::select(names.to_vec()),
        prop::collection::vec((0usize..20, "%|_|\\\\_|\\\\%|[a-zA-Z]|"), 0..4),
    );
    let changed = near.prop_map(|(name, changes)| {
        let mut parts: Vec<String> = name.chars().map(String::from).collect();
        for (at, change) in changes {
            let at = at % parts.len();
            parts[at] = change;
        }
        parts.concat()
    });
    prop_oneof![3 => changed, 1 => "([a-z]|%|_|\\\\_|\\\\%){1,8}", 1 => "(%|_|[id]){1,8}"]
}

proptest! {
    #[test]
    fn the_matcher_is_like(pattern in pattern(), name in "[a-zA-Z_]{0,31}") {
        prop_assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), reference(pattern.as_bytes(), name.as_bytes()));
        for (name, _) in REVEALING {
            prop_assert_eq!(matches(pattern.as_bytes(), name), reference(pattern.as_bytes(), name));
        }
    }

    #[test]
    fn p26_a_show_reads_what_it_lists(pattern in pattern().prop_filter("not empty", |p| !p.is_empty())) {
        let expected = revealed_by_reference(&pattern);
        for mode in all_modes() {
            prop_assert_eq!(reads(&format!("SHOW VARIABLES LIKE '{pattern}'"), mode), expected);
            let unescaped = pattern.replace('\\', "");
            let sql = format!("show session variables where variable_name in ('x') or variable_name like '{unescaped}'");
            prop_assert_eq!(reads(&sql, mode), revealed_by_reference(&unescaped));
        }
    }

    #[test]
    fn whatever_is_no_plain_pattern_reads_everything(odd in "[^a-zA-Z0-9_.%';-]", pattern in "[a-z_%]{0,5}") {
        for mode in all_modes() {
            for text in [format!("{odd}{pattern}"), format!("x{odd}")] {
                // `\_` and `\%` are plain.
                if text.contains('\\') && text.len() > 1 && matches!(text.as_bytes()[1], b'_' | b'%') {
                    continue;
                }
                for sql in [format!("SHOW VARIABLES LIKE '{text}'"), format!("SHOW VARIABLES WHERE Variable_name = '{text}'")] {
                    prop_assert_eq!(reads(&sql, mode), SHOWN_BY_VARIABLES, "{}", sql);
                }
            }
        }
    }
}
