//! What the cache advisor says, for the API.

use super::named::Named;
use std::cmp::Reverse;
use std::time::Duration;
use weir_admin::{
    AdviceAsked, Advised, AdvisedShown, ApiError, CacheAdvice, Code, NotWorth, Predicted, Question,
};
use weir_model::rule::CacheMode;
use weir_proxy::{Digests, Shared};
use weir_sql::{Digest, as_called};
use weir_stats::advice::{LADDER, Line, Prediction, best, merged};

/// Statements that are shown if nothing is said about it, and at most.
const SHOWN: usize = 20;
const SHOWN_MAX: usize = 1_000;
/// Percent of the hits that may be out of date, if nothing is said about it.
const STALE: f64 = 1.0;
/// The TTLs of [`LADDER`] as rules have them.
const WORDS: [&str; LADDER.len()] = ["1s", "10s", "1m", "5m", "30m", "1h"];

/// What a good rule is.
struct Aim {
    /// A step of the ladder.
    ttl: Option<usize>,
    /// From 0 to 1.
    stale: f64,
    user: Option<String>,
    schema: Option<String>,
}

/// The statements that were asked for.
pub fn cache(shared: &Shared, asked: &AdviceAsked) -> Result<CacheAdvice, ApiError> {
    let bad = |text: String| ApiError::new(Code::BadRequest, text);
    let limit = asked.limit.unwrap_or(SHOWN);
    if !(1..=SHOWN_MAX).contains(&limit) {
        return Err(bad(format!("limit is from 1 to {SHOWN_MAX}")));
    }
    let stale = asked.stale.unwrap_or(STALE);
    if !(0.0..=100.0).contains(&stale) {
        return Err(bad("stale is in percent, from 0 to 100".to_owned()));
    }
    let step = |ttl: &String| {
        let micros = weir_config::duration(ttl).map(|ttl| ttl.as_micros());
        let found = LADDER.iter().position(|step| micros == Some(u128::from(*step)));
        found.ok_or_else(|| bad(format!("ttl is one of {}", WORDS.join(", "))))
    };
    let ttl = asked.ttl.as_ref().map(step).transpose()?;
    let aim = Aim { ttl, stale: stale / 100.0, user: asked.user.clone(), schema: asked.schema.clone() };
    let Some(digests) = &shared.digests else {
        return Ok(CacheAdvice {
            enabled: false,
            statements: Vec::new(),
            total: 0,
            offset: 0,
            left_out: 0,
            least_seconds: 0.0,
            least_hit_ratio: Bar::HIT_RATIO,
            server_seconds: 0.0,
            observed_seconds: 0.0,
            watched: 0,
            memory: 0,
        });
    };
    let lines = digests.advice();
    let bar = Bar::of(digests);
    let watched = lines.len();
    let mut statements = aim.ranked(lines);
    let all = statements.len();
    if asked.all != Some(true) {
        statements.retain(|ranked| ranked.best.as_ref().is_some_and(|best| bar.is_met(best)));
    }
    let offset = asked.offset.unwrap_or(0);
    Ok(CacheAdvice {
        enabled: true,
        left_out: all - statements.len(),
        total: statements.len(),
        offset,
        statements: statements
            .iter()
            .skip(offset)
            .take(limit)
            .map(|ranked| aim.advised(shared, &ranked.line, &bar))
            .collect(),
        least_seconds: seconds(bar.least_ns),
        least_hit_ratio: Bar::HIT_RATIO,
        server_seconds: seconds(bar.server_ns),
        observed_seconds: bar.observed.as_secs_f64(),
        watched,
        memory: digests.advice_bytes() as u64,
    })
}

/// What rules would save that are worth their while and not there yet.
pub struct Worth {
    pub rules: usize,
    pub saved_seconds: f64,
    /// What the server took for all statements.
    pub server_seconds: f64,
}

/// The same in short.
pub fn worth(shared: &Shared) -> Option<Worth> {
    let digests = shared.digests.as_ref()?;
    let bar = Bar::of(digests);
    let aim = Aim { ttl: None, stale: STALE / 100.0, user: None, schema: None };
    let mut worth = Worth { rules: 0, saved_seconds: 0.0, server_seconds: seconds(bar.server_ns) };
    for Ranked { line, best } in aim.ranked(digests.advice()) {
        let Some(best) = best.filter(|best| bar.is_met(best)) else { continue };
        if !line.digest.is_cut && cached_by(shared, &line).is_none() {
            worth.rules += 1;
            worth.saved_seconds += seconds(best.saved_ns);
        }
    }
    (worth.rules > 0).then_some(worth)
}

/// What a rule must save to be worth its while. Each is one more thing to know of, and to remember when data is seen to be old.
struct Bar {
    least_ns: f64,
    server_ns: f64,
    observed: Duration,
}

impl Bar {
    /// Of the server's time for all statements.
    const SHARE: f64 = 0.01;
    /// Of the time in which that was counted: a thousandth of one core.
    const OF_THE_TIME: f64 = 0.001;
    /// Of the statements that it names. To keep an answer costs half as much as to pass it on, and room that others would have: of ten
    /// that are kept one should be used.
    const HIT_RATIO: f64 = 0.1;

    fn of(digests: &Digests) -> Self {
        let rows = digests.rows();
        let counted: u64 = rows.lines().map(|(_, line)| line.sums.server.sum_ns()).sum();
        let server_ns = (counted + rows.other().server.sum_ns()) as f64;
        let observed = digests.observed();
        let least_ns = (server_ns * Self::SHARE).max(observed.as_nanos() as f64 * Self::OF_THE_TIME);
        Self { least_ns, server_ns, observed }
    }

    fn is_met(&self, best: &Prediction) -> bool {
        self.lacks(best).is_none()
    }

    fn lacks(&self, best: &Prediction) -> Option<NotWorth> {
        if best.saved_ns < self.least_ns {
            return Some(NotWorth::SavesLittle);
        }
        (best.hit_ratio < Self::HIT_RATIO).then_some(NotWorth::SeldomHit)
    }
}

/// Everything about one statement.
pub fn cache_of(shared: &Shared, id: &str) -> Result<AdvisedShown, ApiError> {
    let unknown = || {
        let text = format!(
            "no statement with the digest `{id}` that might be cached was seen: `weir advise cache` shows what was"
        );
        ApiError::new(Code::UnknownDigest, text)
    };
    let lines = shared.digests.as_ref().map(|digests| digests.advice()).unwrap_or_default();
    let wanted = Named::to_look(id)?.among(lines.iter().map(|line| line.digest.id))?.ok_or_else(unknown)?;
    let lines: Vec<&Line> = lines.iter().filter(|line| line.digest.id == wanted).collect();
    let all = merged(lines.iter().copied()).ok_or_else(unknown)?;
    let bar = shared.digests.as_ref().map(Bar::of).ok_or_else(unknown)?;
    let aim = Aim { ttl: None, stale: STALE / 100.0, user: None, schema: None };
    let same = |of: fn(&Line) -> &[u8]| lines.iter().all(|line| of(line) == of(&all));
    let mut shown = aim.advised(shared, &all, &bar);
    shown.user = shown.user.filter(|_| same(|line| &line.origin.user));
    shown.schema = shown.schema.filter(|_| same(|line| &line.origin.schema));
    let row = |line: &&Line| {
        let user = Some(text(&line.origin.user));
        let schema = Some(text(&line.origin.schema)).filter(|schema| !schema.is_empty());
        Aim { ttl: None, stale: aim.stale, user, schema }.advised(shared, line, &bar)
    };
    Ok(AdvisedShown { all: shown, rows: lines.iter().map(row).collect() })
}

/// A line, and what is best for it.
struct Ranked {
    line: Box<Line>,
    best: Option<Prediction>,
}

/// One line for each digest: a rule is for all who send it.
fn by_digest(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort_unstable_by_key(|line| line.digest.id);
    lines.dedup_by(|line, first| {
        let same = line.digest.id == first.digest.id;
        if same && let Some(both) = merged([&*first, &*line]) {
            *first = both;
        }
        same
    });
    lines
}

impl Aim {
    /// What it is about, a line for each digest, with what is best: what saves most first.
    fn ranked(&self, mut lines: Vec<Line>) -> Vec<Ranked> {
        // A line takes a kilobyte: none is copied.
        lines.retain(|line| self.is_about(line));
        let with_best = |line: Line| Ranked { best: self.best(&line), line: Box::new(line) };
        let mut ranked: Vec<_> = by_digest(lines).into_iter().map(with_best).collect();
        // The ids make the order the same each time.
        ranked.sort_unstable_by_key(|Ranked { line, best }| {
            (Reverse(best.map_or(0, |best| best.saved_ns as u64)), line.digest.id)
        });
        ranked
    }

    fn is_about(&self, line: &Line) -> bool {
        let is = |wanted: &Option<String>, name: &[u8]| wanted.as_ref().is_none_or(|w| w.as_bytes() == name);
        is(&self.user, &line.origin.user) && is(&self.schema, &line.origin.schema)
    }

    /// Those that are asked for.
    fn among<'p>(&self, all: &'p [Prediction]) -> &'p [Prediction] {
        match self.ttl {
            Some(step) => all.get(step..=step).unwrap_or_default(),
            None => all,
        }
    }

    fn best(&self, line: &Line) -> Option<Prediction> {
        best(self.among(&line.predictions()), self.stale).copied()
    }

    fn advised(&self, shared: &Shared, line: &Line, bar: &Bar) -> Advised {
        let best = self.best(line);
        let no_hit = || self.among(&line.predictions()).iter().all(|prediction| prediction.hits <= 0.0);
        let not_worth = match &best {
            Some(best) => bar.lacks(best),
            None if no_hit() => Some(NotWorth::NoHits),
            None => Some(NotWorth::Stale),
        };
        let best = best.map(|best| predicted(&best));
        let digest = text(&line.digest.text);
        // A rule is not made from a digest that was cut.
        let best_whole = best.as_ref().filter(|_| !line.digest.is_cut);
        let command = best_whole.map(|best| self.command(line, &best.ttl));
        let (cached_by, mode) = cached_by(shared, line).unzip();
        Advised {
            id: line.digest.id.to_string(),
            digest_cut: line.digest.is_cut,
            user: Some(text(&line.origin.user)),
            schema: Some(text(&line.origin.schema)),
            cached_by,
            mode: mode.map(|mode| mode.as_str().to_owned()),
            digest,
            calls: line.calls,
            server_seconds: seconds(line.server_ns as f64),
            unchanged_seconds: seconds(line.unchanged_ns()),
            seconds: line.last_us.saturating_sub(line.first_us) as f64 / 1e6,
            keys: line.keys,
            one_of: line.one_of,
            best,
            not_worth,
            command,
            ladder: line.predictions().iter().map(predicted).collect(),
        }
    }

    fn command(&self, line: &Line, ttl: &str) -> String {
        let mut command = format!("weir rules add --from-digest {} --cache {ttl}", line.digest.id);
        for (flag, value) in [("--match-user", &self.user), ("--match-schema", &self.schema)] {
            if let Some(value) = value {
                command.push_str(&format!(" {flag} {}", quoted(value)));
            }
        }
        command
    }
}

/// As one word of a shell.
fn quoted(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    match !word.is_empty() && word.bytes().all(plain) && !word.starts_with('-') {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The rule that decides about the cache for such a statement, as far as its digest tells, and its mode.
fn cached_by(shared: &Shared, line: &Line) -> Option<(String, CacheMode)> {
    let question = Question {
        sql: text(&as_called(&line.digest.text)),
        user: Some(text(&line.origin.user)),
        schema: Some(text(&line.origin.schema)).filter(|schema| !schema.is_empty()),
        client: None,
        command: None,
    };
    let digest = Digest { id: line.digest.id, text: line.digest.text.to_vec() };
    super::explain::cached_by(shared, &question, digest)
}

fn predicted(p: &Prediction) -> Predicted {
    let step = LADDER.iter().position(|step| *step == p.ttl_us);
    Predicted {
        ttl: step.and_then(|step| WORDS.get(step)).copied().unwrap_or_default().to_owned(),
        ttl_seconds: p.ttl_us as f64 / 1e6,
        hits: p.hits,
        hit_ratio: p.hit_ratio,
        saved_seconds: seconds(p.saved_ns),
        stale_ratio: p.stale_ratio,
        own_writes_ratio: p.own_writes_ratio,
        outdated_ratio: p.outdated_ratio,
        entries: p.entries,
        bytes: p.bytes,
    }
}

fn seconds(ns: f64) -> f64 {
    ns / 1e9
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_steps_of_the_ladder() {
        for (word, step) in WORDS.iter().zip(LADDER) {
            assert_eq!(weir_config::duration(word).map(|ttl| ttl.as_micros()), Some(u128::from(step)));
        }
    }

    #[test]
    fn a_rule_that_is_worth_its_while_saves_something_and_is_hit() {
        let bar = Bar { least_ns: 1e9, server_ns: 1e11, observed: Duration::from_secs(60) };
        let told = |saved_ns, hit_ratio| {
            bar.lacks(&Prediction {
                ttl_us: LADDER[0],
                hits: 40.0,
                hit_ratio,
                saved_ns,
                stale_ratio: 0.0,
                own_writes_ratio: 0.0,
                outdated_ratio: 0.0,
                entries: 1.0,
                bytes: 1.0,
            })
        };
        assert_eq!((told(1e9, 0.1), told(1e12, 1.0)), (None, None));
        assert_eq!(told(1e9 - 1.0, 1.0), Some(NotWorth::SavesLittle));
        // However much: most of what it keeps would be kept for nobody.
        assert_eq!(told(1e12, 0.025), Some(NotWorth::SeldomHit));
    }

    #[test]
    fn names_reach_a_shell_as_they_are() {
        for (name, word) in
            [("app", "app"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("", "''"), ("-x", "'-x'")]
        {
            assert_eq!(quoted(name), word);
        }
    }
}
