use super::*;

fn predicted(ttl: &str) -> Predicted {
    Predicted { ttl: ttl.to_owned(), hits: 1.0, stale_ratio: 0.0 }
}

#[test]
fn the_rule_is_the_proposed_one_or_one_with_the_ttl_that_is_asked_for() {
    let mut advised = Advised {
        id: "0a".to_owned(),
        digest: "SELECT ?".to_owned(),
        calls: 10,
        keys: 2,
        one_of: 1,
        best: Some(predicted("10s")),
        command: Some("weir rules add --from-digest 0a --cache 10s".to_owned()),
        ladder: vec![predicted("1s"), predicted("10s")],
    };
    let of = |advised: &Advised, ttl| {
        proposal(advised, ttl).map(|found| found.map(|(command, told)| (command, told.ttl.clone())))
    };
    let rule = |ttl: &str| Some((format!("weir rules add --from-digest 0a --cache {ttl}"), ttl.to_owned()));
    assert_eq!(of(&advised, None).unwrap(), rule("10s"));
    assert_eq!(of(&advised, Some("1s")).unwrap(), rule("1s"));
    assert!(of(&advised, Some("2s")).is_err());
    (advised.best, advised.command) = (None, None);
    assert_eq!(of(&advised, None).unwrap(), None);
}
