use super::*;
use crate::functions::is_harmless;
use crate::testing::both;
use crate::words::WordId;

#[test]
fn the_table_is_sorted_and_in_small_letters() {
    assert!(TABLE.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert!(TABLE.iter().all(|(name, _)| name.to_lowercase() == *name && name.len() <= 32));
}

#[test]
fn a_name_is_found_in_any_case() {
    for (name, expected) in [
        ("concat", Some(Class::Pure)),
        ("NOW", Some(Class::Varies)),
        ("Connection_Id", Some(Class::Session)),
        ("SEC_TO_TIME", Some(Class::Time)),
        ("ExtractValue", Some(Class::XPath)),
        ("default", Some(Class::Varies)),
        ("my_function", None),
        ("", None),
        ("a_name_of_more_than_thirty_two_letters", None),
    ] {
        assert_eq!(class(name.as_bytes()), expected, "{name}");
    }
}

/// What reads the clock, the connection or chance must not count as pure, however the table grows.
#[test]
fn no_pure_function_tells_of_time_chance_or_the_connection() {
    const TELLING: [&str; 14] = [
        "now",
        "rand",
        "uuid",
        "guid",
        "lock",
        "sleep",
        "user",
        "current",
        "utc_",
        "sysdate",
        "row_count",
        "found_rows",
        "wait",
        "last_insert",
    ];
    for (name, class) in TABLE {
        let tells = TELLING.iter().any(|part| name.contains(part));
        let is_known_better = matches!(*name, "bin_to_uuid" | "is_uuid" | "uuid_to_bin");
        assert!(!tells || is_known_better || *class != Class::Pure, "{name}");
    }
    // A name that is built in and pure is taken for it; one that is pure elsewhere is asked about.
    for mode in both() {
        assert!(is_harmless(WordId::of(b"concat"), mode) && !is_harmless(WordId::of(b"get_lock"), mode));
    }
}
