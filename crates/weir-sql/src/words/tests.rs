use super::*;
use crate::functions::is_harmless;
use crate::testing::both;
use proptest::prelude::*;

#[test]
fn every_word_is_found_in_any_case_and_no_other() {
    for spelling in spellings() {
        let id = WordId::of(spelling.as_bytes());
        assert!(id.entry().is(spelling.as_bytes()), "{spelling}");
        for text in [spelling.to_lowercase(), spelling.to_uppercase()] {
            assert_eq!(WordId::of(text.as_bytes()), id, "{text}");
            // The same within a text, with and without bytes behind it.
            let sql = format!("a {text} b, and more that makes it long enough");
            assert_eq!(WordId::at(sql.as_bytes(), 2, 2 + text.len()), id, "{text}");
            assert_eq!(WordId::at(&sql.as_bytes()[..2 + text.len()], 2, 2 + text.len()), id, "{text}");
        }
        for i in 0..spelling.len() {
            for byte in [0x10, b' ', b'@', b'{', 0x7F, 0xE1] {
                let mut other = spelling.as_bytes().to_vec();
                other[i] = byte;
                assert_eq!(WordId::of(&other), WordId::NONE, "{}", other.escape_ascii());
            }
        }
    }
    assert_eq!(WordId::of(b""), WordId::NONE);
}

#[test]
fn a_word_has_all_that_the_lists_say_of_it() {
    for keyword in Keyword::ALL {
        assert_eq!(WordId::of(keyword.as_str().as_bytes()).keyword(), Some(*keyword));
    }
    for word in SHOWN {
        let shown = WordId::of(word.spelling.as_bytes()).shown().unwrap();
        assert_eq!((shown.shown, shown.role, shown.call), (word.shown, word.role, word.call));
    }
    for name in functions::ALL[1].1 {
        assert!(both().iter().all(|mode| is_harmless(WordId::of(name.as_bytes()), *mode)), "{name}");
    }
    let nothing = WordId::of(b"wp_posts");
    assert_eq!((nothing.keyword(), nothing.lists()), (None, Lists::NONE));
    assert!(nothing.shown().is_none());
}

proptest! {
    #[test]
    fn a_word_is_found_as_by_looking_at_all(word in "[a-zA-Z0-9_$\u{e4}]{0,40}", known in any::<prop::sample::Index>()) {
        let all = spellings();
        let known = all[known.index(all.len())];
        for word in [word.as_str(), known, &known[1..], &format!("{known}{word}")] {
            let is_known = all.iter().any(|spelling| spelling.eq_ignore_ascii_case(word));
            prop_assert_eq!(WordId::of(word.as_bytes()) != WordId::NONE, is_known, "{}", word);
            prop_assert_eq!(WordId::at(word.as_bytes(), 0, word.len()), WordId::of(word.as_bytes()));
        }
    }
}
