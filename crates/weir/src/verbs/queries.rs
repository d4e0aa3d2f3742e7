//! `weir queries ...`

use super::show::{ago, bytes, optional, pairs, part, plural, reasons, seconds, short, table, table_of};
use super::{Asked, escaped, history, query};
use crate::cli::{QueriesArgs, QueriesList, QueriesVerb};
use anyhow::Result;
use std::collections::BTreeMap;
use weir_admin::{Quadrant, Queries, Query, QueryCounts, QueryShown, Reset, Times};

pub fn run(args: QueriesArgs) -> Result<()> {
    let QueriesArgs { verb, list, at } = args;
    if let (None, Some(against)) = (&verb, &list.compare) {
        return Asked::new(&at)?.get(&history::comparison(&list, against))?.show(history::compared);
    }
    match verb {
        None if list.quadrants => {
            let sort = list.sort.clone().unwrap_or_else(|| "total".to_owned());
            let path = path(&QueriesList { limit: Some(10_000), offset: None, ..list });
            Asked::new(&at)?.get(&path)?.show(|queries| by_quadrant(queries, list.limit.unwrap_or(5), &sort))
        }
        None => Asked::new(&at)?
            .get(&path(&list))?
            .show(|queries| all(queries, list.sort.as_deref().unwrap_or("total"))),
        Some(QueriesVerb::Show { id, limit, offset, at }) => {
            let page = [("limit", limit), ("offset", offset)];
            let given: Vec<_> = page
                .iter()
                .filter_map(|(name, number)| Some((*name, number.as_ref()?.to_string())))
                .collect();
            Asked::new(&at)?.get(&query(&format!("/queries/{}", escaped(&id)), &given))?.show(one)
        }
        Some(QueriesVerb::Reset { at }) => Asked::new(&at)?
            .post("/queries/reset", &())?
            .show(|reset: &Reset| format!("forgot {} rows; counting goes on", reset.rows)),
    }
}

fn path(list: &QueriesList) -> String {
    let number = |n: Option<usize>| n.map(|n| n.to_string());
    let given = [
        ("sort", &list.sort),
        ("by", &list.by),
        ("limit", &number(list.limit)),
        ("offset", &number(list.offset)),
        ("user", &list.user),
        ("schema", &list.schema),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
    let given: Vec<_> = given.chain(list.period.pairs()).collect();
    query("/queries", &given)
}

const COLUMNS: [&str; 11] =
    ["id", ">calls", ">total", ">mean", ">p99", ">errors", ">hits", ">saved", "user", "schema", "~digest"];
/// Those that go first where there is no room for all. By what the rows are sorted stays.
const SPARE: [&str; 6] = ["saved", "p99", "schema", "hits", "errors", "user"];

/// A table of rows that are sorted by this.
fn sorted<'q>(queries: impl Iterator<Item = &'q Query>, sort: &str) -> String {
    let spare: Vec<&str> = SPARE.into_iter().filter(|name| *name != sort).collect();
    let mut header = COLUMNS.to_vec();
    header.splice(ADDED..ADDED, added_column(sort));
    let rows = queries.map(|query| {
        let mut row = row(query);
        row.splice(ADDED..ADDED, added_column(sort).map(|_| added(sort, &query.counts)));
        row
    });
    table_of(&header, rows, &spare) + "\n"
}

/// What is shown only where rows are sorted by it.
fn added_column(sort: &str) -> Option<&'static str> {
    match sort {
        "rows" => Some(">rows"),
        "regret" => Some(">regret"),
        _ => None,
    }
}

fn added(sort: &str, counts: &QueryCounts) -> String {
    match sort {
        "rows" => (counts.rows_sent + counts.rows_affected).to_string(),
        _ => seconds(counts.regret_seconds),
    }
}

/// Where a column is added.
const ADDED: usize = 4;

fn row(query: &Query) -> Vec<String> {
    let c = &query.counts;
    vec![
        query.id.clone(),
        c.calls.to_string(),
        seconds(c.total.sum_seconds),
        optional(c.total.mean_seconds),
        optional(c.total.p99_seconds),
        c.errors.to_string(),
        c.hits.to_string(),
        optional(c.saved_seconds),
        one_or(&query.user, query.together.map(|all| all.users)),
        one_or(&query.schema, query.together.map(|all| all.schemas)),
        short(&query.digest),
    ]
}

/// The one name, or how many there are.
fn one_or(name: &str, so_many: Option<usize>) -> String {
    match so_many {
        Some(count) if count > 1 => format!("({count})"),
        _ => name.to_owned(),
    }
}

fn all(queries: &Queries, sort: &str) -> String {
    if !queries.enabled {
        return "nothing is counted: analytics.enabled is off\n".to_owned();
    }
    if queries.queries.is_empty() && queries.offset < queries.selected.max(1) {
        return when(queries) + "no statement was counted\n";
    }
    let mut text = when(queries) + &sorted(queries.queries.iter(), sort);
    text.push_str(&part(queries.offset, queries.queries.len(), queries.selected, "rows"));
    text + &others(queries)
}

/// Of which time they are, if it was asked for.
fn when(queries: &Queries) -> String {
    queries.period.map(|period| history::time(&period) + "\n\n").unwrap_or_default()
}

fn others(queries: &Queries) -> String {
    match &queries.other {
        Some(other) if other.calls > 0 && queries.period.is_some() => format!(
            "others: {} calls, {} in total, of what had no row in its minute (history.digests)\n",
            other.calls,
            seconds(other.total.sum_seconds)
        ),
        Some(other) if other.calls > 0 => format!(
            "others: {} calls, {} in total, of {} rows that have made room (analytics.digests)\n",
            other.calls,
            seconds(other.total.sum_seconds),
            queries.evicted
        ),
        _ => String::new(),
    }
}

fn by_quadrant(queries: &Queries, shown: usize, sort: &str) -> String {
    if !queries.enabled {
        return all(queries, sort);
    }
    let mut text = when(queries);
    for sum in &queries.quadrants {
        let name = match sum.quadrant {
            Quadrant::OftenSlow => "often and slow: cache these, or give them an index",
            Quadrant::OftenFast => "often and fast: cheap one by one; caching spares connections",
            Quadrant::SeldomSlow => "seldom and slow: reports; look at their plans",
            Quadrant::SeldomFast => "seldom and fast: leave them alone",
        };
        let total = seconds(sum.total_seconds);
        text.push_str(&format!(
            "{name}\n{}, {}, {total} in total\n",
            plural(sum.rows, "row"),
            plural(sum.calls, "call")
        ));
        let rows = queries.queries.iter().filter(|query| query.quadrant == sum.quadrant).take(shown);
        if sum.rows > 0 {
            text.push_str(&sorted(rows, sort));
        }
        text.push('\n');
    }
    text + &others(queries)
}

fn one(query: &QueryShown) -> String {
    let cut = if query.digest_cut { " ..." } else { "" };
    let mut text = format!("{}\n{}{cut}\n\n{}", query.id, query.digest, every(&query.all));
    if let Some(sample) = query.rows.iter().find_map(|row| row.sample.as_ref()) {
        text.push_str(&format!("\nfor example\n{sample}\n"));
    }
    let header = ["user", "schema", "server", ">calls", ">total", ">mean", ">p99", ">errors", ">hits"];
    let rows = query.rows.iter().map(|row| {
        let c = &row.counts;
        vec![
            row.user.clone(),
            row.schema.clone(),
            row.server.clone(),
            c.calls.to_string(),
            seconds(c.total.sum_seconds),
            optional(c.total.mean_seconds),
            optional(c.total.p99_seconds),
            c.errors.to_string(),
            c.hits.to_string(),
        ]
    });
    text.push_str(&format!("\n{}\n", table(&header, rows)));
    text + &part(query.offset, query.rows.len(), query.total, "rows")
}

/// All about one digest, without a table: for where lines are wrapped.
pub fn in_lines(query: &QueryShown) -> String {
    let mut text = format!("{}\n{}\n\n{}", query.id, query.digest, every(&query.all));
    for row in &query.rows {
        let c = &row.counts;
        let (user, schema) = (name(&row.user), name(&row.schema));
        text.push_str(&format!("\nuser {user}, schema {schema}, server {}\n", name(&row.server)));
        text.push_str(&format!(
            "  {} calls, {} errors, {} hits; {}\n",
            c.calls,
            c.errors,
            c.hits,
            times(&c.total)
        ));
    }
    let more = query.total.saturating_sub(query.rows.len());
    if more > 0 {
        text.push_str(&format!("\nand {}: `weir queries show {}`\n", plural(more as u64, "row"), query.id));
    }
    text
}

fn name(name: &str) -> &str {
    if name.is_empty() { "-" } else { name }
}

/// Every counter that says something.
fn every(c: &QueryCounts) -> String {
    let codes: BTreeMap<String, u64> = c.error_codes.iter().map(|(code, n)| (code.to_string(), *n)).collect();
    let some = |count: u64, text: String| if count == 0 { String::new() } else { text };
    pairs(&[
        ("calls", c.calls.to_string()),
        ("seen", format!("first {}, last {}", ago(c.first_seen), ago(c.last_seen))),
        ("total", times(&c.total)),
        ("waited", some(c.queue.count, times(&c.queue))),
        ("server", some(c.server_time.count, times(&c.server_time))),
        ("rows", format!("{} sent, {} affected", c.rows_sent, c.rows_affected)),
        ("bytes", format!("{} in, {} out", bytes(c.bytes_in), bytes(c.bytes_out))),
        ("errors", some(c.errors, format!("{}: {}", c.errors, reasons(&codes)))),
        (
            "cache",
            format!(
                "{} hits, {} misses, {} of the server saved, by what the stored answers took it",
                c.hits,
                c.misses,
                optional(c.saved_seconds)
            ),
        ),
        ("refused", reasons(&c.refused)),
        (
            "regret",
            match c.regret_seconds {
                0.0 => String::new(),
                regret => format!(
                    "{} of the server for the same answers as before, while no rule let the cache give them",
                    seconds(regret)
                ),
            },
        ),
        ("by Weir", some(c.answered_by_weir, c.answered_by_weir.to_string())),
        ("pins", reasons(&c.pins)),
    ])
}

fn times(times: &Times) -> String {
    let percentile = |p: Option<f64>| optional(p);
    format!(
        "{} in {} statements; mean {}, p50 {}, p95 {}, p99 {}",
        seconds(times.sum_seconds),
        times.count,
        optional(times.mean_seconds),
        percentile(times.p50_seconds),
        percentile(times.p95_seconds),
        percentile(times.p99_seconds)
    )
}

#[cfg(test)]
mod tests;
