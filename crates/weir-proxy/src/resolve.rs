//! What the names of a statement stand for at the server: a table's answer may be kept, that of a view only if what is
//! behind it may.
//!
//! The questions are asked as the session's own user, so what it may not see is not resolved, and not kept.

use crate::codes::QUERY_INTERRUPTED;
use crate::fill::{Unasked, ask_text};
use crate::judged::Reads;
use crate::session::Session;
use crate::wish::{Wish, refusal};
use std::fmt::Write;
use weir_cache::Refusal;
use weir_model::ServerFamily;
use weir_session::Schema;
use weir_sql::{LexMode, TableName, read_facts};

/// How deep views may stand on views.
const DEEP: usize = 8;
/// Names that are asked about for one statement, those behind views included.
const MANY: usize = 64;

/// Engines whose tables hold their rows themselves, on this server. What is read out of a MERGE table comes from others, which a wipe may name.
const ENGINES: [&str; 9] =
    ["InnoDB", "MyISAM", "Aria", "MEMORY", "CSV", "ARCHIVE", "ROCKSDB", "TokuDB", "ndbcluster"];

/// Asks about all names of a statement.
///
/// # Errors
/// The server does not say.
pub(crate) async fn names(session: &mut Session, wish: &Wish) -> Result<Result<Reads, Refusal>, Unasked> {
    let schema = match &wish.schema {
        Schema::Known(name) => Some(name.to_vec()),
        Schema::None | Schema::Unknown => None,
    };
    let mut open: Vec<(TableName, usize)> = wish.judged.facts.tables.iter().map(|t| (t.clone(), 0)).collect();
    let (mut asked, mut reads) = (0, Reads::Tables);
    while let Some((table, depth)) = open.pop() {
        asked += 1;
        let of = table.schema.as_deref().or(schema.as_deref());
        let Some(of) = of.and_then(|s| std::str::from_utf8(s).ok()).map(str::to_owned) else {
            return Ok(Err(Refusal::Unresolved));
        };
        let Ok(name) = std::str::from_utf8(&table.name) else { return Ok(Err(Refusal::Unresolved)) };
        if asked > MANY || depth > DEEP || !(of.is_ascii() && name.is_ascii()) {
            return Ok(Err(Refusal::Unresolved));
        }
        match look(session, &of, name, wish.cache.views).await? {
            Seen::Table if depth > 0 && !shows_all(session, &of, name).await? => {
                return Err(Unasked::Hidden(Refusal::Unresolved));
            }
            Seen::Table => {}
            Seen::AnyView => reads = Reads::Views,
            Seen::Refused(why) => return Ok(Err(why)),
            Seen::View(tables) => {
                reads = Reads::Views;
                open.extend(tables.into_iter().map(|table| (table, depth + 1)));
            }
        }
    }
    Ok(Ok(reads))
}

/// What one name stands for.
enum Seen {
    Table,
    /// A view whose definition does not matter to the rule.
    AnyView,
    /// A view on these.
    View(Vec<TableName>),
    Refused(Refusal),
}

async fn look(session: &mut Session, schema: &str, name: &str, views: bool) -> Result<Seen, Unasked> {
    let row = ask_text(session, &question(schema, name)).await?;
    let text = |at: usize| row.get(at).cloned().flatten();
    let Some(kind) = text(0) else { return Err(Unasked::Hidden(Refusal::Unresolved)) };
    let count = |at: usize| text(at).and_then(|n| n.parse::<u32>().ok());
    match (kind.as_str(), text(1)) {
        ("BASE TABLE" | "SYSTEM VERSIONED", Some(engine)) if ENGINES.contains(&engine.as_str()) => {
            match (count(2), count(3)) {
                (Some(0), Some(0)) => Ok(Seen::Table),
                (Some(0), Some(_)) => generated(session, schema, name).await,
                (Some(_), _) => Ok(Seen::Refused(Refusal::TimeValue)),
                (None, _) => Ok(Seen::Refused(Refusal::Unresolved)),
            }
        }
        ("VIEW", _) if views => Ok(Seen::AnyView),
        ("VIEW", _) if count(2) != Some(0) => Ok(Seen::Refused(Refusal::TimeValue)),
        ("VIEW", _) => view(session, schema, name).await,
        ("TEMPORARY" | "TEMPORARY TABLE", _) => Ok(Seen::Refused(Refusal::TemporaryTable)),
        _ => Ok(Seen::Refused(Refusal::Unresolved)),
    }
}

/// The kind of a name, its engine, its columns of type TIME, and those that are computed when they are read.
fn question(schema: &str, name: &str) -> String {
    let (schema, name) = (quoted(schema), quoted(name));
    let columns =
        format!("FROM information_schema.COLUMNS WHERE TABLE_SCHEMA={schema} AND TABLE_NAME={name}");
    format!(
        "SELECT TABLE_TYPE,ENGINE,(SELECT COUNT(*) {columns} AND DATA_TYPE='time'),\
         (SELECT COUNT(*) {columns} AND EXTRA LIKE '%VIRTUAL%') \
         FROM information_schema.TABLES WHERE TABLE_SCHEMA={schema} AND TABLE_NAME={name} LIMIT 1"
    )
}

/// Whether the user is told of all columns of a table. Who reads it through a view alone may have a right to some of them only,
/// and is shown no others.
async fn shows_all(session: &mut Session, schema: &str, name: &str) -> Result<bool, Unasked> {
    let name_of = |name: &str| format!("`{}`", name.replace('`', "``"));
    let row =
        match ask_text(session, &format!("SHOW CREATE TABLE {}.{}", name_of(schema), name_of(name))).await {
            Ok(row) => row,
            // It takes a right to the table itself.
            Err(Unasked::Refused(code)) if code != QUERY_INTERRUPTED => return Ok(false),
            Err(unasked) => return Err(unasked),
        };
    let Some(columns) = row.get(1).and_then(|definition| columns(definition.as_deref()?)) else {
        return Ok(false);
    };
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA={} AND TABLE_NAME={}",
        quoted(schema),
        quoted(name)
    );
    let shown = ask_text(session, &sql).await?.first().cloned().flatten();
    Ok(shown.and_then(|shown| shown.parse().ok()) == Some(columns))
}

/// How many columns a definition has, as the server writes it: each has a line of its own. A comment with such a line is one more,
/// and then it is refused. `None`: names are not quoted there (`sql_quote_show_create`), and which lines are columns is not known.
fn columns(definition: &str) -> Option<usize> {
    const KEYS: [&str; 11] = [
        "PRIMARY KEY ",
        "UNIQUE KEY ",
        "KEY ",
        "FULLTEXT KEY ",
        "SPATIAL KEY ",
        "VECTOR KEY ",
        "CONSTRAINT ",
        "FOREIGN KEY ",
        "CHECK ",
        "PERIOD FOR ",
        "/*!",
    ];
    let is_column = |line: &&str| line.starts_with("  `") || line.starts_with("  \"");
    let is_key =
        |line: &str| line.strip_prefix("  ").is_some_and(|line| KEYS.iter().any(|key| line.starts_with(key)));
    let mut body = definition.lines().skip(1).take_while(|line| !line.starts_with(')'));
    let is_known = body.all(|line| is_column(&line) || is_key(line));
    is_known.then(|| definition.lines().filter(is_column).count())
}

/// Computed columns: MySQL allows nothing in them that is not deterministic, MariaDB does.
async fn generated(session: &mut Session, schema: &str, name: &str) -> Result<Seen, Unasked> {
    if session.server.family == ServerFamily::MySql {
        return Ok(Seen::Table);
    }
    let (quoted_schema, quoted_name) = (quoted(schema), quoted(name));
    // What is too long for it is cut, and then not understood.
    let sql = format!(
        "SELECT GROUP_CONCAT(CONCAT('(',GENERATION_EXPRESSION,')') SEPARATOR ','),COUNT(*) FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA={quoted_schema} AND TABLE_NAME={quoted_name} AND EXTRA LIKE '%VIRTUAL%' LIMIT 1"
    );
    let row = ask_text(session, &sql).await?;
    let Some(text) = row.first().cloned().flatten() else { return Ok(Seen::Refused(Refusal::Unresolved)) };
    Ok(match judged(session, &format!("SELECT {text}")) {
        Ok(tables) if tables.is_empty() => Seen::Table,
        Ok(_) => Seen::Refused(Refusal::Unresolved),
        Err(why) => Seen::Refused(why),
    })
}

/// A view is what its definition is. Who may not see that (it takes SHOW VIEW) gets it empty.
async fn view(session: &mut Session, schema: &str, name: &str) -> Result<Seen, Unasked> {
    let sql = format!(
        "SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA={} AND TABLE_NAME={} LIMIT 1",
        quoted(schema),
        quoted(name)
    );
    let row = ask_text(session, &sql).await?;
    let Some(text) = row.first().cloned().flatten().filter(|text| !text.is_empty()) else {
        return Err(Unasked::Hidden(Refusal::View));
    };
    Ok(match judged(session, &text) {
        Ok(mut tables) => {
            for table in &mut tables {
                table.schema.get_or_insert_with(|| schema.as_bytes().to_vec());
            }
            Seen::View(tables)
        }
        Err(_) => Seen::Refused(Refusal::View),
    })
}

/// The tables of a text of the server's own, if its answer may be kept. The server writes names in backquotes.
fn judged(session: &Session, text: &str) -> Result<Vec<TableName>, Refusal> {
    let mode = LexMode::new(session.server.family, session.server.version);
    let facts = read_facts(text.as_bytes(), mode);
    facts.verdict.map_err(refusal)?;
    if facts.needs_resolving() {
        return Err(Refusal::StoredFunction);
    }
    Ok(facts.tables)
}

/// A name as a string of bytes that no mode of the session reads otherwise.
fn quoted(name: &str) -> String {
    let mut out = String::from("_utf8mb4 x'");
    for byte in name.bytes() {
        // Writing to a text does not fail.
        let _ = write!(out, "{byte:02x}");
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests;
