use super::*;

#[test]
fn blocks_are_rounded_up_as_the_allocator_does() {
    let cases = [
        (0, 0),
        (1, 16),
        (16, 16),
        (17, 32),
        (64, 64),
        (65, 80),
        (81, 96),
        (128, 128),
        (129, 160),
        (192, 192),
        (257, 320),
        (1025, 1280),
        (131_072, 131_072),
    ];
    for (bytes, expected) in cases {
        assert_eq!(block(bytes), expected, "{bytes} bytes");
    }
    assert_eq!(resident(128), 153);
    assert_eq!(resident(131_073), 135_168);
}

#[test]
fn a_charge_counts_for_as_long_as_it_lives() {
    let budget = Budget::new(100);
    let mut charge = Charge::new(&budget, 150);
    assert_eq!((budget.used(), budget.excess()), (150, 150 - (100 - 100 / spare::PART)));
    charge.resize(40);
    assert_eq!((budget.used(), budget.excess(), charge.bytes()), (40, 0, 40));
    drop(charge);
    assert_eq!(budget.used(), 0);
}
