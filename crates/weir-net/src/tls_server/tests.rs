use rustls::client::Resumption;
use rustls::{ClientConfig, HandshakeKind};

use super::*;
use crate::test_certs::{Folder, Pair, Spec, pem};
use crate::test_tls::{Outcome, connect};
use crate::tls_client::{ClientCertificate, ClientTlsMode, ClientTlsOptions, client_config};

fn load(folder: &Folder, cert: &str, key: &str) -> Result<ServerTlsContext, TlsError> {
    ServerTlsContext::from_pem_files(&folder.path(cert), &folder.path(key), &ServerTlsOptions::default())
}

fn client(folder: &Folder, shown: Option<&Pair>, versions: TlsVersions) -> Arc<ClientConfig> {
    let files = shown.map(|pair| (folder.certs("client.pem", &[pair]), folder.key("client.key", pair)));
    let client_cert = files.as_ref().map(|(cert, key)| ClientCertificate { cert, key });
    let options = ClientTlsOptions { mode: ClientTlsMode::Required, ca: None, client_cert, versions };
    client_config(&options).unwrap().unwrap()
}

#[tokio::test]
async fn a_self_signed_certificate_serves() {
    let server =
        ServerTlsContext::self_signed(&["db.example.com".into()], &ServerTlsOptions::default()).unwrap();
    let outcome =
        connect(server.config(), client(&Folder::new(), None, TlsVersions::Both), "localhost").await;
    assert!(outcome.is_ok(), "{outcome:?}");
    let left = server.certificate_not_after().duration_since(SystemTime::now()).unwrap().as_secs() / 86_400;
    assert!((3647..=3649).contains(&left), "{left} days");
    assert!(server.certificate().len() > 100);
}

/// Keys as OpenSSL writes them: PKCS#8 (`genpkey`), SEC1 behind its parameters (`ecparam -genkey`). PKCS#1 is what
/// `genrsa -traditional` writes.
#[tokio::test]
async fn keys_of_every_form() {
    let folder = Folder::new();
    let own = Pair::self_signed(&Spec::default());
    folder.certs("cert.pem", &[&own]);
    folder.key("pkcs8.key", &own);
    let sec1 = sec1_of(&own);
    let parameters = [0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    folder.write("sec1.key", pem("EC PARAMETERS", &parameters) + &pem("EC PRIVATE KEY", &sec1));
    let rsa = Pair::self_signed_rsa(&Spec::default());
    folder.certs("rsa.pem", &[&rsa]);
    folder.write("pkcs1.key", pem("RSA PRIVATE KEY", &pkcs8_content(&rsa)));
    folder.write("both.pem", pem("PRIVATE KEY", &own.key_der()) + &pem("CERTIFICATE", &own.der));
    for (cert, key) in [
        ("cert.pem", "pkcs8.key"),
        ("cert.pem", "sec1.key"),
        ("rsa.pem", "pkcs1.key"),
        ("both.pem", "both.pem"),
    ] {
        let server = load(&folder, cert, key).unwrap();
        let outcome = connect(server.config(), client(&folder, None, TlsVersions::Both), "localhost").await;
        assert!(outcome.is_ok(), "{key}: {outcome:?}");
    }
}

/// The content of the OCTET STRING that ends a PKCS#8 key: the key in its older form.
fn pkcs8_content(pair: &Pair) -> Vec<u8> {
    let der = pair.key_der();
    let inner = crate::test_certs::children(&der)[2];
    let header = if inner[1] < 0x80 { 2 } else { 2 + usize::from(inner[1] & 0x7f) };
    inner[header..].to_vec()
}

/// In PKCS#8 the curve stands outside of the SEC1 structure; on its own it must stand inside.
fn sec1_of(pair: &Pair) -> Vec<u8> {
    use crate::test_certs::{children, element};
    let inner = pkcs8_content(pair);
    let members = children(&inner);
    let curve = element(0xa0, &[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]);
    element(0x30, &[members[0], members[1], &curve].concat())
}

#[tokio::test]
async fn the_whole_chain_is_sent() {
    let folder = Folder::new();
    let ca = Pair::self_signed(&Spec::ca("authority"));
    let middle = ca.issue(&Spec::ca("intermediate"));
    let leaf = middle.issue(&Spec::default());
    folder.certs("chain.pem", &[&leaf, &middle]);
    folder.key("leaf.key", &leaf);
    let server = load(&folder, "chain.pem", "leaf.key").unwrap();
    let ca = folder.certs("ca.pem", &[&ca]);
    let options = ClientTlsOptions {
        mode: ClientTlsMode::VerifyIdentity,
        ca: Some(&ca),
        client_cert: None,
        versions: TlsVersions::Both,
    };
    let client = client_config(&options).unwrap().unwrap();
    let outcome = connect(server.config(), client, "localhost").await;
    assert_eq!(outcome.client.unwrap().certificates, 2);
    // The chain the wrong way round begins with a certificate the key does not belong to.
    folder.certs("reversed.pem", &[&middle, &leaf]);
    assert!(matches!(load(&folder, "reversed.pem", "leaf.key"), Err(TlsError::KeyMismatch { .. })));
}

#[test]
fn errors_name_the_file_and_what_to_do() {
    let folder = Folder::new();
    let own = Pair::self_signed(&Spec::default());
    folder.certs("cert.pem", &[&own]);
    folder.key("own.key", &own);
    folder.key("other.key", &Pair::self_signed(&Spec::default()));
    folder.write("empty.pem", "");
    folder.write("der.pem", &own.der);
    folder.write("not-x509.pem", pem("CERTIFICATE", b"\x30\x03abc"));
    folder.write("damaged.pem", "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n");
    folder.write("damaged.key", "-----BEGIN PRIVATE KEY-----\nhunter2!\n-----END PRIVATE KEY-----\n");
    folder.write("unusable.key", pem("PRIVATE KEY", b"\x30\x03abc"));
    folder.write("locked.key", pem("ENCRYPTED PRIVATE KEY", b"abc"));
    let old = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\nYWJj\n-----END RSA PRIVATE KEY-----\n";
    folder.write("old-locked.key", old);
    folder.write("huge.pem", vec![b'\n'; (4 << 20) + 1]);
    for (cert, key, words) in [
        ("absent.pem", "own.key", ["certificate file", "absent.pem", "No such file"]),
        ("cert.pem", "absent.key", ["private key file", "absent.key", "No such file"]),
        ("empty.pem", "own.key", ["no certificate in", "empty.pem", "BEGIN CERTIFICATE"]),
        ("der.pem", "own.key", ["no certificate in", "der.pem", "-inform der"]),
        ("own.key", "own.key", ["no certificate in", "own.key", "BEGIN CERTIFICATE"]),
        ("not-x509.pem", "own.key", ["certificate 1 in", "not-x509.pem", "openssl x509 -text"]),
        ("damaged.pem", "own.key", ["damaged", "damaged.pem", "write the file anew"]),
        ("huge.pem", "own.key", ["larger than 4194304 bytes", "huge.pem", "check the path"]),
        ("cert.pem", "cert.pem", ["no private key in", "cert.pem", "PKCS#8"]),
        ("cert.pem", "damaged.key", ["damaged", "damaged.key", "write the file anew"]),
        ("cert.pem", "unusable.key", ["cannot be used", "unusable.key", "RSA of 2048"]),
        ("cert.pem", "locked.key", ["encrypted", "locked.key", "openssl pkey"]),
        ("cert.pem", "old-locked.key", ["encrypted", "old-locked.key", "openssl pkey"]),
        ("cert.pem", "other.key", ["does not belong", "other.key", "cert.pem"]),
    ] {
        let text = load(&folder, cert, key).unwrap_err().to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{cert} {key}: {text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}

/// What a listener with a client CA makes of a client, in both versions.
async fn check_client(folder: &Folder, require: bool, shown: Option<&Pair>, accepted: bool) {
    let ca = folder.path("client-ca.pem");
    for versions in [TlsVersions::Only12, TlsVersions::Only13] {
        let options = ServerTlsOptions { client_ca: Some(&ca), require_client_cert: require, versions };
        let server = ServerTlsContext::self_signed(&[], &options).unwrap();
        let outcome: Outcome = connect(server.config(), client(folder, shown, versions), "localhost").await;
        assert_eq!(outcome.is_ok(), accepted, "{versions:?}: {outcome:?}");
        if accepted {
            assert_eq!(outcome.server.unwrap().certificates, usize::from(shown.is_some()));
        } else {
            assert!(outcome.client.is_err());
            let reason = outcome.server_error();
            assert!(reason.contains("certificate"), "{reason}");
        }
    }
}

#[tokio::test]
async fn client_certificates() {
    let folder = Folder::new();
    let ca = Pair::self_signed(&Spec::ca("authority"));
    let (v1, v3) = (ca.issue(&Spec::named("app")).into_v1(Some(&ca)), ca.issue(&Spec::named("app")));
    let stranger = Pair::self_signed(&Spec::ca("authority"));
    let (v1_stranger, v3_stranger) =
        (stranger.issue(&Spec::named("app")).into_v1(Some(&stranger)), stranger.issue(&Spec::named("app")));
    let expired = ca.issue(&Spec { days: -10..-1, ..Spec::named("app") });
    let for_servers =
        ca.issue(&Spec { usage: vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth], ..Spec::named("app") });
    folder.certs("client-ca.pem", &[&ca]);
    for require in [false, true] {
        check_client(&folder, require, None, !require).await;
        for good in [&v1, &v3] {
            check_client(&folder, require, Some(good), true).await;
        }
        for bad in [&v1_stranger, &v3_stranger, &expired, &for_servers] {
            check_client(&folder, require, Some(bad), false).await;
        }
    }
}

#[tokio::test]
async fn without_a_client_ca_no_certificate_is_asked_for() {
    let folder = Folder::new();
    let own = Pair::self_signed(&Spec::named("app"));
    let server = ServerTlsContext::self_signed(&[], &ServerTlsOptions::default()).unwrap();
    let outcome = connect(server.config(), client(&folder, Some(&own), TlsVersions::Both), "localhost").await;
    assert_eq!(outcome.server.unwrap().certificates, 0);
    let options = ServerTlsOptions { require_client_cert: true, ..ServerTlsOptions::default() };
    let error = ServerTlsContext::self_signed(&[], &options).unwrap_err();
    assert!(matches!(error, TlsError::ClientCaMissing));
}

/// A client that resumes does so with this context, and not with the one that replaces it at a reload.
#[tokio::test]
async fn tickets_work_and_end_with_the_context() {
    for versions in [TlsVersions::Only12, TlsVersions::Only13] {
        let options = ServerTlsOptions { versions, ..ServerTlsOptions::default() };
        let server = ServerTlsContext::self_signed(&[], &options).unwrap();
        let mut resuming = (*client(&Folder::new(), None, versions)).clone();
        resuming.resumption = Resumption::in_memory_sessions(8);
        let resuming = Arc::new(resuming);
        let mut kinds = Vec::new();
        for context in [&server, &server, &ServerTlsContext::self_signed(&[], &options).unwrap()] {
            let outcome = connect(context.config(), Arc::clone(&resuming), "localhost").await;
            kinds.push(outcome.client.unwrap().kind);
            assert_eq!(outcome.server.unwrap().kind, *kinds.last().unwrap());
        }
        let resumed: Vec<bool> = kinds.iter().map(|kind| *kind == HandshakeKind::Resumed).collect();
        assert_eq!(resumed, [false, true, false], "{versions:?}: {kinds:?}");
    }
}
