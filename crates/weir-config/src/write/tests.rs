use super::*;
use crate::parse_rule;
use proptest::strategy::Strategy;

fn read(text: &str) -> Rule {
    parse_rule("rule", text).unwrap_or_else(|report| panic!("{text}\n{report}"))
}

const RULES: [&str; 5] = [
    "name = \"a\"\nmatch = {}\n",
    "name = \"b\"\nmatch = { table = \"s.t\" }\ncache = { ttl = \"1h30m\" }\n",
    "name = \"c\"\nmatch = { schema = \"s\", user = \"ü\", client = \"10.0.0.0/8\", digest = \"select 'a\\\"b' # x\", \
     pattern = '(?i)^select\\s.*\"\\x00', table = '`a.b`.c', kind = \"read\", command = \"execute\" }\n\
     cache = { ttl = \"10s\", soft_ttl = \"9s\", stale_if_error = \"1m\", share = \"grants\", views = true, \
     own_writes = false, verify = \"0.5%\" }\ncontinue = true\n",
    "name = \"d\"\nmatch = { kind = \"read\" }\ncache = { mode = \"off\" }\n",
    "name = \"e\"\nmatch = { kind = \"read\" }\ncache = { mode = \"shadow\", ttl = \"5ms\" }\n",
];

#[test]
fn a_rule_that_is_written_is_read_as_the_same() {
    for text in RULES {
        let rule = read(text);
        let written = rule_text(&rule);
        let inside = written.trim_start().strip_prefix("[[rule]]\n").unwrap_or_else(|| panic!("{written}"));
        assert_eq!(read(inside), rule, "{written}");
    }
    assert_eq!(rule_text(&read(RULES[1])), format!("\n[[rule]]\n{}", RULES[1]));
}

#[test]
fn what_is_not_supported_yet_is_written_too() {
    let mut rule = read(RULES[0]);
    rule.deny = Some("no".to_owned());
    rule.timeout = Some(Duration::from_secs(30));
    rule.rewrite = Some(weir_model::rule::Rewrite { pattern: "a".to_owned(), with: "b".to_owned() });
    rule.limit = Some(LimitRule {
        concurrency: Some(10),
        rate: weir_model::rule::Rate::parse("100/s"),
        queue: Duration::from_secs(5),
    });
    assert_eq!(
        rule_text(&rule),
        "\n[[rule]]\nname = \"a\"\nmatch = {}\nrewrite = { pattern = \"a\", with = \"b\" }\ndeny = \"no\"\n\
         limit = { concurrency = 10, rate = \"100/s\", queue = \"5s\" }\ntimeout = \"30s\"\n"
    );
}

const FILE: &str = "# the server
[[server]]
name = \"db1\" # one
address = \"127.0.0.1:3306\"

# about a
[[rule]]
name = \"a\" # first
match = {}

[[rule]]
name = \"b\"
# inside b
[rule.match]
table = \"t\"
[rule.cache]
ttl = \"10s\"

# logs
[log]
level = \"warn\"
";

fn rules(text: &str) -> Vec<Rule> {
    let files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    crate::parse("weir.toml", text, &|_| None, &files)
        .unwrap_or_else(|report| panic!("{text}\n{report}"))
        .rules
}

fn written(new: &[Rule]) -> String {
    let text =
        with_rules("weir.toml", FILE, &rules(FILE), new, None).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(rules(&text), new, "{text}");
    for kept in ["# the server\n[[server]]\nname = \"db1\" # one\n", "# logs\n[log]\nlevel = \"warn\"\n"] {
        assert!(text.contains(kept), "{text}");
    }
    text
}

#[test]
fn a_file_keeps_what_did_not_change() {
    let old = rules(FILE);
    let [a, b] = &old[..] else { panic!("two rules") };
    let c = read(RULES[2]);
    assert_eq!(written(&old), FILE);
    let text = written(&[b.clone(), a.clone()]);
    assert!(text.find("# inside b") < text.find("# about a"), "{text}");
    assert!(text.find("name = \"a\" # first") < text.find("[log]"), "{text}");
    let text = written(&[a.clone(), c.clone(), b.clone()]);
    assert!(text.contains("# about a\n[[rule]]\nname = \"a\" # first\n"), "{text}");
    assert!(text.contains("# inside b\n[rule.match]\n"), "{text}");
    let text = written(std::slice::from_ref(b));
    assert!(!text.contains("name = \"a\""), "{text}");
    assert!(!written(&[]).contains("rule"));
    let mut changed = b.clone();
    changed.continues = true;
    let text = written(&[a.clone(), changed]);
    assert!(text.contains("# about a\n") && text.contains("continue = true\n"), "{text}");
    assert!(text.contains("# inside b\n[rule.match]\ntable = \"t\"\n"), "{text}");
    written(&[c]);
}

#[test]
fn rules_are_written_where_there_were_none_or_in_a_list() {
    let server = "[[server]]\nname = \"db1\"\naddress = \"127.0.0.1:3306\"\n";
    let new = [read(RULES[0]), read(RULES[1])];
    let text = with_rules("weir.toml", server, &[], &new, None).unwrap_or_else(|report| panic!("{report}"));
    assert!(text.starts_with(server));
    assert_eq!(rules(&text), new);
    let list =
        format!("# all\nrule = [\n  # x\n  {{ name = \"x\", match = {{ user = \"u\" }} }},\n]\n{server}");
    let mut new = rules(&list);
    new.push(read(RULES[1]));
    let text =
        with_rules("weir.toml", &list, &rules(&list), &new, None).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(rules(&text), new, "{text}");
    assert!(text.contains("# all\n\n# x\n[[rule]]\nname = \"x\"\n"), "{text}");
}

#[test]
fn a_file_that_has_changed_is_not_written() {
    let old = rules(FILE);
    for text in ["not toml", "rule = 1", &FILE.replace("name = \"a\"", "name = \"z\""), ""] {
        let report = with_rules("weir.toml", text, &old, &[], None).map(drop);
        assert!(report.is_err_and(|report| report.to_string().contains("has changed")), "{text}");
    }
}

const SERVER: &str = "[[server]]\nname = \"db1\"\naddress = \"127.0.0.1:3306\"\n\n";

/// The file with other rules, whose text is read back as these.
fn with(file: &str, new: &[Rule], sent: Option<&str>) -> String {
    let text =
        with_rules("weir.toml", file, &rules(file), new, sent).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(rules(&text), new, "{text}");
    text
}

/// Texts, each with what comes in its place.
type Instead<'t> = &'t [(&'t str, &'t str)];

#[test]
fn of_a_rule_that_changed_only_that_is_written() {
    type Change = fn(&mut Rule);
    let cases: &[(&str, Change, Instead<'_>)] = &[
        (
            "# about a\n[[rule]] # one\n# its name\nname = \"a\" # first\nmatch = {table=\"t\"}  # which\n\
             # how long\ncache = { ttl   =   \"1h\",soft_ttl=\"30m\" } # not longer\n",
            |rule| rule.cache.as_mut().unwrap().ttl = Duration::from_secs(7200),
            &[("\"1h\"", "\"2h\"")],
        ),
        (
            "# about a\n[[rule]]\nname = \"a\"\nmatch = {table=\"t\"} # which\ncache = {ttl=\"1h\", soft_ttl=\"30m\"} # short\n",
            |rule| {
                rule.cache.as_mut().unwrap().soft_ttl = None;
                rule.matches.user = Some("app".to_owned());
                rule.continues = true;
            },
            &[
                ("{table=\"t\"} # which", "{ table = \"t\", user = \"app\" } # which"),
                ("{ttl=\"1h\", soft_ttl=\"30m\"} # short", "{ ttl = \"1h\" } # short\ncontinue = true"),
            ],
        ),
        (
            "[[rule]]\nname = \"a\"\n# inside\n[rule.match] # it\ntable = \"t\" # which\n\n[rule.cache]\n# minutes\nttl = \"90m\" # or so\nviews = false\n",
            |rule| rule.matches.table = weir_model::rule::TableMatch::parse("s.u"),
            &[("\"t\" # which", "\"s.u\" # which")],
        ),
        (
            "[[rule]]\nname = \"a\"\n# inside\n[rule.match] # it\ntable = \"t\" # which\n\n[rule.cache]\n# minutes\nttl = \"90m\" # or so\nviews = false\n",
            |rule| {
                rule.cache = None;
                rule.deny = Some("no".to_owned());
            },
            &[
                ("\n[rule.cache]\n# minutes\nttl = \"90m\" # or so\nviews = false\n", ""),
                ("name = \"a\"\n", "name = \"a\"\ndeny = \"no\"\n"),
            ],
        ),
        (
            "[[rule]]\nname = \"a\" # first\nmatch.table = \"t\"\n# long\ncache.ttl = \"1h\" # very\ntimeout = \"\"\"\n5s\"\"\" # soon\n",
            |rule| {
                rule.name = "z".to_owned();
                rule.matches.table = None;
                rule.cache.as_mut().unwrap().ttl = Duration::from_secs(1);
            },
            &[("\"a\"", "\"z\""), ("match.table = \"t\"", "match = {}"), ("\"1h\"", "\"1s\"")],
        ),
    ];
    for (text, change, expected) in cases {
        let file = format!("{SERVER}{text}\n# the end\n");
        let mut new = rules(&file);
        change(&mut new[0]);
        let expected = expected.iter().fold(file.clone(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        assert_eq!(with(&file, &new, None), expected);
    }
}

const APART: &str = "# --- cache rules

# about a
[[rule]]
name = \"a\"
match = {}

# about b
[[rule]]
name = \"b\"
match = {}

[log] # logs
level = \"warn\"

# --- the others

# about c
[[rule]]
name = \"c\"
match = {}

# the end
";

#[test]
fn headings_and_rules_that_stand_apart_stay_where_they_are() {
    let [a, b, c] =
        ["a", "b", "c"].map(|name| format!("# about {name}\n[[rule]]\nname = \"{name}\"\nmatch = {{}}\n"));
    let x = "[[rule]]\nname = \"x\"\nmatch = {}\n";
    let own = |name: &str| read(&format!("name = \"{name}\"\nmatch = {{}}\n"));
    let cases: [(&[&str], Instead<'_>); 9] = [
        (&["b", "c"], &[(&format!("{a}\n"), "")]),
        (&["a", "c"], &[(&format!("{b}\n"), "")]),
        (&["a", "b"], &[(&format!("{c}\n"), "")]),
        (&["c"], &[(&format!("{a}\n{b}\n"), "")]),
        (&[], &[(&format!("{a}\n{b}\n"), ""), (&format!("{c}\n"), "")]),
        (&["b", "c", "a"], &[(&format!("{a}\n"), ""), (&c, &format!("{c}\n{a}"))]),
        (&["x", "a", "b", "c"], &[(&a, &format!("{x}\n{a}"))]),
        (&["a", "b", "x", "c"], &[(&b, &format!("{b}\n{x}"))]),
        (&["a", "b", "c", "x"], &[(&c, &format!("{c}\n{x}"))]),
    ];
    for (names, expected) in cases {
        let new: Vec<Rule> = names.iter().map(|name| own(name)).collect();
        let file = format!("{SERVER}{APART}");
        let expected = expected.iter().fold(file.clone(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        let text = with(&file, &new, None);
        assert_eq!(text, expected, "{names:?}");
        // And back: what was not taken away has not gone.
        let back = with(&text, &rules(&file), None);
        for kept in [
            "# --- cache rules\n\n",
            "[log] # logs\nlevel = \"warn\"\n",
            "# --- the others\n\n",
            "# the end\n",
        ] {
            assert!(back.contains(kept), "{back}");
        }
    }
    // Nothing stands before the first one.
    let first = format!("{a}\n{b}\n{SERVER}");
    assert_eq!(with(&first, &[own("b")], None), format!("{b}\n{SERVER}"));
    assert_eq!(with(&first, &[own("x"), own("a"), own("b")], None), format!("{x}\n{first}"));
}

#[test]
fn the_comments_of_a_text_that_is_sent_go_into_the_file() {
    let file = format!("{SERVER}{APART}");
    let sent = "# new\n[[rule]] # x\n# named\nname = \"x\"\n# all\n[rule.match] # of it\nuser = \"u\" # me\n";
    let mut new = rules(&file);
    new.push(read(sent));
    let text = with(&file, &new, Some(sent));
    assert!(text.contains(&format!("match = {{}}\n\n{sent}")), "{text}");
    // To those of a rule that is there, whose others stay.
    let sent = "name = \"a\"\nmatch = { user = \"u\" } # me\n# not now\ndeny = \"no\"\n";
    let mut new = rules(&file);
    new[0] = read(sent);
    let text = with(&file, &new, Some(sent));
    assert!(
        text.contains(&format!("# --- cache rules\n\n# about a\n[[rule]]\n{sent}\n# about b\n")),
        "{text}"
    );
    let again = "# about it\n[[rule]]\nname = \"a\"\nmatch = { user = \"v\" }\ndeny = \"no\" # never\n";
    let before = text;
    let mut new = rules(&before);
    new[0] = read(again);
    let text = with(&before, &new, Some(again));
    let expected = "# --- cache rules\n\n# about it\n[[rule]]\nname = \"a\"\nmatch = { user = \"v\" } # me\n# not now\ndeny = \"no\" # never\n";
    assert!(text.contains(expected), "{text}");
    // A comment alone is a change, too.
    let alone = with(&file, &rules(&file), Some("name = \"c\" # really\nmatch = {}\n"));
    assert_eq!(alone, file.replace("name = \"c\"", "name = \"c\" # really"));
}

/// What a table is followed by without a blank line is its own: a key that is switched off does not come into another rule.
#[test]
fn comments_below_the_last_key_go_with_it() {
    let own = |name: &str| read(&format!("name = \"{name}\"\nmatch = {{}}\n"));
    let x = "[[rule]]\nname = \"x\"\nmatch = {}\n";
    let a = "[[rule]]\nname = \"a\"\nmatch = {}   # all\n# timeout = \"5s\"\n# deny = \"no\"\n";
    let b = "# about b\n[[rule]]\nname = \"b\"\n[rule.match] # it\n# user = \"u\"\n";
    let file = format!("{SERVER}{a}\n{b}");
    let cases: [(&[&str], String); 6] = [
        (&["a", "b", "x"], format!("{SERVER}{a}\n{b}\n{x}")),
        (&["a", "x", "b"], format!("{SERVER}{a}\n{x}\n{b}")),
        (&["x", "a", "b"], format!("{SERVER}{x}\n{a}\n{b}")),
        (&["b"], format!("{SERVER}{b}")),
        (&["a"], format!("{SERVER}{a}")),
        (&["b", "a"], format!("{SERVER}{b}\n{a}")),
    ];
    for (names, expected) in cases {
        let new: Vec<Rule> = names.iter().map(|name| own(name)).collect();
        assert_eq!(with(&file, &new, None), expected, "{names:?}");
    }
    // A key that comes to it stands above them, and the first rule behind another section below what is that one's.
    let mut new = rules(&file);
    new[0].continues = true;
    let kept = "match = {}   # all\ncontinue = true\n# timeout = \"5s\"\n# deny = \"no\"\n";
    let text = with(&file, &new, None);
    assert!(text.contains(kept), "{text}");
    let log = format!("{SERVER}[log]\nlevel = \"warn\"\n# format = \"json\"\n");
    assert_eq!(with(&log, &[own("x")], None), format!("{log}\n{x}"));
}

/// Of keys that go, and of keys that are sent, in each form that a table has.
#[test]
fn comments_inside_of_a_table_stay_with_their_keys() {
    let head = format!("{SERVER}[[rule]]\nname = \"a\"\nmatch = {{}}\n");
    let lines = "cache = { # terms\n  ttl = \"1h\", # how long\n  # and from when on\n  soft_ttl = \"30m\", # softly\n  views = true, # too\n}\n";
    let without = |change: fn(&mut CacheRule)| {
        let file = format!("{head}{lines}");
        let mut new = rules(&file);
        change(new[0].cache.as_mut().unwrap());
        with(&file, &new, None)
    };
    let text = without(|cache| cache.soft_ttl = None);
    assert!(text.contains("ttl = \"1h\", # how long\n  views = true, # too\n}"), "{text}");
    let text = without(|cache| cache.views = false);
    assert!(text.contains("# and from when on\n  soft_ttl = \"30m\", # softly\n}"), "{text}");
    let text = without(|cache| (cache.soft_ttl, cache.views) = (None, false));
    assert!(text.contains("# terms\n  ttl = \"1h\", # how long\n}"), "{text}");
    // The key behind one that goes stands on its line, and must not come into the comment ahead of it.
    let file =
        format!("{head}cache = {{\n  ttl = \"1h\", # how long\n  soft_ttl = \"30m\", views = true,\n}}\n");
    let mut new = rules(&file);
    new[0].cache.as_mut().unwrap().soft_ttl = None;
    let text = with(&file, &new, None);
    assert!(text.contains("# how long\n views = true,\n}"), "{text}");

    let forms = [
        "cache = { ttl = \"1h\" }\n",
        "cache = {\n  ttl = \"1h\",\n}\n",
        "cache.ttl = \"1h\"\n",
        "[rule.cache]\nttl = \"1h\"\n",
    ];
    let commented = [
        "cache = {\n  ttl = \"1h\", # long\n}\n",
        "cache.ttl = \"1h\" # long\n",
        "[rule.cache]\nttl = \"1h\" # long\n",
        "# long\n[rule.cache]\nttl = \"1h\"\n",
    ];
    for there in forms {
        for sent in commented {
            let file = format!("{head}{there}\n# the end\n");
            let sent = format!("[[rule]]\nname = \"a\" # it\nmatch = {{}}\n{sent}");
            let text = with(&file, &rules(&file), Some(&sent));
            assert!(text.contains("# long\n") && text.contains("\"a\" # it\n"), "{there}{sent}{text}");
            assert!(text.ends_with("\n# the end\n"), "{text}");
        }
    }
}

proptest::proptest! {
    /// Whatever becomes of the rules, the file says it, and says of the rest what it said.
    #[test]
    fn any_list_of_rules_is_written(
        (names, changed) in (
            proptest::sample::subsequence((0..9).collect::<Vec<usize>>(), 0..9).prop_shuffle(),
            proptest::collection::vec(proptest::bool::ANY, 9),
        ),
    ) {
        use std::fmt::Write;
        let mut file = SERVER.to_owned();
        for n in 0..6 {
            let heading = if n % 2 == 0 { format!("# heading {n}\n\n") } else { String::new() };
            let body = match n % 3 {
                0 => format!("match = {{ table = \"t{n}\" }} # inside {n}\ncache = {{ ttl = \"90m\" }}\n"),
                1 => format!("[rule.match] # inside {n}\ntable = \"t{n}\"\n\n[rule.cache]\nttl = \"90m\"\n"),
                _ => format!("match.table = \"t{n}\" # inside {n}\ncache.ttl = \"90m\"\n"),
            };
            write!(file, "{heading}# about {n}\n[[rule]]\nname = \"r{n}\"\n{body}\n").unwrap();
            if n % 4 == 1 {
                // Below the last key, and the blank line behind it.
                file.truncate(file.len() - 1);
                write!(file, "# off {n}\n\n").unwrap();
            }
            file.push_str(match n {
                1 => "# of logs\n[log] # logs\nlevel = \"warn\"\n\n",
                3 => "[limits]\nmax_clients = 7 # few\n\n",
                _ => "",
            });
        }
        let rule = |n: usize| {
            let mut rule = read(&format!("name = \"r{n}\"\nmatch = {{ table = \"t{n}\" }}\ncache = {{ ttl = \"90m\" }}\n"));
            if changed[n] {
                rule.matches.user = Some("u".to_owned());
                rule.cache.as_mut().unwrap().ttl = Duration::from_secs(1);
            }
            rule
        };
        let new: Vec<Rule> = names.iter().map(|n| rule(*n)).collect();
        let text = with(&file, &new, None);
        for kept in ["# of logs\n[log] # logs\nlevel = \"warn\"\n", "[limits]\nmax_clients = 7 # few\n", "# heading 0\n", "# heading 2\n", "# heading 4\n"] {
            proptest::prop_assert!(text.contains(kept), "{kept}{text}");
        }
        for n in names.into_iter().filter(|n| *n < 6) {
            let own = format!("# about {n}\n[[rule]]\nname = \"r{n}\"\n");
            proptest::prop_assert!(text.contains(&own) && text.contains(&format!("# inside {n}\n")), "{text}");
            if n % 4 == 1 {
                let (_, behind) = text.split_once(&own).unwrap();
                let own = behind.split("[[rule]]").next().unwrap();
                proptest::prop_assert!(own.contains(&format!("# off {n}\n")), "{text}");
            }
        }
    }
}

#[test]
fn one_rule_is_checked_as_in_a_file() {
    for (text, expected) in [
        ("match = {}", "`name` is missing in `[[rule]]`"),
        ("name = \"a b\"\nmatch = {}", "this is not a name for a rule"),
        ("name = \"a\"\nmatch = {}\ncache = {}", "`ttl` is missing"),
        ("name = \"a\"\nmatch = { pattern = '(' }", "unclosed group"),
        ("name = \"a\"\nmatches = {}", "there is no key `matches`"),
        ("name = ", "not TOML"),
        ("[[rule]]\nname = \"a b\"\nmatch = {}", "rule:2:8"),
        ("[[rule]]\nmatch = {}", "`name` is missing in `[[rule]]`"),
        ("[[rule]]\nname = \"a\"\nmatch = {}\n[[rule]]\nname = \"b\"\nmatch = {}", "there is a second rule"),
        ("[rule]\nname = \"a\"\nmatch = {}", "write [[rule]], in double brackets"),
        ("[[rule]]\nname = \"a\"\nmatch = {}\n[[server]]\nname = \"x\"", "there is no key `server`"),
        ("rule = []", "there is no rule"),
    ] {
        let report = parse_rule("the rule", text).map(drop).map_err(|report| report.to_string());
        assert!(report.as_ref().is_err_and(|report| report.contains(expected)), "{text}: {report:?}");
    }
}

#[test]
fn a_rule_may_have_its_header() {
    for text in RULES {
        assert_eq!(read(&format!("# mine\n[[rule]]\n{text}")), read(text));
    }
    let tables = "[[rule]]\nname = \"b\"\n[rule.match]\ntable = \"s.t\"\n[rule.cache]\nttl = \"90m\"\n";
    assert_eq!(read(tables), read(RULES[1]));
}
