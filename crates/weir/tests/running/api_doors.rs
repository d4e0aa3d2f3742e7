//! Who may ask the API, and what the command line says where nobody answers.

use serde_json::json;

use crate::api_kit::*;
use crate::kit::*;

#[tokio::test]
async fn web_pages_may_not_ask() {
    let server = server(Flavor::MariaDb);
    let weir = weir(&server);
    let own = format!("Host: {}\r\n", weir.admin_addr());
    let json = "Content-Type: application/json\r\n";
    let wipe = "POST /api/v1/cache/wipe";
    for (line, headers, status, code) in [
        ("GET /api/v1/rules", own.clone(), 200, json!(null)),
        ("GET /api/v1/openapi.json", own.clone(), 200, json!(null)),
        (wipe, format!("{own}{json}"), 200, json!(null)),
        (wipe, format!("{own}{json}Origin: http://{}\r\n", weir.admin_addr()), 200, json!(null)),
        (wipe, format!("{own}{json}Origin: http://evil.example\r\n"), 403, json!("forbidden_origin")),
        (wipe, format!("{own}{json}Sec-Fetch-Site: cross-site\r\n"), 403, json!("forbidden_origin")),
        (wipe, format!("{own}Content-Type: text/plain\r\n"), 415, json!("not_json")),
        (
            wipe,
            format!("Host: evil.example:{}\r\n{json}", weir.admin_addr().port()),
            403,
            json!("forbidden_host"),
        ),
        ("GET /api/v1/rules", "Host: evil.example\r\n".to_owned(), 403, json!("forbidden_host")),
        ("GET /api/v1/none", own.clone(), 404, json!("not_found")),
        ("OPTIONS /api/v1/cache/wipe", own.clone(), 405, json!("method_not_allowed")),
    ] {
        let (found, body) = request(&weir, line, &headers, r#"{"all": true}"#).await;
        let word = body.get("error").map_or(json!(null), |error| error["code"].clone());
        assert_eq!((found, word), (status, code), "{line} {headers}");
    }
}

#[test]
fn any_other_admin_address_than_one_of_this_machine_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weir.toml");
    for address in ["0.0.0.0:6034", "[::]:6034", "192.0.2.1:6034", "ops.example.com:6034"] {
        let text = format!(
            "[listen]\nadmin = \"{address}\"\n[[server]]\nname = \"a\"\naddress = \"127.0.0.1:3306\"\n"
        );
        std::fs::write(&path, text).unwrap();
        for verb in ["check", "run"] {
            let output = cli(&[verb, "-c", path.to_str().unwrap()]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains("does not encrypt") && said.contains("weir.toml:2:9"), "{said}");
        }
    }
    let output = cli(&["run", "--backend", "127.0.0.1:3306", "--admin", "0.0.0.0:6034"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[tokio::test]
async fn where_no_weir_answers_the_command_line_says_what_to_do() {
    let server = server(Flavor::MariaDb);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    // A port that was just free.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gone = format!(
        "[listen]\nadmin = \"{free}\"\n[[user]]\nname = \"a\"\npassword = {{ env = \"NOT_MINE\" }}\n"
    );
    let (without, gone) = (file("without.toml", "[listen]\n"), file("gone.toml", &gone));
    let bad = file("bad.toml", "[listen]\nadmin = \"here\"\n");
    let server_address = server.addr().to_string();
    for (args, expected) in [
        (&["--config", &without][..], "has no admin address: put `admin = "),
        (&["--config", &gone], "is it running, and is this the `admin` of its [listen]?"),
        (&["--config", &bad], "is not an address"),
        (&["--config", "/no/such.toml"], "/no/such.toml"),
        (&["--admin", "unix:/no/such.sock"], "no Weir answers at unix:/no/such.sock"),
        (&["--admin", &server_address], "is not the API of Weir"),
    ] {
        let output = cli(&[&["rules", "list"], args].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.starts_with("error: ") && said.contains(expected), "{args:?}: {said}");
    }
    for args in [
        &["rules", "list", "--config", "x", "--admin", "127.0.0.1:1"][..],
        &["rules", "move", "a", "--admin", "127.0.0.1:1"],
        &["rules", "move", "a", "--first", "--last", "--admin", "127.0.0.1:1"],
        &["rules", "add", "--ttl", "1s", "--admin", "127.0.0.1:1"],
        &["rules", "add", "file", "--name", "x", "--admin", "127.0.0.1:1"],
        &["cache", "wipe", "--admin", "127.0.0.1:1"],
        &["cache", "wipe", "--all", "--rule", "x", "--admin", "127.0.0.1:1"],
        &["explain", "--admin", "127.0.0.1:1"],
        &["explain", "SELECT 1", "--client", "me", "--admin", "127.0.0.1:1"],
        &["rules", "list", "--admin", "6034"],
    ] {
        let output = cli(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "), "{args:?}: {output:?}");
    }
}
