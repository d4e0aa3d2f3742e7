use std::io;

use crate::{Config, diff, parse};

const RULES: &str = r#"
[[server]]
name = "db1"
address = "127.0.0.1:3306"

[[rule]]
name = "a"
match = { table = "t" }

[[rule]]
name = "b"
match = { user = "u" }
cache = { ttl = "10s" }

[[rule]]
name = "c"
match = {}
"#;

fn config(text: &str) -> Config {
    let none = |_: &std::path::Path| Err(io::ErrorKind::NotFound.into());
    parse("weir.toml", text, &|_| None, &none).unwrap_or_else(|report| panic!("{report}"))
}

/// Keys with what is said of them.
type Told<'a> = &'a [(&'a str, &'a str)];

#[test]
fn a_change_of_a_rule_names_the_rule_and_the_keys() {
    let cases: [(&str, &str, Told<'_>); 8] = [
        ("ttl = \"10s\"", "ttl = \"20s\"", &[("rule.b", "cache changed")]),
        ("table = \"t\"", "table = \"s.t\"", &[("rule.a", "match changed")]),
        ("{ user = \"u\" }\ncache = { ttl = \"10s\" }", "{}\n", &[("rule.b", "match, cache changed")]),
        ("match = {}", "match = {}\ncontinue = true", &[("rule.c", "continue changed")]),
        ("name = \"c\"", "name = \"d\"", &[("rule.c", "removed"), ("rule.d", "added")]),
        ("name = \"a\"", "name = \"z\"", &[("rule.a", "removed"), ("rule.z", "added")]),
        (
            "[[rule]]\nname = \"a\"\nmatch = { table = \"t\" }\n\n[[rule]]\nname = \"b\"\nmatch = { user = \"u\" }\ncache = { ttl = \"10s\" }\n",
            "[[rule]]\nname = \"b\"\nmatch = { user = \"u\" }\ncache = { ttl = \"10s\" }\n[[rule]]\nname = \"a\"\nmatch = { table = \"t\" }\n",
            &[("rule", "the order changed")],
        ),
        ("ttl = \"10s\"", "ttl = \"10s\", mode = \"serve\"", &[]),
    ];
    for (from, to, expected) in cases {
        assert!(RULES.contains(from), "{from}");
        let changes = diff(&config(RULES), &config(&RULES.replace(from, to)));
        let told: Vec<(&str, &str)> =
            changes.reloadable.iter().map(|(key, change)| (key.as_str(), change.as_str())).collect();
        assert_eq!((told.as_slice(), changes.refused.len()), (expected, 0), "{to}");
    }
}
