use rcgen::{ExtendedKeyUsagePurpose, KeyUsagePurpose};

use super::*;
use crate::test_certs::{Folder, Pair, Spec, children, element};
use crate::tls_server::provider;

/// Verifies the first of `shown` as a server's certificate, today, against `trusted` as the CA file.
fn verify(shown: &[&Pair], trusted: &[&Pair]) -> Result<(), CertificateError> {
    verify_as(shown, trusted, UnixTime::now())
}

fn verify_as(shown: &[&Pair], trusted: &[&Pair], now: UnixTime) -> Result<(), CertificateError> {
    let folder = Folder::new();
    let anchors = TrustAnchors::load("CA", &folder.certs("ca.pem", trusted)).unwrap();
    let chain: Vec<CertificateDer<'_>> =
        shown.iter().map(|pair| CertificateDer::from(pair.der.clone())).collect();
    let algorithms = provider().signature_verification_algorithms;
    match verify_server(&chain[0], &chain[1..], &anchors, now, &algorithms) {
        Ok(()) => Ok(()),
        Err(Error::InvalidCertificate(reason)) => Err(reason),
        Err(other) => panic!("not about the certificate: {other}"),
    }
}

fn refused(shown: &[&Pair], trusted: &[&Pair]) -> CertificateError {
    verify(shown, trusted).expect_err("must be refused")
}

fn pair(spec: &Spec) -> Pair {
    Pair::self_signed(spec)
}

#[test]
fn ordinary_certificates() {
    let ca = pair(&Spec::ca("authority"));
    let leaf = ca.issue(&Spec::default());
    assert_eq!(verify(&[&leaf], &[&ca]), Ok(()));
    assert_eq!(verify(&[&leaf], &[&pair(&Spec::ca("other")), &ca]), Ok(()));
    assert_eq!(refused(&[&leaf], &[&pair(&Spec::ca("other"))]), CertificateError::UnknownIssuer);
    let expired = ca.issue(&Spec { days: -10..-1, ..Spec::default() });
    assert!(matches!(refused(&[&expired], &[&ca]), CertificateError::ExpiredContext { .. }));
    let middle = ca.issue(&Spec::ca("intermediate"));
    let below = middle.issue(&Spec::default());
    assert_eq!(verify(&[&below, &middle], &[&ca]), Ok(()));
    assert_eq!(verify(&[&below], &[&middle]), Ok(()), "an intermediate may be the anchor");
    assert_eq!(refused(&[&below], &[&ca]), CertificateError::UnknownIssuer);
}

/// A stranger's CA of the same name is found by name and must then fail by signature.
#[test]
fn a_namesake_of_the_ca_does_not_pass() {
    let ca = pair(&Spec::ca("authority"));
    let namesake = pair(&Spec::ca("authority"));
    let v3 = namesake.issue(&Spec::default());
    let v1 = namesake.issue(&Spec::default()).into_v1(Some(&namesake));
    assert_ne!(verify(&[&v3], &[&ca]), Ok(()));
    assert_eq!(refused(&[&v1], &[&ca]), CertificateError::BadSignature);
    assert_eq!(verify(&[&v1], &[&ca, &namesake]), Ok(()), "both are asked");
}

#[test]
fn version_1_signed_by_the_ca() {
    for ca in [pair(&Spec::ca("authority")), pair(&Spec::named("authority")).into_v1(None)] {
        let leaf = ca.issue(&Spec::default()).into_v1(Some(&ca));
        assert_eq!(verify(&[&leaf], &[&ca]), Ok(()));
        assert_eq!(refused(&[&leaf], &[&pair(&Spec::ca("other"))]), CertificateError::UnknownIssuer);
        let now = UnixTime::since_unix_epoch(
            UnixTime::now().as_secs().checked_add(101 * 86_400).map(std::time::Duration::from_secs).unwrap(),
        );
        assert_eq!(verify_as(&[&leaf], &[&ca], now), Err(CertificateError::Expired));
        let long_ago = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_000_000_000));
        assert_eq!(verify_as(&[&leaf], &[&ca], long_ago), Err(CertificateError::NotValidYet));
        let ordinary = ca.issue(&Spec::default());
        assert_eq!(verify(&[&ordinary], &[&ca]), Ok(()));
    }
}

#[test]
fn version_1_through_an_intermediate_needs_it_in_the_ca_file() {
    let ca = pair(&Spec::ca("authority"));
    let middle = ca.issue(&Spec::ca("intermediate"));
    let leaf = middle.issue(&Spec::default()).into_v1(Some(&middle));
    assert_eq!(refused(&[&leaf, &middle], &[&ca]), CertificateError::UnknownIssuer);
    assert_eq!(verify(&[&leaf], &[&middle]), Ok(()));
}

#[test]
fn self_signed_certificates_stand_for_themselves() {
    for own in [
        pair(&Spec::default()),
        pair(&Spec { ca: true, ..Spec::default() }),
        pair(&Spec::default()).into_v1(None),
    ] {
        assert_eq!(verify(&[&own], &[&own]), Ok(()));
        let namesake = pair(&Spec { ca: true, ..Spec::default() });
        assert_ne!(verify(&[&own], &[&namesake]), Ok(()));
    }
}

/// As MySQL 9.7.4's client: a certificate signed by an absent CA is not trusted for standing in the CA file.
#[test]
fn a_listed_leaf_still_needs_its_signer() {
    let ca = pair(&Spec::ca("authority"));
    for leaf in [ca.issue(&Spec::named("leaf")), ca.issue(&Spec::named("leaf")).into_v1(Some(&ca))] {
        assert_eq!(refused(&[&leaf], &[&leaf]), CertificateError::UnknownIssuer);
        assert_eq!(verify(&[&leaf], &[&leaf, &ca]), Ok(()));
    }
}

#[test]
fn one_leaf_in_the_ca_file_cannot_vouch_for_another() {
    let ca = pair(&Spec::ca("authority"));
    let leaf = ca.issue(&Spec::named("leaf")).into_v1(Some(&ca));
    let forged = leaf.issue(&Spec::default()).into_v1(Some(&leaf));
    assert_eq!(refused(&[&forged], &[&leaf]), CertificateError::UnknownIssuer, "v1, but not its own issuer");
    let no_ca = pair(&Spec::named("no CA"));
    let ordinary = no_ca.issue(&Spec::default());
    assert_eq!(
        refused(&[&ordinary], &[&no_ca]),
        CertificateError::UnknownIssuer,
        "ordinary, signed by no CA"
    );
    let forged = no_ca.issue(&Spec::default()).into_v1(Some(&no_ca));
    assert_eq!(refused(&[&forged], &[&no_ca]), CertificateError::UnknownIssuer, "CA flag is off");
    let plain = pair(&Spec { plain: true, ..Spec::named("no claim") });
    let forged = plain.issue(&Spec::default()).into_v1(Some(&plain));
    assert_eq!(
        refused(&[&forged], &[&plain]),
        CertificateError::UnknownIssuer,
        "v3 without a claim to be a CA"
    );
    let key_usage = vec![KeyUsagePurpose::KeyCertSign];
    let signer = pair(&Spec { plain: true, key_usage, ..Spec::named("signer") });
    let signed = signer.issue(&Spec::default()).into_v1(Some(&signer));
    assert_eq!(verify(&[&signed], &[&signer]), Ok(()), "meant for signing certificates, as OpenSSL sees it");
    let wrong_usage = pair(&Spec { key_usage: vec![KeyUsagePurpose::DigitalSignature], ..Spec::ca("usage") });
    let forged = wrong_usage.issue(&Spec::default()).into_v1(Some(&wrong_usage));
    assert_eq!(
        refused(&[&forged], &[&wrong_usage]),
        CertificateError::UnknownIssuer,
        "may not sign certificates"
    );
}

#[test]
fn an_old_form_must_serve_the_purpose() {
    use ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
    let own = |usage| pair(&Spec { ca: true, usage, ..Spec::default() });
    let server = own(vec![ServerAuth]);
    let client = own(vec![ClientAuth]);
    assert_eq!(verify(&[&server], &[&server]), Ok(()));
    assert_eq!(refused(&[&client], &[&client]), CertificateError::InvalidPurpose);
    let both = own(vec![ClientAuth, ServerAuth]);
    assert_eq!(verify(&[&both], &[&both]), Ok(()));
}

/// What the check of our own does not evaluate must not slip through it.
#[test]
fn constraints_and_unknown_critical_extensions_are_refused() {
    let strange = pair(&Spec { strange: true, ..Spec::ca("localhost") });
    assert_eq!(refused(&[&strange], &[&strange]), CertificateError::UnhandledCriticalExtension);
    for ca in [strange, pair(&Spec { constrained: true, ..Spec::ca("authority") })] {
        let leaf = ca.issue(&Spec::default()).into_v1(Some(&ca));
        assert_eq!(refused(&[&leaf], &[&ca]), CertificateError::UnknownIssuer);
    }
    let constrained = pair(&Spec { constrained: true, ..Spec::ca("authority") });
    let outside = constrained.issue(&Spec { alternative_names: &["db.example.org"], ..Spec::default() });
    assert_ne!(verify(&[&outside], &[&constrained]), Ok(()), "webpki evaluates them");
    let inside = constrained.issue(&Spec { alternative_names: &["db.example.com"], ..Spec::default() });
    assert_eq!(verify(&[&inside], &[&constrained]), Ok(()));
}

#[test]
fn an_old_form_expires_with_its_signer() {
    let ca = pair(&Spec { days: -10..-1, ..Spec::ca("authority") });
    let leaf = ca.issue(&Spec::default()).into_v1(Some(&ca));
    assert_eq!(refused(&[&leaf], &[&ca]), CertificateError::Expired);
}

#[test]
fn what_was_changed_after_signing_is_refused() {
    let ca = pair(&Spec::ca("authority"));
    let mut leaf = ca.issue(&Spec::named("name-of-leaf")).into_v1(Some(&ca));
    assert_eq!(verify(&[&leaf], &[&ca]), Ok(()));
    let place = leaf.der.windows(12).position(|window| window == b"name-of-leaf").unwrap();
    leaf.der[place] = b'N';
    assert_eq!(refused(&[&leaf], &[&ca]), CertificateError::BadSignature);
}

#[test]
fn the_outer_algorithm_must_be_the_one_that_was_signed() {
    let ca = pair(&Spec::ca("authority"));
    let mut leaf = ca.issue(&Spec::default()).into_v1(Some(&ca));
    let members = children(&leaf.der);
    // ecdsa-with-SHA384 in place of ecdsa-with-SHA256.
    let other = [0x30, 10, 0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3];
    leaf.der = element(0x30, &[members[0], &other, members[2]].concat());
    assert_eq!(refused(&[&leaf], &[&ca]), CertificateError::BadEncoding);
}

#[test]
fn bytes_that_are_no_certificate() {
    let ca = pair(&Spec::ca("authority"));
    let leaf = ca.issue(&Spec::default()).into_v1(Some(&ca));
    for len in 0..leaf.der.len() {
        let cut = Pair { der: leaf.der[..len].to_vec(), ..pair(&Spec::default()) };
        assert_eq!(refused(&[&cut], &[&ca]), CertificateError::BadEncoding, "cut at {len}");
    }
}
