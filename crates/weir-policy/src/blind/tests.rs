#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use proptest::prelude::*;

use super::is_blind;
use crate::pattern;

#[test]
fn patterns_that_see_numbers_are_told_from_those_that_do_not() {
    let blind = [
        "",
        "^SELECT",
        "(?i)^select .* from wp_posts",
        "^SELECT .+ FROM t",
        r"\bid\b",
        r"(?m)^\s+from$",
        "[^']*x",
        "a|b.*c",
        "(.*)(.*)",
        r"\w+ from",
        "(?i:insert|replace)",
    ];
    let seeing = [
        "t1", "select .", "a.b", ".?", ".{2}", ".{2,}", "[0-9]", r"\d+ .+", ".+.+", "(.+)*", "(a.)*",
        "(.+,)+", "[1-5]*", r"\B", "[^5]*", "[a-z0]", r"(?u:\b)", ".+|.+",
    ];
    for pattern in blind {
        assert!(is_blind(pattern), "{pattern:?}");
    }
    for pattern in seeing {
        assert!(!is_blind(pattern), "{pattern:?}");
    }
    assert!(!is_blind("("), "what is no pattern is blind for nothing");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn a_blind_pattern_says_the_same_whatever_the_numbers(
        pattern in prop::collection::vec(prop::sample::select(vec![
            "a", "b", " ", "^", "$", r"\b", ".", ".*", ".+", ".*?", "[^a]*", r"\w*", r"\w+", r"\s*", r"\d*", r"\d+", "(", ")", "(?:", ")*",
            ")+", "|", "(?m)", "7", r"\b{start}", r"\b{end}", "[^ ]*",
        ]), 0..7).prop_map(|parts| parts.concat()),
        text in prop::collection::vec(prop::sample::select(vec!["a", "b", " ", "#", "\n", "ab"]), 0..6),
        (one, other) in (prop::collection::vec("[0-9]{1,4}", 6), prop::collection::vec("[0-9]{1,4}", 6)),
    ) {
        let Ok(regex) = pattern::one(&pattern) else { return Ok(()) };
        prop_assume!(is_blind(&pattern));
        let with = |numbers: &[String]| {
            let parts = text.iter().zip(numbers);
            parts.map(|(part, number)| part.replace('#', number)).collect::<String>()
        };
        let (one, other) = (with(&one), with(&other));
        prop_assert_eq!(regex.is_match(one.as_bytes()), regex.is_match(other.as_bytes()), "{:?}: {:?}, {:?}", pattern, one, other);
    }
}
