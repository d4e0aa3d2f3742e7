use super::*;

/// What has come of answers counts, and is given back, whatever becomes of them.
#[test]
fn answers_under_way_stand_in_the_sum_and_have_a_bound() {
    let world = World::new();
    let empty = world.cache.stats().used;
    let piece = [7; 10_000];
    let mut all: Vec<Gathered> = Vec::new();
    let refused = loop {
        let mut one = Gathered::default();
        if !(0..3).all(|_| one.take(&world.cache, &piece)) {
            break one;
        }
        assert_eq!(one.bytes().len(), 30_000);
        all.push(one);
        assert!(all.len() < 1000);
    };
    let used = world.cache.stats().used - empty;
    assert!(refused.bytes().is_empty());
    assert!(used >= all.len() * 30_000 && used <= (1 << 20) / 4 && all.len() > 4, "{used} {}", all.len());
    drop(all.pop());
    let mut again = Gathered::default();
    assert!(again.take(&world.cache, &piece), "there is room again");
    drop((all, again, refused));
    assert_eq!(world.cache.stats().used, empty);
}
