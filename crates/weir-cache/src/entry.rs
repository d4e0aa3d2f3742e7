//! One stored answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::charge::{Budget, Charge, arc_size, resident};
use crate::scope::Scope;

/// How long an answer may be used. Kept in milliseconds, rounded down, at most 49 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// An answer is not served when the server was asked for it this long ago or longer. 0 stores nothing.
    pub ttl: Duration,
    /// From this age on one of those who ask renews it while others are served.
    pub soft_ttl: Option<Duration>,
    /// How long after its TTL it may be served when the server fails.
    pub stale_if_error: Duration,
}

impl Terms {
    /// Nothing but a TTL.
    pub fn ttl(ttl: Duration) -> Self {
        Self { ttl, soft_ttl: None, stale_if_error: Duration::ZERO }
    }
}

/// An answer as the server gave it.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Its packets, in the form that is stored: what serves it knows how to read them.
    pub packets: &'a [u8],
    /// What SHOW WARNINGS answers after it, in the same form; empty where there is nothing to show.
    pub warning_packets: &'a [u8],
    /// What else a client may ask after it, and figures.
    pub about: About,
}

/// What is known of an answer beside its packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct About {
    /// Rows in the result set.
    pub rows: u64,
    /// The value of FOUND_ROWS() after it, if it is known.
    pub found_rows: Option<u64>,
    /// The number of warnings in its last packet.
    pub warnings: u16,
    /// The status flags in its last packet.
    pub status: u16,
    /// A number of the caller's for the form of `packets`.
    pub form: u32,
    /// [`crate::ResultHash`] of what must not differ; compared by verification.
    pub hash: u64,
    /// How long the server took, which a hit saves. At most 71 minutes are kept.
    pub server_time: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Answer,
    /// A mark of shadow mode: no packets, only the hash.
    Shadow,
}

/// A stored answer. It stays readable for as long as somebody holds it, also when it is stored no more.
#[derive(Debug)]
pub struct Entry {
    /// Key, packets and warnings behind each other.
    bytes: Box<[u8]>,
    key_length: usize,
    packets_end: usize,
    about: About,
    scope: Arc<Scope>,
    asked: Instant,
    /// Milliseconds.
    ttl: u32,
    soft_ttl: u32,
    stale_if_error: u32,
    stored_after: u32,
    kind: Kind,
    charge: Charge,
    budget: Arc<Budget>,
}

/// What may be done with an entry at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    Fresh,
    /// Past its soft TTL.
    Soft,
    /// Past its TTL, and within the bound of stale-if-error.
    Stale,
    Dead,
}

impl Entry {
    #[expect(clippy::too_many_arguments, reason = "each field is given once, here")]
    pub(crate) fn new(
        kind: Kind,
        key: &[u8],
        answer: &Answer<'_>,
        scope: Arc<Scope>,
        terms: Terms,
        asked: Instant,
        now: Instant,
        budget: &Arc<Budget>,
    ) -> Self {
        let packets_end = key.len() + answer.packets.len();
        let mut bytes = Vec::with_capacity(packets_end + answer.warning_packets.len());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(answer.packets);
        bytes.extend_from_slice(answer.warning_packets);
        scope.hold(budget);
        let charge = Charge::new(budget, resident(arc_size::<Self>()) + resident(bytes.len()));
        Self {
            bytes: bytes.into(),
            key_length: key.len(),
            packets_end,
            about: answer.about,
            scope,
            asked,
            ttl: millis(terms.ttl),
            soft_ttl: terms.soft_ttl.map_or(u32::MAX, millis),
            stale_if_error: millis(terms.stale_if_error),
            stored_after: millis(now.saturating_duration_since(asked)),
            kind,
            charge,
            budget: Arc::clone(budget),
        }
    }

    /// The answer's packets.
    pub fn packets(&self) -> &[u8] {
        &self.bytes[self.key_length..self.packets_end]
    }

    /// What SHOW WARNINGS answers after it.
    pub fn warning_packets(&self) -> &[u8] {
        &self.bytes[self.packets_end..]
    }

    /// What else a client may ask after it.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The rule, the digest, the tables.
    pub fn scope(&self) -> &Arc<Scope> {
        &self.scope
    }

    /// When the server was asked: the data is not older.
    pub fn asked(&self) -> Instant {
        self.asked
    }

    /// When it was stored.
    pub fn stored(&self) -> Instant {
        self.asked + Duration::from_millis(self.stored_after.into())
    }

    /// How old the data may be.
    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.asked)
    }

    /// Bytes it takes in memory.
    pub fn size(&self) -> usize {
        self.charge.bytes()
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.bytes[..self.key_length]
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// By its own terms and those of whoever asks, whichever are stricter.
    pub(crate) fn freshness(&self, terms: &Terms, now: Instant) -> Freshness {
        let age = self.age(now);
        let ttl = ms(self.ttl).min(terms.ttl);
        let soft = ms(self.soft_ttl).min(terms.soft_ttl.unwrap_or(Duration::MAX));
        if age < ttl {
            if age < soft { Freshness::Fresh } else { Freshness::Soft }
        } else if age < ttl + ms(self.stale_if_error).min(terms.stale_if_error) {
            Freshness::Stale
        } else {
            Freshness::Dead
        }
    }

    /// Whether nobody may use it any more, whoever asks.
    pub(crate) fn is_dead(&self, now: Instant) -> bool {
        self.age(now) >= ms(self.ttl) + ms(self.stale_if_error)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.scope.release(&self.budget);
    }
}

/// Rounds down: nothing is used for longer than was said.
fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

fn ms(millis: u32) -> Duration {
    Duration::from_millis(millis.into())
}

/// The least memory an entry takes with these bytes; what cannot fit need not be gathered.
pub(crate) fn least_size(bytes: usize) -> usize {
    resident(arc_size::<Entry>()) + resident(bytes)
}
