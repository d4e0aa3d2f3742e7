//! What has happened between two moments.

use super::sample::{Digest, Digests, Histogram, Sample};

/// Per second, of one interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rates {
    pub statements: f64,
    pub errors: f64,
    pub bytes_in: f64,
    pub bytes_out: f64,
    /// Of the statements that the cache was asked for; `None` where there were none.
    pub hit_ratio: Option<f64>,
    pub client: Percentiles,
    pub server: Percentiles,
    pub digests: Vec<DigestRate>,
}

/// In seconds; `None` where nothing was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Percentiles {
    pub p50: Option<f64>,
    pub p99: Option<f64>,
}

/// One digest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DigestRate {
    pub id: String,
    pub text: String,
    pub cacheable: bool,
    pub calls: f64,
    /// Seconds that clients waited for answers, in each second: how many waited at once.
    pub time: f64,
    /// Of one statement.
    pub mean: Option<f64>,
    pub rows: f64,
    pub errors: f64,
    /// Of the calls; `None` without calls.
    pub hits: Option<f64>,
    /// Since it is counted; decides between those of which there were none.
    pub total: f64,
}

impl Rates {
    /// `None` if these are not two moments of one process.
    pub fn between(before: &Sample, now: &Sample) -> Option<Self> {
        let seconds = now.at.checked_sub(before.at)?.as_secs_f64();
        if seconds <= 0.0 || before.started != now.started {
            return None;
        }
        let rate = |before: f64, now: f64| (now - before).max(0.0) / seconds;
        let hits = now.hits.saturating_sub(before.hits) as f64;
        let misses = now.misses.saturating_sub(before.misses) as f64;
        Some(Self {
            statements: rate(before.statements, now.statements),
            errors: rate(before.errors, now.errors),
            bytes_in: rate(before.bytes_in, now.bytes_in),
            bytes_out: rate(before.bytes_out, now.bytes_out),
            hit_ratio: (hits + misses > 0.0).then(|| hits / (hits + misses)),
            client: Percentiles::between(&before.client_time, &now.client_time),
            server: Percentiles::between(&before.server_time, &now.server_time),
            digests: digests(&before.digests, &now.digests, seconds),
        })
    }
}

fn digests(before: &Digests, now: &Digests, seconds: f64) -> Vec<DigestRate> {
    let nothing = Digest::default();
    let rates = now.rows.iter().map(|(id, digest)| {
        let old = match before.rows.get(id) {
            // Forgotten meanwhile, and counted anew.
            Some(old) if old.calls > digest.calls => &nothing,
            Some(old) => old,
            None if before.complete => &nothing,
            // It was there, and was not told of: nobody knows since when it counts.
            None => digest,
        };
        let calls = digest.calls.saturating_sub(old.calls) as f64;
        let took = (digest.seconds - old.seconds).max(0.0);
        let share = |now: u64, old: u64| now.saturating_sub(old) as f64;
        DigestRate {
            id: id.clone(),
            text: digest.text.clone(),
            cacheable: digest.cacheable,
            calls: calls / seconds,
            time: took / seconds,
            mean: (calls > 0.0).then(|| took / calls),
            rows: share(digest.rows, old.rows) / seconds,
            errors: share(digest.errors, old.errors) / seconds,
            hits: (calls > 0.0).then(|| share(digest.hits, old.hits) / calls),
            total: digest.seconds,
        }
    });
    rates.collect()
}

impl Percentiles {
    fn between(before: &Histogram, now: &Histogram) -> Self {
        let counts: Vec<(f64, f64)> = now
            .0
            .iter()
            .enumerate()
            .map(|(at, (bound, count))| {
                let old = before.0.get(at).filter(|(old, _)| old == bound).map_or(0.0, |(_, count)| *count);
                (*bound, (count - old).max(0.0))
            })
            .collect();
        Self { p50: percentile(&counts, 0.50), p99: percentile(&counts, 0.99) }
    }
}

/// Within a bucket as if they were spread evenly, as Prometheus does it (`histogram_quantile`).
fn percentile(counts: &[(f64, f64)], share: f64) -> Option<f64> {
    let all = counts.last().map(|(_, count)| *count).filter(|count| *count > 0.0)?;
    let wanted = all * share;
    let at = counts.iter().position(|(_, count)| *count >= wanted)?;
    let (low, below) = at.checked_sub(1).map_or((0.0, 0.0), |at| counts[at]);
    let (high, count) = counts[at];
    // Beyond the last bound nothing more is known.
    if high.is_infinite() {
        return Some(low);
    }
    let part = if count > below { (wanted - below) / (count - below) } else { 1.0 };
    Some(low + (high - low) * part)
}

#[cfg(test)]
mod tests;
