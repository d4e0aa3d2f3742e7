//! The report as one HTML page that needs nothing else: tables, graphs, and how to read them.

use std::fmt::Write as _;

use super::chart::{self, Bars, Line, Lines, Part, escape, number};
use super::options::{Experiment, Parameters, Protocol, Sharing};
use super::plan::{Group, Step, Variant};
use super::state::{Figures, Outcome};

/// The published graphs of response time end there, so that what users feel can be read off.
const ZOOM_MS: f64 = 250.0;

/// A group with what is known of its steps.
pub struct Shown<'a> {
    /// The group.
    pub group: &'a Group,
    /// Its steps that have been tried.
    pub outcomes: Vec<(Step, &'a Outcome)>,
}

impl Shown<'_> {
    /// The figures of one variant, from few clients to many.
    fn figures(&self, variant: Variant) -> Vec<(u32, &Figures)> {
        let mut figures: Vec<_> = self
            .outcomes
            .iter()
            .filter(|(step, _)| step.variant == variant)
            .filter_map(|(step, outcome)| match outcome {
                Outcome::Measured(figures) => Some((step.threads, &**figures)),
                Outcome::Failed(_) => None,
            })
            .collect();
        figures.sort_by_key(|(threads, _)| *threads);
        figures
    }

    fn failures(&self) -> Vec<(Step, &str)> {
        let failed = self.outcomes.iter().filter_map(|(step, outcome)| match outcome {
            Outcome::Failed(why) => Some((*step, why.as_str())),
            Outcome::Measured(_) => None,
        });
        failed.collect()
    }

    /// Where most statements per second were answered.
    fn best(&self, variant: Variant) -> Option<(u32, &Figures)> {
        self.figures(variant).into_iter().max_by(|a, b| a.1.per_second.total_cmp(&b.1.per_second))
    }

    fn title(&self) -> String {
        let Group { experiment, server, script, .. } = self.group;
        let beside = if *experiment == Experiment::E4 { " beside a light writer" } else { "" };
        format!("{} {}{beside}, {}", experiment.key().to_uppercase(), script.name(), server.name())
    }

    fn anchor(&self) -> String {
        let Group { experiment, server, script, .. } = self.group;
        let script = script.name().replace([' ', '_'], "-").replace("---", "-");
        format!("{}-{}-{script}", experiment.key(), server.name().to_lowercase())
    }
}

/// The whole page.
#[must_use]
pub fn html(parameters: &Parameters, shown: &[Shown]) -> String {
    let mut page = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.push_str("<title>Weir: experiments</title>\n<style>\n");
    page.push_str(include_str!("page.css"));
    page.push_str("</style></head><body><main>\n<h1>Weir: experiments</h1>\n");
    setting(&mut page, parameters, shown);
    summary(&mut page, shown);
    for one in shown {
        section(&mut page, parameters, one);
    }
    page.push_str(READING);
    page.push_str("</main></body></html>\n");
    page
}

fn setting(page: &mut String, parameters: &Parameters, shown: &[Shown]) {
    let measured =
        shown.iter().flat_map(|one| one.outcomes.iter()).filter_map(|(step, outcome)| match outcome {
            Outcome::Measured(figures) => Some(format!("{} {}", step.server.name(), figures.server_version)),
            Outcome::Failed(_) => None,
        });
    let mut servers: Vec<String> = measured.collect();
    servers.sort_unstable();
    servers.dedup();
    let steps: usize = shown.iter().map(|one| one.group.steps().count()).sum();
    let done: usize = shown.iter().map(|one| one.outcomes.len() - one.failures().len()).sum();
    let protocol = match parameters.protocol {
        Protocol::Text => "text (COM_QUERY)",
        Protocol::Prepared => "prepared statements (COM_STMT_EXECUTE)",
    };
    let sharing = match parameters.sharing {
        Sharing::Session => "a server connection for each client".to_owned(),
        Sharing::Transaction => format!("clients share {} server connections", parameters.connections),
    };
    let rows = [
        ("Weir", parameters.weir.clone()),
        ("Servers", servers.join("; ")),
        ("Machine", format!("{} cores for sysbench, Weir and the server together", parameters.cores)),
        ("Steps", format!("{done} of {steps} measured, {} s each", parameters.seconds)),
        ("Statements", protocol.to_owned()),
        ("Weir's pool", sharing),
        ("Cache", format!("TTL {}, {} of memory", parameters.ttl, parameters.memory)),
    ];
    page.push_str("<dl>");
    for (name, value) in rows {
        put(page, format_args!("<dt>{name}</dt><dd>{}</dd>", escape(&value)));
    }
    page.push_str("</dl>\n");
}

fn summary(page: &mut String, shown: &[Shown]) {
    page.push_str("<h2>At their best</h2>\n<p>Each way of connecting at the number of clients at which most statements per second were answered.</p>\n");
    page.push_str("<div class=\"wide\"><table><thead><tr><th>experiment</th><th></th><th>clients</th><th>statements/s</th><th>of direct</th><th>p95 ms</th><th>of direct, same clients</th><th>hits</th></tr></thead><tbody>\n");
    for one in shown {
        let direct = one.best(Variant::Direct);
        let mut title = format!("<a href=\"#{}\">{}</a>", one.anchor(), escape(&one.title()));
        for variant in one.group.variants {
            let Some((clients, best)) = one.best(*variant) else { continue };
            let ratio = direct.map(|(_, direct)| best.per_second / direct.per_second);
            let same = one.figures(Variant::Direct).into_iter().find(|(threads, _)| *threads == clients);
            let p95 = same.map(|(_, direct)| best.p95_ms / direct.p95_ms);
            put(
                page,
                format_args!(
                    "<tr><th>{title}</th><td>{} {}</td><td class=\"n\">{clients}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                    chart::swatch(slot(*variant)),
                    variant.name(),
                    number(best.per_second),
                    ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                    number(best.p95_ms),
                    p95.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                    best.hit_ratio.map_or_else(String::new, percent),
                ),
            );
            title.clear();
        }
    }
    page.push_str("</tbody></table></div>\n");
}

fn section(page: &mut String, parameters: &Parameters, one: &Shown) {
    put(page, format_args!("<section id=\"{}\">\n<h2>{}</h2>\n", one.anchor(), escape(&one.title())));
    put(page, format_args!("<p>{}</p>\n", escape(&about(one.group.experiment, parameters))));
    let failures = one.failures();
    if let Some((step, why)) = failures.first() {
        let (count, step) = (failures.len(), escape(&step.describe()));
        put(
            page,
            format_args!(
                "<div class=\"failed\"><b>{count} step(s) failed</b>, the first: {step}<pre>{}</pre></div>\n",
                escape(why)
            ),
        );
    }
    let variants: Vec<Variant> =
        one.group.variants.iter().copied().filter(|variant| !one.figures(*variant).is_empty()).collect();
    if !variants.is_empty() {
        graphs(page, one, &variants);
        cpu_graphs(page, parameters, one, &variants);
        table(page, one, &variants);
    }
    page.push_str("</section>\n");
}

fn graphs(page: &mut String, one: &Shown, variants: &[Variant]) {
    page.push_str("<p class=\"legend\">");
    for variant in variants {
        put(page, format_args!("<span>{} {}</span>", chart::swatch(slot(*variant)), variant.name()));
    }
    page.push_str("</p>\n<div class=\"graphs\">\n");
    let lines = |value: &dyn Fn(&Figures) -> Option<f64>| -> Vec<Line> {
        let line = |variant: &Variant| Line {
            name: variant.name(),
            slot: slot(*variant),
            points: one
                .figures(*variant)
                .into_iter()
                .filter_map(|(x, figures)| Some((x, value(figures)?)))
                .collect(),
        };
        variants.iter().map(line).filter(|line| !line.points.is_empty()).collect()
    };
    let mut add = |title: &str, y, unit, lines: Vec<Line>, limit| {
        let svg = chart::lines(&Lines { y, unit, lines, limit });
        put(page, format_args!("<figure><figcaption>{title}</figcaption>{svg}</figure>\n"));
    };
    add(
        "Throughput",
        "statements per second",
        "statements/s",
        lines(&|figures| Some(figures.per_second)),
        None,
    );
    let p95 = lines(&|figures| Some(figures.p95_ms));
    let zoom = zoom(&p95);
    add("Response time, 95th percentile", "p95 in milliseconds", "ms", p95.clone(), None);
    add("Response time, zoomed", "p95 in milliseconds", "ms", p95, Some(zoom));
    let mean = lines(&|figures| Some(figures.mean_ms));
    add("Response time, mean", "mean in milliseconds", "ms", mean, None);
    let hits = lines(&|figures| figures.hit_ratio.map(|ratio| ratio * 100.0));
    if !hits.is_empty() {
        add("Reads answered from memory", "percent of all reads", "%", hits, Some(100.0));
    }
    page.push_str("</div>\n");
}

/// What users feel: up to 250 ms, or lower where even that would hide all but the last points.
fn zoom(lines: &[Line]) -> f64 {
    let mut values: Vec<f64> = lines.iter().flat_map(|line| line.points.iter().map(|(_, y)| *y)).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.get(values.len() / 2).copied().unwrap_or(ZOOM_MS);
    (middle * 2.0).min(ZOOM_MS)
}

const CPU_PARTS: [(&str, &str); 7] = [
    ("server, user", "c-server"),
    ("server, kernel", "c-server-sys"),
    ("Weir, user", "c-weir"),
    ("Weir, kernel", "c-weir-sys"),
    ("sysbench, user", "c-client"),
    ("sysbench, kernel", "c-client-sys"),
    ("all else", "c-other"),
];

fn cpu_graphs(page: &mut String, parameters: &Parameters, one: &Shown, variants: &[Variant]) {
    page.push_str("<h3>CPU of each process</h3>\n<p class=\"legend\">");
    for (name, class) in CPU_PARTS {
        put(
            page,
            format_args!(
                "<span><svg class=\"swatch\" viewBox=\"0 0 28 14\" aria-hidden=\"true\"><rect class=\"{class}\" width=\"28\" height=\"14\"/></svg> {name}</span>"
            ),
        );
    }
    put(
        page,
        format_args!(
            "</p>\n<p>What a bar leaves free up to {} cores was idle.</p>\n<div class=\"graphs\">\n",
            parameters.cores
        ),
    );
    for variant in variants {
        let bars = one.figures(*variant).into_iter().map(|(clients, figures)| (clients, cpu_parts(figures)));
        let limit = parameters.cores as f64;
        let svg = chart::bars(&Bars { y: "busy cores", unit: "cores", bars: bars.collect(), limit });
        put(page, format_args!("<figure><figcaption>{}</figcaption>{svg}</figure>\n", variant.name()));
    }
    page.push_str("</div>\n");
}

fn cpu_parts(figures: &Figures) -> Vec<Part> {
    let weir = figures.weir.unwrap_or_default();
    let known = figures.server.total() + weir.total() + figures.client.total();
    let values = [
        figures.server.user,
        figures.server.sys,
        weir.user,
        weir.sys,
        figures.client.user,
        figures.client.sys,
        (figures.machine - known).max(0.0),
    ];
    CPU_PARTS.iter().zip(values).map(|((name, class), value)| Part { name, class, value }).collect()
}

fn table(page: &mut String, one: &Shown, variants: &[Variant]) {
    page.push_str("<details open><summary>All figures</summary>\n<div class=\"wide\"><table><thead>\n<tr><th></th><th>clients</th><th>statements/s</th><th>reads/s</th><th>events/s</th><th>mean ms</th><th>p95 ms</th><th>max ms</th><th>errors</th><th>sysbench user / kernel</th><th>Weir user / kernel</th><th>server user / kernel</th><th>hits</th><th>hits of cacheable</th></tr></thead><tbody>\n");
    for variant in variants {
        let mut name = variant.name();
        for (clients, figures) in one.figures(*variant) {
            let cores = |cores: super::state::Cores| format!("{:.2} / {:.2}", cores.user, cores.sys);
            let asked = figures.hits.zip(figures.misses).filter(|(hits, misses)| hits + misses > 0.0);
            let of_cacheable = asked.map(|(hits, misses)| hits / (hits + misses));
            let cells = [
                number(figures.per_second),
                number(figures.reads_per_second),
                number(figures.events_per_second),
                number(figures.mean_ms),
                number(figures.p95_ms),
                number(figures.max_ms),
                number(figures.errors),
                cores(figures.client),
                figures.weir.map_or_else(String::new, cores),
                cores(figures.server),
                figures.hit_ratio.map_or_else(String::new, percent),
                of_cacheable.map_or_else(String::new, percent),
            ];
            put(page, format_args!("<tr><th>{name}</th><td class=\"n\">{clients}</td>"));
            for cell in cells {
                put(page, format_args!("<td class=\"n\">{cell}</td>"));
            }
            page.push_str("</tr>\n");
            name = "";
        }
    }
    page.push_str("</tbody></table></div></details>\n");
}

fn about(experiment: Experiment, parameters: &Parameters) -> String {
    let Parameters { oltp, points, ttl, .. } = parameters;
    match experiment {
        Experiment::E1 => format!(
            "{} tables of {} rows, all in the server's memory. Each event is a transaction, and nothing is cached inside of one: what passes through shows, with the cache on as well as off. The published run: under 32 clients the extra hop costs throughput, from 32 on the two are almost identical.",
            oltp.count,
            number(oltp.rows.into())
        ),
        Experiment::E2 => format!(
            "{} tables of {} rows; reads stand outside of transactions, and a rule caches them for {ttl}. In oltp_nontran the writes are in a transaction behind the reads; by default Weir serves a session nothing from before its own last write, with own_writes = false it does. The published run: about 3 times the throughput and 80 % less response time at the best number of clients, the database almost idle.",
            oltp.count,
            number(oltp.rows.into())
        ),
        Experiment::E4 => format!(
            "{} tables of {} rows; all clients but one select by primary key, and that one updates an indexed column, rests for 15 ms, and again. MariaDB's query cache has one lock for all and forgets a whole table at each write. The published run: with it, throughput grows up to 4 clients and then falls; without it, about 3 times as much at 20. A rule of Weir caches for {ttl}.",
            points.count,
            number(points.rows.into())
        ),
    }
}

const READING: &str = "<section><h2>How to read this</h2>\n<ul>\n\
<li>A statement is one command of a client with its answer; BEGIN and COMMIT count. An event is what sysbench times: one transaction, its 14 reads without one, or one point select. Response times are those of events.</li>\n\
<li>All variants of a graph run one after the other for one number of clients, and then for the next: a slow minute of the machine hits all of them alike.</li>\n\
<li>sysbench, Weir and the server share the machine, so a client's own work limits throughput before the server or Weir does. The CPU of each shows who did.</li>\n\
<li>CPU is user and kernel time of a process per second of the run: 1 core is one that does nothing else.</li>\n\
<li>Hits are reads that the server did not run, by its own count (Com_select), of all reads that sysbench sent: a cache answered them, Weir's or the server's. Hits of cacheable are as Weir counts: hits of hits and misses, without what was not to be cached, inside of a transaction for instance.</li>\n\
</ul></section>\n";

/// The colour and mark of a variant, the same on the whole page.
fn slot(variant: Variant) -> usize {
    match variant {
        Variant::Direct => 0,
        Variant::QueryCache => 1,
        Variant::Weir => 2,
        Variant::Cached => 3,
        Variant::CachedLoose => 4,
    }
}

fn percent(ratio: f64) -> String {
    format!("{:.1} %", ratio * 100.0)
}

fn put(page: &mut String, what: std::fmt::Arguments) {
    // Writing to a string cannot fail.
    let _ = page.write_fmt(what);
}

#[cfg(test)]
mod tests;
