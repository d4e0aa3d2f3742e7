use super::*;

fn scope() -> Scope {
    let tables = vec![Table::new("Shop", "Orders"), Table::new("shop", "items"), Table::new("crm", "people")];
    Scope::new(Rule::new("stories"), 7, "wp")
        .with_schema("WordPress")
        .with_tables(Tables::Known(tables))
        .with_tag("product:42")
        .with_tag("home")
}

#[test]
fn selectors() {
    let cases = [
        (Selector::all(), true),
        (Selector::all().rule("stories"), true),
        (Selector::all().rule("Stories"), false),
        (Selector::all().digest(7), true),
        (Selector::all().digest(8), false),
        (Selector::all().user("wp"), true),
        (Selector::all().user("WP"), false),
        (Selector::all().tag("home"), true),
        (Selector::all().tag("product:4"), false),
        (Selector::all().schema("wordpress"), true),
        (Selector::all().schema("SHOP"), true),
        (Selector::all().schema("crm"), true),
        (Selector::all().schema("mysql"), false),
        (Selector::all().table("shop", "ORDERS"), true),
        (Selector::all().table("crm", "orders"), false),
        (Selector::all().table("wordpress", "orders"), false),
        (Selector::all().rule("stories").tag("home").table("shop", "items"), true),
        (Selector::all().rule("stories").tag("away").table("shop", "items"), false),
        (Selector::all().rule("others").tag("home"), false),
    ];
    for (selector, expected) in cases {
        assert_eq!(selector.covers(&scope()), expected, "{selector:?}");
    }
}

#[test]
fn unknown_tables_are_covered_by_every_table_and_schema() {
    let scope = Scope::new(Rule::new("r"), 1, "u");
    assert!(Selector::all().table("a", "b").covers(&scope));
    assert!(Selector::all().schema("a").covers(&scope));
    assert!(!Selector::all().schema("a").user("other").covers(&scope));
}

#[test]
fn a_scope_is_paid_once_however_many_hold_it() {
    let (scope, budget) = (scope(), Budget::new(0));
    scope.hold(&budget);
    let once = budget.used();
    assert!(once > size_of::<Scope>());
    scope.hold(&budget);
    assert_eq!(budget.used(), once);
    scope.release(&budget);
    assert_eq!(budget.used(), once);
    scope.release(&budget);
    assert_eq!(budget.used(), 0);
}
