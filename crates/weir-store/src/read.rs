//! What is asked of the history. Each question has a connection of its own, so that nobody who writes waits for it.

mod compare;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use weir_model::DigestId;
use weir_stats::digests::{DigestText, Line, Origin, Sums};
use weir_stats::series::{Point, add_encoded, decode_sums, encode_sums};

use crate::file;
use crate::trouble::{Kind, Trouble};
use crate::write::{COLUMNS, corrupt, point_of};

pub(crate) use compare::compare;
pub use compare::{Asked, Compared, Listed, Row};

/// How long a question may take: thirty days of a busy Weir are read in less.
const LONGEST: Duration = Duration::from_secs(30);
/// Digests and origins of a period that are told apart while it is read; what is met beyond them counts with the others.
const APART_MAX: usize = 50_000;
/// Those of them that are added up in a form that is quick and large: 8 MB at most.
const QUICK_MAX: usize = 1_000;
/// Those of a period that are told, by the time that they took. They are held in the form of the file: 3 MB as a rule, 40 MB where each
/// text is as long as may be.
const LINES_MAX: usize = 10_000;
/// Rows between two looks at the clock.
const LOOK_EVERY: usize = 4_096;

/// Points of a time, each of one step.
#[derive(Debug, Clone, Default)]
pub struct Points {
    /// By the second in which each begins. Steps in which nothing was written are absent.
    pub points: BTreeMap<u64, Point>,
    /// Seconds from one to the next.
    pub step: u64,
}

/// What was counted of digests in whole minutes.
#[derive(Debug, Clone)]
pub struct Period {
    /// The first second, and the one behind the last.
    pub from: u64,
    pub to: u64,
    /// The time in it in which Weir has counted.
    pub covered_ms: u64,
    lines: Vec<Short>,
    other: Sums,
}

/// A line in the form of the file: a thirtieth of what it takes when it is looked at.
#[derive(Debug, Clone)]
struct Short {
    digest: Arc<DigestText>,
    origin: Arc<Origin>,
    first: u64,
    last: u64,
    sums: Vec<u8>,
}

impl Period {
    /// Each line with its number, those that took most time first. Each is made when it is looked at; `first_seen` and `last_seen` are the
    /// minutes, in seconds since 1970.
    pub fn lines(&self) -> impl Iterator<Item = (usize, Line)> {
        (0..self.lines.len()).filter_map(|at| Some((at, self.line(at)?)))
    }

    /// The line with this number.
    pub fn line(&self, at: usize) -> Option<Line> {
        let Short { digest, origin, first, last, sums } = self.lines.get(at)?;
        let sums = Sums { first_seen: *first, last_seen: *last, ..decode_sums(sums)? };
        Some(Line { digest: Arc::clone(digest), origin: Arc::clone(origin), sample: Box::default(), sums })
    }

    /// What has no line.
    pub fn other(&self) -> &Sums {
        &self.other
    }
}

/// What was counted from the second `from` to before `to`. Seconds are told apart if `step` is no multiple of 60.
pub(crate) fn points(path: &Path, from: u64, to: u64, step: u64) -> Result<Points, Trouble> {
    let connection = file::open_to_read(path)?;
    let step = step.max(1);
    let table = if step.is_multiple_of(60) { "minute" } else { "second" };
    let mut bound = Bound::new();
    let mut points: BTreeMap<u64, Point> = BTreeMap::new();
    let text = format!("SELECT at, {COLUMNS} FROM {table} WHERE at >= ? AND at < ? ORDER BY at");
    let mut statement = connection.prepare(&text)?;
    let mut rows = statement.query(params![from, to])?;
    while let Some(row) = rows.next()? {
        bound.look()?;
        let at: u64 = row.get(0)?;
        points.entry(at - at % step).or_default().merge(&point_of(row, 1)?);
    }
    Ok(Points { points, step })
}

/// What was counted of digests from the minute of `from` to that of `to`, both included.
pub(crate) fn period(path: &Path, from: u64, to: u64) -> Result<Period, Trouble> {
    let connection = file::open_to_read(path)?;
    let (from, to) = whole_minutes((from, to));
    let covered_ms = covered_ms(&connection, (from, to))?;
    let mut found = gather(&connection, (from, to), &mut Bound::new())?.shrunk();
    let mut apart: Vec<((i64, i64), Gathered)> = found.apart.drain().collect();
    apart.sort_by_key(|(key, gathered)| (Reverse(gathered.total_us), *key));
    let mut names = Names::new(&connection);
    let mut lines = Vec::new();
    for ((digest, origin), gathered) in apart {
        let sums = gathered.sums()?;
        // Of some there is only what they have kept: they were answered before.
        let is_told = lines.len() < LINES_MAX && sums.calls > 0;
        match is_told.then(|| names.of(digest, origin)).transpose()?.flatten() {
            Some((digest, origin)) => {
                let Gathered { first, last, .. } = gathered;
                lines.push(Short { digest, origin, first, last, sums: encode_sums(&sums) });
            }
            None => found.other.merge(&sums),
        }
    }
    Ok(Period { from, to, covered_ms, lines, other: found.other })
}

fn whole_minutes((from, to): (u64, u64)) -> (u64, u64) {
    (from - from % 60, to.next_multiple_of(60))
}

/// The time in a period in which Weir has counted.
fn covered_ms(connection: &Connection, (from, to): (u64, u64)) -> Result<u64, Trouble> {
    let covered_ms = "SELECT coalesce(sum(covered_ms), 0) FROM minute WHERE at >= ? AND at < ?";
    Ok(connection.query_row(covered_ms, params![from, to], |row| row.get(0))?)
}

/// The counts of a period while it is read.
struct Found {
    apart: HashMap<(i64, i64), Gathered>,
    other: Sums,
}

impl Found {
    /// It is whole: it takes less memory from now on.
    fn shrunk(mut self) -> Self {
        for gathered in self.apart.values_mut() {
            if let Held::Long(sums) = &gathered.sums {
                gathered.sums = Held::Short(encode_sums(sums));
            }
        }
        self
    }
}

/// Counts of one digest and origin.
struct Gathered {
    total_us: u64,
    first: u64,
    last: u64,
    sums: Held,
}

/// As few bytes, for there may be many, or as 8 KiB to which it is quick to add, for those that come again.
enum Held {
    Short(Vec<u8>),
    Long(Box<Sums>),
}

impl Gathered {
    fn sums(&self) -> Result<Sums, Trouble> {
        let sums = match &self.sums {
            Held::Short(bytes) => read_sums(bytes)?,
            Held::Long(sums) => Sums::clone(sums),
        };
        Ok(Sums { first_seen: self.first, last_seen: self.last, ..sums })
    }

    /// `may_grow` allows it to take more memory. Returns whether it has.
    fn add(&mut self, bytes: &[u8], may_grow: bool) -> Result<bool, Trouble> {
        let held = match &mut self.sums {
            Held::Long(sums) => return add_sums(sums, bytes).map(|()| false),
            Held::Short(held) => held,
        };
        let mut sums = read_sums(held)?;
        add_sums(&mut sums, bytes)?;
        self.sums = match may_grow {
            true => Held::Long(Box::new(sums)),
            false => Held::Short(encode_sums(&sums)),
        };
        Ok(may_grow)
    }
}

fn gather(connection: &Connection, (from, to): (u64, u64), bound: &mut Bound) -> Result<Found, Trouble> {
    let mut found = Found { apart: HashMap::new(), other: Sums::default() };
    let mut grown = 0;
    let text =
        "SELECT at, digest, origin, total_us, sums FROM digest_minute WHERE at >= ? AND at < ? ORDER BY at";
    let mut statement = connection.prepare(text)?;
    let mut rows = statement.query(params![from, to])?;
    while let Some(row) = rows.next()? {
        bound.look()?;
        let (at, key, total_us) = (row.get::<_, u64>(0)?, (row.get(1)?, row.get(2)?), row.get::<_, u64>(3)?);
        let bytes = row.get_ref(4)?.as_blob().map_err(|e| corrupt(&e))?;
        let is_full = found.apart.len() >= APART_MAX;
        match found.apart.get_mut(&key) {
            Some(gathered) => {
                grown += usize::from(gathered.add(bytes, grown < QUICK_MAX)?);
                gathered.total_us += total_us;
                gathered.last = at;
            }
            None if key == (0, 0) || is_full => {
                add_sums(&mut found.other, bytes)?;
                found.other.first_seen = found.other.first_seen.min(at);
                found.other.last_seen = at;
            }
            None => {
                let sums = Held::Short(bytes.to_vec());
                let gathered = Gathered { total_us, first: at, last: at, sums };
                found.apart.insert(key, gathered);
            }
        }
    }
    Ok(found)
}

fn add_sums(sums: &mut Sums, bytes: &[u8]) -> Result<(), Trouble> {
    add_encoded(sums, bytes).ok_or_else(|| corrupt(&"counts of a digest cannot be read"))
}

fn read_sums(bytes: &[u8]) -> Result<Sums, Trouble> {
    decode_sums(bytes).ok_or_else(|| corrupt(&"counts of a digest cannot be read"))
}

type Named = (Arc<DigestText>, Arc<Origin>);

/// What the numbers of digests and origins stand for.
struct Names<'c> {
    connection: &'c Connection,
    origins: HashMap<i64, Arc<Origin>>,
    digests: HashMap<i64, Arc<DigestText>>,
}

impl<'c> Names<'c> {
    fn new(connection: &'c Connection) -> Self {
        Self { connection, origins: HashMap::new(), digests: HashMap::new() }
    }

    /// `None` where the file does not say.
    fn of(&mut self, digest: i64, origin: i64) -> Result<Option<Named>, Trouble> {
        if let std::collections::hash_map::Entry::Vacant(place) = self.digests.entry(digest) {
            let text = "SELECT id, text, is_cut, is_cacheable FROM digest WHERE number = ?";
            let mut statement = self.connection.prepare_cached(text)?;
            let mut rows = statement.query(params![digest])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let id = DigestId(row.get::<_, i64>(0)?.cast_unsigned());
            let (text, is_cut, is_cacheable) = (row.get::<_, Vec<u8>>(1)?, row.get(2)?, row.get(3)?);
            place.insert(Arc::new(DigestText { id, text: text.into(), is_cut, is_cacheable }));
        }
        let origin = self.origin(origin)?;
        Ok(self.digests.get(&digest).cloned().zip(origin))
    }

    fn origin(&mut self, origin: i64) -> Result<Option<Arc<Origin>>, Trouble> {
        if let std::collections::hash_map::Entry::Vacant(place) = self.origins.entry(origin) {
            let text = "SELECT user, schema, server FROM origin WHERE number = ?";
            let mut statement = self.connection.prepare_cached(text)?;
            let mut rows = statement.query(params![origin])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let (user, schema, server): (Vec<u8>, Vec<u8>, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            place.insert(Arc::new(Origin {
                user: user.into(),
                schema: schema.into(),
                server: server.into(),
            }));
        }
        Ok(self.origins.get(&origin).cloned())
    }
}

/// Keeps a question from taking for ever.
struct Bound {
    began: Instant,
    rows: usize,
}

impl Bound {
    fn new() -> Self {
        Self { began: Instant::now(), rows: 0 }
    }

    fn look(&mut self) -> Result<(), Trouble> {
        self.rows += 1;
        if self.rows.is_multiple_of(LOOK_EVERY) && self.began.elapsed() > LONGEST {
            let why = format!("this takes more than {} s: ask for a shorter time", LONGEST.as_secs());
            return Err(Trouble::new(Kind::Failed, why));
        }
        Ok(())
    }
}
