use super::*;
use crate::parse_rule;

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
    let text = with_rules("weir.toml", FILE, &rules(FILE), new).unwrap_or_else(|report| panic!("{report}"));
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
    written(&[c]);
}

#[test]
fn rules_are_written_where_there_were_none_or_in_a_list() {
    let server = "[[server]]\nname = \"db1\"\naddress = \"127.0.0.1:3306\"\n";
    let new = [read(RULES[0]), read(RULES[1])];
    let text = with_rules("weir.toml", server, &[], &new).unwrap_or_else(|report| panic!("{report}"));
    assert!(text.starts_with(server));
    assert_eq!(rules(&text), new);
    let list = format!("rule = [{{ name = \"x\", match = {{ user = \"u\" }} }}]\n{server}");
    let mut new = rules(&list);
    new.push(read(RULES[1]));
    let text =
        with_rules("weir.toml", &list, &rules(&list), &new).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(rules(&text), new, "{text}");
}

#[test]
fn a_file_that_has_changed_is_not_written() {
    let old = rules(FILE);
    for text in ["not toml", "rule = 1", &FILE.replace("name = \"a\"", "name = \"z\""), ""] {
        let report = with_rules("weir.toml", text, &old, &[]).map(drop);
        assert!(report.is_err_and(|report| report.to_string().contains("has changed")), "{text}");
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
