//! One stored answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::blocks::{BLOCK_RESIDENT, BYTES, Block, Blocks, Bytes, Index, Supply, blocks_for};
use crate::charge::Budget;
use crate::scope::Scope;
use crate::spare::Spares;

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
    /// What a hit saves the server, as [`crate::Ticket::saves`] tells. At most 71 minutes are kept.
    pub server_time: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Answer,
    /// A mark of shadow mode: no packets, only the hash.
    Shadow,
}

/// A stored answer. It stays readable for as long as somebody holds it, also when it is stored no more.
///
/// It is one block, in which lies what fits of key, packets and warnings, and the rest in more blocks of the same kind.
#[derive(Debug)]
pub struct Entry(pub(crate) Node);

/// What a block is for.
#[derive(Debug)]
pub(crate) enum Node {
    /// The first of an entry, the only one that is handed out.
    Head(Head),
    Bytes([u8; BYTES]),
    Index(Index),
}

impl Node {
    pub(crate) const EMPTY: Self = Self::Bytes([0; BYTES]);
}

/// What is known of an answer, and the first of its bytes.
#[derive(Debug)]
pub(crate) struct Head {
    budget: Arc<Budget>,
    scope: Arc<Scope>,
    asked: Instant,
    rows: u64,
    found_rows: Option<u64>,
    hash: u64,
    form: u32,
    /// Milliseconds.
    ttl: u32,
    soft_ttl: u32,
    stale_if_error: u32,
    stored_after: u32,
    server_micros: u32,
    key_length: u32,
    packets_end: u32,
    warnings: u16,
    status: u16,
    kind: Kind,
    bytes: Blocks<INSIDE>,
}

/// Bytes of an answer that lie in its first block.
const INSIDE: usize = 352;

/// Bytes that an entry takes, with a key and packets of so many.
pub const fn entry_size(key: usize, packets: usize) -> usize {
    BLOCK_RESIDENT * (1 + blocks_for((key + packets).saturating_sub(INSIDE)))
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
        spares: Spares<'_>,
    ) -> Arc<Self> {
        let parts = [key, answer.packets, answer.warning_packets];
        let bytes = Blocks::new(parts, &spares);
        scope.hold(budget);
        budget.add(least_size(bytes.len()));
        let About { rows, found_rows, warnings, status, form, hash, server_time } = answer.about;
        let head = Head {
            budget: Arc::clone(budget),
            scope,
            asked,
            rows,
            found_rows,
            hash,
            form,
            ttl: millis(terms.ttl),
            soft_ttl: terms.soft_ttl.map_or(u32::MAX, millis),
            stale_if_error: millis(terms.stale_if_error),
            stored_after: millis(now.saturating_duration_since(asked)),
            server_micros: u32::try_from(server_time.as_micros()).unwrap_or(u32::MAX),
            key_length: length(key),
            packets_end: length(key) + length(answer.packets),
            warnings,
            status,
            kind,
            bytes,
        };
        spares.made(Node::Head(head))
    }

    /// Only such blocks are ever seen from outside.
    fn head(&self) -> &Head {
        match &self.0 {
            Node::Head(head) => head,
            Node::Bytes(_) | Node::Index(_) => unreachable!("entries are made in Entry::new alone"),
        }
    }

    /// Nobody uses it any more: it gives its blocks away, and is a block as any other.
    pub(crate) fn retire(&mut self, out: impl FnMut(Block)) {
        if let Node::Head(head) = &mut self.0 {
            let size = head.size();
            head.bytes.empty_into(out);
            head.budget.sub(size - head.size());
        }
        self.0 = Node::EMPTY;
    }

    /// The answer's packets.
    pub fn packets(&self) -> Bytes<'_> {
        self.head().bytes.range(self.head().key_length as usize..self.head().packets_end as usize)
    }

    /// What SHOW WARNINGS answers after it.
    pub fn warning_packets(&self) -> Bytes<'_> {
        self.head().bytes.range(self.head().packets_end as usize..self.head().bytes.len())
    }

    /// What else a client may ask after it.
    pub fn about(&self) -> About {
        About {
            rows: self.head().rows,
            found_rows: self.head().found_rows,
            warnings: self.head().warnings,
            status: self.head().status,
            form: self.head().form,
            hash: self.head().hash,
            server_time: self.server_time(),
        }
    }

    /// As in [`About`].
    pub fn server_time(&self) -> Duration {
        Duration::from_micros(self.head().server_micros.into())
    }

    /// The rule, the digest, the tables.
    pub fn scope(&self) -> &Arc<Scope> {
        &self.head().scope
    }

    /// When the server was asked: the data is not older.
    pub fn asked(&self) -> Instant {
        self.head().asked
    }

    /// When it was stored.
    pub fn stored(&self) -> Instant {
        self.head().asked + Duration::from_millis(self.head().stored_after.into())
    }

    /// How old the data may be.
    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.head().asked)
    }

    /// Bytes it takes in memory.
    pub fn size(&self) -> usize {
        self.head().size()
    }

    pub(crate) fn key(&self) -> Bytes<'_> {
        self.head().bytes.range(0..self.head().key_length as usize)
    }

    pub(crate) fn kind(&self) -> Kind {
        self.head().kind
    }

    /// By its own terms and those of whoever asks, whichever are stricter.
    pub(crate) fn freshness(&self, terms: &Terms, now: Instant) -> Freshness {
        let age = self.age(now);
        let ttl = ms(self.head().ttl).min(terms.ttl);
        let soft = ms(self.head().soft_ttl).min(terms.soft_ttl.unwrap_or(Duration::MAX));
        if age < ttl {
            if age < soft { Freshness::Fresh } else { Freshness::Soft }
        } else if age < ttl + ms(self.head().stale_if_error).min(terms.stale_if_error) {
            Freshness::Stale
        } else {
            Freshness::Dead
        }
    }

    /// Whether nobody may use it any more, whoever asks.
    /// Whether it is past the TTL with which it was stored. It may be kept beyond that, for when the server fails.
    pub(crate) fn is_past_ttl(&self, now: Instant) -> bool {
        self.age(now) >= ms(self.head().ttl)
    }

    pub(crate) fn is_dead(&self, now: Instant) -> bool {
        self.age(now) >= ms(self.head().ttl) + ms(self.head().stale_if_error)
    }
}

impl Head {
    fn size(&self) -> usize {
        least_size(self.bytes.len())
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        self.scope.release(&self.budget);
        self.budget.sub(self.size());
    }
}

/// Rounds down: nothing is used for longer than was said.
fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

fn ms(millis: u32) -> Duration {
    Duration::from_millis(millis.into())
}

/// What is stored is never longer: [`Cache`](crate::Cache) compares it with a limit before.
fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// The memory an entry takes with these bytes.
pub(crate) fn least_size(bytes: usize) -> usize {
    (1 + blocks_for(bytes.saturating_sub(INSIDE))) * BLOCK_RESIDENT
}
