use std::collections::BTreeMap;

use super::*;

const ALL: Capabilities = Capabilities(u64::MAX);

fn steps(flavor: Flavor, seed: u64, number: usize, prefix: &str) -> Vec<String> {
    let plan = session(flavor, seed, number, 300, prefix, ALL);
    plan.steps.iter().map(|step| step.action.to_string()).collect()
}

#[test]
fn a_seed_makes_the_same_session_again_and_another_seed_another() {
    let once = steps(Flavor::MySql, 7, 3, "rx_");
    assert_eq!(once, steps(Flavor::MySql, 7, 3, "rx_"));
    assert_ne!(once, steps(Flavor::MySql, 8, 3, "rx_"));
    assert_ne!(once, steps(Flavor::MySql, 7, 4, "rx_"));
}

#[test]
fn the_prefix_changes_nothing_but_names() {
    let own = steps(Flavor::MariaDb, 7, 3, "rx_").join("\n");
    let other = steps(Flavor::MariaDb, 7, 3, "ry_").join("\n");
    assert_ne!(own, other);
    assert_eq!(own, other.replace("ry_", "rx_"));
}

#[test]
fn a_run_of_twenty_thousand_has_every_class_two_hundred_times() {
    for flavor in Flavor::BOTH {
        let mut counts = BTreeMap::new();
        for number in 0..64 {
            for step in session(flavor, 1, number, 20_000 / 64, "rx_", ALL).steps {
                *counts.entry(step.class).or_insert(0) += 1;
            }
        }
        for class in Class::ALL {
            let count = counts.get(&class).copied().unwrap_or(0);
            assert!(count >= 200, "{class}: {count}");
        }
    }
}
