use super::*;

#[test]
fn reads_are_the_same_each_time_and_another_with_another_seed() {
    let reads = |seed| (0..1_000).map(|nth| Read::of(nth, seed)).collect::<Vec<_>>();
    assert_eq!(reads(1), reads(1));
    assert_ne!(reads(1), reads(2));
}

#[test]
fn some_rows_are_read_far_more_often_than_others() {
    let reads: Vec<_> = (0..20_000).map(|nth| Read::of(nth, 7)).collect();
    let of = |from: u64, to: u64| reads.iter().filter(|read| (from..to).contains(&read.first)).count();
    // Each factor of ten has a quarter.
    for (from, to) in [(1, 10), (10, 100), (100, 1_000), (1_000, 10_001)] {
        assert!((4_600..5_400).contains(&of(from, to)), "{from}: {}", of(from, to));
    }
    let ranges = reads.iter().filter(|read| read.rows > 1).count();
    assert!((1_800..2_200).contains(&ranges), "{ranges}");
    assert!(reads.iter().all(|read| read.first >= 1 && read.first + read.rows - 1 <= ROWS));
}

#[test]
fn a_range_has_the_changes_of_all_its_rows() {
    let table = Table((0..=ROWS).map(AtomicU64::new).collect());
    assert_eq!(table.changes(Read { first: 4, rows: 1 }), 4);
    assert_eq!(table.changes(Read { first: 4, rows: 3 }), 15);
    let range = Read { first: 4, rows: 3 };
    assert_eq!(range.statement(), "SELECT SUM(v) FROM skewed WHERE id BETWEEN 4 AND 6");
}
