use super::*;

#[test]
fn numbers_are_short() {
    let sizes = [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (268_435_456, "256.0 MiB"),
        (u64::MAX, "16777216.0 TiB"),
    ];
    for (amount, shown) in sizes {
        assert_eq!(bytes(amount), shown);
    }
    for (amount, shown) in [
        (0.0, "0 us"),
        (0.0025, "2.5 ms"),
        (0.25, "250 ms"),
        (2.54, "2.5 s"),
        (119.9, "119.9 s"),
        (216.0, "3.6 min"),
        (300.0, "5.0 min"),
        (596.9, "9.9 min"),
        (597.0, "10 min"),
        (1500.0, "25 min"),
        (9000.0, "2.5 h"),
    ] {
        assert_eq!(seconds(amount), shown);
    }
    assert_eq!((percent(None), percent(Some(0.975))), ("-".to_owned(), "97.5 %".to_owned()));
    assert_eq!(ago(None), "never");
    assert!(ago(Some(0)).ends_with(" days ago"));
}

#[test]
fn tables_have_no_blanks_at_their_ends() {
    let text = table(
        &["name", ">hits"],
        [vec!["a".to_owned(), "7".to_owned()], vec!["long".to_owned(), "12".to_owned()]],
    );
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[1].starts_with(" a ") && lines[1].ends_with("  7"), "{text}");
    assert!(lines.iter().all(|line| !line.ends_with(' ')), "{text:?}");
}

#[test]
fn where_there_is_little_room_texts_are_cut_and_columns_left_out_and_nothing_is_broken() {
    let header = ["id", ">calls", ">p99", "user", "~digest", "=why"];
    let row = |why: &str| {
        let digest = format!("SELECT {} FROM `t`", "`c`, ".repeat(30));
        let cells = ["0123456789abcdef", "1234567", "14.3 s", "app", &digest, why];
        vec![cells.map(str::to_owned).to_vec()]
    };
    let shown = |why: &str, room| table::fitted(&header, row(why), &["p99", "user"], room);
    assert_eq!(shown("", None).lines().count(), 2);
    for (room, left_out) in [(120, ""), (67, ""), (66, "p99"), (58, "p99, user"), (40, "p99, user")] {
        let text = shown("", Some(room));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), if left_out.is_empty() { 2 } else { 3 }, "{room}:\n{text}");
        assert!(lines[1].starts_with(" 0123456789abcdef  1234567"), "{room}:\n{text}");
        assert!(lines[1].contains("SELECT `c`, ") && lines[1].ends_with("..."), "{room}:\n{text}");
        assert!(room == 40 || lines[1].len() <= usize::from(room), "{room}:\n{text}");
        assert!(text.contains(&format!("no room for: {left_out};")) || left_out.is_empty(), "{text}");
        assert_eq!(lines[0].contains("p99"), left_out.is_empty(), "{text}");
    }
    // A column that belongs to the one before goes with it.
    let pair =
        table::fitted(&["id", ">mean", ">+then", ">p95"], [vec!["1".repeat(9); 4]], &["mean"], Some(30));
    assert!(pair.starts_with(" id               p95\n 111111111  111111111\n"), "{pair}");
    let wrapped = shown("a text that says at length what to do about it", Some(100));
    assert!(wrapped.lines().count() > 2 && wrapped.contains("0123456789abcdef"), "{wrapped}");
    assert!(wrapped.lines().all(|line| line.len() <= 100), "{wrapped}");
}

#[test]
fn pairs_stand_below_each_other() {
    let text = pairs(&[("a", "one\ntwo\n".to_owned()), ("none", String::new()), ("bcd", "x".to_owned())]);
    assert_eq!(text, "a    one\n     two\nbcd  x\n");
}

#[test]
fn the_greatest_reason_comes_first() {
    let counts = [("a".to_owned(), 1), ("b".to_owned(), 3)].into();
    assert_eq!(reasons(&counts), "b 3, a 1");
}

#[test]
fn what_clients_have_sent_does_nothing_to_the_terminal() {
    assert_eq!(printable("a\n\u{1b}[2J\r\u{9b}é\u{202e}\u{7f}"), "a\n\\u{1b}[2J\\r\\u{9b}é\\u{202e}\\u{7f}");
    let shown = table(&["user", ">calls"], [vec!["\u{1b}]0;x\u{7}\nroot 1".to_owned(), "1".to_owned()]]);
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(!shown.contains('\u{1b}') && shown.contains("\\u{1b}]0;x\\u{7}\\nroot 1"), "{shown}");
}
