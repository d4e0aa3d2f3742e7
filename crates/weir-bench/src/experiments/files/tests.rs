use super::*;
use crate::experiments::state::Figures;
use crate::experiments::tests::{group, parameters};

#[test]
fn a_line_of_csv_has_a_field_for_each_heading() {
    let group = group(&[1]);
    let steps: Vec<Step> = group.steps().collect();
    let measured =
        Outcome::Measured(Box::new(Figures { per_second: 1.5, hits: Some(7.0), ..Figures::default() }));
    let failed = Outcome::Failed("it said \"no\"".into());
    let shown = [Shown { group: &group, outcomes: vec![(steps[0], &measured), (steps[1], &failed)] }];
    let text = csv(&shown);
    let lines: Vec<&str> = text.lines().collect();
    let fields = |line: &str| line.split(',').count();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| fields(line) == fields(lines[0])), "{text}");
    let hits = lines[0].split(',').position(|name| name == "cache_hits").unwrap();
    assert_eq!(lines[1].split(',').nth(hits), Some("7"));
    assert!(lines[2].ends_with(",\"it said \"\"no\"\"\""), "{text}");
    let json: serde_json::Value = serde_json::from_str(&json(&parameters(&[]), &shown).unwrap()).unwrap();
    assert_eq!(json["steps"][0]["measured"]["per_second"], 1.5);
    assert_eq!(json["steps"][1]["failed"], "it said \"no\"");
}

#[test]
fn all_files_are_written_whole() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &parameters(&[]), &[]).unwrap();
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["report.html", "results.csv", "results.json"]);
}
