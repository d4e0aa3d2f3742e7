use cargo_metadata::DependencyKind::{Development, Normal};

use super::*;

fn tree(files: &[(&str, &str)]) -> Tree {
    Tree::of(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
}

fn no_exceptions() -> Exceptions {
    Exceptions::parse("").unwrap()
}

fn places(findings: &[Finding]) -> Vec<(&str, usize)> {
    findings.iter().map(|f| (f.file.as_str(), f.line)).collect()
}

#[test]
fn the_tree_is_tidy() {
    let findings = check(&crate::root().unwrap()).unwrap();
    let text: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(findings.is_empty(), "{}", text.join("\n"));
}

#[test]
fn dependencies_run_down_only() {
    let cases = [
        ("weir", "weir-proxy", Normal, true),
        ("weir-proxy", "weir-model", Normal, true),
        ("weir-model", "weir-wire", Normal, false),
        ("weir-net", "weir-proxy", Normal, false),
        ("weir-proxy", "weir-control", Normal, false),
        ("weir-config", "weir-stats", Normal, false),
        ("weir-pool", "weir-net", Normal, true),
        ("weir-net", "weir-pool", Normal, false),
        ("weir-auth", "weir-wire", Normal, true),
        ("weir-wire", "weir-auth", Development, false),
        ("weir-wire", "weir-testkit", Development, true),
        ("weir-wire", "weir-testkit", Normal, false),
        ("weir-bench", "weir-net", Normal, true),
        ("weir-testkit", "weir-bench", Normal, true),
    ];
    for (from, to, kind, allowed) in cases {
        assert_eq!(floors::refusal(from, to, kind).is_none(), allowed, "{from} -> {to} {kind:?}");
    }
    assert!(floors::io_refusal("weir-sql", "tokio", Normal).is_some());
    assert!(floors::io_refusal("weir-sql", "tokio", Development).is_none());
    assert!(floors::io_refusal("weir-net", "tokio", Normal).is_none());
    assert!(floors::io_refusal("weir-sql", "memchr", Normal).is_none());
}

#[test]
fn the_wall_keeps_the_outside_world_out() {
    let banned = [
        "use std::fs;",
        "use std::{io::Read, fs::File};",
        "use std::net::*; fn f() { TcpStream::connect(()); }",
        "use std::net::{IpAddr, TcpListener as L};",
        "fn f() { std::time::Instant::now(); }",
        "use std::time::Instant as I; fn f() { I::now(); }",
        "use std::time::SystemTime; fn f() { println!(\"{:?}\", (1, SystemTime::now())); }",
        "fn f(i: std::time::Instant) { i.elapsed(); }",
        "fn f() { rand::random::<u8>(); }",
        "use aws_lc_rs::rand as r;",
        "fn f() { std::env::var(\"X\"); }",
        "use std::thread; fn f() { thread::spawn(|| ()); }",
    ];
    for code in banned {
        let tree = tree(&[("crates/weir-sql/src/x.rs", code)]);
        assert!(!wall::check(&tree, &no_exceptions()).is_empty(), "{code}");
    }
    let fine = [
        "use std::net::{IpAddr, SocketAddr};",
        "use std::time::{Duration, Instant}; fn f(now: Instant) -> Instant { now + Duration::ZERO }",
        "#[cfg(test)] mod tests { use std::fs; fn f() { std::time::Instant::now(); } }",
        "mod fs {} use self::fs::x; fn f() { fs::x(); operand::y(); }",
        "/// Not std::fs.\nfn f() { \"std::fs::read\"; }",
    ];
    for code in fine {
        let tree = tree(&[("crates/weir-sql/src/x.rs", code)]);
        assert_eq!(wall::check(&tree, &no_exceptions()), [], "{code}");
    }
}

#[test]
fn the_wall_stands_only_below_the_shell() {
    let code = "use std::fs;";
    let paths = ["crates/weir-net/src/x.rs", "crates/weir-sql/tests/x.rs", "crates/weir-sql/src/x/tests.rs"];
    for path in paths {
        assert_eq!(wall::check(&tree(&[(path, code)]), &no_exceptions()), [], "{path}");
    }
    let declared = tree(&[
        ("crates/weir-sql/src/lib.rs", "#[cfg(test)]\nmod script;"),
        ("crates/weir-sql/src/script.rs", code),
        ("crates/weir-sql/src/script/more.rs", code),
    ]);
    assert_eq!(wall::check(&declared, &no_exceptions()), []);
}

#[test]
fn long_files_and_functions_are_found() {
    let body = "    f();\n".repeat(sizes::FUNCTION_LINES - 2);
    let fits = format!("fn f() {{\n{body}}}\n");
    let long = format!("impl X {{\n/// Doc.\nfn f() {{\n{body}f();\n}}\n}}\n");
    let file = "//\n".repeat(sizes::FILE_LINES + 1);
    let tree = tree(&[
        ("a/fits.rs", &fits),
        ("a/long.rs", &long),
        ("a/long/tests.rs", &long),
        ("a/tested.rs", &format!("#[cfg(test)]\nmod tests {{ {long} }}")),
        ("a/file.py", &file),
        ("a/file.md", &file),
    ]);
    let findings = sizes::check(&tree, &no_exceptions());
    assert_eq!(places(&findings), [("a/file.py", sizes::FILE_LINES + 1), ("a/long.rs", 3)]);
    let reason = "it is a table of a test of this tool";
    let listed = format!("file-length | a/file.py | {reason}\nfunction-length | a/long.rs::f | {reason}\n");
    let exceptions = Exceptions::parse(&listed).unwrap();
    assert_eq!(sizes::check(&tree, &exceptions), []);
    assert_eq!(exceptions.unused(), []);
}

#[test]
fn an_exception_needs_a_reason_and_a_use() {
    assert!(Exceptions::parse("file-length | a.rs").is_err());
    assert!(Exceptions::parse("file-length | a.rs | because").is_err());
    let text = "# comment\n\nfile-length | a.rs | nobody needs this line any more\n";
    let unused = Exceptions::parse(text).unwrap().unused();
    assert_eq!(places(&unused), [("xtask/tidy-exceptions.txt", 3)]);
}

#[test]
fn words_of_unfinished_work_are_found() {
    let cases = [
        (concat!("    TO", "DO: later"), concat!("TO", "DO"), true),
        ("TODOS_OF_USERS", concat!("TO", "DO"), false),
        ("mktemp /tmp/weir.XXXXXX", concat!("XX", "X"), false),
        (concat!("// ok For", " now."), concat!("for", " now"), true),
        ("wait for nowhere", concat!("for", " now"), false),
        ("crate::place_holders", concat!("place", "holder"), false),
    ];
    for (line, word, found) in cases {
        assert_eq!(words::has_word(line, word), found, "{line}");
    }
    let tree = tree(&[("docs/a.md", concat!("fine\nFIX", "ME\n"))]);
    assert_eq!(places(&words::check(&tree, &no_exceptions())), [("docs/a.md", 2)]);
}

#[test]
fn links_must_lead_somewhere() {
    let page = "# A page\n[b](b.md) [b](b.md#what-it-means) [out](https://example.org/x) `[no](link)`\n\
                ```\n[no](link)\n```\n[gone](gone.md) [no heading](b.md#other)\n[up](../../x.md) [self](#a-page)\n";
    let tree = tree(&[
        ("CHANGELOG.md", ""),
        ("docs/a.md", page),
        ("docs/b.md", "## What it means\n"),
        ("b.md", "[docs](docs/a.md)\n"),
    ]);
    let findings = links::check(&tree);
    assert_eq!(places(&findings), [("docs/a.md", 6), ("docs/a.md", 6), ("docs/a.md", 7)]);
    assert_eq!(places(&links::check(&super::tests::tree(&[]))), [("CHANGELOG.md", 0)]);
}
