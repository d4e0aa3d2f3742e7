use super::*;
use crate::experiments::options::ServerName;
use crate::experiments::state::Cores;
use crate::experiments::tests::{group, parameters};

#[test]
fn the_page_shows_what_was_measured_and_what_failed_and_needs_nothing_else() {
    let group = group(&[1, 8]);
    let figures = |per_second, hit_ratio| {
        let server = Cores { user: 0.5, sys: 0.25 };
        Outcome::Measured(Box::new(Figures {
            server_version: "10.11-MariaDB".into(),
            per_second,
            p95_ms: 3.0,
            server,
            machine: 1.5,
            hit_ratio,
            ..Figures::default()
        }))
    };
    let outcomes =
        [figures(1_000.0, None), figures(12_345.0, Some(0.5)), Outcome::Failed("<no> rules".into())];
    let step = |variant, threads| Step {
        experiment: group.experiment,
        server: ServerName::MariaDb,
        script: group.script,
        variant,
        threads,
    };
    let shown = [Shown {
        group: &group,
        outcomes: vec![
            (step(Variant::Direct, 1), &outcomes[0]),
            (step(Variant::Cached, 1), &outcomes[1]),
            (step(Variant::Cached, 8), &outcomes[2]),
        ],
    }];
    let page = html(&parameters(&[]), &shown);
    for wanted in ["12,345", "12.35", "50.0 %", "&lt;no&gt; rules", "10.11-MariaDB", "2 of 6 measured"] {
        assert!(page.contains(wanted), "{wanted} is missing");
    }
    for outside in ["<script", "http://", "https://", "url(", "@import", "<no>"] {
        assert!(!page.contains(outside), "{outside} is there");
    }
    // The CPU that no process of ours had.
    assert!(page.contains("all else, 1 clients: 0.75 cores"));
}

#[test]
fn the_zoom_shows_the_middle_and_ends_at_250_ms() {
    let lines = |values: &[f64]| {
        let points = values.iter().enumerate().map(|(at, value)| (at as u32, *value)).collect();
        [Line { name: "", slot: 0, points }]
    };
    assert_eq!(zoom(&lines(&[1.0, 2.0, 900.0])), 4.0);
    assert_eq!(zoom(&lines(&[1.0, 700.0, 900.0])), 250.0);
    assert_eq!(zoom(&[]), 250.0);
}
