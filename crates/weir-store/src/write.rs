//! What is written in one transaction. A point that is there already is added to.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use weir_stats::digests::{DigestText, Line, Origin, Sums};
use weir_stats::series::{Keep, Minute, Point, decode_histogram, decode_sums, encode_histogram, encode_sums};

use crate::trouble::{Kind, Trouble};

/// Digests and origins whose numbers are remembered; beyond it they are looked up again.
const KNOWN_MAX: usize = 20_000;
/// How far behind `last_at` of a digest may be, in seconds, so that it is not written each minute.
const SEEN_EVERY: u64 = 3_600;
/// Parts of the oldest minutes that go in one transaction at most, each of an hour at most, so that it stays small.
const SLICES: usize = 24;
const HOUR: u64 = 3_600;
const MINUTE: u64 = 60;

/// Bytes of a row beside its blobs and texts.
const ROW: usize = 100;
/// Bytes of pages that a transaction may begin, and of sums over all other digests.
const SPARE: u64 = 256 << 10;

/// What waits to be written.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// By their second, in the order in which they came.
    pub seconds: Vec<(u64, Point)>,
    /// By the first second of their minute.
    pub minutes: Vec<(u64, Minute)>,
}

impl Batch {
    /// What goes in one transaction: the seconds that wait, or the first of the minutes. So the room that one needs has a bound.
    pub fn take_part(&mut self) -> Option<Self> {
        if !self.seconds.is_empty() {
            return Some(Self { seconds: std::mem::take(&mut self.seconds), minutes: Vec::new() });
        }
        let is_left = !self.minutes.is_empty();
        is_left.then(|| Self { seconds: Vec::new(), minutes: self.minutes.drain(..1).collect() })
    }

    /// It could not be written.
    pub fn put_back(&mut self, part: Self) {
        self.seconds.splice(0..0, part.seconds);
        self.minutes.splice(0..0, part.minutes);
    }

    /// More bytes than it takes in the file: pages may be half empty, and each table and index may begin a new one.
    pub fn bytes_max(&self) -> u64 {
        let point =
            |point: &Point| encode_histogram(&point.total).len() + encode_histogram(&point.server).len();
        let line = |line: &Line| {
            let origin = line.origin.user.len() + line.origin.schema.len() + line.origin.server.len();
            encode_sums(&line.sums).len() + line.digest.text.len() + origin
        };
        // Of a second and of its minute.
        let seconds: usize = self.seconds.iter().map(|(_, it)| 2 * (point(it) + ROW)).sum();
        let lines = self.minutes.iter().flat_map(|(_, minute)| &minute.lines);
        let lines: usize = lines.map(|it| line(it) + 3 * ROW).sum();
        2 * (seconds + lines) as u64 + SPARE
    }
}

/// Numbers of digests and origins in the file, with the last time that the file tells of them.
#[derive(Debug, Default)]
pub(crate) struct Known {
    digests: HashMap<Arc<DigestText>, (i64, u64)>,
    origins: HashMap<Arc<Origin>, (i64, u64)>,
}

/// Writes all of it, or nothing. Of a minute there are at most `most` digests; the others are added up.
pub(crate) fn write(
    connection: &mut Connection,
    batch: &Batch,
    most: usize,
    known: &mut Known,
) -> Result<(), Trouble> {
    let written = write_all(connection, batch, most, known);
    if written.is_err() || known.digests.len().max(known.origins.len()) > KNOWN_MAX {
        // What was taken back may have made some of the numbers.
        *known = Known::default();
    }
    written
}

fn write_all(
    connection: &mut Connection,
    batch: &Batch,
    most: usize,
    known: &mut Known,
) -> Result<(), Trouble> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (second, point) in &batch.seconds {
        add_point(&transaction, "second", *second, point)?;
        add_point(&transaction, "minute", second - second % 60, point)?;
    }
    for (minute, counted) in &batch.minutes {
        add_minute(&transaction, *minute, counted, most, known)?;
    }
    Ok(transaction.commit()?)
}

fn add_minute(
    transaction: &Transaction<'_>,
    at: u64,
    counted: &Minute,
    most: usize,
    known: &mut Known,
) -> Result<(), Trouble> {
    let mut other = counted.other.clone();
    for line in &counted.lines {
        let digest = digest_number(transaction, known, &line.digest, at)?;
        let origin = origin_number(transaction, known, &line.origin, at)?;
        let before = held_sums(transaction, at, (digest, origin))?;
        put_sums(transaction, at, (digest, origin), before, &line.sums)?;
    }
    // A minute may be written in parts: which of its digests have rows is decided by all that is known of it.
    let held = "SELECT count(*) FROM digest_minute WHERE at = ? AND digest <> 0";
    let held: usize = transaction.prepare_cached(held)?.query_row(params![at], |row| row.get(0))?;
    for pair in cheapest(transaction, at, held.saturating_sub(most))? {
        if let Some(sums) = held_sums(transaction, at, pair)? {
            other.merge(&sums);
        }
        let text = "DELETE FROM digest_minute WHERE at = ? AND digest = ? AND origin = ?";
        transaction.prepare_cached(text)?.execute(params![at, pair.0, pair.1])?;
    }
    if other != Sums::default() {
        let before = held_sums(transaction, at, (0, 0))?;
        put_sums(transaction, at, (0, 0), before, &other)?;
    }
    Ok(())
}

/// Removes what is older than `keep`, and the oldest minutes and seconds while more than `size` bytes are in use: first of those that lie
/// too far ahead to be of our time. By their time alone these do not go, for it may be the clock that is wrong. Returns whether there may
/// be more to remove.
pub(crate) fn prune(
    connection: &mut Connection,
    keep: Option<Keep>,
    size: u64,
    known: &mut Known,
) -> Result<bool, Trouble> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut more = false;
    if let Some(keep) = keep {
        transaction.execute("DELETE FROM second WHERE at < ?", params![keep.seconds_from])?;
    }
    let mut forgotten = forget(&transaction, keep)?;
    for slice in 0..SLICES {
        let Some(going) = next_to_go(&transaction, keep, size)? else { break };
        for table in going.tables {
            let text = format!("DELETE FROM {table} WHERE at >= ? AND at < ?");
            transaction.execute(&text, params![going.from, going.until])?;
        }
        // Their texts may be the most of it.
        forgotten += forget(&transaction, keep)?;
        more = slice + 1 == SLICES;
    }
    transaction.commit()?;
    if forgotten > 0 {
        *known = Known::default();
    }
    Ok(more)
}

/// Removes digests and origins of which no minute tells. Returns how many have gone or are told to have been seen at another time.
fn forget(transaction: &Transaction<'_>, keep: Option<Keep>) -> Result<usize, Trouble> {
    let ahead = keep.map(|keep| keep.until.saturating_add(1));
    let mut forgotten = 0;
    for from in [Some(0), ahead].into_iter().flatten() {
        let oldest: Option<u64> = transaction
            .prepare_cached("SELECT min(at) FROM digest_minute WHERE at >= ?")?
            .query_row(params![from], |row| row.get(0))?;
        if let (None, Some(keep)) = (oldest, keep.filter(|_| Some(from) == ahead)) {
            // What a clock that was ahead has left is gone: whatever was seen then was seen by now. Else it would be looked for each time,
            // in all minutes.
            for table in ["digest", "origin"] {
                let text = format!("UPDATE {table} SET last_at = ?1 WHERE last_at > ?1");
                // Who remembers when they were seen must look again.
                forgotten += transaction.prepare_cached(&text)?.execute(params![keep.until])?;
            }
            continue;
        }
        let oldest = oldest.unwrap_or(i64::MAX.cast_unsigned());
        // `last_at` is behind by less than this: what was last seen before the oldest minute can only be in those shortly behind it.
        let until = oldest.saturating_add(SEEN_EVERY).min(i64::MAX.cast_unsigned());
        for table in ["digest", "origin"] {
            let text = format!(
                "DELETE FROM {table} WHERE last_at >= ?1 AND last_at < ?2 \
                 AND number NOT IN (SELECT {table} FROM digest_minute WHERE at < ?3)"
            );
            forgotten += transaction.prepare_cached(&text)?.execute(params![from, oldest, until])?;
        }
    }
    Ok(forgotten)
}

/// What goes next: of these tables all from one time to another.
struct Going {
    tables: &'static [&'static str],
    from: u64,
    until: u64,
}

fn next_to_go(
    transaction: &Transaction<'_>,
    keep: Option<Keep>,
    size: u64,
) -> Result<Option<Going>, Trouble> {
    let is_too_large = used(transaction)? > size;
    // How long seconds are kept is another matter, but they may be the most of the file.
    let tables: &[&str] = match is_too_large {
        true => &["minute", "digest_minute", "second"],
        false => &["minute", "digest_minute"],
    };
    if let Some(keep) = keep.filter(|_| is_too_large) {
        let from = keep.until.saturating_add(1);
        if let Some(span) = span(transaction, tables, from)? {
            return Ok(Some(Going { tables, from, until: slice(span) }));
        }
    }
    let Some(span) = span(transaction, tables, 0)? else { return Ok(None) };
    let until = match is_too_large {
        true => Some(slice(span)),
        false => {
            keep.map(|keep| keep.minutes_from).filter(|from| span.0 < *from).map(|from| from.min(slice(span)))
        }
    };
    Ok(until.map(|until| Going { tables, from: 0, until }))
}

/// The first and the last point of these tables from a time on.
fn span(transaction: &Transaction<'_>, tables: &[&str], from: u64) -> Result<Option<(u64, u64)>, Trouble> {
    let mut span: Option<(u64, u64)> = None;
    for table in tables {
        let ends = |row: &Row<'_>| Ok(row.get::<_, Option<u64>>(0)?.zip(row.get::<_, Option<u64>>(1)?));
        let text = format!(
            "SELECT (SELECT min(at) FROM {table} WHERE at >= ?1), (SELECT max(at) FROM {table} WHERE at >= ?1)"
        );
        if let Some((first, last)) = transaction.query_row(&text, params![from], ends)? {
            let (oldest, newest) = span.unwrap_or((first, last));
            span = Some((oldest.min(first), newest.max(last)));
        }
    }
    Ok(span)
}

/// The end of what goes at once. Of a short time that is little, so that what is new stays.
fn slice((oldest, newest): (u64, u64)) -> u64 {
    let slice = ((newest - oldest) / SLICES as u64).clamp(MINUTE, HOUR);
    (oldest - oldest % MINUTE).saturating_add(slice - slice % MINUTE)
}

/// Bytes of the file that hold something.
pub(crate) fn used(connection: &Connection) -> Result<u64, Trouble> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, u64>(0));
    Ok((number("page_count")?.saturating_sub(number("freelist_count")?)) * number("page_size")?)
}

/// The columns of a point behind `at`.
pub(crate) const COLUMNS: &str = "covered_ms, statements, errors, hits, misses, bytes_in, bytes_out, logins, \
                                  server_opened, cpu_ms, clients, server_connections, total, server";

/// Reads [`COLUMNS`], which begin at this column.
pub(crate) fn point_of(row: &Row<'_>, first: usize) -> Result<Point, Trouble> {
    let number = |at: usize| row.get::<_, u64>(first + at);
    let times = |at: usize| -> Result<_, Trouble> {
        let bytes = row.get_ref(first + at)?.as_blob().map_err(|e| corrupt(&e))?;
        decode_histogram(bytes).ok_or_else(|| corrupt(&"a histogram cannot be read"))
    };
    Ok(Point {
        covered_ms: number(0)?,
        statements: number(1)?,
        errors: number(2)?,
        hits: number(3)?,
        misses: number(4)?,
        bytes_in: number(5)?,
        bytes_out: number(6)?,
        logins: number(7)?,
        server_opened: number(8)?,
        cpu_ms: number(9)?,
        clients: number(10)?,
        server_connections: number(11)?,
        total: times(12)?,
        server: times(13)?,
    })
}

pub(crate) fn corrupt(what: &dyn std::fmt::Display) -> Trouble {
    Trouble::new(Kind::Corrupt, what.to_string())
}

fn add_point(transaction: &Transaction<'_>, table: &str, at: u64, point: &Point) -> Result<(), Trouble> {
    let mut held = transaction.prepare_cached(&format!("SELECT {COLUMNS} FROM {table} WHERE at = ?"))?;
    let mut rows = held.query(params![at])?;
    let mut sum = match rows.next()? {
        Some(row) => point_of(row, 0)?,
        None => Point::default(),
    };
    drop(rows);
    sum.merge(point);
    let text =
        format!("REPLACE INTO {table} (at, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    transaction.prepare_cached(&text)?.execute(params![
        at,
        sum.covered_ms,
        sum.statements,
        sum.errors,
        sum.hits,
        sum.misses,
        sum.bytes_in,
        sum.bytes_out,
        sum.logins,
        sum.server_opened,
        sum.cpu_ms,
        sum.clients,
        sum.server_connections,
        encode_histogram(&sum.total),
        encode_histogram(&sum.server),
    ])?;
    Ok(())
}

/// A digest and an origin, by their numbers in the file.
type Pair = (i64, i64);

/// So many rows of a minute that took the least time.
fn cheapest(transaction: &Transaction<'_>, at: u64, count: usize) -> Result<Vec<Pair>, Trouble> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let text = "SELECT digest, origin FROM digest_minute WHERE at = ? AND digest <> 0 ORDER BY total_us, digest, origin LIMIT ?";
    let mut statement = transaction.prepare_cached(text)?;
    let rows = statement.query_map(params![at, count], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn held_sums(
    transaction: &Transaction<'_>,
    at: u64,
    (digest, origin): Pair,
) -> Result<Option<Sums>, Trouble> {
    let text = "SELECT sums FROM digest_minute WHERE at = ? AND digest = ? AND origin = ?";
    let held: Option<Vec<u8>> = transaction
        .prepare_cached(text)?
        .query_row(params![at, digest, origin], |row| row.get(0))
        .optional()?;
    let read =
        |held: Vec<u8>| decode_sums(&held).ok_or_else(|| corrupt(&"counts of a digest cannot be read"));
    held.map(read).transpose()
}

fn put_sums(
    transaction: &Transaction<'_>,
    at: u64,
    (digest, origin): Pair,
    before: Option<Sums>,
    more: &Sums,
) -> Result<(), Trouble> {
    let mut sums = before.unwrap_or_default();
    sums.merge(more);
    let text = "REPLACE INTO digest_minute (at, digest, origin, calls, errors, hits, total_us, sums) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    transaction.prepare_cached(text)?.execute(params![
        at,
        digest,
        origin,
        sums.calls,
        sums.errors,
        sums.hits,
        sums.total.sum_ns() / 1000,
        encode_sums(&sums),
    ])?;
    Ok(())
}

fn digest_number(
    transaction: &Transaction<'_>,
    known: &mut Known,
    digest: &Arc<DigestText>,
    at: u64,
) -> Result<i64, Trouble> {
    if let Some((number, seen)) = known.digests.get(digest)
        && at < seen + SEEN_EVERY
    {
        return Ok(*number);
    }
    // Ids use all 64 bits, and SQLite's numbers have a sign.
    let id = digest.id.0.cast_signed();
    let number: Option<i64> = transaction
        .prepare_cached("SELECT number FROM digest WHERE id = ? AND text = ?")?
        .query_row(params![id, &*digest.text], |row| row.get(0))
        .optional()?;
    let number = match number {
        Some(number) => {
            transaction
                .prepare_cached("UPDATE digest SET last_at = max(last_at, ?) WHERE number = ?")?
                .execute(params![at, number])?;
            number
        }
        None => {
            transaction
                .prepare_cached(
                    "INSERT INTO digest (id, text, is_cut, is_cacheable, last_at) VALUES (?, ?, ?, ?, ?)",
                )?
                .execute(params![id, &*digest.text, digest.is_cut, digest.is_cacheable, at])?;
            transaction.last_insert_rowid()
        }
    };
    known.digests.insert(Arc::clone(digest), (number, at));
    Ok(number)
}

fn origin_number(
    transaction: &Transaction<'_>,
    known: &mut Known,
    origin: &Arc<Origin>,
    at: u64,
) -> Result<i64, Trouble> {
    if let Some((number, seen)) = known.origins.get(origin)
        && at < seen + SEEN_EVERY
    {
        return Ok(*number);
    }
    let (user, schema, server) = (&*origin.user, &*origin.schema, &*origin.server);
    let number: Option<i64> = transaction
        .prepare_cached("SELECT number FROM origin WHERE user = ? AND schema = ? AND server = ?")?
        .query_row(params![user, schema, server], |row| row.get(0))
        .optional()?;
    let number = match number {
        Some(number) => {
            transaction
                .prepare_cached("UPDATE origin SET last_at = max(last_at, ?) WHERE number = ?")?
                .execute(params![at, number])?;
            number
        }
        None => {
            transaction
                .prepare_cached("INSERT INTO origin (user, schema, server, last_at) VALUES (?, ?, ?, ?)")?
                .execute(params![user, schema, server, at])?;
            transaction.last_insert_rowid()
        }
    };
    known.origins.insert(Arc::clone(origin), (number, at));
    Ok(number)
}
