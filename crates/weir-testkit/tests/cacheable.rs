//! What `weir-sql` tells of statements whose answers may be cached, held against what real servers answer.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use weir_model::ServerFamily;
use weir_sql::{LexMode, ReadFacts, read_facts};
use weir_testkit::client::Column;
use weir_testkit::{Client, ConnectOptions, Flavor, Response, Server};

#[path = "cacheable/generator.rs"]
mod generator;

use generator::Generator;

/// The tables that statements read. There is a schema for each set of them: bit n of its number is table n.
const TABLES: [&str; 5] = ["t", "u", "v", "w", "p"];
const ALL: usize = (1 << TABLES.len()) - 1;

struct World {
    flavor: Flavor,
    server: Server,
    mode: LexMode,
}

impl World {
    async fn start(flavor: Flavor) -> Self {
        // Speed, not durability.
        let server = Server::builder(flavor).arg("--innodb-flush-log-at-trx-commit=0").arg("--skip-log-bin");
        let server = server.start().unwrap();
        let mut root = ConnectOptions::tcp(server.addr(), "root", "").connect().await.unwrap();
        root.run(&format!("CREATE DATABASE s{ALL}")).await.unwrap();
        root.run(&format!("USE s{ALL}")).await.unwrap();
        for table in TABLES {
            let more = if table == "p" { " PARTITION BY HASH (id) PARTITIONS 2" } else { "" };
            let text = if table == "p" { "" } else { ", FULLTEXT (b)" };
            let columns = format!(
                "id INT, a INT, b VARCHAR(20), d DATETIME DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (id), KEY i (a){text}"
            );
            root.run(&format!("CREATE TABLE {table} ({columns}){more}")).await.unwrap();
            let rows = "(1, 1, 'x', '2020-01-01 10:11:12'), (2, 2, 'yx y', '2021-02-03'), (3, 2, NULL, NULL)";
            root.run(&format!("INSERT INTO {table} VALUES {rows}")).await.unwrap();
        }
        if flavor == Flavor::MariaDb {
            root.run("CREATE TABLE h (id INT PRIMARY KEY) WITH SYSTEM VERSIONING").await.unwrap();
            root.run("INSERT INTO h VALUES (1), (2)").await.unwrap();
            root.run("DELETE FROM h WHERE id = 1").await.unwrap();
        }
        root.run("CREATE ROLE r").await.unwrap();
        root.run("GRANT r TO app").await.unwrap();
        let version = root.scalar("SELECT VERSION()").await.unwrap().unwrap();
        let family = if flavor == Flavor::MariaDb { ServerFamily::MariaDb } else { ServerFamily::MySql };
        Self { flavor, server, mode: LexMode::new(family, number(&version)) }
    }

    /// Makes the schemas that have only some of the tables, and no rows.
    async fn make_subsets(&self, client: &mut Client) {
        for schema in 0..ALL {
            client.run(&format!("CREATE DATABASE s{schema}")).await.unwrap();
            for (at, table) in TABLES.iter().enumerate().filter(|(at, _)| schema & 1 << at != 0) {
                // No index is used where it does not matter which tables are there.
                let columns = "(id INT, a INT, b VARCHAR(20), d DATETIME, KEY i (a))";
                let more = if at == 4 { " PARTITION BY HASH (id) PARTITIONS 2" } else { "" };
                client.run(&format!("CREATE TABLE s{schema}.{table} {columns}{more}")).await.unwrap();
            }
        }
    }

    /// Two connections that have nothing in common but the data, the schema, and the variables that belong in the key.
    async fn strangers(&self) -> [Client; 2] {
        let schema = format!("s{ALL}");
        let one = ConnectOptions::tcp(self.server.addr(), "root", "").database(&schema);
        let other = ConnectOptions::tcp(self.server.addr(), "app", "app-pw").database(&schema);
        let mut both = [one.connect().await.unwrap(), other.connect().await.unwrap()];
        for (client, (id, time)) in both.iter_mut().zip([(1, 1_000_000_000), (2, 1_750_040_000)]) {
            for sql in [
                format!("SET @va = {id}, timestamp = {time}, rand_seed1 = {id}, rand_seed2 = {id}"),
                format!("SELECT LAST_INSERT_ID({id})"),
            ] {
                client.run(&sql).await.unwrap();
            }
        }
        both[1].run("SET ROLE r").await.unwrap();
        for client in &mut both {
            client.run("START TRANSACTION READ ONLY").await.unwrap();
        }
        both
    }

    fn facts(&self, sql: &str) -> ReadFacts {
        read_facts(sql.as_bytes(), self.mode)
    }

    fn is_cacheable(&self, sql: &str) -> bool {
        let facts = self.facts(sql);
        facts.is_cacheable() && !facts.needs_resolving()
    }

    /// The corpus as this server is asked.
    fn statements(&self) -> Vec<String> {
        let mut all = Vec::new();
        for line in include_str!("cacheable/statements.txt").lines().filter(|line| !line.starts_with("##")) {
            let (only, sql) = match line.split_once(": ") {
                Some(("mysql", sql)) => (Some(Flavor::MySql), sql),
                Some(("mariadb", sql)) => (Some(Flavor::MariaDb), sql),
                _ => (None, line),
            };
            if only.is_none_or(|flavor| flavor == self.flavor) {
                all.push(sql.to_owned());
            }
        }
        all
    }

    /// Words that may name a function: what the server has in its lists, and what is in the other family's.
    async fn words(&self, client: &mut Client) -> BTreeSet<String> {
        let mut lists =
            vec!["SELECT word FROM information_schema.keywords", "SELECT name FROM mysql.help_topic"];
        if self.flavor == Flavor::MariaDb {
            lists.push("SELECT function FROM information_schema.sql_functions");
        }
        let mut words = BTreeSet::new();
        for list in lists {
            for row in client.run(list).await.unwrap().rows() {
                let word = weir_testkit::client::bytes::text_row(row).unwrap().remove(0).unwrap();
                let word = String::from_utf8_lossy(&word).to_lowercase();
                let front = word.split([' ', '(']).next().unwrap_or_default();
                if front.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !front.is_empty() {
                    words.insert(front.to_owned());
                }
            }
        }
        words
    }
}

/// `10.11.19-MariaDB` is 101119.
fn number(version: &str) -> u32 {
    let digits = version.split('-').next().unwrap_or_default();
    digits.split('.').fold(0, |n, part| n * 100 + part.parse::<u32>().unwrap())
}

/// Columns and rows.
type Answer = (Vec<Column>, Vec<Vec<u8>>);

/// `None` if the server gave no answer, or not to the end.
fn answer(response: &Response) -> Option<Answer> {
    let result = response.results().next().filter(|_| response.err().is_none() && !response.closed)?;
    Some((result.columns.clone(), result.rows.clone()))
}

/// What a statement gives on two connections.
async fn two_answers(clients: &mut [Client; 2], sql: &str) -> [Option<Answer>; 2] {
    let [one, other] = clients;
    [answer(&one.query(sql).await.unwrap()), answer(&other.query(sql).await.unwrap())]
}

/// What a statement gives on two connections, and on the first again.
async fn answers(clients: &mut [Client; 2], sql: &str) -> [Option<Answer>; 3] {
    let [first, second] = two_answers(clients, sql).await;
    [first, second, answer(&clients[0].query(sql).await.unwrap())]
}

#[tokio::test]
async fn p53_what_is_called_cacheable_is_the_same_for_everybody() {
    for flavor in Flavor::BOTH {
        let world = World::start(flavor).await;
        let mut clients = world.strangers().await;
        let (mut same, mut failed, mut seen) = (0, Vec::new(), 0);
        let mut first_answers = Vec::new();
        for sql in world.statements() {
            let found = answers(&mut clients, &sql).await;
            if world.is_cacheable(&sql) {
                assert!(found[0] == found[1] && found[1] == found[2], "{flavor:?} {sql}: {found:?}");
                same += usize::from(found[0].is_some());
                if found[0].is_none() {
                    failed.push(sql.clone());
                }
                first_answers.push((sql, found[0].clone()));
            } else if found[0] != found[1] || found[1] != found[2] {
                seen += 1;
            }
        }
        // Later.
        for (sql, first) in first_answers {
            assert_eq!(answer(&clients[0].query(&sql).await.unwrap()), first, "{flavor:?} {sql}");
        }
        assert!(failed.is_empty(), "{flavor:?} does not understand {failed:#?}");
        assert!(same >= 90 && seen >= 40, "{flavor:?}: {same} the same, {seen} seen to differ");
    }
}

/// Every word that a server knows, without parentheses and called with arguments of many kinds. What it gives is turned
/// into a DATETIME too, which shows a TIME.
#[tokio::test]
async fn p53_no_word_that_is_called_cacheable_tells_of_time_chance_or_the_connection() {
    const ARGUMENTS: [&str; 14] = [
        "",
        "()",
        "(1)",
        "('10:11:12')",
        "('2020-01-01 10:11:12')",
        "(1, 2)",
        "('10:11:12', '01:01:01')",
        "('2020-01-01', '10:11:12')",
        "('2020-01-01 10:11:12', '2020-01-01 01:01:01')",
        "('10:11', '%H:%i')",
        "('10:11:12', INTERVAL 1 HOUR)",
        "(1, 2, 3)",
        "('10:11:12', 2, '01:01:01')",
        "(NULL)",
    ];
    for flavor in Flavor::BOTH {
        let world = World::start(flavor).await;
        let mut clients = world.strangers().await;
        let words = world.words(&mut clients[0]).await;
        let (mut same, mut seen, mut wrong) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for word in &words {
            for arguments in ARGUMENTS {
                let call = format!("{word}{arguments}");
                let plain = format!("SELECT {call}");
                let is_cacheable = world.is_cacheable(&plain);
                if !is_cacheable && (arguments.len() > 2 || world.facts(&plain).needs_resolving()) {
                    continue;
                }
                let both = format!("SELECT {call}, CAST({call} AS DATETIME)");
                let mut found = two_answers(&mut clients, &both).await;
                if found[0].is_none() && found[1].is_none() {
                    // What cannot be a DATETIME.
                    found = two_answers(&mut clients, &plain).await;
                }
                if found[0] != found[1] {
                    seen.insert(word);
                    wrong.extend(is_cacheable.then_some(plain));
                } else if found[0].is_some() && is_cacheable {
                    same.insert(word);
                }
            }
        }
        assert!(wrong.is_empty(), "{flavor:?} {wrong:#?}");
        let counts = [words.len(), same.len(), seen.len()];
        assert!(counts[0] > 900 && counts[1] >= 150 && counts[2] >= 18, "{flavor:?}: {counts:?} {seen:?}");
    }
}

/// The number of the schema that has these tables and no others; `None` if some are elsewhere.
fn schema_of(facts: &ReadFacts) -> Option<usize> {
    facts.tables.iter().try_fold(0, |all, table| {
        let at = TABLES.iter().position(|known| table.schema.is_none() && known.as_bytes() == table.name)?;
        Some(all | 1 << at)
    })
}

/// The table that does not exist, as the server says.
async fn missing(client: &mut Client, schema: usize, sql: &str) -> Option<String> {
    client.run(&format!("USE s{schema}")).await.unwrap();
    let response = client.query(sql).await.unwrap();
    response.err().filter(|err| err.code == 1146).map(|err| err.message.clone())
}

#[tokio::test]
async fn the_tables_that_are_told_are_those_that_the_server_opens() {
    for flavor in Flavor::BOTH {
        let world = World::start(flavor).await;
        let mut client = ConnectOptions::tcp(world.server.addr(), "root", "").connect().await.unwrap();
        world.make_subsets(&mut client).await;
        let mut clients = world.strangers().await;
        let (mut generator, mut answered, mut opened) = (Generator::new(7), 0, 0);
        let mut statements: Vec<_> = world.statements();
        let written = statements.len();
        statements.extend((0..400).map(|_| generator.statement()));
        for (at, sql) in statements.iter().enumerate() {
            let facts = world.facts(sql);
            let Some(schema) = schema_of(&facts) else { continue };
            if !facts.is_cacheable() {
                assert!(at < written, "{flavor:?} {sql}: {:?}", facts.verdict);
                continue;
            }
            let found = missing(&mut client, schema, sql).await;
            assert_eq!(found, None, "{flavor:?} {sql} reads more than {:?}", facts.tables);
            // MySQL does not open what only an unused WITH names.
            let may_be_unused = at >= written && sql.contains("WITH ");
            for table in
                (0..if may_be_unused { 0 } else { TABLES.len() }).filter(|table| schema & 1 << table != 0)
            {
                let found = missing(&mut client, schema & !(1 << table), sql).await;
                assert!(found.is_some(), "{flavor:?} {sql} does not read {}", TABLES[table]);
                opened += 1;
            }
            if at >= written {
                let found = answers(&mut clients, sql).await;
                assert!(found[0] == found[1] && found[1] == found[2], "{flavor:?} {sql}");
                answered += usize::from(found[0].is_some());
            }
        }
        assert!(answered >= 300 && opened >= 400, "{flavor:?}: {answered} answered, {opened} opened");
    }
}
