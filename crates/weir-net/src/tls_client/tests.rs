use rustls::{HandshakeKind, ProtocolVersion};

use super::*;
use crate::test_certs::{Folder, Pair, Spec};
use crate::test_tls::{Outcome, connect};
use crate::tls_server::{ServerTlsContext, ServerTlsOptions};

const TLS_MODES: [ClientTlsMode; 4] = [
    ClientTlsMode::Preferred,
    ClientTlsMode::Required,
    ClientTlsMode::VerifyCa,
    ClientTlsMode::VerifyIdentity,
];

/// A server with a certificate, and the CA file to hold it against.
struct Setup {
    folder: Folder,
    server: ServerTlsContext,
}

impl Setup {
    fn new(shown: &[&Pair], trusted: &[&Pair]) -> Self {
        Self::with_versions(shown, trusted, TlsVersions::Both)
    }

    fn with_versions(shown: &[&Pair], trusted: &[&Pair], versions: TlsVersions) -> Self {
        let folder = Folder::new();
        let cert = folder.certs("server.pem", shown);
        let key = folder.key("server.key", shown[0]);
        folder.certs("ca.pem", trusted);
        let options = ServerTlsOptions { versions, ..ServerTlsOptions::default() };
        let server = ServerTlsContext::from_pem_files(&cert, &key, &options).unwrap();
        Self { folder, server }
    }

    fn client(&self, mode: ClientTlsMode, versions: TlsVersions) -> Arc<ClientConfig> {
        let ca = self.folder.path("ca.pem");
        let options = ClientTlsOptions { mode, ca: Some(&ca), client_cert: None, versions };
        client_config(&options).unwrap().unwrap()
    }

    async fn connect(&self, mode: ClientTlsMode, host: &str) -> Outcome {
        connect(self.server.config(), self.client(mode, TlsVersions::Both), host).await
    }

    /// Tries every mode and asserts the least one from which on the connection is refused.
    async fn check(&self, host: &str, first_refusing: Option<ClientTlsMode>) {
        let mut refusing = false;
        for mode in TLS_MODES {
            refusing |= Some(mode) == first_refusing;
            let outcome = self.connect(mode, host).await;
            assert_eq!(outcome.is_ok(), !refusing, "{mode:?} {host}: {outcome:?}");
            if refusing {
                let reason = outcome.client_error();
                assert!(reason.contains("certificate"), "{reason}");
            }
        }
    }
}

fn named(alternative_names: &'static [&'static str]) -> Spec {
    Spec { alternative_names, ..Spec::named("server") }
}

#[tokio::test]
async fn a_good_certificate_passes_every_mode() {
    let ca = Pair::self_signed(&Spec::ca("authority"));
    let leaf = ca.issue(&named(&["localhost", "127.0.0.1", "::1"]));
    let setup = Setup::new(&[&leaf], &[&ca]);
    for host in ["localhost", "localhost.", "127.0.0.1", "::1", "[::1]"] {
        setup.check(host, None).await;
    }
    setup.check("db.example.com", Some(ClientTlsMode::VerifyIdentity)).await;
    setup.check("127.0.0.2", Some(ClientTlsMode::VerifyIdentity)).await;
}

#[tokio::test]
async fn verifying_modes_refuse_a_wrong_ca_and_an_expired_certificate() {
    let ca = Pair::self_signed(&Spec::ca("authority"));
    let leaf = ca.issue(&named(&["localhost"]));
    let stranger = Pair::self_signed(&Spec::ca("authority"));
    Setup::new(&[&leaf], &[&stranger]).check("localhost", Some(ClientTlsMode::VerifyCa)).await;
    let expired = ca.issue(&Spec { days: -10..-1, ..named(&["localhost"]) });
    Setup::new(&[&expired], &[&ca]).check("localhost", Some(ClientTlsMode::VerifyCa)).await;
    let early = ca.issue(&Spec { days: 1..10, ..named(&["localhost"]) });
    Setup::new(&[&early], &[&ca]).check("localhost", Some(ClientTlsMode::VerifyCa)).await;
}

#[tokio::test]
async fn version_1_certificates_pass_where_mysqls_client_lets_them() {
    let ca = Pair::self_signed(&Spec::ca("authority"));
    let leaf = ca.issue(&Spec::named("localhost")).into_v1(Some(&ca));
    let setup = Setup::new(&[&leaf], &[&ca]);
    setup.check("localhost", None).await;
    setup.check("127.0.0.1", Some(ClientTlsMode::VerifyIdentity)).await;
    let stranger = Pair::self_signed(&Spec::ca("authority"));
    Setup::new(&[&leaf], &[&stranger]).check("localhost", Some(ClientTlsMode::VerifyCa)).await;
    let expired = ca.issue(&Spec { days: -10..-1, ..Spec::default() }).into_v1(Some(&ca));
    Setup::new(&[&expired], &[&ca]).check("localhost", Some(ClientTlsMode::VerifyCa)).await;
}

#[tokio::test]
async fn a_self_signed_certificate_is_its_own_ca() {
    for own in [
        Pair::self_signed(&Spec::ca("localhost")),
        Pair::self_signed(&Spec::default()),
        Pair::self_signed(&Spec::default()).into_v1(None),
    ] {
        Setup::new(&[&own], &[&own]).check("localhost", None).await;
        let other = Pair::self_signed(&Spec::ca("localhost"));
        Setup::new(&[&own], &[&other]).check("localhost", Some(ClientTlsMode::VerifyCa)).await;
    }
}

#[tokio::test]
async fn certificates_of_both_versions_work_in_both_protocol_versions() {
    let ca = Pair::self_signed(&Spec::ca("authority"));
    let v1 = ca.issue(&Spec::default()).into_v1(Some(&ca));
    let v3 = ca.issue(&Spec::default());
    let rsa = Pair::self_signed_rsa(&Spec::default());
    let rsa_v1 = Pair::self_signed_rsa(&Spec::default()).into_v1(None);
    for leaf in [v1, v3, rsa, rsa_v1] {
        for (versions, expected) in
            [(TlsVersions::Only12, ProtocolVersion::TLSv1_2), (TlsVersions::Only13, ProtocolVersion::TLSv1_3)]
        {
            let setup = Setup::with_versions(&[&leaf], &[&ca, &leaf], versions);
            for mode in TLS_MODES {
                let outcome = setup.connect(mode, "localhost").await;
                assert_eq!(outcome.client.unwrap().version, expected);
                assert_eq!(outcome.server.unwrap().version, expected);
            }
        }
    }
}

#[tokio::test]
async fn sides_without_a_common_version_part() {
    let own = Pair::self_signed(&Spec::default());
    let setup = Setup::with_versions(&[&own], &[&own], TlsVersions::Only12);
    let client = setup.client(ClientTlsMode::Required, TlsVersions::Only13);
    let outcome = connect(setup.server.config(), client, "localhost").await;
    assert!(outcome.client.is_err() && outcome.server.is_err(), "{outcome:?}");
}

/// A man in the middle can show a server's certificate, but cannot sign with its key.
#[tokio::test]
async fn a_stolen_certificate_without_its_key_is_refused_in_every_mode() {
    use rustls::sign::{CertifiedKey, SingleCertAndKey};
    let ca = Pair::self_signed(&Spec::ca("authority"));
    let v1 = ca.issue(&Spec::default()).into_v1(Some(&ca));
    let v3 = ca.issue(&Spec::default());
    let thief = Pair::self_signed(&Spec::default());
    for leaf in [v1, v3] {
        let setup = Setup::new(&[&leaf], &[&ca]);
        for versions in [TlsVersions::Only12, TlsVersions::Only13] {
            let key = rustls_pki_types::PrivatePkcs8KeyDer::from(thief.key_der()).into();
            let key = provider().key_provider.load_private_key(key).unwrap();
            let stolen = CertifiedKey::new(vec![leaf.der.clone().into()], key);
            let server = rustls::ServerConfig::builder_with_provider(provider())
                .with_protocol_versions(versions.as_rustls())
                .unwrap()
                .with_no_client_auth()
                .with_cert_resolver(Arc::new(SingleCertAndKey::from(stolen)));
            let server = Arc::new(server);
            for mode in TLS_MODES {
                let client = setup.client(mode, TlsVersions::Both);
                let reason = connect(Arc::clone(&server), client, "localhost").await.client_error();
                assert!(reason.contains("BadSignature"), "{mode:?}: {reason}");
            }
        }
    }
}

#[tokio::test]
async fn server_sessions_are_never_resumed() {
    let own = Pair::self_signed(&Spec::default());
    for versions in [TlsVersions::Only12, TlsVersions::Only13] {
        let setup = Setup::with_versions(&[&own], &[&own], versions);
        let client = setup.client(ClientTlsMode::VerifyCa, TlsVersions::Both);
        for _ in 0..3 {
            let outcome = connect(setup.server.config(), Arc::clone(&client), "localhost").await;
            assert_ne!(outcome.client.unwrap().kind, HandshakeKind::Resumed);
        }
    }
}

#[test]
fn settings_that_cannot_work_say_so() {
    let folder = Folder::new();
    let build = |mode, ca: Option<&Path>, client_cert: Option<ClientCertificate<'_>>| {
        let options = ClientTlsOptions { mode, ca, client_cert, versions: TlsVersions::Both };
        client_config(&options).map(|config| config.is_some())
    };
    assert!(!build(ClientTlsMode::Disabled, None, None).unwrap());
    assert!(build(ClientTlsMode::Preferred, None, None).unwrap());
    for mode in [ClientTlsMode::VerifyCa, ClientTlsMode::VerifyIdentity] {
        let text = build(mode, None, None).unwrap_err().to_string();
        assert!(text.contains(mode.as_str()) && text.contains("`ca`"), "{text}");
    }
    // A CA file that is named is read, whatever the mode, so that a mistake shows before it matters.
    let absent = folder.path("absent.pem");
    let text = build(ClientTlsMode::Required, Some(&absent), None).unwrap_err().to_string();
    assert!(text.contains("CA file") && text.contains("absent.pem"), "{text}");
    let (one, other) = (Pair::self_signed(&Spec::default()), Pair::self_signed(&Spec::default()));
    let (cert, key) = (folder.certs("cert.pem", &[&one]), folder.key("key.pem", &other));
    let pair = ClientCertificate { cert: &cert, key: &key };
    assert!(matches!(build(ClientTlsMode::Required, None, Some(pair)), Err(TlsError::KeyMismatch { .. })));
}

#[test]
fn hosts_become_names() {
    assert!(matches!(server_name("db_1.example.com").unwrap(), ServerName::DnsName(_)));
    assert!(matches!(server_name("10.0.0.1").unwrap(), ServerName::IpAddress(_)));
    assert_eq!(server_name("[::1]").unwrap(), server_name("::1").unwrap());
    assert_eq!(server_name("db.").unwrap(), server_name("db").unwrap());
    for host in ["", "a b", "-", "dätenbank"] {
        let text = server_name(host).unwrap_err().to_string();
        assert!(text.contains(&format!("{host:?}")), "{text}");
    }
}
