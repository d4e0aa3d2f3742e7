use std::collections::BTreeMap;

use super::*;

const ALL: Capabilities = Capabilities(u64::MAX);

fn steps(flavor: Flavor, seed: u64, number: usize, prefix: &str) -> Vec<String> {
    let plan = session(flavor, seed, number, 300, prefix, ALL, Manner::default());
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
    let usual = Manner { one_dialect: true, fresh: true, ..Manner::default() };
    for (flavor, manner) in
        Flavor::BOTH.into_iter().flat_map(|flavor| [(flavor, Manner::default()), (flavor, usual)])
    {
        let mut counts = BTreeMap::new();
        for number in 0..64 {
            for step in session(flavor, 1, number, 20_000 / 64, "rx_", ALL, manner).steps {
                *counts.entry(step.class).or_insert(0) += 1;
            }
        }
        for class in Class::ALL {
            let count = counts.get(&class).copied().unwrap_or(0);
            assert!(count >= 200, "{class}: {count}");
        }
    }
}

#[test]
fn one_dialect_is_the_same_for_all_and_leaves_the_statements_alone() {
    let manner = Manner { one_dialect: true, fresh: false, ..Manner::default() };
    let plans = [0, 1, 2, 3].map(|number| session(Flavor::MySql, 7, number, 300, "rx_", ALL, manner));
    for (number, plan) in plans.iter().enumerate() {
        assert_eq!((plan.capabilities, plan.collation), (plans[0].capabilities, plans[0].collation));
        let other = session(
            Flavor::MySql,
            7,
            number,
            300,
            "rx_",
            ALL.minus(Capabilities::MARIADB_BULK),
            Manner::default(),
        );
        let others: Vec<_> = other.steps.iter().map(|step| step.action.to_string()).collect();
        let without_bulk =
            session(Flavor::MySql, 7, number, 300, "rx_", ALL.minus(Capabilities::MARIADB_BULK), manner);
        let same: Vec<_> = without_bulk.steps.iter().map(|step| step.action.to_string()).collect();
        assert_eq!(same, others);
    }
}

#[test]
fn one_of_four_queries_is_fresh_and_nothing_else_changes() {
    let manner = Manner { one_dialect: false, fresh: true, ..Manner::default() };
    let fresh = session(Flavor::MySql, 7, 3, 2000, "rx_", ALL, manner).steps;
    let plain = session(Flavor::MySql, 7, 3, 2000, "rx_", ALL, Manner::default()).steps;
    let again = session(Flavor::MySql, 7, 3, 2000, "ry_", ALL, manner).steps;
    let executed = |step: &Step| matches!(step.action, Action::Execute { .. });
    let ahead = format!("{FRESH}{MOVES}");
    // What goes ahead of executions is beside all that a session does without the hint.
    let without = |steps: Vec<Step>| -> (Vec<Step>, usize) {
        let all = steps.len();
        let left: Vec<_> = steps.into_iter().filter(|step| step.action.to_string() != ahead).collect();
        let moved = all - left.len();
        (left, moved)
    };
    let ((fresh, moved), (again, _)) = (without(fresh), without(again));
    let executions = plain.iter().filter(|step| executed(step)).count();
    assert!((executions / 6..executions / 2).contains(&moved), "{moved} of {executions}");
    assert_eq!((fresh.len(), again.len()), (plain.len(), plain.len()));
    let (mut queries, mut hints) = (0, 0);
    for ((fresh, plain), again) in fresh.iter().zip(&plain).zip(&again) {
        let text = fresh.action.to_string();
        let hint = text.starts_with(FRESH);
        assert_eq!(text.strip_prefix(FRESH).unwrap_or(&text), plain.action.to_string());
        assert_eq!(hint, again.action.to_string().starts_with(FRESH));
        queries += usize::from(matches!(plain.action, Action::Query(_)));
        hints += usize::from(hint);
        assert!(!hint || matches!(fresh.action, Action::Query(_)), "{text}");
    }
    assert!((queries / 5..queries / 3).contains(&hints), "{hints} of {queries}");
}
