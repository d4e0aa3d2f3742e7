use super::*;
use crate::keys::ROOT;

fn apart(a: &str, b: &str) -> usize {
    distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
}

#[test]
fn distances_count_edits_and_swaps() {
    for (a, b, edits) in [
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "", 3),
        ("mysql", "mysql", 0),
        ("mysq", "mysql", 1),
        ("passwrod", "password", 1),
        ("kitten", "sitting", 3),
    ] {
        assert_eq!(apart(a, b), edits, "{a} {b}");
        assert_eq!(apart(b, a), edits, "{b} {a}");
    }
}

#[test]
fn the_nearest_word_is_offered_if_it_is_near() {
    let words = ["mysql", "admin", "proxy_protocol"];
    for (word, offered) in [
        ("mysq", Some("mysql")),
        ("ADMIN", Some("admin")),
        ("proxy-protocol", Some("proxy_protocol")),
        ("port", None),
        ("", None),
    ] {
        assert_eq!(nearest(word, words.into_iter()), offered, "{word}");
    }
}

#[test]
fn a_key_of_another_table_is_sent_there() {
    assert_eq!(instead_of(&ROOT, "max_clients"), "it belongs in `[limits]`");
    assert_eq!(instead_of(&ROOT, "servers"), "did you mean `server`?");
    assert!(instead_of(&ROOT, "cluster").starts_with("the keys here are `listen`, "));
}
