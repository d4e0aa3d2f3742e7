use rustls_pki_types::{CertificateDer, ServerName};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::*;
use crate::cert_name;
use crate::tls_server::provider;

fn make_for(names: &[&str]) -> Result<CertifiedKey, TlsError> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    make(&provider(), &names, UNIX_EPOCH + Duration::from_secs(1_800_000_000))
}

fn names_host(certificate: &CertificateDer<'_>, host: &str) -> bool {
    cert_name::verify(certificate, &ServerName::try_from(host.to_owned()).unwrap()).is_ok()
}

#[test]
fn it_names_localhost_and_the_hosts_and_lives_ten_years() {
    let made = make_for(&["db.example.com", "10.1.2.3", "localhost"]).unwrap();
    made.keys_match().unwrap();
    let certificate = made.end_entity_cert().unwrap();
    for host in ["localhost", "db.example.com", "10.1.2.3"] {
        assert!(names_host(certificate, host), "{host}");
    }
    assert!(!names_host(certificate, "other.example.com"));
    let (_, parsed) = X509Certificate::from_der(certificate).unwrap();
    let name = parsed.subject().iter_common_name().next().unwrap().as_str().unwrap();
    assert_eq!(name, format!("Weir_{}_Auto_Generated_Server_Certificate", env!("CARGO_PKG_VERSION")));
    assert_eq!(parsed.validity().not_before.timestamp(), 1_800_000_000 - 86_400);
    assert_eq!(parsed.validity().not_after.timestamp(), 1_800_000_000 + 3649 * 86_400);
    assert!(!parsed.is_ca());
}

#[test]
fn each_has_a_key_of_its_own() {
    let one = make_for(&[]).unwrap();
    let other = make_for(&[]).unwrap();
    assert_ne!(one.key.public_key(), other.key.public_key());
}

#[test]
fn a_name_that_cannot_stand_in_a_certificate_is_an_error_that_shows_it() {
    let text = make_for(&["dätenbank"]).unwrap_err().to_string();
    assert!(text.contains("dätenbank"), "{text}");
}
