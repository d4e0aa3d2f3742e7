//! Checks of statements.

use std::cell::Cell;
use std::time::{Duration, Instant};

use futures_util::{FutureExt, StreamExt, stream};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Params, Row, TxOpts, Value};

use crate::suite::{
    Column, LOADED, Outcome, PROCEDURE, Suite, big_text, bytes_of, canonical, columns, create_types, hex_of, item, literal, load_text,
    names, same,
};
use crate::{Checks, is_error};

impl Checks {
    pub async fn statements(&self, suite: &mut Suite) {
        suite.check("types-text", self.types(false)).await;
        suite.check("types-prepared", self.types(true)).await;
        suite.check("big-value", self.big_value(false, self.plain())).await;
        suite.check("big-value-prepared", self.big_value(true, self.plain())).await;
        suite.check("big-value-compressed", self.big_value(false, self.compressed())).await;
        if self.target.tls {
            suite.check("big-value-tls", self.big_value(true, self.tls())).await;
        }
        suite.check("load-data-local", self.load_data_local(self.plain())).await;
        suite.check("load-data-local-compressed", self.load_data_local(self.compressed())).await;
        suite.check("procedure-results", self.procedure_results()).await;
        suite.check("multi-statements", self.multi_statements()).await;
        suite.check("transaction", self.transaction()).await;
        suite.check("cancel", self.cancel()).await;
        suite.check("errors", self.errors()).await;
        suite.check("stream", self.stream()).await;
        suite.check("reconnects", self.reconnects(self.plain())).await;
        if self.target.tls {
            suite.check("reconnects-tls", self.reconnects(self.tls())).await;
        }
    }

    async fn types(&self, prepared: bool) -> Outcome {
        let mut conn = Conn::new(self.plain()).await?;
        // The driver does not know the type VECTOR.
        let columns: Vec<Column> = columns(&self.target.family)?.into_iter().filter(|c| c.name != "c_vector").collect();
        let names = names(&columns);
        conn.query_drop("DROP TABLE IF EXISTS types").await?;
        conn.query_drop(create_types(&columns)).await?;
        for row in 0..3 {
            let texts = || columns.iter().map(|c| (c, c.values.get(row).map(String::as_str)));
            if prepared {
                let marks = ", ?".repeat(columns.len());
                let mut values = vec![Value::Int(row as i64 + 1)];
                for (column, text) in texts() {
                    values.push(bound(&column.kind, text)?);
                }
                conn.exec_drop(format!("INSERT INTO types ({names}) VALUES (?{marks})"), Params::Positional(values)).await?;
            } else {
                let values = texts().fold(format!("{}", row + 1), |all, (c, t)| format!("{all}, {}", literal(c, t)));
                conn.query_drop(format!("INSERT INTO types ({names}) VALUES ({values})")).await?;
            }
        }
        let select = format!("SELECT {names} FROM types ORDER BY id");
        let rows: Vec<Row> = if prepared { conn.exec(select, ()).await? } else { conn.query(select).await? };
        compare(&columns, rows)?;
        Ok(conn.disconnect().await?)
    }

    async fn big_value(&self, prepared: bool, options: OptsBuilder) -> Outcome {
        let mut conn = Conn::new(options).await?;
        let text = big_text();
        conn.query_drop("DROP TABLE IF EXISTS big").await?;
        conn.query_drop("CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT) CHARACTER SET utf8mb4").await?;
        let got: Option<String> = if prepared {
            conn.exec_drop("INSERT INTO big VALUES (?, ?)", (1, &text)).await?;
            conn.exec_first("SELECT v FROM big WHERE id = ?", (1,)).await?
        } else {
            conn.query_drop(format!("INSERT INTO big VALUES (1, '{text}')")).await?;
            conn.query_first("SELECT v FROM big").await?
        };
        same(conn.query_first("SELECT LENGTH(v) FROM big").await?, Some(text.len()), "length at the server")?;
        same(got == Some(text), true, "the value that came back")?;
        Ok(conn.disconnect().await?)
    }

    async fn load_data_local(&self, options: OptsBuilder) -> Outcome {
        let mut conn = Conn::new(options).await?;
        conn.query_drop("DROP TABLE IF EXISTS loaded").await?;
        conn.query_drop("CREATE TABLE loaded (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4").await?;
        // The data come from memory in pieces that end anywhere.
        let pieces: Vec<_> = load_text().into_bytes().chunks(10_007).map(|c| Ok(c.to_vec().into())).collect();
        conn.set_infile_handler(async move { Ok(stream::iter(pieces).boxed()) });
        conn.query_drop("LOAD DATA LOCAL INFILE 'lines' INTO TABLE loaded CHARACTER SET utf8mb4").await?;
        same(conn.affected_rows(), LOADED as u64, "affected rows")?;
        same(conn.query_first("SELECT SUM(id) FROM loaded").await?, Some(LOADED * (LOADED + 1) / 2), "sum")?;
        let texts = "SELECT COUNT(*) FROM loaded WHERE name = CONCAT('größe 漢字 🐬 ', id)";
        same(conn.query_first(texts).await?, Some(LOADED), "texts")?;
        Ok(conn.disconnect().await?)
    }

    async fn procedure_results(&self) -> Outcome {
        let mut conn = Conn::new(self.plain()).await?;
        conn.query_drop("DROP PROCEDURE IF EXISTS several").await?;
        conn.query_drop(PROCEDURE).await?;
        let mut result = conn.query_iter("CALL several(2)").await?;
        let rows: Vec<(i32, String)> = result.collect().await?;
        same(rows, vec![(1, item(1)), (2, item(2))], "first result set")?;
        same(result.collect::<(String, i32)>().await?, vec![("größe 🐬".to_owned(), 2)], "second result set")?;
        result.drop_result().await?;
        let mut result = conn.exec_iter("CALL several(?)", (2,)).await?;
        let rows: Vec<(i32, String)> = result.collect().await?;
        same(rows, vec![(1, item(1)), (2, item(2))], "first result set of the prepared call")?;
        same(result.collect::<(String, i32)>().await?, vec![("größe 🐬".to_owned(), 2)], "its second")?;
        result.drop_result().await?;
        Ok(conn.disconnect().await?)
    }

    async fn multi_statements(&self) -> Outcome {
        let mut conn = Conn::new(self.plain()).await?;
        let mut result = conn.query_iter("SELECT 1; SELECT 'größe 🐬'; SELECT id FROM items WHERE id < 3 ORDER BY id").await?;
        same(result.collect::<i32>().await?, vec![1], "first result set")?;
        same(result.collect::<String>().await?, vec!["größe 🐬".to_owned()], "second result set")?;
        same(result.collect::<i32>().await?, vec![1, 2], "third result set")?;
        result.drop_result().await?;
        let mut result = conn.query_iter("SELECT 1; SELECT * FROM no_such_table; SELECT 2").await?;
        same(result.collect::<i32>().await?, vec![1], "result set before the error")?;
        is_error(result.drop_result().await, 1146, "42S02")?;
        same(conn.query_first("SELECT 5").await?, Some(5), "the connection afterwards")?;
        Ok(conn.disconnect().await?)
    }

    async fn transaction(&self) -> Outcome {
        let (mut conn, mut other) = (Conn::new(self.plain()).await?, Conn::new(self.plain()).await?);
        let count = "SELECT COUNT(*) FROM items WHERE id = 100";
        for wanted in 0..2 {
            let mut tx = conn.start_transaction(TxOpts::default()).await?;
            tx.exec_drop("INSERT INTO items VALUES (?, 'in a transaction')", (100,)).await?;
            same(other.query_first(count).await?, Some(0), "view of another session before the end")?;
            if wanted == 0 {
                tx.rollback().await?;
            } else {
                tx.commit().await?;
            }
            same(other.query_first(count).await?, Some(wanted), "view of another session after the end")?;
        }
        conn.query_drop("DELETE FROM items WHERE id = 100").await?;
        other.disconnect().await?;
        Ok(conn.disconnect().await?)
    }

    /// KILL QUERY from a second connection, with the thread id that the driver reports.
    async fn cancel(&self) -> Outcome {
        let (mut victim, mut other) = (Conn::new(self.plain()).await?, Conn::new(self.plain()).await?);
        let query = format!("SELECT 1 AS cancel_me FROM {}.items", self.target.db);
        let running = format!("SELECT COUNT(*) FROM {} WHERE INFO LIKE '{query}%'", self.target.processlist());
        let id = victim.id();
        let started = Instant::now();
        let ended = Cell::new(false);
        let killer = async {
            while other.query_first(&running).await? != Some(1) {
                same(started.elapsed() < Duration::from_secs(40), true, "the query shows up in the process list")?;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            // Again until the query has ended: README.md says why.
            while !ended.get() && started.elapsed() < Duration::from_secs(50) {
                other.query_drop(format!("KILL QUERY {id}")).await?;
                let sent = Instant::now();
                while !ended.get() && sent.elapsed() < Duration::from_secs(1) {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
            Outcome::Ok(())
        };
        let work = tokio::time::timeout(Duration::from_secs(55), victim.query_drop(format!("{query} WHERE id < 3 AND SLEEP(60)")).boxed());
        let work = work.inspect(|_| ended.set(true));
        let (outcome, killed) = futures_util::join!(work, killer);
        killed?;
        is_error(outcome?, 1317, "70100")?;
        same(started.elapsed() < Duration::from_secs(50), true, "cancelled within 50 s")?;
        same(victim.query_first("SELECT 5").await?, Some(5), "the cancelled connection")?;
        other.disconnect().await?;
        Ok(victim.disconnect().await?)
    }

    async fn errors(&self) -> Outcome {
        let mut conn = Conn::new(self.plain()).await?;
        is_error(conn.query_drop("INSERT INTO items VALUES (1, 'again')").await, 1062, "23000")?;
        is_error(conn.query_drop("SELEC 1").await, 1064, "42000")?;
        is_error(conn.exec_drop("SELECT * FROM no_such_table WHERE id = ?", (1,)).await, 1146, "42S02")?;
        is_error(conn.exec_drop("INSERT INTO items VALUES (?, ?)", (1, "again")).await, 1062, "23000")?;
        is_error(conn.query_drop("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'größe'").await, 1644, "45000")?;
        conn.query_drop("DROP TABLE IF EXISTS no_such_table").await?;
        same(conn.get_warnings(), 1, "warning count")?;
        Ok(conn.disconnect().await?)
    }

    async fn stream(&self) -> Outcome {
        let mut conn = Conn::new(self.plain()).await?;
        let mut rows = 0;
        let mut stream = conn.query_stream::<(i32, String), _>("SELECT a.id, a.name FROM items a, items b, items c, items d").await?;
        while let Some(row) = stream.next().await {
            let (id, name) = row?;
            same(name, item(id), "row")?;
            rows += 1;
        }
        drop(stream);
        same(rows, 10_000, "rows")?;
        Ok(conn.disconnect().await?)
    }

    async fn reconnects(&self, options: OptsBuilder) -> Outcome {
        let options = mysql_async::Opts::from(options);
        for i in 0..50 {
            let mut conn = Conn::new(options.clone()).await?;
            same(conn.exec_first("SELECT ?", (i,)).await?, Some(i), "answer")?;
            conn.disconnect().await?;
        }
        Ok(())
    }
}

fn bound(kind: &str, text: Option<&str>) -> Outcome<Value> {
    let Some(text) = text else { return Ok(Value::NULL) };
    Ok(match kind {
        "int" | "year" => Value::Int(text.parse()?),
        "uint" | "bit" => Value::UInt(text.parse()?),
        "float" => Value::Double(text.parse()?),
        "bytes" => Value::Bytes(bytes_of(text)?),
        _ => Value::Bytes(text.into()),
    })
}

fn compare(columns: &[Column], rows: Vec<Row>) -> Outcome {
    same(rows.len(), 3, "rows")?;
    for (number, row) in rows.into_iter().enumerate() {
        for (column, value) in columns.iter().zip(row.unwrap().into_iter().skip(1)) {
            let wanted = column.values.get(number).map(|text| canonical(&column.kind, text)).transpose()?;
            same(read(&column.kind, value)?, wanted, &format!("row {} {}", number + 1, column.name))?;
        }
    }
    Ok(())
}

/// The text protocol gives bytes for everything, the binary protocol typed values.
fn read(kind: &str, value: Value) -> Outcome<Option<String>> {
    let text = match (kind, value) {
        (_, Value::NULL) => return Ok(None),
        ("bytes", Value::Bytes(bytes)) => hex_of(&bytes),
        ("bit", Value::Bytes(bytes)) => bytes.iter().fold(0u64, |all, b| all << 8 | u64::from(*b)).to_string(),
        (_, Value::Bytes(bytes)) => String::from_utf8(bytes)?,
        (_, Value::Int(v)) => v.to_string(),
        (_, Value::UInt(v)) => v.to_string(),
        (_, Value::Float(v)) => v.to_string(),
        (_, Value::Double(v)) => v.to_string(),
        ("date", Value::Date(y, m, d, ..)) => format!("{y:04}-{m:02}-{d:02}"),
        (_, Value::Date(y, m, d, h, min, s, us)) => format!("{y:04}-{m:02}-{d:02} {h:02}:{min:02}:{s:02}.{us:06}"),
        (_, Value::Time(negative, d, h, m, s, us)) => {
            format!("{}{:02}:{m:02}:{s:02}.{us:06}", if negative { "-" } else { "" }, d * 24 + u32::from(h))
        }
    };
    canonical(kind, &text).map(Some)
}
