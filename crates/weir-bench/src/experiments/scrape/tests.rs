use super::*;

#[test]
fn sums_over_the_rules_and_takes_nothing_else() {
    let text = "\
# TYPE weir_cache_hits_total counter
weir_cache_hits_total{rule=\"reads\"} 40
weir_cache_hits_total{rule=\"a } b\"} 2
weir_cache_hits_total_created{rule=\"reads\"} 1000
weir_cache_misses_total 7 1700000000000
";
    assert_eq!(sum(text, "weir_cache_hits_total"), 42.0);
    assert_eq!(sum(text, "weir_cache_misses_total"), 7.0);
    assert_eq!(sum(text, "weir_cache_drops_total"), 0.0);
}
