//! TLS on both sides: every mode, client certificates, and P12, bytes ahead of TLS.

use std::path::Path;

use weir_testkit::certs::Certs;
use weir_testkit::client::Greeting;

use crate::fake_server::packet;
use crate::kit::*;

fn path(path: &Path) -> String {
    path.display().to_string()
}

#[tokio::test]
async fn p12_bytes_ahead_of_tls_are_never_obeyed() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        // PROTOCOL_41, SSL, SECURE_CONNECTION, PLUGIN_AUTH.
        let flags = 1u32 << 9 | 1 << 11 | 1 << 15 | 1 << 19;
        let head = [&flags.to_le_bytes()[..], &(1u32 << 24).to_le_bytes(), &[45], &[0; 23]].concat();
        let ssl_request = packet(1, &head);
        let login = packet(2, &[&head[..], b"nopw\0\0mysql_native_password\0"].concat());
        let query = packet(0, b"\x03CREATE DATABASE p12_injected");
        for extra in [query.clone(), [login, query].concat()] {
            let mut stream = app(weir.addr()).open().await.unwrap();
            Greeting::read(&mut stream).await.unwrap();
            stream.write_raw(&[&ssl_request[..], &extra].concat()).await.unwrap();
            // What comes is a TLS alert (21) or nothing, and then the end.
            let mut got = Vec::new();
            while let Ok(part) = stream.read_raw(4096).await
                && !part.is_empty()
            {
                got.extend(part);
            }
            assert!(got.is_empty() || got[0] == 21, "{flavor:?}: an answer to plaintext: {got:?}");
        }
        let mut admin = app(server.addr()).connect().await.unwrap();
        assert_eq!(admin.query("USE p12_injected").await.unwrap().err().unwrap().code, 1049);
    }
}

#[tokio::test]
async fn every_mode_towards_the_server() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let certs = server.certs();
        let folder = tempfile::tempdir().unwrap();
        let others = Certs::generate(folder.path()).unwrap();
        let (ca, other_ca) =
            (format!("ca = \"{}\"\n", path(&certs.ca)), format!("ca = \"{}\"\n", path(&others.ca)));
        // MySQL's own certificate names no host.
        let by_name = flavor == Flavor::MariaDb;
        for (mode, ca, encrypted) in [
            ("disabled", "", Some(false)),
            ("preferred", "", Some(true)),
            ("required", "", Some(true)),
            ("verify_ca", &ca[..], Some(true)),
            ("verify_ca", &other_ca[..], None),
            ("verify_identity", &ca[..], by_name.then_some(true)),
            ("verify_identity", &other_ca[..], None),
        ] {
            let weir = weir_with(&server, &format!("[server.tls]\nmode = \"{mode}\"\n{ca}"));
            let what = format!("{flavor:?} {mode} {ca}");
            let connected = app(weir.addr()).connect().await;
            let Some(encrypted) = encrypted else {
                let err = refusal(connected);
                assert_eq!(err.code, 1429, "{what}: {err}");
                assert!(!err.message.contains("127.0.0.1"), "the address of the server: {err}");
                continue;
            };
            let mut client = connected.unwrap_or_else(|error| panic!("{what}: {error:#}"));
            let response = client.run("SHOW SESSION STATUS LIKE 'Ssl_cipher'").await.unwrap();
            let cipher = weir_testkit::client::bytes::text_row(response.rows().next().unwrap()).unwrap();
            assert_eq!(!cipher[1].as_ref().unwrap().is_empty(), encrypted, "{what}");
            assert_eq!(shown(&mut client, "server_tls").await != "none", encrypted, "{what}");
        }
    }
}

#[tokio::test]
async fn a_server_without_tls_is_used_when_preferred_and_refused_when_required() {
    let server = Server::builder(Flavor::MariaDb).arg("--skip-ssl").start().unwrap();
    for (mode, works) in [("preferred", true), ("required", false)] {
        let weir = weir_with(&server, &format!("[server.tls]\nmode = \"{mode}\"\n"));
        let connected = app(weir.addr()).connect().await;
        if works {
            connected.unwrap();
        } else {
            assert_eq!(refusal(connected).code, 1429);
        }
    }
}

#[tokio::test]
async fn weir_shows_its_certificate_to_accounts_that_require_one() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let certs = server.certs();
        let shown =
            format!("cert = \"{}\"\nkey = \"{}\"\n", path(&certs.client_cert), path(&certs.client_key));
        for (more, works) in [(&shown[..], true), ("", false)] {
            let weir = weir_with(&server, &format!("[server.tls]\nmode = \"required\"\n{more}"));
            let connected = ConnectOptions::tcp(weir.addr(), "app_x509", "x509-pw").connect().await;
            if works {
                connected.unwrap();
            } else {
                assert_eq!(refusal(connected).code, 1045);
            }
        }
    }
}

#[tokio::test]
async fn towards_clients_certificates_are_shown_and_checked() {
    let server = server(Flavor::MariaDb);
    let (folder, other_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (own, other) =
        (Certs::generate(folder.path()).unwrap(), Certs::generate(other_folder.path()).unwrap());
    let tls = format!(
        "[tls]\ncert = \"{}\"\nkey = \"{}\"\nclient_ca = \"{}\"\nrequire = true\n",
        path(&own.server_cert),
        path(&own.server_key),
        path(&own.ca)
    );
    let weir = weir_with(&server, &tls);
    let options = app(weir.addr());
    let verified = |ca: &Path, name: &str| Tls::Verified { ca: ca.to_owned(), name: name.to_owned() };
    let client_cert = |certs: &Certs| Tls::WithClientCert {
        cert: certs.client_cert.clone(),
        key: certs.client_key.clone(),
    };
    for (tls, works) in [
        (Tls::Unverified, true),
        (verified(&own.ca, "localhost"), true),
        (verified(&own.ca, "127.0.0.1"), true),
        (verified(&own.ca, "elsewhere.example"), false),
        (verified(&other.ca, "localhost"), false),
        (client_cert(&own), true),
        (client_cert(&other), false),
    ] {
        let connected = options.clone().tls(tls.clone()).connect().await;
        assert_eq!(connected.is_ok(), works, "{tls:?}: {:?}", connected.err());
    }
    // require = true: not over bare TCP, but a unix socket is secure.
    assert_eq!(refusal(options.connect().await).code, 3159);
    ConnectOptions::unix(weir.home().join("weir.sock"), "app", "app-pw").connect().await.unwrap();
}

#[tokio::test]
async fn both_versions_of_tls_on_both_sides() {
    for flavor in Flavor::BOTH {
        for (version, wanted) in [("TLSv1.2", "TLSv1.2"), ("TLSv1.3", "TLSv1.3")] {
            let server = Server::builder(flavor).arg(format!("--tls-version={version}")).start().unwrap();
            let weir = weir_with(&server, "[server.tls]\nmode = \"required\"\n");
            for (tls, own) in [(Tls::Version12, "TLSv1.2"), (Tls::Unverified, "TLSv1.3")] {
                let mut client = app(weir.addr()).tls(tls).connect().await.unwrap();
                let response = client.run("SHOW SESSION STATUS LIKE 'Ssl_version'").await.unwrap();
                let row = weir_testkit::client::bytes::text_row(response.rows().next().unwrap()).unwrap();
                assert_eq!(row[1].as_deref(), Some(wanted.as_bytes()), "{flavor:?}");
                let shown = shown(&mut client, "client_tls").await;
                assert!(shown.contains(own), "{flavor:?} {own}: {shown}");
            }
        }
    }
}
