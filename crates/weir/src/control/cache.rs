//! The cache, between the API's form and its own.

use super::named::Named;
use std::collections::HashMap;
use std::time::Instant;
use weir_admin::{
    ApiError, CacheCounts, CacheState, Code, Covered, RuleCacheState, Selection, StaleAges, UserCacheState,
};
use weir_cache::{AGES, Asked, RuleStats, Selector, Wiped};
use weir_model::rule::TableMatch;
use weir_proxy::Shared;
use weir_sql::Digest;

/// Users that are told of.
const USERS: usize = 20;

pub fn state(shared: &Shared) -> CacheState {
    let (cache, in_force) = (shared.cache(), shared.rules());
    let there_are: HashMap<&str, bool> =
        in_force.iter().map(|rule| (rule.name.as_str(), rule.cache.is_some())).collect();
    let stats = cache.stats();
    let rules: Vec<RuleCacheState> = stats
        .rules
        .iter()
        .map(|stats| RuleCacheState { rule: stats.name.to_string(), counts: counts(stats) })
        // The cache knows each rule that ever was: one that there is matters here where it says something about caching, or did.
        .filter(|state| {
            there_are
                .get(state.rule.as_str())
                .is_some_and(|caches| *caches || state.counts != CacheCounts::default())
        })
        .collect();
    CacheState {
        memory: stats.memory as u64,
        used: stats.used as u64,
        max_entry: cache.max_entry() as u64,
        user_memory: cache.user_memory().map(|bytes| bytes as u64),
        users: stats.users.iter().take(USERS).map(user).collect(),
        entries: stats.entries as u64,
        past_ttl: covered(cache.past_ttl(Instant::now())),
        flights: stats.flights as u64,
        total: total(&rules),
        rules,
    }
}

fn user((user, bytes): &(Box<str>, usize)) -> UserCacheState {
    UserCacheState { user: user.to_string(), bytes: *bytes as u64 }
}

pub fn counts(stats: &RuleStats) -> CacheCounts {
    let some = |(word, count): (&str, u64)| (count > 0).then(|| (word.to_owned(), count));
    CacheCounts {
        entries: stats.entries,
        bytes: stats.bytes,
        hits: stats.hits,
        misses: stats.misses,
        waits: stats.waits,
        hit_ratio: ratio(stats.hits, stats.misses + stats.waits),
        saved_seconds: stats.saved.as_secs_f64(),
        hit_bytes: stats.hit_bytes,
        fills: stats.fills,
        evicted: stats.evicted,
        expired: stats.expired,
        replaced: stats.replaced,
        wiped: stats.wiped,
        refreshes: stats.refreshes,
        stale_served: stats.stale_served,
        verified: stats.verified,
        mismatched: stats.mismatched,
        shadow_seen: stats.shadow_seen,
        shadow_hits: stats.shadow_hits,
        shadow_stale: stats.shadow_stale,
        shadow_saved_seconds: stats.shadow_saved.as_secs_f64(),
        stale_ages: stale_ages(&stats.stale_ages),
        stale_age_seconds: stats.stale_age.as_secs_f64(),
        refused: stats.refused.iter().filter_map(|(reason, count)| some((reason.as_str(), *count))).collect(),
        dropped: stats.dropped.iter().filter_map(|(reason, count)| some((reason.as_str(), *count))).collect(),
    }
}

fn stale_ages(counts: &[u64]) -> Vec<StaleAges> {
    if counts.iter().all(|count| *count == 0) {
        return Vec::new();
    }
    let bounds = AGES.iter().map(|age| Some(age.as_secs_f64())).chain([None]);
    let ages = |(up_to_seconds, answers): (_, &u64)| StaleAges { up_to_seconds, answers: *answers };
    bounds.zip(counts).map(ages).collect()
}

/// Of all that was asked since the start, also under rules that are gone.
pub fn hit_ratio(asked: Asked) -> Option<f64> {
    ratio(asked.hits, asked.misses + asked.waits)
}

fn ratio(hits: u64, others: u64) -> Option<f64> {
    let all = hits + others;
    (all > 0).then(|| hits as f64 / all as f64)
}

fn total(rules: &[RuleCacheState]) -> CacheCounts {
    let mut sum = CacheCounts::default();
    for RuleCacheState { counts, .. } in rules {
        let numbers = [
            (&mut sum.entries, counts.entries),
            (&mut sum.bytes, counts.bytes),
            (&mut sum.hits, counts.hits),
            (&mut sum.misses, counts.misses),
            (&mut sum.waits, counts.waits),
            (&mut sum.hit_bytes, counts.hit_bytes),
            (&mut sum.fills, counts.fills),
            (&mut sum.evicted, counts.evicted),
            (&mut sum.expired, counts.expired),
            (&mut sum.replaced, counts.replaced),
            (&mut sum.wiped, counts.wiped),
            (&mut sum.refreshes, counts.refreshes),
            (&mut sum.stale_served, counts.stale_served),
            (&mut sum.verified, counts.verified),
            (&mut sum.mismatched, counts.mismatched),
            (&mut sum.shadow_seen, counts.shadow_seen),
            (&mut sum.shadow_hits, counts.shadow_hits),
            (&mut sum.shadow_stale, counts.shadow_stale),
        ];
        numbers.into_iter().for_each(|(sum, count)| *sum += count);
        sum.saved_seconds += counts.saved_seconds;
        sum.shadow_saved_seconds += counts.shadow_saved_seconds;
        sum.stale_age_seconds += counts.stale_age_seconds;
        if sum.stale_ages.is_empty() {
            sum.stale_ages.clone_from(&counts.stale_ages);
        } else {
            let both = sum.stale_ages.iter_mut().zip(&counts.stale_ages);
            both.for_each(|(sum, more)| sum.answers += more.answers);
        }
        let reasons = [(&mut sum.refused, &counts.refused), (&mut sum.dropped, &counts.dropped)];
        for (sum, counts) in reasons {
            for (reason, count) in counts {
                *sum.entry(reason.clone()).or_default() += count;
            }
        }
    }
    sum.hit_ratio = ratio(sum.hits, sum.misses + sum.waits);
    sum
}

pub fn covered(wiped: Wiped) -> Covered {
    Covered { entries: wiped.entries as u64, bytes: wiped.bytes as u64 }
}

/// # Errors
/// When nothing is selected, or something that makes no sense.
pub fn selector(shared: &Shared, selection: &Selection) -> Result<Selector, ApiError> {
    let bad = |message: &str| Err(ApiError::new(Code::BadRequest, message));
    let Selection { all, rule, digest, schema, table, tag, user } = selection;
    let narrowed = [rule, digest, schema, table, tag, user].iter().any(|given| given.is_some());
    match (all, narrowed) {
        (true, true) => return bad("`all` is every entry: leave the rest out, or leave `all` out"),
        (false, false) => return bad("say which entries: rule, digest, schema, table, tag, user or all"),
        _ => {}
    }
    let empty = |given: &Option<String>| given.as_ref().is_some_and(|name| name.trim().is_empty());
    if [rule, digest, schema, table, tag, user].into_iter().any(empty) {
        return bad("a name is empty: leave it out, or say what is meant");
    }
    let mut selector = Selector::all();
    if let Some(name) = rule {
        let in_force = shared.rules().iter().any(|rule| rule.name == *name);
        if !in_force && !shared.cache().knows_rule(name) {
            return Err(super::unknown_rule(name));
        }
        selector = selector.rule(name);
    }
    if let Some(text) = digest {
        selector = selector.digest(digest_id(shared, text)?);
    }
    if let Some(name) = schema {
        selector = selector.schema(name);
    }
    if let Some(text) = table {
        let Some(table) = TableMatch::parse(text) else {
            return bad(
                "`table` is not the name of a table: write SCHEMA.TABLE, and a name with a dot as `a.b`",
            );
        };
        let Some(of) = table.schema.as_ref().or(schema.as_ref()) else {
            return bad("`table` needs its schema: write SCHEMA.TABLE");
        };
        selector = selector.table(of, &table.name);
    }
    if let Some(name) = tag {
        selector = selector.tag(name);
    }
    if let Some(name) = user {
        selector = selector.user(name);
    }
    Ok(selector)
}

/// The selection for the log: a statement by which a digest is named is not repeated there.
pub fn shown(shared: &Shared, selection: &Selection) -> String {
    let id = |text: &String| digest_id(shared, text).map_or_else(|_| text.clone(), |id| format!("{id:016x}"));
    let digest = selection.digest.as_ref().map(id);
    let parts = [
        ("rule", &selection.rule),
        ("digest", &digest),
        ("schema", &selection.schema),
        ("table", &selection.table),
        ("tag", &selection.tag),
        ("user", &selection.user),
    ];
    let given = parts
        .into_iter()
        .filter_map(|(part, name)| Some(format!("{part}={}", name.as_ref()?.escape_debug())));
    match selection.all {
        true => "all".to_owned(),
        false => given.collect::<Vec<_>>().join(" "),
    }
}

/// # Errors
/// When there was never an entry of one of its names.
pub fn known(shared: &Shared, selector: &Selector) -> Result<(), ApiError> {
    match shared.cache().never_had(selector) {
        None => Ok(()),
        Some(part) => Err(ApiError::new(
            Code::NothingNamed,
            format!(
                "since Weir was started, the cache has never held anything of this {part}: is it written rightly?"
            ),
        )),
    }
}

/// The selection with the digest's text in place of a statement that names it.
pub fn without_literals(shared: &Shared, selection: &Selection) -> Selection {
    let named = |text: &String| match Named::of(text) {
        Named::Else => String::from_utf8_lossy(&meant(shared, text).text).into_owned(),
        Named::Id(_) | Named::Begins(_) => {
            digest_id(shared, text).map_or_else(|_| text.clone(), |id| format!("{id:016x}"))
        }
    };
    Selection { digest: selection.digest.as_ref().map(named), ..selection.clone() }
}

/// The 16 digits of an id, or how one of those begins that were counted, or a text that has the digest.
fn digest_id(shared: &Shared, text: &str) -> Result<u64, ApiError> {
    let unknown = || {
        let text = format!(
            "no statement was counted whose digest begins with `{}`: give all 16 digits, or such a statement",
            text.trim()
        );
        ApiError::new(Code::UnknownDigest, text)
    };
    match Named::to_change(text)? {
        Named::Else => Ok(meant(shared, text).id.0),
        Named::Id(id) => Ok(id.0),
        named => Ok(named.among(super::named::counted(shared).into_iter())?.ok_or_else(unknown)?.0),
    }
}

fn meant(shared: &Shared, text: &str) -> Digest {
    Digest::meant(text.as_bytes(), super::mode(shared))
}
