use super::*;

#[test]
fn every_word_is_found_in_any_case() {
    for word in WORDS {
        for text in [word.spelling.to_lowercase(), word.spelling.to_owned()] {
            let found = Word::of(text.as_bytes()).expect("it is in the table");
            assert_eq!(found.shown, word.shown, "{text}");
            assert_eq!(found.call, word.call, "{text}");
        }
        assert!(
            Word::of(format!("{}x", word.spelling).as_bytes()).is_none_or(|w| w.spelling != word.spelling)
        );
    }
    for none in ["", "s", "selec", "wp_posts", "\u{e4}", "a_very_long_word_that_is_longer_than_any_keyword"] {
        assert!(Word::of(none.as_bytes()).is_none(), "{none}");
    }
}

#[test]
fn no_word_is_listed_twice() {
    let mut spellings: Vec<_> = WORDS.iter().map(|word| word.spelling).collect();
    spellings.sort_unstable();
    let all = spellings.len();
    spellings.dedup();
    assert_eq!(spellings.len(), all);
}

/// What a digest shows is read as the same word again.
#[test]
fn what_is_shown_is_a_word_that_shows_itself() {
    for word in WORDS.iter().filter(|word| word.role != Role::Introducer) {
        let shown = Word::of(word.shown.trim_end().as_bytes()).expect("it is in the table");
        assert_eq!((shown.shown, shown.role), (word.shown, word.role), "{}", word.spelling);
    }
}

#[test]
fn hints_are_found_in_any_case() {
    assert_eq!(hint(b"bka"), Some("BKA "));
    assert_eq!(hint(b"No_Order_Index"), Some("NO_ORDER_INDEX "));
    assert_eq!(hint(b"select"), None);
}
