use super::*;

#[test]
fn reads_the_rate() {
    let said = "\"test\",\"rps\",\"avg_latency_ms\"\n\"GET\",\"81234.50\",\"0.410\"\n";
    assert_eq!(parse(said), Some(81234.5));
    assert_eq!(parse("\"test\",\"rps\"\n"), None);
}
