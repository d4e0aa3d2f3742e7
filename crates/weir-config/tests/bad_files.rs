//! Each `bad/*.toml` has a report beside it, `bad/*.txt`, that is compared to the letter. Every secret in them is
//! called "canary" and must not come out. `BLESS=1 cargo test -p weir-config` writes the reports anew.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::io;
use std::path::{Path, PathBuf};

fn env(name: &str) -> Option<String> {
    match name {
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn files(path: &Path) -> io::Result<String> {
    match path.to_str() {
        Some("/etc/weir/server.pem") => Ok("-----BEGIN CERTIFICATE-----\nAA==\n".to_owned()),
        Some("/etc/weir/server.key") => Ok("-----BEGIN PRIVATE KEY-----\ncanary\n".to_owned()),
        Some("/etc/weir/encrypted.key") => Ok("-----BEGIN ENCRYPTED PRIVATE KEY-----\ncanary\n".to_owned()),
        Some("/etc/weir/empty") => Ok("\n".to_owned()),
        _ => Err(io::Error::other("no such file")),
    }
}

fn bad_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    found.sort();
    found
}

#[test]
fn bad_files_are_reported_to_the_letter() {
    assert!(bad_files().len() >= 15);
    for path in bad_files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let report = weir_config::parse("/etc/weir/weir.toml", &text, &env, &files).unwrap_err();
        let rendered = report.render(false);
        for output in [&rendered, &report.render(true), &format!("{report:?}"), &report.to_string()] {
            assert!(!output.contains("canary"), "{}: a secret came out:\n{output}", path.display());
        }
        let expected = path.with_extension("txt");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&expected, &rendered).unwrap();
        }
        assert_eq!(rendered, std::fs::read_to_string(&expected).unwrap(), "{}", path.display());
    }
}

#[test]
fn places_name_the_offending_text() {
    for path in bad_files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let report = weir_config::parse("/etc/weir/weir.toml", &text, &env, &files).unwrap_err();
        assert!(!report.problems().is_empty());
        for place in report.problems().iter().filter_map(|problem| problem.place.as_ref()) {
            let line = text.split('\n').nth(place.line - 1).unwrap();
            assert!(place.column <= line.chars().count() + 1, "{}: {place:?}", path.display());
            let shown = place.excerpt.get(place.highlight.clone()).unwrap();
            let there: String = line.chars().skip(place.column - 1).collect();
            assert!(shown.contains("***") || there.starts_with(shown), "{}: {place:?}", path.display());
        }
    }
}
