//! Schemas, accounts and rules of a run.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;

use crate::client::{Client, ConnectOptions};
use crate::servers::Flavor;

/// The schemas; tables have the same names in both.
pub const SCHEMAS: [&str; 2] = ["m_a", "m_b"];

/// The tables with versioned rows, each with the TTL of its rule. A statement that reads several has that of the first.
pub const TABLES: [(&str, Duration); 3] = [
    ("brief", Duration::from_millis(100)),
    ("short", Duration::from_millis(800)),
    ("lasting", Duration::from_secs(6)),
];

/// The rule whose answers are shared by all whom the server lets read what they name.
pub const SHARED: &str = "short";

/// The rule whose answers are renewed behind being served, and from which age on.
pub const RENEWED: (&str, Duration) = ("lasting", Duration::from_millis(100));

/// The TTL where no table of a rule is named: constants, views.
pub const OTHERWISE: (&str, Duration) = ("others", Duration::from_secs(3));

/// Rows of each table, with ids from 1.
pub const ROWS: i64 = 5;

/// Views, and the tables of this schema behind them.
pub const VIEWS: [(&str, &[&str]); 3] =
    [("v_short", &["short"]), ("v_deep", &["v_short", "short"]), ("v_flip", &["lasting"])];

/// An account: its name and its password.
pub type User = (&'static str, &'static str);

/// May do everything.
pub const APP: User = ("app", "app-pw");
/// The same rights, as another account.
pub const OTHER: User = ("nopw", "");
/// May read tables, and some of them only at times.
pub const READER: User = ("reader", "reader-pw");

/// The tables that [`READER`] may read at times only.
pub const GRANTED: [&str; 3] = ["m_b.lasting", "m_b.short", "m_a.lasting"];

/// Makes all of it on one server.
///
/// # Errors
/// What the server answers.
pub async fn build(server: SocketAddr, flavor: Flavor) -> Result<()> {
    let mut root = ConnectOptions::tcp(server, "root", "").connect().await?;
    root.run("CREATE USER reader@'%' IDENTIFIED BY 'reader-pw'").await?;
    for schema in SCHEMAS {
        root.run(&format!("CREATE DATABASE {schema} CHARACTER SET utf8mb4")).await?;
        root.run(&format!("USE {schema}")).await?;
        for (table, _) in TABLES {
            fill(&mut root, schema, table).await?;
            root.run(&format!("GRANT SELECT ON {schema}.{table} TO reader@'%'")).await?;
        }
        root.run("CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL)").await?;
        root.run(&format!("GRANT SELECT ON {schema}.log TO reader@'%'")).await?;
        for view in ["v_short", "v_deep", "v_flip"] {
            root.run(&view_sql(view, false)).await?;
            root.run(&format!("GRANT SELECT, SHOW VIEW ON {schema}.{view} TO reader@'%'")).await?;
        }
        root.run("CREATE FUNCTION f_sum() RETURNS INT READS SQL DATA RETURN (SELECT SUM(v) FROM lasting)")
            .await?;
        root.run("CREATE PROCEDURE bump(k INT) UPDATE lasting SET v = v + 1 WHERE id = k").await?;
        root.run(&format!("GRANT EXECUTE ON FUNCTION {schema}.f_sum TO reader@'%'")).await?;
    }
    if flavor == Flavor::MySql {
        // Statistics that come in the background would make one server choose another plan than the other.
        root.run("SET GLOBAL innodb_stats_auto_recalc = OFF").await?;
    }
    root.quit().await
}

async fn fill(root: &mut Client, schema: &str, table: &str) -> Result<()> {
    root.run(&format!(
        "CREATE TABLE {table} (id INT PRIMARY KEY, v INT NOT NULL, s VARCHAR(40) NOT NULL, n DECIMAL(12,4) NOT NULL, \
         at TIMESTAMP NOT NULL DEFAULT '2023-11-14 22:13:20')"
    ))
    .await?;
    for id in 1..=ROWS {
        let text = format!("{}é€ {schema}.{table} {id}", ["ä", "x"][usize::from(id % 2 == 0)]);
        root.run(&format!("INSERT INTO {table} (id, v, s, n) VALUES ({id}, 0, '{text}', {id}.25)")).await?;
    }
    Ok(())
}

/// What makes a view, or replaces it. `odd` is a definition that answers otherwise each time.
pub fn view_sql(view: &str, odd: bool) -> String {
    let body = match (view, odd) {
        ("v_short", _) => "SELECT id, v, s FROM short",
        ("v_deep", _) => "SELECT id, v FROM v_short",
        (_, false) => "SELECT id, v, s AS u FROM lasting",
        (_, true) => "SELECT id, v, UUID() AS u FROM lasting",
    };
    format!("CREATE OR REPLACE SQL SECURITY DEFINER VIEW {view} AS {body}")
}

/// The configuration of the Weir in front of `server`.
pub fn config(server: SocketAddr, sharing: &str, connections: usize, admission: &str) -> String {
    let mut out = format!(
        "[listen]\nmysql = [\"$LISTEN\"]\nadmin = \"$ADMIN\"\n\n\
         [[server]]\nname = \"db1\"\naddress = \"{server}\"\nmax_connections = {connections}\n\n\
         [pool]\nsharing = \"{sharing}\"\nqueue_timeout = \"10s\"\n\n[cache]\nmemory = \"16MiB\"\nadmission = \"{admission}\"\n"
    );
    for (table, ttl) in TABLES {
        out += &rule(table, &format!("table = \"{table}\""), ttl);
    }
    out + &rule(OTHERWISE.0, "", OTHERWISE.1)
}

fn rule(name: &str, matches: &str, ttl: Duration) -> String {
    let mut more = String::new();
    if name == SHARED {
        more += ", share = \"grants\"";
    }
    if name == RENEWED.0 {
        more += &format!(", soft_ttl = \"{}ms\"", RENEWED.1.as_millis());
    }
    format!(
        "\n[[rule]]\nname = \"{name}\"\nmatch = {{ {matches} }}\ncache = {{ ttl = \"{}ms\"{more} }}\n",
        ttl.as_millis()
    )
}

/// The rule of a statement that names these tables, and its TTL.
pub fn rule_of(named: &[String]) -> (&'static str, Duration) {
    let is_named = |table: &str| named.iter().any(|name| name.rsplit('.').next() == Some(table));
    TABLES.into_iter().find(|(table, _)| is_named(table)).unwrap_or(OTHERWISE)
}

/// Tables as `schema.name`, with what is behind views among them.
pub fn behind(named: &[String]) -> Vec<String> {
    let mut all = named.to_vec();
    for name in named {
        let Some((schema, of)) = name.split_once('.') else { continue };
        for (_, tables) in VIEWS.iter().filter(|(view, _)| *view == of) {
            all.extend(tables.iter().map(|table| format!("{schema}.{table}")));
        }
    }
    all
}
