use super::*;

#[test]
fn a_metric_is_summed_over_its_labels_and_told_from_longer_names() {
    let text = "# TYPE a gauge\na 3\na_total 50\nb{reason=\"x\"} 4\nb{reason=\"y\"} 5\n";
    for (name, expected) in [("a", 3), ("a_total", 50), ("b", 9), ("b{reason=\"y\"}", 5)] {
        assert_eq!(gauge(text, name).unwrap(), expected, "{name}");
    }
    assert!(gauge(text, "c").is_err());
}
