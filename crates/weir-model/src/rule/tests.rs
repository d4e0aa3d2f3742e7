use super::*;

#[test]
fn ratios_are_read_and_written_exactly() {
    for (text, millionths) in
        [("1%", 10_000), ("0.25%", 2_500), ("100%", 1_000_000), ("0%", 0), ("0.0001%", 1), ("12.5%", 125_000)]
    {
        let ratio = Ratio::parse(text).unwrap();
        assert_eq!((ratio.millionths(), ratio.to_string().as_str()), (millionths, text));
    }
    for text in ["", "%", "1", "101%", "100.0001%", "-1%", "+1%", ".5%", "1.%", "0.00001%", "1 %", "9999%"] {
        assert_eq!(Ratio::parse(text), None, "{text}");
    }
}

#[test]
fn rates_are_read_and_written_exactly() {
    for text in ["100/s", "1/m", "4294967295/h"] {
        assert_eq!(Rate::parse(text).unwrap().to_string(), text);
    }
    for text in ["", "100", "0/s", "/s", "1/", "1/d", "+1/s", "4294967296/s", "1 /s"] {
        assert_eq!(Rate::parse(text), None, "{text}");
    }
}

#[test]
fn tables_are_read_and_written_exactly() {
    let cases = [
        ("t", None, "t"),
        ("s.t", Some("s"), "t"),
        ("`a.b`.`c``d`", Some("a.b"), "c`d"),
        ("`x.y`", None, "x.y"),
        ("wp posts", None, "wp posts"),
    ];
    for (text, schema, name) in cases {
        let table = TableMatch::parse(text).unwrap();
        assert_eq!((table.schema.as_deref(), table.name.as_str()), (schema, name));
        assert_eq!(table.to_string(), text);
    }
    assert_eq!(TableMatch::parse("`s`.t"), TableMatch::parse("s.t"));
    for text in ["", ".", "s.", ".t", "a.b.c", "`a", "``", "`a`b", "a`b", "`a`."] {
        assert_eq!(TableMatch::parse(text), None, "{text}");
    }
}

#[test]
fn words_read_what_they_write() {
    for (word, kind) in RuleKind::WORDS.iter().zip(RuleKind::ALL) {
        assert_eq!((kind.as_str(), RuleKind::from_word(word)), (*word, Some(*kind)));
    }
    assert_eq!(CacheMode::from_word("Serve"), None);
}
