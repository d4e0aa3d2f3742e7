use super::*;
use crate::experiments::options::{Experiment, ServerName};
use crate::experiments::plan::Variant;
use crate::experiments::tests::parameters;
use crate::load::Script;

fn step(threads: u32) -> Step {
    Step {
        experiment: Experiment::E1,
        server: ServerName::MariaDb,
        script: Script::ReadOnly,
        variant: Variant::Direct,
        threads,
    }
}

fn measured(per_second: f64) -> Outcome {
    Outcome::Measured(Box::new(Figures { per_second, ..Figures::default() }))
}

#[test]
fn a_new_run_finds_what_an_earlier_one_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.jsonl");
    let parameters_now = parameters(&[]);
    let add = |state: &mut State, threads, outcome| {
        state.add(Record { step: step(threads), parameters: parameters_now.clone(), outcome }).unwrap();
    };
    let mut state = State::open(&path, false).unwrap();
    add(&mut state, 1, Outcome::Failed("no".into()));
    add(&mut state, 1, measured(10.0));
    add(&mut state, 8, measured(20.0));
    add(&mut state, 8, Outcome::Failed("later".into()));
    add(&mut state, 64, Outcome::Failed("no".into()));
    drop(state);
    // A line that was cut takes nothing with it, and neither does what is written behind it.
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"step\":").unwrap();
    add(&mut State::open(&path, false).unwrap(), 256, measured(30.0));

    let state = State::open(&path, false).unwrap();
    let found = |threads| state.find(&step(threads), &parameters_now);
    assert_eq!(found(1), Some(&measured(10.0)));
    assert_eq!(found(8), Some(&measured(20.0)));
    assert_eq!(found(64), Some(&Outcome::Failed("no".into())));
    assert_eq!(found(256), Some(&measured(30.0)));
    assert_eq!(found(2), None);
    assert!(state.is_measured(&step(8), &parameters_now) && !state.is_measured(&step(64), &parameters_now));
    // Other parameters, other figures.
    assert_eq!(state.find(&step(1), &parameters(&["--seconds", "6"])), None);

    let state = State::open(&path, true).unwrap();
    assert_eq!(state.find(&step(1), &parameters_now), None);
    drop(state);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
}
