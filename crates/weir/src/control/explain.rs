//! What would be done with a statement, and why, without running it.

use std::net::IpAddr;
use std::time::Duration;
use weir_admin::{
    Action, ApiError, CachePlan, Code, DigestShown, Explanation, Facts, KeyPart, Question, Route, Tested,
    Tried, Verdict,
};
use weir_cache::{Refusal, Selector};
use weir_model::rule::{CacheMode, CacheRule, CacheShare, Rule, RuleCommand, RuleMatch};
use weir_policy::{Connection, Outcome, Rewritten, RuleIndex, RuleSet, RuleVerdict, Statement, rule_kind};
use weir_proxy::{CacheHints, Shared};
use weir_sql::{
    Digest, FunctionName, LexMode, ReadFacts, TableName, as_called, read_facts, strip_comments, trimmed_span,
};
use weir_stats::digests::Line;

/// A longer text is not shown again, in bytes.
const SHOWN: usize = 4096;

/// What is looked at when the statement comes, and no text tells.
const PROVIDED: [&str; 5] = [
    "no transaction is open, and autocommit is on",
    "the session has no temporary table, no LOCK TABLES, and a state that Weir knows (with a connection of its own: it logged in when \
     there was a cache rule for its user)",
    "the answer fits into cache.max_entry, and is no error",
    "it was asked for before, or statements with its digest are asked for again often enough: where they seldom are, the cache keeps an \
     answer only when it is asked for the second time (cache.admission)",
    "the session has written nothing since the stored answer was asked for, if own_writes is on",
];

/// A question with what its text tells.
struct Read {
    sql: String,
    mode: LexMode,
    user: String,
    schema: Option<String>,
    client: Option<IpAddr>,
    command: RuleCommand,
    digest: Digest,
    stripped: Vec<u8>,
    facts: ReadFacts,
    text: weir_sql::Facts,
}

pub fn test(shared: &Shared, question: &Question) -> Result<Tested, ApiError> {
    let read = Read::of(shared, question)?;
    let verdicts = read.verdicts(shared)?;
    let decides = verdicts.iter().find(|verdict| verdict.outcome == Outcome::Decides);
    Ok(Tested {
        digest: read.digest_shown(),
        decides: decides.map(|verdict| verdict.name.clone()),
        actions: read.actions(shared, &verdicts, true),
        tried: verdicts.iter().map(tried).collect(),
    })
}

/// The rule that decides about the cache for statements with this digest, and its mode, as far as the text tells: names of functions do not stand in it as a
/// server would read them, so the digest of that text may be another.
pub fn cached_by(shared: &Shared, question: &Question, digest: Digest) -> Option<(String, CacheMode)> {
    let read = Read { digest, ..Read::of(shared, question).ok()? };
    let verdicts = read.verdicts(shared).ok()?;
    let decides = verdicts.into_iter().find(|verdict| verdict.adds.cache)?;
    // By its name: the list may be another by now.
    let mode = shared.rules().iter().find(|rule| rule.name == decides.name)?.cache.as_ref()?.mode;
    Some((decides.name, mode))
}

/// The statements that a rule matches, as far as their digest, user and schema tell.
pub struct Matched {
    set: RuleSet,
    mode: LexMode,
}

impl Matched {
    /// `None` for a rule with a pattern: a digest has no literals in which it might be found.
    pub fn by(shared: &Shared, rule: &Rule) -> Option<Self> {
        let mode = super::mode(shared);
        let matches = RuleMatch { client: None, command: None, ..rule.matches.clone() };
        if matches.pattern.is_some() {
            return None;
        }
        let rule = Rule { matches, ..rule.clone() };
        Some(Self { set: RuleSet::compile(&[rule], 0, mode).ok()?, mode })
    }

    pub fn is(&self, line: &Line) -> bool {
        let called = as_called(&line.digest.text);
        let text = called.as_slice();
        let facts = read_facts(text, self.mode);
        let statement = Statement {
            digest: line.digest.id,
            digest_text: &line.digest.text,
            text,
            reads: &facts.tables,
            writes: &facts.writes.tables,
            kind: rule_kind(weir_sql::Facts::of(text, self.mode, true).kind()),
            command: RuleCommand::Query,
        };
        let schema = Some(&*line.origin.schema).filter(|schema| !schema.is_empty());
        let connection =
            Connection { user: &line.origin.user, schema, client_ip: None, schema_unknown: false };
        self.set.explain(&statement, &connection).iter().all(|verdict| verdict.mismatches.is_empty())
    }
}

pub fn explain(shared: &Shared, question: &Question) -> Result<Explanation, ApiError> {
    let read = Read::of(shared, question)?;
    let verdicts = read.verdicts(shared)?;
    let cache = read.cache_plan(shared, &verdicts);
    let terms = shared
        .rules()
        .iter()
        .find(|rule| Some(&rule.name) == cache.rule.as_ref())
        .and_then(|r| r.cache.clone());
    let shares = terms.is_some_and(|terms| terms.share == CacheShare::Grants);
    let key = if cache.verdict == Verdict::Refuse { Vec::new() } else { read.key(shares) };
    Ok(Explanation {
        digest: read.digest_shown(),
        facts: read.facts(),
        rules: verdicts.iter().map(tried).collect(),
        actions: read.actions(shared, &verdicts, false),
        cache,
        key,
        route: read.route(shared),
    })
}

impl Read {
    fn of(shared: &Shared, question: &Question) -> Result<Self, ApiError> {
        let bad = |message: String| ApiError::new(Code::BadRequest, message);
        if question.sql.trim().is_empty() {
            return Err(bad("there is no statement".to_owned()));
        }
        let client = question.client.as_deref().map(str::parse).transpose();
        let client = client.map_err(|_| bad("`client` is not an IP address".to_owned()))?;
        let command = match question.command.as_deref() {
            None => RuleCommand::Query,
            Some(word) => RuleCommand::from_word(word)
                .ok_or_else(|| bad("`command` is query, prepare or execute".to_owned()))?,
        };
        let mode = super::mode(shared);
        let sql = question.sql.as_bytes();
        let mut stripped = Vec::new();
        strip_comments(sql, mode, &mut stripped);
        Ok(Self {
            mode,
            user: question.user.clone().unwrap_or_default(),
            schema: question.schema.clone().filter(|schema| !schema.is_empty()),
            client,
            command,
            digest: Digest::of(sql, mode),
            stripped,
            facts: read_facts(sql, mode),
            // As of a client that may send several statements at once.
            text: weir_sql::Facts::of(sql, mode, true),
            sql: question.sql.clone(),
        })
    }

    fn verdicts(&self, shared: &Shared) -> Result<Vec<RuleVerdict>, ApiError> {
        // The rules in force have been compiled before, so this does not fail.
        let set = RuleSet::compile(&shared.rules(), 0, self.mode)
            .map_err(|_| ApiError::new(Code::Internal, "the rules in force cannot be compiled"))?;
        let statement = Statement {
            digest: self.digest.id,
            digest_text: &self.digest.text,
            text: &self.stripped,
            reads: &self.facts.tables,
            writes: &self.facts.writes.tables,
            kind: rule_kind(self.text.kind()),
            command: self.command,
        };
        let connection = Connection {
            user: self.user.as_bytes(),
            schema: self.schema.as_deref().map(str::as_bytes),
            client_ip: self.client,
            schema_unknown: false,
        };
        Ok(set.explain(&statement, &connection))
    }

    /// What the rules do, with their terms.
    fn actions(&self, shared: &Shared, verdicts: &[RuleVerdict], cache: bool) -> Vec<Action> {
        let rules = shared.rules();
        let set = RuleSet::compile(&rules, 0, self.mode).unwrap_or_else(|_| RuleSet::empty());
        let of_one = |verdict: &RuleVerdict| {
            let rule = rules.iter().find(|rule| rule.name == verdict.name);
            let adds = verdict.adds.names().filter(|name| cache || *name != "cache");
            let action = |name: &str| Action {
                action: name.to_owned(),
                rule: verdict.name.clone(),
                detail: match name {
                    "rewrite" => self.rewritten(&set, verdict.rule),
                    _ => rule.map_or_else(String::new, |rule| detail(name, rule)),
                },
            };
            adds.map(action).collect::<Vec<_>>()
        };
        verdicts.iter().flat_map(of_one).collect()
    }

    /// What a rule makes of the text.
    fn rewritten(&self, set: &RuleSet, rule: RuleIndex) -> String {
        match set.rewrite(rule, &self.stripped) {
            Rewritten::Not => "its pattern is not found: the text stays as it is".to_owned(),
            Rewritten::TooLong => "refused: it would become too long".to_owned(),
            Rewritten::Text(text) => format!("to {}", lossy(&text)),
        }
    }

    fn digest_shown(&self) -> DigestShown {
        DigestShown { id: self.digest.id.to_string(), text: lossy(&self.digest.text) }
    }

    fn facts(&self) -> Facts {
        let table = |table: &TableName| dotted(table.schema.as_deref(), &table.name);
        let function = |function: &FunctionName| dotted(function.schema.as_deref(), &function.name);
        let version = self.mode.server_version;
        let (major, minor, patch) = (version / 10_000, version / 100 % 100, version % 100);
        let refusal = self.facts.verdict.err().map(|reason| reason.as_str());
        let refusal = refusal.or(self.facts.needs_resolving().then_some(Refusal::StoredFunction.as_str()));
        Facts {
            kind: rule_kind(self.text.kind()).as_str().to_owned(),
            read_only: self.text.read_only,
            cacheable: refusal.is_none(),
            not_cacheable: refusal.map(str::to_owned),
            reads: self.facts.tables.iter().map(table).collect(),
            writes: self.facts.writes.tables.iter().map(table).collect(),
            functions: self.facts.functions.iter().map(function).collect(),
            pins: self.text.pins.iter().map(|pin| pin.as_str().to_owned()).collect(),
            hints: weir_sql::hints(self.sql.as_bytes(), self.mode).map(|hint| lossy(hint.text)).collect(),
            read_as: match version {
                0 => "a server that has not been reached yet".to_owned(),
                _ => format!("{} {major}.{minor}.{patch}", self.mode.family.as_str()),
            },
        }
    }

    fn cache_plan(&self, shared: &Shared, verdicts: &[RuleVerdict]) -> CachePlan {
        let rules = shared.rules();
        let deciding = verdicts.iter().find(|verdict| verdict.adds.cache);
        let rule = deciding.and_then(|verdict| rules.get(verdict.rule.0 as usize));
        let terms = rule.and_then(|rule| rule.cache.as_ref());
        let hints = CacheHints::of(self.sql.as_bytes(), self.mode);
        let hints = shared.settings().cache.follows_hints(self.user.as_bytes()).then_some(hints);
        let refusal = match terms {
            None => Some(Refusal::NoRule),
            Some(_) if self.command == RuleCommand::Prepare => Some(Refusal::NotARead),
            Some(cache) => {
                weir_proxy::text_refusal(cache, hints.as_ref(), &self.facts, rule_kind(self.text.kind()))
                    .or_else(|| self.in_system_schema())
                    .or_else(|| self.known_names(shared, cache.views)?.0.err())
            }
        };
        let verdict = match (refusal, terms.map(|cache| cache.mode)) {
            (None, Some(CacheMode::Serve)) => Verdict::Serve,
            (None, Some(CacheMode::Shadow)) => Verdict::Shadow,
            _ => Verdict::Refuse,
        };
        let name = rule.map(|rule| rule.name.clone());
        let stored = match &name {
            Some(name) => {
                let selector = Selector::all().rule(name).digest(self.digest.id.0).user(&self.user);
                super::cache::covered(shared.cache().preview(&selector))
            }
            None => super::cache::covered(weir_cache::Wiped::default()),
        };
        CachePlan {
            verdict,
            refusal: refusal.map(|reason| reason.as_str().to_owned()),
            why: why(refusal, name.as_deref()),
            terms: rule.and_then(written_terms),
            not_served: rule.map_or(0, |rule| self.not_served(shared, rule)),
            rule: name,
            stored,
            provided: match verdict {
                Verdict::Refuse => Vec::new(),
                _ => PROVIDED
                    .map(str::to_owned)
                    .into_iter()
                    .chain([self.names_provided(shared, terms)])
                    .collect(),
            },
        }
    }

    /// Sessions of the user, if one is given, that the rule cannot serve before they log in again.
    fn not_served(&self, shared: &Shared, rule: &Rule) -> u64 {
        let rule = std::slice::from_ref(rule);
        let mut seen = super::sessions::seen_for(shared, rule);
        seen.retain(|session| self.user.is_empty() || session.user == self.user.as_bytes());
        super::sessions::not_served(rule, &seen) as u64
    }

    fn in_system_schema(&self) -> Option<Refusal> {
        let schema = self.schema.as_deref()?;
        self.facts.reads_system_schema(schema.as_bytes()).then_some(Refusal::SystemSchema)
    }

    /// What the server has said about the names, and how long ago; `None`: it would be asked.
    fn known_names(&self, shared: &Shared, views: bool) -> Option<(Result<(), Refusal>, Duration)> {
        shared.known_names(self.digest.id, (self.schema.as_deref().map(str::as_bytes), views))
    }

    fn names_provided(&self, shared: &Shared, terms: Option<&CacheRule>) -> String {
        let tables: Vec<String> =
            self.facts.tables.iter().map(|table| dotted(table.schema.as_deref(), &table.name)).collect();
        let tables = tables.join(", ");
        match self.known_names(shared, terms.is_some_and(|cache| cache.views)) {
            _ if tables.is_empty() => "it names no table, so the server is asked about none".to_owned(),
            Some((_, age)) => format!(
                "{tables}: may be cached, as the server said {} s ago; it is asked again after 60 s, or when tables or rights change",
                age.as_secs()
            ),
            None => format!(
                "{tables}: tables, or views that may be cached; before the next answer is stored the server is asked, as the user, \
                 and what it says is told here for 60 s"
            ),
        }
    }

    /// `shares`: with users who may read the same.
    fn key(&self, shares: bool) -> Vec<KeyPart> {
        let part = |part: &str, value: String| KeyPart { part: part.to_owned(), value };
        let span = trimmed_span(self.sql.as_bytes(), self.mode);
        let statement = self.sql.as_bytes().get(span).unwrap_or_default();
        let shown = match statement.len() > SHOWN {
            true => format!("{} bytes", statement.len()),
            false => lossy(statement),
        };
        let mut key = vec![
            part("statement", shown),
            part(
                "user",
                if shares { "any that may read the same tables".to_owned() } else { self.user.clone() },
            ),
            part("schema", self.schema.clone().unwrap_or_else(|| "none".to_owned())),
            part("session", "every session variable but those that no read depends on".to_owned()),
            part("protocol", if self.command == RuleCommand::Execute { "binary" } else { "text" }.to_owned()),
            part("dialect", "the client's capability flags that change the form of answers".to_owned()),
            part("server", "the address behind".to_owned()),
        ];
        if self.command == RuleCommand::Execute {
            key.push(part("parameters", "their types and bytes".to_owned()));
        }
        key
    }

    fn route(&self, shared: &Shared) -> Route {
        let target = shared.upstream.target();
        let settings = shared.settings();
        let own = settings.users.get(self.user.as_bytes()).and_then(|user| user.sharing);
        Route {
            server: target.name.clone(),
            address: target.address.to_string(),
            trouble: shared.upstream.trouble().map(|trouble| trouble.why),
            sharing: own.unwrap_or(settings.pool.sharing).as_str().to_owned(),
        }
    }
}

fn tried(verdict: &RuleVerdict) -> Tried {
    let words = |words: &mut dyn Iterator<Item = &'static str>| words.map(str::to_owned).collect();
    Tried {
        rule: verdict.name.clone(),
        outcome: verdict.outcome.as_str().to_owned(),
        mismatches: words(&mut verdict.mismatches.iter().map(|part| part.as_str())),
        adds: words(&mut verdict.adds.names()),
    }
}

/// The line of `weir.toml` that says what is cached, and how.
fn written_terms(rule: &Rule) -> Option<String> {
    let text = weir_config::rule_text(rule);
    text.lines().find(|line| line.starts_with("cache = ")).map(str::to_owned)
}

/// The verdict in words.
fn why(refusal: Option<Refusal>, rule: Option<&str>) -> String {
    let rule = rule.unwrap_or("none");
    let text = match refusal {
        None => return format!("rule {rule} says so, and nothing in the text speaks against it"),
        Some(Refusal::NoRule) => "no rule that matches says anything about the cache",
        Some(Refusal::RuleOff) => return format!("rule {rule} switches the cache off here"),
        Some(Refusal::Bypass) => "the statement asks for a fresh answer",
        Some(Refusal::NotARead) => "only SELECT, WITH ... SELECT, TABLE and VALUES have answers to keep",
        Some(Refusal::MultiStatement) => "it is more than one statement",
        Some(Refusal::LockingRead) => "it locks rows",
        Some(Refusal::Into) => "it writes its answer somewhere",
        Some(Refusal::NondeterministicFunction) => "it calls a function whose value changes by itself",
        Some(Refusal::TimeValue) => {
            "it makes a TIME, which servers complete with the current date where they need one"
        }
        Some(Refusal::StoredFunction) => "it calls a function of which only the server knows what it does",
        Some(Refusal::UserVariable) => "it reads or sets a user variable",
        Some(Refusal::SystemVariable) => "it reads or sets a system variable",
        Some(Refusal::SessionFunction) => {
            "it asks for something of its session, or of the statement before it"
        }
        Some(Refusal::SystemSchema) => "it reads a schema of the server's own",
        Some(Refusal::View) => {
            "as the server said within the last 60 s, it reads a view that hides one of these, or that the user may not see into"
        }
        Some(Refusal::Unresolved) => {
            "the server said within the last 60 s that it shows the user no table of that name"
        }
        Some(Refusal::TemporaryTable) => {
            "as the server said within the last 60 s, it reads a temporary table"
        }
        Some(Refusal::TooLarge) => "it is too long to be a key",
        Some(_) => "Weir does not understand it to its end, and then keeps nothing",
    };
    text.to_owned()
}

fn dotted(schema: Option<&[u8]>, name: &[u8]) -> String {
    schema.map_or_else(|| lossy(name), |schema| format!("{}.{}", lossy(schema), lossy(name)))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The terms of an action.
fn detail(action: &str, rule: &Rule) -> String {
    let time = |time| weir_config::duration_text(time);
    match action {
        "deny" => rule.deny.clone().unwrap_or_default(),
        "timeout" => rule.timeout.map(time).unwrap_or_default(),
        "limit" => rule.limit.as_ref().map_or_else(String::new, |limit| {
            let at_once = limit.concurrency.map(|most| format!("{most} at once"));
            let queue = (!limit.queue.is_zero()).then(|| format!("waits up to {}", time(limit.queue)));
            let parts = [at_once, limit.rate.map(|rate| rate.to_string()), queue];
            parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
        }),
        _ => String::new(),
    }
}
