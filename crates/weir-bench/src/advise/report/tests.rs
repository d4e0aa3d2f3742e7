use super::*;

fn compared(calls: u64, predicted_hits: f64, did: (u64, u64, u64)) -> Compared {
    let (hits, misses, waits) = did;
    Compared {
        ttl: "1s".to_owned(),
        predicted_calls: calls,
        predicted_hits,
        predicted_stale: predicted_hits / 10.0,
        did: Did { hits, misses, waits, passed: 0 },
        ..Compared::default()
    }
}

#[test]
fn statements_count_by_their_calls() {
    let statements = vec![compared(900, 720.0, (700, 180, 20)), compared(100, 10.0, (40, 60, 0))];
    let line = Line::new(Workload::Skewed, "1s".to_owned(), statements, Some(76));
    assert_eq!(line.all.ratios(), (0.73, 0.76));
    assert!((line.all.off() + 3.0).abs() < 1e-9 && (line.worst() + 30.0).abs() < 1e-9);
    let (stale, was_stale) = line.all.stale();
    assert!((stale - 0.1).abs() < 1e-9);
    assert_eq!(was_stale, Some(0.1));
    let text = text(&[line]);
    assert!(text.contains("All 1 predictions at a fixed rate are within 10 points."), "{text}");
    assert!(text.contains("| -3.0 |"), "{text}");
}

#[test]
fn what_is_far_off_is_said() {
    let line = |workload| Line::new(workload, "1s".to_owned(), vec![compared(100, 50.0, (30, 70, 0))], None);
    let lines = [line(Workload::E2), line(Workload::E2Paced)];
    assert_eq!(lines.each_ref().map(Line::is_far_off), [false, true]);
    let stale = |actual| {
        let statements = vec![compared(1000, 760.0, (740, 240, 20))];
        Line::new(Workload::Skewed, "1s".to_owned(), statements, Some(actual)).is_far_off()
    };
    assert_eq!([76, 140, 160].map(stale), [false, false, true]);
    let text = text(&lines);
    assert!(text.contains("1 of 1 predictions at a fixed rate are off by more than 10 points."), "{text}");
}
