use std::sync::Arc;

use super::*;
use crate::limits::CacheLimits;
use crate::scope::{Table, Tables};

fn cache() -> Cache {
    Cache::new(CacheLimits { memory: 256 << 20, max_entry: 1 << 16, user_memory: None, shards: 1 }, 7)
}

fn scope(cache: &Cache) -> Scope {
    Scope::new(cache.rule("r"), 11, "app").with_schema("Blog").with_tag("product:42")
}

#[test]
fn a_name_that_was_stored_is_known_and_another_is_not() {
    let cache = cache();
    let known = scope(&cache).with_tables(Tables::Known(vec![Table::new("shop", "Items")]));
    cache.inner.seen.note(&known, cache.inner.hasher());
    let all = Selector::all;
    let cases = [
        (all(), None),
        (all().rule("never"), None),
        (all().digest(11), None),
        (all().digest(12), Some("digest")),
        (all().user("app"), None),
        (all().user("App"), Some("user")),
        (all().tag("product:42"), None),
        (all().tag("product:43"), Some("tag")),
        (all().schema("BLOG"), None),
        (all().schema("shop"), None),
        (all().schema("items"), Some("schema")),
        (all().table("Shop", "items"), None),
        (all().table("blog", "items"), Some("table")),
        (all().table("shop", "items").user("root"), Some("user")),
    ];
    for (selector, expected) in cases {
        assert_eq!(cache.never_had(&selector), expected, "{selector:?}");
    }
}

#[test]
fn an_answer_of_unknown_tables_may_be_of_any() {
    let cache = cache();
    assert_eq!(cache.never_had(&Selector::all().schema("x")), Some("schema"));
    cache.inner.seen.note(&scope(&cache), cache.inner.hasher());
    assert_eq!(cache.never_had(&Selector::all().schema("x").table("x", "y")), None);
    assert_eq!(cache.never_had(&Selector::all().tag("x")), Some("tag"));
}

#[test]
fn few_of_many_others_are_taken_for_known_ones() {
    let cache = cache();
    let rule = cache.rule("r");
    for number in 0..20_000_u32 {
        let scope = Scope::new(Arc::clone(&rule), 11, "app").with_tag(&number.to_string());
        cache.inner.seen.note(&scope, cache.inner.hasher());
    }
    let taken = |number: &u32| cache.never_had(&Selector::all().tag(&number.to_string())).is_none();
    assert_eq!((0..20_000).filter(taken).count(), 20_000);
    let mistaken = (20_000..40_000).filter(taken).count();
    assert!(mistaken < 400, "{mistaken}");
}
