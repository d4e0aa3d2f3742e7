//! What a good file becomes, and what the two other ways to a configuration do.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_config::{Address, Compression, Config, LogFormat, LogLevel, TlsMode};

const FULL: &str = r#"
[listen]
mysql = ["127.0.0.1:6033", "unix:mysql.sock"]
admin = "[::1]:6034"
proxy_protocol = ["10.0.0.0/8", "192.0.2.7"]

[tls]
cert = "server.pem"
key = "/keys/server.key"
client_ca = "ca.pem"
require = true

[[server]]
name = "db1"
address = "db1.example.com:3306"
max_connections = 300
tls = { mode = "verify_identity", ca = "ca.pem" }
compression = "zstd"

[[user]]
name = "app"
password = { env = "APP_PASSWORD" }
previous = { file = "old" }

[[user]]
name = "replica"
password = "pässword"
replication = true

[auth]
passthrough = false
revalidate = "5m"

[limits]
max_clients = 50
login_timeout = "1m30s"
login_bytes = "64KiB"
statement_bytes = 4096
client_idle_timeout = "0"

[log]
format = "json"
level = "warn"

[runtime]
workers = 2
watch = true
"#;

fn files(path: &Path) -> io::Result<String> {
    match path.to_str().unwrap() {
        "/etc/weir/server.pem" | "/etc/weir/ca.pem" => Ok("-----BEGIN CERTIFICATE-----\n".to_owned()),
        "/keys/server.key" => Ok("-----BEGIN RSA PRIVATE KEY-----\n".to_owned()),
        "/etc/weir/old" => Ok("last year \r\n".to_owned()),
        "/etc/weir/two" => Ok("x\n\n".to_owned()),
        path => Err(io::Error::other(format!("{path} was asked for"))),
    }
}

fn parse(text: &str) -> Config {
    let env = |name: &str| (name == "APP_PASSWORD").then(|| "from env\n".to_owned());
    weir_config::parse("/etc/weir/weir.toml", text, &env, &files).unwrap_or_else(|report| panic!("{report}"))
}

#[test]
fn every_section_arrives() {
    let config = parse(FULL);
    assert_eq!(config.listen.mysql[1], Address::Unix("/etc/weir/mysql.sock".into()));
    assert_eq!(config.listen.admin.unwrap(), Address::Tcp { host: "::1".to_owned(), port: 6034 });
    assert!(config.listen.proxy_protocol[0].contains("10.9.8.7".parse().unwrap()));
    assert_eq!(config.listen.proxy_protocol[1].to_string(), "192.0.2.7/32");
    assert_eq!(config.tls.cert, Some(PathBuf::from("/etc/weir/server.pem")));
    assert_eq!(config.tls.key, Some(PathBuf::from("/keys/server.key")));
    assert!(config.tls.require);
    let [server] = &config.servers[..] else { panic!("not one server") };
    assert_eq!((server.name.as_str(), server.max_connections), ("db1", 300));
    assert_eq!((server.tls.mode, server.compression), (TlsMode::VerifyIdentity, Compression::Zstd));
    let [app, replica] = &config.users[..] else { panic!("not two users") };
    assert_eq!(app.password.expose(), "from env\n", "a variable is taken as it is");
    assert_eq!(app.previous.as_ref().unwrap().expose(), "last year ", "one newline of a file is not");
    assert_eq!(replica.password.expose(), "pässword");
    assert!(replica.replication && !app.replication);
    assert!(!config.auth.passthrough);
    assert_eq!(config.auth.revalidate, Duration::from_secs(300));
    assert_eq!((config.limits.max_clients, config.limits.login_timeout), (50, Duration::from_secs(90)));
    assert_eq!((config.limits.login_bytes, config.limits.statement_bytes), (65_536, 4_096));
    assert_eq!((config.log.format, config.log.level), (LogFormat::Json, LogLevel::Warn));
    assert_eq!((config.workers, config.watch), (2, true));
}

#[test]
fn one_newline_of_a_secret_file_is_stripped_and_no_more() {
    let text = FULL.replace("{ file = \"old\" }", "{ file = \"two\" }");
    assert_eq!(parse(&text).users[0].previous.as_ref().unwrap().expose(), "x\n");
}

#[test]
fn debug_output_hides_secrets() {
    let debug = format!("{:?}", parse(FULL));
    assert!(debug.contains("password: ***"), "{debug}");
    for secret in ["from env", "last year", "pässword"] {
        assert!(!debug.contains(secret), "{debug}");
    }
}

#[test]
fn a_difference_names_users_and_hides_their_passwords() {
    let old = parse(FULL);
    let new = parse(
        &FULL
            .replace("pässword", "canary")
            .replace("previous = { file = \"old\" }\n", "")
            .replace(
                "[[user]]\nname = \"replica\"",
                "[[user]]\nname = \"new\"\npassword = \"canary\"\n\n[[user]]\nname = \"replica\"",
            )
            .replace("workers = 2", "workers = 3")
            .replace("max_clients = 50", "max_clients = 60"),
    );
    let changes = weir_config::diff(&old, &new);
    let pair = |key: &str, text: &str| (key.to_owned(), text.to_owned());
    assert_eq!(
        changes.reloadable,
        [
            pair("limits.max_clients", "50 -> 60"),
            pair("user.app.previous", "removed"),
            pair("user.replica.password", "changed"),
            pair("user.new", "added"),
        ]
    );
    assert_eq!(
        changes.refused,
        [pair("runtime.workers", "2 -> 3; threads are started once: restart Weir to change it")]
    );
    let back = weir_config::diff(&new, &old);
    assert!(back.reloadable.contains(&pair("user.app.previous", "set")));
    assert!(back.reloadable.contains(&pair("user.new", "removed")));
}

#[test]
fn a_backend_is_enough() {
    let config = weir_config::from_backend("db.example.com:3307", None, None).unwrap();
    assert_eq!(config.listen.mysql, ["127.0.0.1:6033".parse().unwrap()]);
    assert_eq!((config.listen.admin, config.auth.passthrough, config.users.len()), (None, true, 0));
    assert_eq!(config.servers[0].address.to_string(), "db.example.com:3307");
    let config = weir_config::from_backend("unix:/run/mysqld/mysqld.sock", Some("[::]:3306"), None).unwrap();
    assert_eq!(config.listen.mysql[0].to_string(), "[::]:3306");
}

#[test]
fn bad_arguments_are_refused_at_once_without_their_secrets() {
    let report = weir_config::from_backend("mysql://root:canary@db", Some("nowhere"), None).unwrap_err();
    assert_eq!(report.problems().len(), 2);
    let text = report.render(false);
    assert!(
        text.contains("--backend ***: this is not an address") && text.contains("--listen nowhere"),
        "{text}"
    );
    assert!(!text.contains("canary") && !format!("{report:?}").contains("canary"));
    assert!(weir_config::from_backend("127.0.0.1:6033", None, None).is_err(), "Weir would connect to itself");
    assert!(weir_config::from_backend("127.0.0.1:1", Some("127.0.0.1:1"), None).is_err());
}

#[test]
fn a_file_is_loaded_with_what_lies_beside_it() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loaded");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("weir.toml");
    std::fs::write(folder.join("app.password"), "secret\n").unwrap();
    let text = "[[server]]\nname = \"db1\"\naddress = \"unix:db.sock\"\n[[user]]\nname = \"app\"\n";
    std::fs::write(&file, format!("{text}password = {{ file = \"app.password\" }}\n")).unwrap();
    let config = weir_config::load(&file).unwrap();
    assert_eq!(config.users[0].password.expose(), "secret");
    assert_eq!(config.servers[0].address, Address::Unix(folder.join("db.sock")));

    std::fs::write(&file, format!("{text}password = {{ file = \".\" }}\n")).unwrap();
    assert!(weir_config::load(&file).unwrap_err().to_string().contains("is a directory"));
    std::fs::write(&file, b"\xff\xfe").unwrap();
    let said = weir_config::load(&file).unwrap_err().to_string();
    assert!(said.contains("TOML is UTF-8") && !said.contains("-c FILE"), "{said}");
    let said = weir_config::load(file.parent().unwrap()).unwrap_err().to_string();
    assert!(said.contains("this is a folder") && !said.contains("-c FILE"), "{said}");
    std::fs::write(&file, "#".repeat((1 << 20) + 1)).unwrap();
    assert!(weir_config::load(&file).unwrap_err().to_string().contains("1 MiB"));
    let absent = weir_config::load(folder.join("absent.toml")).unwrap_err();
    assert!(absent.to_string().contains("absent.toml"), "{absent}");
}

#[test]
fn an_admin_address_without_a_file() {
    let start = |admin| weir_config::from_backend("127.0.0.1:3306", None, Some(admin));
    let admin = start("localhost:6034").unwrap().listen.admin.unwrap();
    assert_eq!(admin, Address::Tcp { host: "localhost".to_owned(), port: 6034 });
    for (bad, said) in [
        ("0.0.0.0:6034", "does not encrypt"),
        ("127.0.0.1:6033", "clients connect there"),
        ("127.0.0.1:3306", "connect to itself"),
        ("here", "has no port"),
    ] {
        let report = start(bad).unwrap_err().to_string();
        assert!(report.contains(said), "{bad}: {report}");
    }
}

#[test]
fn the_admin_address_is_of_this_machine_only() {
    let with = |admin: &str| {
        let text = format!(
            "[listen]\nadmin = \"{admin}\"\n[[server]]\nname = \"a\"\naddress = \"127.0.0.1:3306\"\n"
        );
        weir_config::parse("weir.toml", &text, &|_| None, &files)
    };
    for good in
        ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "localhost:1", "unix:a.sock"]
    {
        with(good).unwrap_or_else(|report| panic!("{good}: {report}"));
    }
    for bad in
        ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "db.example.com:1", "localhost.example.com:1", "128.0.0.1:1"]
    {
        let report = with(bad).unwrap_err().to_string();
        assert!(report.contains("does not encrypt") && report.contains("unix:/run/weir"), "{bad}: {report}");
    }
}
