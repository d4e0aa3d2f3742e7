use super::*;

#[test]
fn both_ways_out_of_bounds_are_told() {
    let check = |counted, within: bool| {
        let (table, all) = compare(&[("walk", counted)], "# comment\nwalk_longer 7\nwalk 100\n").unwrap();
        assert_eq!(all, within, "{table}");
        assert_eq!(table.contains("OUT OF BOUNDS"), !within, "{table}");
    };
    check(100.0, true);
    check(105.0, true);
    check(95.0, true);
    check(106.0, false);
    check(94.0, false);
}

#[test]
fn a_function_without_an_expected_count_is_an_error() {
    assert!(compare(&[("walk", 1.0)], "walk_longer 7\n").is_err());
}
