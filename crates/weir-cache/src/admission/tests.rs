use super::*;
use crate::limits::CacheLimits;

fn cache(admission: Admission) -> Cache {
    let limits = CacheLimits { memory: 4 << 20, ..CacheLimits::default() };
    let cache = Cache::new(limits, 7);
    cache.set_admission(admission);
    cache
}

/// What asking for the key of this number is.
fn ask(cache: &Cache, experience: &Experience, number: u32) -> Chance {
    cache.chance(&cache.key(&number.to_le_bytes()), experience)
}

/// Of whom all ask for something else.
fn seldom(cache: &Cache) -> Experience {
    let experience = Experience::default();
    for number in 0..LOOKUPS.0 {
        assert!(!experience.is_seldom());
        experience.count(ask(cache, &experience, number), false);
    }
    assert!(experience.is_seldom());
    experience
}

#[test]
fn the_first_asking_is_kept_until_few_are_asked_again() {
    let (cache, experience) = (cache(Admission::Adaptive), Experience::default());
    for number in 0..10 * LOOKUPS.0 {
        assert_eq!(ask(&cache, &experience, number), Chance::Usual);
        // As few as are enough.
        experience.count(Chance::Usual, number % LOOKUPS.0 < LOOKUPS.1);
    }
    assert!(!experience.is_seldom());
    for number in 0..LOOKUPS.0 {
        experience.count(Chance::Usual, number < LOOKUPS.1 - 1);
    }
    assert!(experience.is_seldom());
}

#[test]
fn the_second_asking_is_kept_of_what_is_seldom_asked_again_and_the_first_of_a_sample() {
    let cache = cache(Admission::Adaptive);
    let experience = seldom(&cache);
    let mut sample = 0;
    for number in 100_000..110_000 {
        match ask(&cache, &experience, number) {
            Chance::First => assert_eq!(ask(&cache, &experience, number), Chance::Again),
            Chance::Usual => sample += 1,
            // Of 10,000 with 32 bits each.
            Chance::Again => panic!("{number} was never asked for"),
        }
    }
    assert!((100..250).contains(&sample), "{sample} of 10,000");
}

#[test]
fn what_is_asked_again_later_is_kept_at_once_again() {
    let cache = cache(Admission::Adaptive);
    let experience = seldom(&cache);
    // What was asked for before says nothing, however often.
    for _ in 0..10_000 {
        experience.count(Chance::Again, true);
    }
    assert!(experience.is_seldom());
    for _ in 0..SAMPLED.0 - SAMPLED.1 {
        experience.count(Chance::Usual, false);
    }
    for _ in 0..SAMPLED.1 {
        assert!(experience.is_seldom());
        experience.count(Chance::Usual, true);
    }
    assert!(!experience.is_seldom());
    assert_eq!(ask(&cache, &experience, 1), Chance::Usual);
}

#[test]
fn few_hits_of_the_sample_do_not_add_up() {
    let cache = cache(Admission::Adaptive);
    let experience = seldom(&cache);
    for number in 0..20 * SAMPLED.0 {
        experience.count(Chance::Usual, number % SAMPLED.0 < SAMPLED.1 - 1);
        assert!(experience.is_seldom(), "after {number}");
    }
}

#[test]
fn a_word_decides_for_all() {
    let (always, second) = (cache(Admission::Always), cache(Admission::Second));
    let experience = seldom(&cache(Admission::Adaptive));
    for number in 0..1000 {
        assert_eq!(ask(&always, &experience, number), Chance::Usual);
        assert_eq!(ask(&second, &Experience::default(), number), Chance::First);
    }
    for number in 990..1000 {
        assert_eq!(ask(&second, &Experience::default(), number), Chance::Again);
    }
}

#[test]
fn marks_are_in_the_sum_and_end_by_others() {
    let cache = cache(Admission::Second);
    let (before, experience) = (cache.stats().used, Experience::default());
    assert_eq!(ask(&cache, &experience, 0), Chance::First);
    let marks = (4 << 20) / PART;
    assert!(cache.stats().used >= before + marks);
    for number in 1..marks as u32 {
        ask(&cache, &experience, number);
    }
    assert_eq!(ask(&cache, &experience, marks as u32 - 1), Chance::Again);
    assert_eq!(ask(&cache, &experience, 0), Chance::First);
}
