use rustls_pki_types::{CertificateDer, ServerName};

use super::*;
use crate::test_certs::{Pair, Spec};

fn names(pair: &Pair, host: &str) -> bool {
    verify(&CertificateDer::from(pair.der.clone()), &ServerName::try_from(host.to_owned()).unwrap()).is_ok()
}

fn certificate(common_name: &'static str, alternative_names: &'static [&'static str]) -> Pair {
    Pair::self_signed(&Spec { common_name, alternative_names, ..Spec::default() })
}

/// Each verdict is what MySQL 9.7.4's client gave for such a certificate with --ssl-mode=VERIFY_IDENTITY.
#[test]
fn as_mysqls_client_decides() {
    let by_common_name = certificate("localhost", &[]);
    assert!(names(&by_common_name, "localhost"));
    assert!(names(&by_common_name, "LOCALHOST"));
    assert!(!names(&by_common_name, "localhost2"));
    assert!(!names(&certificate("127.0.0.1", &[]), "127.0.0.1"));
    assert!(!names(&certificate("*.0.0.1", &[]), "127.0.0.1"));
    assert!(!names(&certificate("localhost", &["other"]), "localhost"));
    assert!(names(&certificate("localhost", &["10.0.0.1"]), "localhost"));
    assert!(names(&certificate("nope", &["127.0.0.1"]), "127.0.0.1"));
    assert!(!names(&certificate("nope", &["127.0.0.1"]), "127.0.0.2"));
}

#[test]
fn version_1_has_only_its_common_name() {
    let v1 = certificate("db.example.com", &["ignored.example.com"]).into_v1(None);
    assert!(names(&v1, "db.example.com"));
    assert!(!names(&v1, "ignored.example.com"));
    assert!(!names(&v1, "127.0.0.1"));
}

#[test]
fn a_wildcard_stands_for_one_label() {
    for (pattern, host, expected) in [
        ("*.example.com", "db.example.com", true),
        ("*.Example.com", "DB.example.COM", true),
        ("*.example.com", "a.db.example.com", false),
        ("*.example.com", "example.com", false),
        ("*.example.com", ".example.com", false),
        ("*.com", "example.com", false),
        ("*", "localhost", false),
        ("d*.example.com", "db.example.com", false),
        ("db.*.com", "db.example.com", false),
    ] {
        assert_eq!(pattern_matches(pattern, host), expected, "{pattern} {host}");
    }
}
