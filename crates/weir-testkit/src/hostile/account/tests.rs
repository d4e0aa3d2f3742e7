use super::*;

#[test]
fn a_metric_is_summed_over_its_labels_and_told_from_longer_names() {
    let text = "# TYPE a gauge\na 3\na_total 50\nb{reason=\"x\"} 4\nb{reason=\"y\"} 5\n";
    for (name, expected) in [("a", 3), ("a_total", 50), ("b", 9), ("b{reason=\"y\"}", 5)] {
        assert_eq!(gauge(text, name).unwrap(), expected, "{name}");
    }
    assert!(gauge(text, "c").is_err());
}

#[test]
fn what_is_given_back_may_be_more_than_what_was_taken_and_not_less() {
    let account = |clients, server_connections| Account {
        clients,
        pending: 0,
        server_connections,
        descriptors: 30 + server_connections,
        threads: server_connections,
        statements: 0,
    };
    let mut base = account(4, 2);
    base.count_one_connection_per_client();
    assert_eq!(base, account(4, 4));
    assert!(account(4, 1).is_within(&base) && account(4, 4).is_within(&base));
    assert!(!account(4, 5).is_within(&base) && !account(3, 4).is_within(&base));
    let leaking = Account { descriptors: 35, ..account(4, 4) };
    assert!(!leaking.is_within(&base));
    let leaking = Account { statements: 1, ..account(4, 4) };
    assert!(!leaking.is_within(&base));
}
