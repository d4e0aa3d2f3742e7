use super::*;

#[test]
fn codes_that_collide_are_counted_apart() {
    let table = ErrorTable::default();
    for code in [1045u16, 1045 + 256, 1045 + 512, 1045, 0, 65535] {
        table.inc(code);
    }
    let mut seen: Vec<_> = table.iter().collect();
    seen.sort_unstable();
    assert_eq!(seen, [(0, 1), (1045, 2), (1301, 1), (1557, 1), (65535, 1)]);
    assert_eq!(table.other(), 0);
}

#[test]
fn a_full_table_counts_further_codes_together() {
    let table = ErrorTable::default();
    for code in 0..300u16 {
        table.inc(code);
        table.inc(code);
    }
    assert_eq!(table.iter().count(), DISTINCT);
    assert!(table.iter().all(|(_, n)| n == 2));
    assert_eq!(table.other(), 2 * (300 - DISTINCT as u64));
    table.inc(7);
    assert!(table.iter().any(|(code, n)| code == 7 && n == 3), "a known code is still found");
}
