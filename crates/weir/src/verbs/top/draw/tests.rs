use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::draw;
use crate::verbs::top::sample::{Digest, Digests, Histogram, Sample, Server};
use crate::verbs::top::state::{Lost, Proposal, State, Told, View};

/// The screen, of this size.
fn screen(state: &State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    terminal.backend().to_string()
}

/// A busy Weir.
fn busy() -> State {
    let mut state = State::new("127.0.0.1:6034".to_owned(), Duration::from_secs(2), true);
    let digest = |n: u64, text: &str, calls: u64, seconds: f64| {
        let digest = Digest {
            text: text.to_owned(),
            cacheable: true,
            calls: calls * n,
            errors: if calls == 40 { n } else { 0 },
            rows: calls * n * 3,
            hits: calls * n / 2,
            seconds: seconds * n as f64,
        };
        (format!("{:016x}", text.len() as u64 * 0x1111_1111_1111), digest)
    };
    let sample = |n: u64| {
        let rows = [
            digest(
                n,
                "SELECT * FROM `orders` WHERE `customer` = ? AND `state` IN (...) ORDER BY `created` DESC LIMIT ?",
                240,
                1.5,
            ),
            digest(n, "SELECT `name` , `price` FROM `products` WHERE `id` = ?", 5000, 0.9),
            digest(n, "INSERT INTO `audit` VALUES (...)", 40, 0.3),
            digest(n, "COMMIT", 0, 0.0),
        ];
        let at =
            |count: f64| Histogram(vec![(0.001, count), (0.002, count * 2.0), (f64::INFINITY, count * 2.0)]);
        let n = n as f64;
        Sample {
            at: Duration::from_secs_f64(n * 2.0),
            started: 1.0,
            version: "0.1.0".to_owned(),
            statements: n * 10_560.0,
            errors: n,
            bytes_in: n * 1e6,
            bytes_out: n * 3e7,
            hits: n as u64 * 90,
            misses: n as u64 * 10,
            cache_used: 12_345_678,
            cache_limit: 268_435_456,
            shadow_rules: 2,
            clients: 312.0,
            pinned: 3.0,
            waiting: 1.0,
            to_server: 40.0,
            client_time: at(n * 100.0),
            server_time: at(n * 50.0),
            server: Server {
                name: "db1".to_owned(),
                address: "192.0.2.10:3306".to_owned(),
                kind: Some("mysql 9.7.0".to_owned()),
                trouble: None,
            },
            draining: false,
            warnings: Vec::new(),
            digests: Digests { counted: true, complete: true, there_are: 4, rows: rows.into() },
        }
    };
    state.told(Told::Sample(Box::new(sample(1))));
    state.told(Told::Sample(Box::new(sample(2))));
    state
}

fn press(state: &mut State, keys: &str) {
    keys.chars().for_each(|key| {
        state.key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE));
    });
}

#[test]
fn a_busy_weir() {
    insta::assert_snapshot!("80x24", screen(&busy(), 80, 24));
    insta::assert_snapshot!("140x40", screen(&busy(), 140, 40));
    insta::assert_snapshot!("60x15", screen(&busy(), 60, 15));
}

#[test]
fn windows_and_lines_over_it() {
    let mut state = busy();
    press(&mut state, "?");
    insta::assert_snapshot!("help", screen(&state, 80, 24));
    press(&mut state, "x/prod");
    insta::assert_snapshot!("filter", screen(&state, 80, 24));
    state.key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE));
    press(&mut state, "a30s");
    insta::assert_snapshot!("ttl", screen(&state, 80, 24));
    let toml = "[[rule]]\nname = \"digest-00000f1e\"\nmatch = { digest = \"SELECT `name` , `price` FROM `products` WHERE `id` = ? AND `shop` = ?\" }\n\
                cache = { ttl = \"30s\" }\n";
    let doubt = Some("its text speaks against caching: `weir explain` tells why".to_owned());
    state.view = View::Confirm {
        proposal: Proposal { toml: toml.to_owned(), version: "1".to_owned(), doubt },
        from: 0,
    };
    insta::assert_snapshot!("confirm", screen(&state, 80, 24));
    insta::assert_snapshot!("confirm_60x15", screen(&state, 60, 15));
    state.told(Told::Added(Ok("rule digest-00000f1e added, written to /etc/weir/weir.toml".to_owned())));
    insta::assert_snapshot!("added", screen(&state, 80, 24));
    let long = format!(
        "rule digest-00000f1e added, written to /etc/weir.toml; but it {}",
        "is never reached ".repeat(4)
    );
    state.told(Told::Added(Ok(long)));
    insta::assert_snapshot!("added_with_a_warning", screen(&state, 80, 24));
    let text = "0f1e\nSELECT ?\n\ncalls   12\ntotal   3.0 s in 12 statements; mean 250 ms\n";
    state.view = View::Details { id: "0f1e".to_owned(), text: text.to_owned(), from: 0 };
    insta::assert_snapshot!("details", screen(&state, 80, 24));
}

#[test]
fn trouble_is_said() {
    let mut state = busy();
    press(&mut state, "p");
    let why =
        "no Weir answers at 127.0.0.1:6034: Connection refused (os error 111); is it running?".to_owned();
    state.told(Told::Lost(Lost { why, since: Duration::from_secs(75) }));
    insta::assert_snapshot!("lost", screen(&state, 80, 24));
    let mut state = busy();
    state.shown.as_mut().unwrap().server.trouble = Some("no connection can be made: refused".to_owned());
    assert!(
        screen(&state, 80, 24).contains("db1 at 192.0.2.10:3306, mysql 9.7.0: no connection can be made")
    );
    let mut state = busy();
    let shown = state.shown.as_mut().unwrap();
    shown.warnings = vec!["3 statements wait for a connection".to_owned()];
    assert!(screen(&state, 60, 15).contains("! 3 statements wait for a connection"));
    let shown = state.shown.as_mut().unwrap();
    shown.warnings.push("a rule does nothing".to_owned());
    shown.draining = true;
    insta::assert_snapshot!("warnings", screen(&state, 80, 24));
    // What was said last comes first.
    state.told(Told::Added(Ok("rule a added".to_owned())));
    assert!(!screen(&state, 80, 24).contains("! "));
    let mut state = State::new("unix:/run/weir.sock".to_owned(), Duration::from_secs(1), false);
    assert!(screen(&state, 80, 24).contains("asking ..."));
    state.told(Told::Sample(Box::default()));
    assert!(screen(&state, 80, 24).contains("measuring ..."));
    assert!(screen(&state, 80, 24).contains("analytics.enabled is off"));
}

/// Whatever the size and the view, something is drawn and nothing breaks.
#[test]
fn every_size_can_be_drawn() {
    let mut views = vec![busy(), State::new(String::new(), Duration::from_secs(1), false)];
    for view in [
        View::Help,
        View::Filter(String::new()),
        View::Details { id: "a".to_owned(), text: "x\n".repeat(70), from: 69 },
        View::Ttl { id: "a".to_owned(), ttl: "x".repeat(200) },
        View::Waiting("asking"),
        View::Confirm {
            proposal: Proposal { toml: "wide \u{1f980} ".repeat(90), version: String::new(), doubt: None },
            from: 200,
        },
    ] {
        let mut state = busy();
        state.view = view;
        views.push(state);
    }
    for state in &views {
        for (width, height) in
            (1..=44).flat_map(|w| [1, 2, 9, 10, 11, 15].map(|h| (w, h))).chain([(60, 15), (300, 90)])
        {
            let shown = screen(state, width, height);
            if width == 39 && height == 15 {
                assert!(shown.contains("too small: 40 columns"), "{shown}");
            }
        }
    }
}

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    let colored = |colors| {
        let mut state = busy();
        state.colors = colors;
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(frame, &state)).unwrap();
        let cells = terminal.backend().buffer().content().iter();
        cells.filter(|cell| cell.fg != ratatui::style::Color::Reset).count()
    };
    assert_eq!(colored(false), 0);
    assert!(colored(true) > 20);
}
