//! What keeps sessions on their server connections, and what to change, for the API.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use weir_admin::{ApiError, Code, PinAdvice, PinnedBehind, PinnedBy, PinnedFor, PinsAsked};
use weir_proxy::{SessionSeen, Shared};
use weir_session::PinReason;
use weir_stats::digests::{DigestText, Origin, Sums};

/// Statements and users that are shown if nothing is said about it, and at most.
const SHOWN: usize = 20;
const SHOWN_MAX: usize = 1_000;

/// Nanoseconds that were kept, by what the seconds stand for.
#[derive(Default)]
struct Kept {
    times: BTreeMap<PinReason, u64>,
    reasons: BTreeMap<PinReason, u64>,
    all: u64,
}

/// A statement and who sends it, to whichever server. There may be tens of thousands: texts are not copied.
struct Behind {
    digest: Arc<DigestText>,
    origin: Arc<Origin>,
}

impl Behind {
    fn of(digest: &Arc<DigestText>, origin: &Arc<Origin>) -> Self {
        Self { digest: Arc::clone(digest), origin: Arc::clone(origin) }
    }

    fn key(&self) -> (u64, &[u8], &[u8], &[u8]) {
        (self.digest.id.0, &self.digest.text, &self.origin.user, &self.origin.schema)
    }
}

impl PartialEq for Behind {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Behind {}

impl Hash for Behind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// What was counted, and what goes on now.
pub fn advise(shared: &Shared, asked: PinsAsked) -> Result<PinAdvice, ApiError> {
    let limit = asked.limit.unwrap_or(SHOWN);
    if !(1..=SHOWN_MAX).contains(&limit) {
        return Err(ApiError::new(Code::BadRequest, format!("limit is from 1 to {SHOWN_MAX}")));
    }
    let offset = asked.offset.unwrap_or(0);
    let seen = shared.registry.seen();
    let mut behind: HashMap<Behind, Kept> = HashMap::new();
    let mut users: HashMap<String, Kept> = HashMap::new();
    let mut all = Kept::default();
    if let Some(digests) = &shared.digests {
        let rows = digests.rows();
        for (_, line) in rows.lines().filter(|(_, line)| line.sums.pins.iter().any(|times| *times > 0)) {
            let kept = of_sums(&line.sums);
            users.entry(text(&line.origin.user)).or_default().add(&kept);
            all.add(&kept);
            behind.entry(Behind::of(&line.digest, &line.origin)).or_default().add(&kept);
        }
        all.add(&of_sums(rows.other()));
        // What has not ended yet.
        for session in seen.iter().filter(|session| !session.pins.contains(PinReason::SessionMode)) {
            let Some(ns) = session.pinned.map(|time| time.min(digests.observed()).as_nanos() as u64) else {
                continue;
            };
            let kept = Kept {
                times: BTreeMap::new(),
                reasons: session.pins.iter().map(|reason| (reason, ns)).collect(),
                all: ns,
            };
            users.entry(text(&session.user)).or_default().add(&kept);
            all.add(&kept);
            let named = session.pinned_by.and_then(|slot| digests.named(session.worker, slot));
            if let Some((digest, origin)) = named {
                behind.entry(Behind::of(&digest, &origin)).or_default().add(&kept);
            }
        }
    }
    for (reason, times) in shared.pins.by_reason() {
        // What no digest was counted for: another command than a statement.
        if times > 0 {
            all.times.entry(reason).or_insert(times);
        }
    }
    let observed = shared.digests.as_ref().map_or(0.0, |digests| digests.observed().as_secs_f64());
    let now = now(&seen);
    let (statements, users) = (by_statement(behind), by_user(users, &seen, observed));
    let page = statements.iter().skip(offset).take(limit);
    Ok(PinAdvice {
        enabled: shared.digests.is_some(),
        observed_seconds: observed,
        connections: average(all.all, observed),
        sessions_now: seen.iter().filter(|session| !session.pins.is_empty()).count() as u64,
        reasons: reasons(&all, &now),
        total_statements: statements.len(),
        statements: page.map(|(behind, kept)| pinned_behind(behind, kept, observed)).collect(),
        total_users: users.len(),
        users: users.into_iter().skip(offset).take(limit).collect(),
        offset,
    })
}

impl Kept {
    fn add(&mut self, other: &Self) {
        for (reason, times) in &other.times {
            *self.times.entry(*reason).or_default() += times;
        }
        for (reason, ns) in &other.reasons {
            *self.reasons.entry(*reason).or_default() += ns;
        }
        self.all += other.all;
    }
}

fn of_sums(sums: &Sums) -> Kept {
    let by = |counts: &[u64]| {
        let counts = PinReason::ALL.into_iter().zip(counts).filter(|(_, count)| **count > 0);
        counts.map(|(reason, count)| (reason, *count)).collect()
    };
    Kept { times: by(&sums.pins), reasons: by(&sums.pinned_ns), all: sums.kept_ns }
}

/// Sessions with each reason now.
fn now(seen: &[SessionSeen]) -> BTreeMap<PinReason, u64> {
    let mut now = BTreeMap::new();
    seen.iter()
        .flat_map(|session| session.pins.iter())
        .for_each(|reason| *now.entry(reason).or_default() += 1);
    now
}

fn reasons(all: &Kept, now: &BTreeMap<PinReason, u64>) -> Vec<PinnedFor> {
    let met = |reason: &PinReason| {
        all.times.contains_key(reason) || all.reasons.contains_key(reason) || now.contains_key(reason)
    };
    let mut reasons: Vec<PinReason> = PinReason::ALL.into_iter().filter(met).collect();
    let of = |counts: &BTreeMap<PinReason, u64>, reason: &PinReason| counts.get(reason).copied().unwrap_or(0);
    reasons
        .sort_by_key(|reason| Reverse((of(&all.reasons, reason), of(now, reason), of(&all.times, reason))));
    let shown = |reason: PinReason| PinnedFor {
        reason: reason.as_str().to_owned(),
        times: of(&all.times, &reason),
        seconds: seconds(of(&all.reasons, &reason)),
        sessions_now: of(now, &reason),
        advice: advice(reason).to_owned(),
    };
    reasons.into_iter().map(shown).collect()
}

/// The longest kept first.
fn by_statement(behind: HashMap<Behind, Kept>) -> Vec<(Behind, Kept)> {
    let mut behind: Vec<(Behind, Kept)> = behind.into_iter().collect();
    let most = |kept: &Kept| kept.all.max(kept.reasons.values().copied().max().unwrap_or(0));
    behind.sort_by(|(a, x), (b, y)| most(y).cmp(&most(x)).then_with(|| a.key().cmp(&b.key())));
    behind
}

fn pinned_behind(behind: &Behind, kept: &Kept, observed: f64) -> PinnedBehind {
    PinnedBehind {
        id: behind.digest.id.to_string(),
        digest: text(&behind.digest.text),
        user: text(&behind.origin.user),
        schema: text(&behind.origin.schema),
        times: kept.times.iter().map(|(reason, times)| (reason.as_str().to_owned(), *times)).collect(),
        seconds: kept.reasons.iter().map(|(reason, ns)| (reason.as_str().to_owned(), seconds(*ns))).collect(),
        kept_seconds: seconds(kept.all),
        connections: average(kept.all, observed),
    }
}

fn by_user(mut users: HashMap<String, Kept>, seen: &[SessionSeen], observed: f64) -> Vec<PinnedBy> {
    let mut now: HashMap<String, u64> = HashMap::new();
    for session in seen.iter().filter(|session| !session.pins.is_empty()) {
        *now.entry(text(&session.user)).or_default() += 1;
        users.entry(text(&session.user)).or_default();
    }
    let shown = |(user, kept): (String, Kept)| PinnedBy {
        kept_seconds: seconds(kept.all),
        connections: average(kept.all, observed),
        sessions_now: now.get(&user).copied().unwrap_or(0),
        reason: kept.reasons.iter().max_by_key(|(_, ns)| **ns).map(|(reason, _)| reason.as_str().to_owned()),
        user,
    };
    let mut users: Vec<PinnedBy> = users.into_iter().map(shown).collect();
    users.sort_by(|a, b| {
        b.kept_seconds
            .total_cmp(&a.kept_seconds)
            .then(b.sessions_now.cmp(&a.sessions_now))
            .then_with(|| a.user.cmp(&b.user))
    });
    users
}

fn average(ns: u64, observed: f64) -> f64 {
    if observed > 0.0 { seconds(ns) / observed } else { 0.0 }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What to change about a reason. docs/analytics.md has the same list.
pub const fn advice(reason: PinReason) -> &'static str {
    use PinReason as R;
    match reason {
        R::Transaction => {
            "keep transactions short: do nothing else between BEGIN and COMMIT, and send single statements without one"
        }
        R::AutocommitOff => {
            "let the driver leave autocommit on: with it off every read opens a transaction, which lasts until COMMIT"
        }
        R::TransactionUnknown => {
            "send COMMIT or ROLLBACK behind an error: until then nobody knows whether a transaction is open"
        }
        R::NextTransaction => {
            "use START TRANSACTION READ ONLY or SET SESSION TRANSACTION in place of SET TRANSACTION"
        }
        R::Xa => "end XA transactions soon: XA COMMIT or XA ROLLBACK right behind XA PREPARE",
        R::TemporaryTable => {
            "use a derived table or WITH in place of a temporary table, or reset the session when it is done"
        }
        R::LockTables => {
            "use a transaction with SELECT ... FOR UPDATE in place of LOCK TABLES, or UNLOCK TABLES sooner"
        }
        R::InstanceLock | R::BackupLock | R::BackupStage => {
            "let the backup connect to the server itself: it needs one connection of its own"
        }
        R::UserLock => {
            "call RELEASE_ALL_LOCKS() when the work is done (RELEASE_LOCK() does not prove that no other lock is held)"
        }
        R::Handler => "use SELECT in place of HANDLER",
        R::SqlPrepare => {
            "let the driver prepare statements by the protocol (COM_STMT_PREPARE), which keeps no connection, in place of PREPARE"
        }
        R::UserVariable => {
            "set user variables by SET without tables, or compute in the application, in place of := and SELECT ... INTO @x FROM a table"
        }
        R::UntrackedVariable => {
            "set the variable at the server (SET GLOBAL, my.cnf) or for one statement (a SET_VAR hint, SET STATEMENT)"
        }
        R::StateUnknown => "nothing: it was read back as soon as nothing else kept the connection",
        R::Role => "give the account a default role (SET DEFAULT ROLE) in place of SET ROLE in each session",
        R::Cursor => {
            "fetch all rows at once: switch off the driver's server-side cursors (useCursorFetch, fetch size)"
        }
        R::LongData => "send values with the execution: switch off the driver's streaming of long parameters",
        R::LoadData => "nothing: it lasts for one statement",
        R::Procedure => {
            "put what the procedure does into statements, or reset the session behind CALL (drivers do when a connection goes back to their pool)"
        }
        R::UnknownStatement => {
            "see what the statement is: Weir does not know it; shorten it if it is longer than limits.statement_bytes"
        }
        R::Admin => "let administration connect to the server itself",
        R::Sequence => "use AUTO_INCREMENT, or read the value by NEXTVAL() alone and reset the session",
        R::MultiStatement => {
            "send statements one by one: of a packet in which one failed nobody knows which ran"
        }
        R::FoundRows => "use SELECT COUNT(*) in place of SQL_CALC_FOUND_ROWS and FOUND_ROWS()",
        R::RowCount => {
            "nothing, as a rule: it ends with the next statement, or after a second when others wait"
        }
        R::Warnings => {
            "find what warns (weir queries, SHOW WARNINGS) and mend it; it ends with the next statement, or after a second when others wait"
        }
        R::ConnectionId => "do not ask for CONNECTION_ID(): use an id of the application's own",
        R::Replication => "nothing: a replica needs a connection of its own",
        R::SessionMode => "share connections: sharing = \"transaction\" in [pool], or under the [[user]]",
    }
}

#[cfg(test)]
mod tests;
