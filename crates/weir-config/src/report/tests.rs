use super::*;

fn problem(message: &str, hint: Option<&str>, place: Option<Place>) -> Problem {
    Problem { message: message.to_owned(), hint: hint.map(str::to_owned), place }
}

#[test]
fn a_problem_shows_file_line_column_text_and_hint() {
    let place = Place { line: 7, column: 11, excerpt: "workers = 9000".into(), highlight: 10..14 };
    let masked =
        Place { line: 8, column: 40, excerpt: "password = \"***\", nam = 1".into(), highlight: 18..21 };
    let blank = Place { line: 9, column: 1, excerpt: String::new(), highlight: 0..0 };
    let report = Report::new(
        "weir.toml",
        vec![
            problem("unknown key", None, Some(masked)),
            problem("too many", Some("take fewer"), Some(place)),
            problem("no server", None, None),
            problem("empty", None, Some(blank)),
        ],
    );
    let expected = r#"error: no server
--> weir.toml

error: too many
 --> weir.toml:7:11
  |
7 | workers = 9000
  |           ^^^^
  |
  = help: take fewer

error: unknown key
 --> weir.toml:8:40
  |
8 | password = "***", nam = 1
  |                   ^^^

error: empty
 --> weir.toml:9:1
  |
9 |
  | ^

weir.toml: 4 problems
"#;
    assert_eq!(report.render(false), expected);
    assert!(report.render(true).contains("\u{1b}["));
    assert!(report.render(true).contains("weir.toml:8:40"));
}
