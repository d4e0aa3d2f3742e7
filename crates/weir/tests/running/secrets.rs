//! No password ever stands in the log, in an error, or on a page.

use std::fs;
use std::process::Command;

use crate::kit::*;

const CANARIES: [&str; 6] =
    ["canary-listed", "canary-previous", "canary-through", "canary-wrong", "canary-changed", "canary-reload"];

fn clean(what: &str, text: &str) {
    for canary in CANARIES {
        assert!(!text.contains(canary), "{canary} in {what}:\n{text}");
    }
}

#[tokio::test]
async fn passwords_are_in_no_log_no_error_and_no_page() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let mut admin = app(server.addr()).connect().await.unwrap();
        for (user, password) in
            [("canary1", "canary-listed"), ("canary2", "canary-through"), ("canary3", "canary-changed")]
        {
            admin.run(&format!("DROP USER IF EXISTS {user}")).await.unwrap();
            admin.run(&format!("CREATE USER {user} IDENTIFIED BY '{password}'")).await.unwrap();
        }
        let more = "[log]\nlevel = \"trace\"\n[[user]]\nname = \"canary1\"\npassword = \"canary-listed\"\nprevious = \"canary-previous\"\n";
        let address = server.addr().to_string();
        let mut weir = Weir::config(config(&address, more)).start().unwrap();
        for (user, password) in [("canary1", "canary-listed"), ("canary2", "canary-through")] {
            for tls in [Tls::Off, Tls::Unverified] {
                let options = ConnectOptions::tcp(weir.addr(), user, password).tls(tls.clone());
                let mut client = options.connect().await.unwrap();
                let session = client.run("SHOW WEIR SESSION").await.unwrap();
                clean("SHOW WEIR SESSION", &format!("{:?}", session.packets));
                let changed = client.change_user("canary3", "canary-changed", "", 45).await.unwrap();
                assert_eq!(changed.err(), None);
                let wrong = ConnectOptions::tcp(weir.addr(), user, "canary-wrong").tls(tls);
                clean("an error", &refusal(wrong.connect().await).to_string());
            }
        }
        let mut clear = ConnectOptions::tcp(weir.addr(), "canary2", "canary-through").tls(Tls::Unverified);
        clear = clear.plugin("mysql_clear_password");
        clear.connect().await.unwrap();
        for text in [
            config(&address, more) + "[[user]]\nname = \"x\"\npasword = \"canary-reload\"\n",
            config(&address, more) + "[[user]]\nname = \"x\"\npassword = \"canary-reload\nprevious = 1",
            config(&address, more).replace("canary-listed", "canary-reload"),
        ] {
            weir.reload(&text).unwrap();
        }
        weir.wait_for_line("configuration reloaded", PATIENCE).unwrap();
        for path in ["/metrics", "/readyz", "/healthz", "/"] {
            clean(path, &http(&weir, path).await.1);
        }
        weir.terminate(PATIENCE).unwrap();
        clean("the log", &weir.log());
        assert!(weir.log().contains("canary1"), "the log is not there at all");
    }
}

#[test]
fn weir_check_quotes_no_password() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weir.toml");
    for text in [
        "[[server]]\nname = \"a\"\naddress = \"h:1\"\n[[user]]\nname = \"x\"\npassword = 7\nprevious = \"canary-listed\"\nfoo = \"canary-wrong\"\n",
        "[[user]]\nname = \"x\"\npassword = \"canary-listed\n",
        "[[user]]\nname = \"x\"\npassword = [\"canary-listed\"]\n",
    ] {
        fs::write(&path, text).unwrap();
        let output =
            Command::new(env!("CARGO_BIN_EXE_weir")).arg("check").arg("-c").arg(&path).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        clean("weir check", &String::from_utf8_lossy(&output.stderr));
        clean("weir check", &String::from_utf8_lossy(&output.stdout));
    }
}
