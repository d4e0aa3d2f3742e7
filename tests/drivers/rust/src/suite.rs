//! The target, the reporting and the test data, shared by the programs of both Rust drivers.
#![allow(dead_code)] // each program uses a part

use std::error::Error;
use std::fmt::{Debug, Write as _};
use std::future::Future;
use std::path::Path;

pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

pub const LOADED: usize = 20_000;
pub const CREATE_ITEMS: &str =
    "CREATE TABLE items (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4 ENGINE=InnoDB";
pub const PROCEDURE: &str = "CREATE PROCEDURE several(IN how_many INT) BEGIN
    SELECT id, name FROM items WHERE id <= how_many ORDER BY id;
    UPDATE items SET name = name WHERE id = 1;
    SELECT 'größe 🐬' AS word, how_many AS n; END";

pub struct Target {
    pub host: String,
    pub port: u16,
    pub socket: Option<String>,
    pub user: String,
    pub password: String,
    pub db: String,
    pub family: String,
    pub ca: Option<String>,
    pub direct: bool,
    pub tls: bool,
    /// The certificate of the target is valid for `host`.
    pub ca_names_host: bool,
    /// Users log in by caching_sha2_password.
    pub sha2: bool,
}

impl Target {
    pub fn of_environment() -> Outcome<Self> {
        let get = |name: &str| std::env::var(name).map_err(|_| format!("{name} is not set"));
        let family = get("WEIR_FAMILY")?;
        let direct = get("WEIR_VIA").map_or(true, |v| v != "weir");
        Ok(Self {
            host: get("WEIR_HOST")?,
            port: get("WEIR_PORT")?.parse()?,
            socket: get("WEIR_SOCKET").ok(),
            user: get("WEIR_USER")?,
            password: get("WEIR_PASSWORD")?,
            db: get("WEIR_DB")?,
            sha2: family == "mysql" || !direct,
            family,
            ca: get("WEIR_CA").ok(),
            direct,
            tls: get("WEIR_TLS").map_or(true, |v| v != "0"),
            ca_names_host: get("WEIR_CA_NAMES_HOST").is_ok_and(|v| v == "1"),
        })
    }

    /// MySQL announces the removal of the table in information_schema, MariaDB has no other.
    pub fn processlist(&self) -> &'static str {
        if self.family == "mysql" { "performance_schema.processlist" } else { "information_schema.processlist" }
    }
}

#[derive(Default)]
pub struct Suite {
    passed: u32,
    failed: u32,
}

impl Suite {
    pub async fn check(&mut self, name: &str, body: impl Future<Output = Outcome>) {
        match body.await {
            Ok(()) => {
                self.passed += 1;
                println!("ok {name}");
            }
            Err(error) => {
                self.failed += 1;
                let text = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
                println!("FAIL {name}: {}", text.chars().take(600).collect::<String>());
            }
        }
    }

    pub fn finish(self) -> ! {
        println!("{} passed, {} failed", self.passed, self.failed);
        std::process::exit(i32::from(self.failed > 0 || self.passed == 0))
    }
}

pub fn same<T: PartialEq<U> + Debug, U: Debug>(got: T, wanted: U, what: &str) -> Outcome {
    if got == wanted {
        return Ok(());
    }
    let cut = |text: String| text.chars().take(250).collect::<String>();
    Err(format!("{what}: got {}, wanted {}", cut(format!("{got:?}")), cut(format!("{wanted:?}"))).into())
}

pub fn item(i: i32) -> String {
    format!("größe 漢字 {i} 🐬")
}

pub fn big_text() -> String {
    let mut text = String::with_capacity(20 << 20);
    for i in 0..(20 << 20) / 8 {
        let _ = writeln!(text, "{i:07}"); // writing to a String cannot fail
    }
    text
}

pub fn load_text() -> String {
    let mut text = String::new();
    for i in 1..=LOADED {
        let _ = writeln!(text, "{i}\tgröße 漢字 🐬 {i}");
    }
    text
}

pub struct Column {
    pub name: String,
    pub sql: String,
    pub kind: String,
    pub values: Vec<String>,
}

pub fn columns(family: &str) -> Outcome<Vec<Column>> {
    let file = Path::new(&std::env::var("WEIR_DRIVERS")?).join("types.json");
    let all: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(file)?)?;
    let text = |v: &serde_json::Value| v.as_str().unwrap_or_default().to_owned();
    Ok(all
        .iter()
        .filter(|c| c.get("family").is_none_or(|f| f == family))
        .map(|c| Column {
            name: text(&c["name"]),
            sql: text(&c["type"]),
            kind: text(&c["kind"]),
            values: c["values"].as_array().into_iter().flatten().map(text).collect(),
        })
        .collect())
}

pub fn names(columns: &[Column]) -> String {
    columns.iter().fold("id".to_owned(), |all, c| format!("{all}, {}", c.name))
}

pub fn create_types(columns: &[Column]) -> String {
    let body = columns.iter().fold(String::new(), |all, c| format!("{all}, {} {} NULL", c.name, c.sql));
    format!("CREATE TABLE types (id INT PRIMARY KEY{body}) CHARACTER SET utf8mb4")
}

pub fn bytes_of(hex: &str) -> Outcome<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(&String::from_utf8_lossy(pair), 16));
    Ok(digits.collect::<Result<_, _>>()?)
}

pub fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |all, b| format!("{all}{b:02x}"))
}

/// The literal of a value in the text of a statement.
pub fn literal(column: &Column, text: Option<&str>) -> String {
    match (column.kind.as_str(), text) {
        (_, None) => "NULL".into(),
        ("bytes", Some(text)) => format!("x'{text}'"),
        ("int" | "uint" | "bit" | "year" | "decimal" | "float", Some(text)) => text.into(),
        (_, Some(text)) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
    }
}

/// Text of a value brought into the one form that is compared.
pub fn canonical(kind: &str, text: &str) -> Outcome<String> {
    Ok(match kind {
        "float" => text.parse::<f64>()?.to_string(),
        "time" | "datetime" => {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            format!("{whole}.{fraction:0<6}")
        }
        "json" => serde_json::from_str::<serde_json::Value>(text)?.to_string(),
        _ => text.into(),
    })
}
