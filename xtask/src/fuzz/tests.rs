use super::*;

const GOOD: &str = "#2\tINITED cov: 40 ft: 41 corp: 1/1b exec/s: 0 rss: 30Mb\n\
    #8\tNEW    cov: 52 ft: 60 corp: 2/9b\n\
    #4096\tDONE   cov: 90 ft: 150 corp: 9/99b lim: 4 exec/s: 2048 rss: 31Mb\nDone 4096 runs in 2 second(s)\n";

fn judged(log: &str, success: bool) -> Outcome {
    judge(log, success, Path::new("bin/x"), Path::new("x.log"))
}

#[test]
fn a_run_is_good_only_with_coverage() {
    let outcome = judged(GOOD, true);
    assert!(outcome.ok);
    assert_eq!(outcome.text, "       4096 inputs  cov    40 -> 90    ok");
    let blind = judged(&GOOD.replace("cov: ", "cov? "), true);
    assert!(!blind.ok && blind.text.contains("NO COVERAGE"), "{}", blind.text);
}

#[test]
fn a_crash_names_its_input_and_how_to_replay_it() {
    let log = format!(
        "{GOOD}thread '<unnamed>' panicked at src/bin/x.rs:3:5:\nleft is not right\nstack backtrace:\n\
         artifact_prefix='a/'; Test unit written to a/crash-1\nBase64: AA==\n"
    );
    let outcome = judged(&log, false);
    assert!(!outcome.ok);
    for part in [
        "CRASH",
        "panicked at src/bin/x.rs:3:5:\n          left is not right\n  input",
        "base64: AA==",
        "replay: bin/x a/crash-1\n",
    ] {
        assert!(outcome.text.contains(part), "{part}: {}", outcome.text);
    }
}

#[test]
fn arguments_are_checked() {
    let all = ["a".to_owned(), "b".to_owned()];
    let parse =
        |args: &[&str]| Options::parse(&args.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>(), &all);
    assert_eq!(parse(&[]).unwrap().targets, all);
    let chosen = parse(&["--seconds", "5", "b", "--keep", "--seed", "7"]).unwrap();
    assert_eq!((chosen.seed, parse(&[]).unwrap().seed), (Some(7), None));
    assert_eq!((chosen.seconds, chosen.keep, chosen.targets), (5, true, vec!["b".to_owned()]));
    assert!(!chosen.build_only && parse(&["--build"]).unwrap().build_only);
    for bad in [&["--seconds"][..], &["--seconds", "0"], &["--seconds", "x"], &["--seed", "x"], &["c"]] {
        assert!(parse(bad).is_err(), "{bad:?}");
    }
}
