//! Checks of statements.

use std::cell::Cell;
use std::time::{Duration, Instant};

use futures_util::{FutureExt, TryStreamExt};
use sqlx::mysql::types::{MySqlTime, MySqlTimeSign};
use sqlx::mysql::{MySqlArguments, MySqlConnectOptions, MySqlConnection, MySqlRow};
use sqlx::query::Query;
use sqlx::types::time::{Date, PrimitiveDateTime};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Either, Executor, MySql, Row, raw_sql};

use crate::suite::{
    Column, Outcome, PROCEDURE, Suite, big_text, bytes_of, canonical, columns, create_types, hex_of, item, literal, names, same,
};
use crate::{Checks, exec, is_error, one};

impl Checks {
    pub async fn statements(&self, suite: &mut Suite) {
        suite.check("types-text", self.types(false)).await;
        suite.check("types-prepared", self.types(true)).await;
        suite.check("big-value", self.big_value(false, self.plain())).await;
        suite.check("big-value-prepared", self.big_value(true, self.plain())).await;
        if self.target.tls {
            suite.check("big-value-tls", self.big_value(true, self.tls())).await;
        }
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
        let mut conn = self.plain().connect().await?;
        // sqlx refuses a result with a type it does not know.
        let columns: Vec<Column> = columns(&self.target.family)?.into_iter().filter(|c| c.name != "c_vector").collect();
        let names = names(&columns);
        exec(&mut conn, "DROP TABLE IF EXISTS types").await?;
        exec(&mut conn, create_types(&columns)).await?;
        for row in 0..3 {
            let texts = || columns.iter().map(|c| (c, c.values.get(row).map(String::as_str)));
            if prepared {
                let sql = format!("INSERT INTO types ({names}) VALUES (?{})", ", ?".repeat(columns.len()));
                let mut query = sqlx::query(AssertSqlSafe(sql)).bind(row as i64 + 1);
                for (column, text) in texts() {
                    query = bind(query, &column.kind, text)?;
                }
                same(query.execute(&mut conn).await?.rows_affected(), 1, "affected rows")?;
            } else {
                let values = texts().fold(format!("{}", row + 1), |all, (c, t)| format!("{all}, {}", literal(c, t)));
                exec(&mut conn, format!("INSERT INTO types ({names}) VALUES ({values})")).await?;
            }
        }
        let select = format!("SELECT {names} FROM types ORDER BY id");
        let rows = if prepared {
            sqlx::query(AssertSqlSafe(select)).fetch_all(&mut conn).await?
        } else {
            conn.fetch_all(raw_sql(AssertSqlSafe(select))).await?
        };
        compare(&columns, &rows)?;
        Ok(conn.close().await?)
    }

    async fn big_value(&self, prepared: bool, options: MySqlConnectOptions) -> Outcome {
        let mut conn = options.connect().await?;
        let text = big_text();
        exec(&mut conn, "DROP TABLE IF EXISTS big").await?;
        exec(&mut conn, "CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT) CHARACTER SET utf8mb4").await?;
        let got: String = if prepared {
            sqlx::query("INSERT INTO big VALUES (?, ?)").bind(1).bind(&text).execute(&mut conn).await?;
            sqlx::query("SELECT v FROM big WHERE id = ?").bind(1).fetch_one(&mut conn).await?.try_get(0)?
        } else {
            exec(&mut conn, format!("INSERT INTO big VALUES (1, '{text}')")).await?;
            // Not the value alone: sqlx takes a text row that starts with a value of 16 MiB (byte 0xFE) for the end.
            one(&mut conn, "SELECT id, v FROM big").await?.ok_or("NULL")?
        };
        same(one(&mut conn, "SELECT LENGTH(v) FROM big").await?, Some(text.len().to_string()), "length at the server")?;
        same(got == text, true, "the value that came back")?;
        Ok(conn.close().await?)
    }

    async fn procedure_results(&self) -> Outcome {
        let mut conn = self.plain().connect().await?;
        exec(&mut conn, "DROP PROCEDURE IF EXISTS several").await?;
        exec(&mut conn, PROCEDURE).await?;
        let wanted = [format!("1|{}", item(1)), format!("2|{}", item(2)), "/".into(), "größe 🐬|2".into(), "/".into(), "/".into()];
        same(sets(&mut conn, "CALL several(2)").await?, wanted.to_vec(), "answers")?;
        let mut rows = Vec::new();
        let mut answers = conn.fetch_many(sqlx::query("CALL several(?)").bind(2));
        while let Some(answer) = answers.try_next().await? {
            rows.push(matches!(answer, Either::Right(_)));
        }
        drop(answers);
        same(rows, vec![true, true, false, true, false, false], "rows and ends of the prepared call")?;
        Ok(conn.close().await?)
    }

    async fn multi_statements(&self) -> Outcome {
        let mut conn = self.plain().connect().await?;
        let batch = "SELECT 1; SELECT 'größe 🐬'; DO 0; SELECT id FROM items WHERE id < 3 ORDER BY id";
        same(sets(&mut conn, batch).await?, ["1", "/", "größe 🐬", "/", "/", "1", "2", "/"].map(String::from).to_vec(), "answers")?;
        is_error(exec(&mut conn, "SELECT 1; SELECT * FROM no_such_table; SELECT 2").await, 1146, "42S02")?;
        same(one(&mut conn, "SELECT 'after'").await?.as_deref(), Some("after"), "the connection afterwards")?;
        Ok(conn.close().await?)
    }

    async fn transaction(&self) -> Outcome {
        let (mut conn, mut other) = (self.plain().connect().await?, self.plain().connect().await?);
        let count = "SELECT COUNT(*) FROM items WHERE id = 100";
        for wanted in ["0", "1"] {
            let mut tx = conn.begin().await?;
            sqlx::query("INSERT INTO items VALUES (?, 'in a transaction')").bind(100).execute(&mut *tx).await?;
            same(one(&mut other, count).await?.as_deref(), Some("0"), "view of another session before the end")?;
            if wanted == "0" {
                tx.rollback().await?;
            } else {
                tx.commit().await?;
            }
            same(one(&mut other, count).await?.as_deref(), Some(wanted), "view of another session after the end")?;
        }
        exec(&mut conn, "DELETE FROM items WHERE id = 100").await?;
        other.close().await?;
        Ok(conn.close().await?)
    }

    /// sqlx shows no thread id, the server's own word is used for KILL QUERY.
    async fn cancel(&self) -> Outcome {
        let (mut victim, mut other) = (self.plain().connect().await?, self.plain().connect().await?);
        let id = one(&mut victim, "SELECT CONNECTION_ID()").await?.ok_or("no thread id")?;
        let query = format!("SELECT 1 AS cancel_me FROM {}.items", self.target.db);
        let running = format!("SELECT COUNT(*) FROM {} WHERE INFO LIKE '{query}%'", self.target.processlist());
        let started = Instant::now();
        let ended = Cell::new(false);
        let killer = async {
            while one(&mut other, running.as_str()).await?.as_deref() != Some("1") {
                same(started.elapsed() < Duration::from_secs(40), true, "the query shows up in the process list")?;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            // Again until the query has ended: README.md says why.
            while !ended.get() && started.elapsed() < Duration::from_secs(50) {
                exec(&mut other, format!("KILL QUERY {id}")).await?;
                let sent = Instant::now();
                while !ended.get() && sent.elapsed() < Duration::from_secs(1) {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
            Outcome::Ok(())
        };
        let work = tokio::time::timeout(Duration::from_secs(55), exec(&mut victim, format!("{query} WHERE id < 3 AND SLEEP(60)")));
        let work = work.inspect(|_| ended.set(true));
        let (outcome, killed) = futures_util::join!(work, killer);
        killed?;
        is_error(outcome?, 1317, "70100")?;
        same(started.elapsed() < Duration::from_secs(50), true, "cancelled within 50 s")?;
        same(one(&mut victim, "SELECT 'alive'").await?.as_deref(), Some("alive"), "the cancelled connection")?;
        other.close().await?;
        Ok(victim.close().await?)
    }

    async fn errors(&self) -> Outcome {
        let mut conn = self.plain().connect().await?;
        is_error(exec(&mut conn, "INSERT INTO items VALUES (1, 'again')").await, 1062, "23000")?;
        is_error(exec(&mut conn, "SELEC 1").await, 1064, "42000")?;
        let missing = sqlx::query("SELECT * FROM no_such_table WHERE id = ?").bind(1);
        is_error(missing.execute(&mut conn).await, 1146, "42S02")?;
        let again = sqlx::query("INSERT INTO items VALUES (?, ?)").bind(1).bind("again");
        is_error(again.execute(&mut conn).await, 1062, "23000")?;
        is_error(exec(&mut conn, "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'größe'").await, 1644, "45000")?;
        same(one(&mut conn, "SELECT 'after'").await?.as_deref(), Some("after"), "the connection after errors")?;
        Ok(conn.close().await?)
    }

    async fn stream(&self) -> Outcome {
        let mut conn = self.plain().connect().await?;
        let sql = "SELECT a.id, a.name FROM items a, items b, items c, items d WHERE a.id > ?";
        let mut rows = sqlx::query(sql).bind(0).fetch(&mut conn);
        let mut count = 0;
        while let Some(row) = rows.try_next().await? {
            same(row.try_get::<String, _>(1)?, item(row.try_get(0)?), "row")?;
            count += 1;
        }
        drop(rows);
        same(count, 10_000, "rows")?;
        // A result left half read is drained before the connection is used again.
        let mut rows = conn.fetch(raw_sql("SELECT a.id FROM items a, items b, items c, items d"));
        same(rows.try_next().await?.is_some(), true, "a first row")?;
        drop(rows);
        same(one(&mut conn, "SELECT 'after'").await?.as_deref(), Some("after"), "the connection afterwards")?;
        Ok(conn.close().await?)
    }

    async fn reconnects(&self, options: MySqlConnectOptions) -> Outcome {
        for i in 0..50_i64 {
            let mut conn = options.connect().await?;
            same(sqlx::query("SELECT ?").bind(i).fetch_one(&mut conn).await?.try_get::<i64, _>(0)?, i, "answer")?;
            conn.close().await?;
        }
        Ok(())
    }
}

/// All answers in order: a row as its columns with bars between them, the end of an answer as a slash.
async fn sets(conn: &mut MySqlConnection, sql: &'static str) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    let mut answers = conn.fetch_many(raw_sql(sql));
    while let Some(answer) = answers.try_next().await? {
        found.push(match answer {
            Either::Left(_) => "/".to_owned(),
            Either::Right(row) => {
                let texts: Result<Vec<String>, _> = (0..row.len()).map(|i| row.try_get_unchecked(i)).collect();
                texts?.join("|")
            }
        });
    }
    Ok(found)
}

type Prepared<'q> = Query<'q, MySql, MySqlArguments>;

fn bind<'q>(query: Prepared<'q>, kind: &str, text: Option<&'q str>) -> Outcome<Prepared<'q>> {
    let Some(text) = text else { return Ok(query.bind(None::<String>)) };
    Ok(match kind {
        "int" | "year" => query.bind(text.parse::<i64>()?),
        "uint" | "bit" => query.bind(text.parse::<u64>()?),
        "float" => query.bind(text.parse::<f64>()?),
        "bytes" => query.bind(bytes_of(text)?),
        "date" => query.bind(parse_datetime(text)?.date()),
        "datetime" => query.bind(parse_datetime(text)?),
        _ => query.bind(text),
    })
}

/// `YYYY-MM-DD[ HH:MM:SS[.ffffff]]`
fn parse_datetime(text: &str) -> Outcome<PrimitiveDateTime> {
    let mut numbers = text.split(['-', ' ', ':', '.']);
    let mut next = || numbers.next().unwrap_or("0");
    let (year, month, day): (i32, u8, u8) = (next().parse()?, next().parse()?, next().parse()?);
    let (hour, minute, second, fraction): (u8, u8, u8, _) = (next().parse()?, next().parse()?, next().parse()?, next());
    let date = Date::from_calendar_date(year, month.try_into()?, day)?;
    Ok(date.with_hms_micro(hour, minute, second, format!("{fraction:0<6}").parse()?)?)
}

fn compare(columns: &[Column], rows: &[MySqlRow]) -> Outcome {
    same(rows.len(), 3, "rows")?;
    for (number, row) in rows.iter().enumerate() {
        for (index, column) in columns.iter().enumerate() {
            let what = format!("row {} {}", number + 1, column.name);
            let wanted = column.values.get(number).map(|text| canonical(&column.kind, text)).transpose()?;
            let got = read(row, index + 1, column).map_err(|e| format!("{what}: {e}"))?;
            same(got, wanted, &what)?;
        }
    }
    Ok(())
}

fn read(row: &MySqlRow, at: usize, column: &Column) -> Outcome<Option<String>> {
    let text = match column.kind.as_str() {
        "int" if column.sql.ends_with("UNSIGNED") => row.try_get_unchecked::<Option<u64>, _>(at)?.map(|v| v.to_string()),
        "int" => row.try_get_unchecked::<Option<i64>, _>(at)?.map(|v| v.to_string()),
        "uint" | "bit" | "year" => row.try_get_unchecked::<Option<u64>, _>(at)?.map(|v| v.to_string()),
        "float" if column.sql == "FLOAT" => row.try_get::<Option<f32>, _>(at)?.map(|v| v.to_string()),
        "float" => row.try_get::<Option<f64>, _>(at)?.map(|v| v.to_string()),
        "bytes" => row.try_get_unchecked::<Option<Vec<u8>>, _>(at)?.map(|v| hex_of(&v)),
        "date" => row.try_get::<Option<Date>, _>(at)?.map(|v| v.to_string()),
        "datetime" => row.try_get_unchecked::<Option<PrimitiveDateTime>, _>(at)?.map(|v| {
            let (hour, minute, second, micros) = v.as_hms_micro();
            format!("{} {hour:02}:{minute:02}:{second:02}.{micros:06}", v.date())
        }),
        // MySqlTime::is_negative() is true of positive times, too.
        "time" => row.try_get::<Option<MySqlTime>, _>(at)?.map(|v| {
            let sign = if v.sign() == MySqlTimeSign::Negative { "-" } else { "" };
            format!("{sign}{:02}:{:02}:{:02}.{:06}", v.hours(), v.minutes(), v.seconds(), v.microseconds())
        }),
        _ => row.try_get_unchecked::<Option<String>, _>(at)?,
    };
    text.map(|text| canonical(&column.kind, &text)).transpose()
}
