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
        if !(0..3).all(|_| one.take(&world.cache, &piece, world.now)) {
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
    assert!(again.take(&world.cache, &piece, world.now), "there is room again");
    drop((all, again, refused));
    assert_eq!(world.cache.stats().used, empty);
}

/// What is under way takes the room of what is kept, and not more than there is.
#[test]
fn entries_go_for_answers_under_way() {
    let world = World::new();
    let limit = world.cache.stats().memory;
    for n in 0..300 {
        world.put(&n.to_string(), &"x".repeat(5000));
    }
    let before = world.cache.stats();
    assert!(before.used > limit / 10 * 9, "it is full: {} of {limit}", before.used);
    let mut gathered = Gathered::default();
    for _ in 0..10 {
        assert!(gathered.take(&world.cache, &[7; 10_000], world.now));
        let used = world.cache.stats().used;
        assert!(used <= limit, "{used} of {limit}");
    }
    assert!(world.cache.stats().entries < before.entries);
}
