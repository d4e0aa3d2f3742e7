//! Which answers are allowed: what equal sessions were answered before, for how long, and what ended it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::client::Packet;

/// Records of one key that are kept. More are never alive within one TTL of the tables that change most.
const KEPT: usize = 64;

/// What two sessions must have in common to be equal, and the statement.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// Empty where all share it whom the server lets read what it names.
    pub user: String,
    /// What the server says about the session, as a row.
    pub session: Vec<u8>,
    /// The capabilities that shape packets.
    pub shape: u64,
    /// The statement without comments before and after it. For a prepared one, the session as it was then comes before it.
    pub statement: Vec<u8>,
    /// Its parameters, and that it is executed in the binary protocol.
    pub bound: Option<String>,
    /// What is asked behind it, as a part of its answer.
    pub behind: &'static str,
}

/// An answer that was right.
#[derive(Debug, Clone)]
struct Record {
    packets: Vec<Packet>,
    /// The step at which it was.
    step: u64,
    /// Ahead of the statement, and after its answer.
    time: [Instant; 2],
    ttl: Duration,
    about: About,
}

/// What wipes are about.
#[derive(Debug, Clone)]
pub struct About {
    /// As `schema.name`: those that the statement names.
    pub named: Vec<String>,
    /// Those, and what is behind views.
    pub tables: Vec<String>,
    pub rule: &'static str,
    pub user: String,
    pub tag: Option<&'static str>,
    /// Without its hint.
    pub statement: String,
}

/// What a wipe or a change covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Covers {
    All,
    /// Reads of it, through views as well.
    Table(String),
    /// Reads that name it.
    Named(String),
    Rule(&'static str),
    User(String),
    Tag(&'static str),
    /// Reads that name a table of it.
    Schema(&'static str),
    /// This very statement, at the least.
    Digest(String),
}

impl Covers {
    fn covers(&self, about: &About) -> bool {
        match self {
            Self::All => true,
            Self::Table(table) => about.tables.contains(table),
            Self::Named(table) => about.named.contains(table),
            Self::Rule(rule) => about.rule == *rule,
            Self::User(user) => about.user == *user,
            Self::Tag(tag) => about.tag == Some(*tag),
            Self::Schema(schema) => {
                about.named.iter().any(|name| name.split_once('.').is_some_and(|(of, _)| of == *schema))
            }
            Self::Digest(statement) => about.statement == *statement,
        }
    }
}

/// A read that may be answered out of memory.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub key: &'a Key,
    /// The step of the session's own last write; what was answered before is not allowed.
    pub floor: u64,
    /// Right before the statement was sent, and when its answer had come.
    pub time: [Instant; 2],
    pub ttl: Duration,
}

/// What the model says about an answer that is not what the server says now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It was right this long ago at most.
    Allowed(Duration),
    /// Why not.
    Forbidden(String),
}

/// All that was answered.
#[derive(Debug, Default)]
pub struct Book {
    records: HashMap<Key, Vec<Record>>,
    /// The last thing that ended records, for messages.
    ended: HashMap<Key, (Vec<Record>, String)>,
}

impl Book {
    /// This was the server's answer, through Weir too: it may be served again.
    pub fn note(&mut self, asked: &Asked<'_>, step: u64, packets: Vec<Packet>, about: About) {
        let records = self.records.entry(asked.key.clone()).or_default();
        if records.len() >= KEPT {
            records.remove(0);
        }
        records.push(Record { packets, step, time: asked.time, ttl: asked.ttl, about });
    }

    /// Whether an answer is allowed that is not the server's now.
    pub fn judge(&self, asked: &Asked<'_>, packets: &[Packet]) -> Judgement {
        let Some(records) = self.records.get(asked.key) else {
            return Judgement::Forbidden(format!(
                "no equal session was ever answered this{}",
                self.elsewhere(asked, packets)
            ));
        };
        let mut why = format!("it was never the answer{}", self.elsewhere(asked, packets));
        for record in records.iter().rev().filter(|record| record.packets == packets) {
            // The least that it can be old.
            let age = asked.time[0].saturating_duration_since(record.time[1]);
            let ttl = asked.ttl.min(record.ttl);
            if record.step <= asked.floor {
                why = format!(
                    "it was the answer at step {}, and the session has written at step {}",
                    record.step, asked.floor
                );
            } else if age >= ttl {
                why = format!("it was the answer at step {}, {age:?} ago; the TTL is {ttl:?}", record.step);
            } else {
                return Judgement::Allowed(asked.time[1].saturating_duration_since(record.time[0]));
            }
        }
        Judgement::Forbidden(why)
    }

    /// Whether memory can be expected to have an answer.
    pub fn could_hit(&self, asked: &Asked<'_>) -> bool {
        let alive = |record: &Record| {
            let age = asked.time[1].saturating_duration_since(record.time[0]);
            record.step > asked.floor && age < asked.ttl.min(record.ttl)
        };
        self.records.get(asked.key).is_some_and(|records| records.iter().any(alive))
    }

    /// From now on nothing that this covers is allowed. Returns how many answers that ends.
    pub fn end(&mut self, covers: &Covers, why: &str) -> usize {
        let mut count = 0;
        for (key, records) in &mut self.records {
            let gone: Vec<_> = records.extract_if(.., |record| covers.covers(&record.about)).collect();
            if !gone.is_empty() {
                count += gone.len();
                self.ended.insert(key.clone(), (gone, why.to_owned()));
            }
        }
        count
    }

    /// The same for one key, as a hint in a statement says it.
    pub fn end_key(&mut self, key: &Key, why: &str) {
        if let Some(gone) = self.records.remove(key) {
            self.ended.insert(key.clone(), (gone, why.to_owned()));
        }
    }

    /// Forgets what is too old to be of interest.
    pub fn forget(&mut self, now: Instant) {
        let old = |record: &Record| now.saturating_duration_since(record.time[1]) > record.ttl * 4;
        self.records.retain(|_, records| {
            records.retain(|record| !old(record));
            !records.is_empty()
        });
        self.ended.retain(|_, (records, _)| {
            records.retain(|record| !old(record));
            !records.is_empty()
        });
    }

    /// Where such an answer comes from, if that can be told.
    fn elsewhere(&self, asked: &Asked<'_>, packets: &[Packet]) -> String {
        let is_it = |records: &[Record]| records.iter().any(|record| record.packets == packets);
        if let Some((records, why)) = self.ended.get(asked.key)
            && is_it(records)
        {
            return format!(", but for what was ended by: {why}");
        }
        match self.records.iter().find(|(_, records)| is_it(records)) {
            Some((key, _)) => format!("; it is an answer to {key:?}"),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests;
