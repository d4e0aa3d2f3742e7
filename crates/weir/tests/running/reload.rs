//! SIGHUP and the watched file: what changes, what cannot, and that nobody is dropped.

use std::fs;

use weir_testkit::certs::Certs;

use crate::kit::*;

const OK: &str = "weir_config_reloads_total{result=\"ok\"}";
const REFUSED: &str = "weir_config_reloads_total{result=\"refused\"}";

async fn counted(weir: &Weir, sample: &str, count: f64) {
    until(sample, async || (metric(weir, sample).await == count).then_some(())).await;
}

fn listed(password: &str) -> String {
    format!("[auth]\npassthrough = false\n[[user]]\nname = \"reloaded\"\npassword = \"{password}\"\n")
}

#[tokio::test]
async fn a_users_password_changes_and_nobody_is_dropped() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let mut admin = app(server.addr()).connect().await.unwrap();
        admin.run("DROP USER IF EXISTS reloaded").await.unwrap();
        admin.run("CREATE USER reloaded IDENTIFIED BY 'one'").await.unwrap();
        let address = server.addr().to_string();
        let mut weir = Weir::config(config(&address, &listed("one"))).start().unwrap();
        weir.wait_for_line("accepting clients", PATIENCE).unwrap();
        let login = async |weir: &Weir, password: &str| {
            ConnectOptions::tcp(weir.addr(), "reloaded", password).connect().await
        };
        let mut before = login(&weir, "one").await.unwrap();
        before.run("SET @kept = 7").await.unwrap();
        before.send(command::QUERY, b"SELECT SLEEP(0.3), @kept").await.unwrap();
        admin.run("ALTER USER reloaded IDENTIFIED BY 'two'").await.unwrap();
        weir.reload(&config(&address, &listed("two"))).unwrap();
        counted(&weir, OK, 1.0).await;
        login(&weir, "two").await.unwrap();
        assert_eq!(refusal(login(&weir, "one").await).code, 1045);
        assert_eq!(before.receive(command::QUERY).await.unwrap().rows().next(), Some(&b"\x010\x017"[..]));
        assert_eq!(before.scalar("SELECT @kept").await.unwrap().as_deref(), Some("7"));

        // What cannot change at run time refuses the whole reload; so does a file with an error.
        let moved = config(&address, &listed("three")).replace("\"$LISTEN\"", "\"127.0.0.1:1\"");
        let broken = config(&address, &listed("three")) + "\nno_such_key = 1\n";
        for (i, text) in [moved, broken, "no toml [".to_owned()].iter().enumerate() {
            weir.reload(text).unwrap();
            counted(&weir, REFUSED, i as f64 + 1.0).await;
            login(&weir, "two").await.unwrap();
            assert_eq!(refusal(login(&weir, "three").await).code, 1045);
        }
        let log = weir.log();
        assert!(log.contains("listen.mysql") && log.contains("no_such_key"), "{log}");
        assert_eq!(before.scalar("SELECT @kept").await.unwrap().as_deref(), Some("7"));
    }
}

#[tokio::test]
async fn a_renewed_certificate_is_shown_after_a_reload() {
    let server = server(Flavor::MySql);
    let folder = tempfile::tempdir().unwrap();
    let certs = Certs::generate(folder.path()).unwrap();
    let tls = tls_section(&certs);
    let text = config(&server.addr().to_string(), &tls);
    let mut weir = Weir::config(text.clone()).start().unwrap();
    let old_ca = folder.path().join("old-ca.pem");
    fs::copy(&certs.ca, &old_ca).unwrap();
    let verified = |ca: &std::path::Path| Tls::Verified { ca: ca.to_owned(), name: "localhost".to_owned() };
    let options = app(weir.addr());
    let mut before = options.clone().tls(verified(&old_ca)).connect().await.unwrap();
    Certs::generate(folder.path()).unwrap();
    // Not before Weir is told.
    options.clone().tls(verified(&old_ca)).connect().await.unwrap();
    weir.reload(&text).unwrap();
    counted(&weir, OK, 1.0).await;
    options.clone().tls(verified(&certs.ca)).connect().await.unwrap();
    assert!(options.clone().tls(verified(&old_ca)).connect().await.is_err());
    assert_eq!(before.scalar("SELECT 1").await.unwrap().as_deref(), Some("1"));
    // A key that does not belong to the certificate: the old pair stays.
    let other = tempfile::tempdir().unwrap();
    fs::copy(Certs::generate(other.path()).unwrap().server_key, &certs.server_key).unwrap();
    weir.reload(&text).unwrap();
    counted(&weir, REFUSED, 1.0).await;
    options.tls(verified(&certs.ca)).connect().await.unwrap();
}

#[tokio::test]
async fn a_watched_file_reloads_by_itself() {
    let server = server(Flavor::MariaDb);
    let more = "[runtime]\nwatch = true\n[[user]]\nname = \"app\"\npassword = \"wrong-pw\"\n[auth]\npassthrough = false\n";
    let weir = weir_with(&server, more);
    assert_eq!(refusal(app(weir.addr()).connect().await).code, 1045);
    let path = weir.home().join("weir.toml");
    let text = fs::read_to_string(&path).unwrap().replace("wrong-pw", "app-pw");
    // As editors and configuration management do it: a new file in the old one's place.
    fs::write(path.with_extension("new"), text).unwrap();
    fs::rename(path.with_extension("new"), &path).unwrap();
    counted(&weir, OK, 1.0).await;
    app(weir.addr()).connect().await.unwrap();
}
