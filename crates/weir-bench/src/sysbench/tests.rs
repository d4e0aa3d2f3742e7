use super::*;

const SAID: &str = "\
Threads started!

SQL statistics:
    queries performed:
        read:                            76543
        write:                           0
        other:                           0
        total:                           76543
    transactions:                        76543  (25500.12 per sec.)
    queries:                             76543  (25510.55 per sec.)
    ignored errors:                      0      (0.00 per sec.)

General statistics:
    total time:                          3.0005s
    total number of events:              76543

Latency (ms):
         min:                                    0.09
         95th percentile:                        0.48
";

#[test]
fn reads_the_summary() {
    let outcome = parse(SAID).unwrap();
    assert_eq!(outcome, Outcome { queries: 76543.0, per_second: 25510.55, p95_ms: 0.48, cpu: None });
    let with_cpu = Outcome { cpu: Some(Duration::from_secs(1)), ..outcome };
    assert!((with_cpu.cpu_us().unwrap() - 1e6 / 76543.0).abs() < 1e-9);
}

#[test]
fn a_summary_that_is_cut_is_refused() {
    let (cut, _) = SAID.split_once("95th").unwrap();
    assert_eq!(parse(cut), None);
}
