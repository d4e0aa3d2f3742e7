use super::*;

/// Each reason has its advice in the manual, word for word.
#[test]
fn the_manual_has_all_advice() {
    let manual = include_str!("../../../../../docs/analytics.md");
    for reason in PinReason::ALL {
        let advice = advice(reason).replace('|', "\\|");
        let row = manual.lines().find(|line| {
            line.strip_prefix("| ").and_then(|line| line.split('|').next()).is_some_and(|names| {
                names.split(',').any(|name| name.trim().trim_matches('`') == reason.as_str())
            })
        });
        let row = row.unwrap_or_else(|| panic!("{} is not in docs/analytics.md", reason.as_str()));
        assert!(row.contains(&advice), "{}: {row}", reason.as_str());
    }
}
