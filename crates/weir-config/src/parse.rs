use std::io;
use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, Error};
use weir_model::Rule;

use crate::mask::Masked;
use crate::report::{Problem, Report};
use crate::walk::{Finding, Inputs, Walk};
use crate::{Address, AddressError, Config, build, checks, keys};

/// A file beyond this is not a configuration; a thousand users with certificates' paths are below 200 KB.
const MAX_BYTES: usize = 1 << 20;

/// A report of more is not read to its end; the rest shows after these are mended.
const MAX_PROBLEMS: usize = 100;

/// The least that a file can say. The address is replaced; everything else is the default.
const BACKEND_ONLY: &str = "[[server]]\nname = \"backend\"\naddress = \"127.0.0.1:3306\"\n";

/// Reads `weir.toml`.
///
/// `name` stands in the report; relative paths are taken from its folder. `env` and `files` answer for the
/// environment and the file system: secrets are fetched through them, and certificates are looked at. All that
/// is wrong is reported at once, without any secret.
pub fn parse(
    name: &str,
    text: &str,
    env: &dyn Fn(&str) -> Option<String>,
    files: &dyn Fn(&Path) -> io::Result<String>,
) -> Result<Config, Report> {
    if text.len() > MAX_BYTES {
        let message = format!("the file has {} bytes", text.len());
        return Err(Report::about(name, message, format!("Weir reads {MAX_BYTES} bytes at most")));
    }
    let (document, errors) = DeTable::parse_recoverable(text);
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    let mut walk = Walk { inputs: Inputs { folder, env, files }, findings: Vec::new() };
    let found = walk.section(&keys::ROOT, document.span(), document.get_ref());
    let mut findings = walk.findings;
    checks::all(&found, &mut findings);
    let masked = Masked::new(text, document.get_ref(), !errors.is_empty());
    if !errors.is_empty() {
        findings = with_syntax(text, &masked, findings, &errors);
    }
    if findings.is_empty()
        && let Some(config) = build::config(&found)
    {
        return Ok(config);
    }
    Err(report(name, &masked, findings))
}

/// Reads one rule: the keys of a `[[rule]]`, with that header above them or without. `name` stands in the report.
pub fn parse_rule(name: &str, text: &str) -> Result<Rule, Report> {
    if text.len() > MAX_BYTES {
        let message = format!("the rule has {} bytes", text.len());
        return Err(Report::about(name, message, format!("Weir reads {MAX_BYTES} bytes at most")));
    }
    let (document, errors) = DeTable::parse_recoverable(text);
    let table = document.get_ref();
    let has_header = table.contains_key("rule") && !table.contains_key("name");
    let absent = |_: &Path| Err(io::ErrorKind::NotFound.into());
    let inputs = Inputs { folder: Path::new(""), env: &|_| None, files: &absent };
    let mut walk = Walk { inputs, findings: Vec::new() };
    let whole = walk.section(if has_header { &keys::RULES } else { keys::rule() }, document.span(), table);
    let mut findings = walk.findings;
    let masked = if has_header {
        match whole.tables("rule") {
            [] if findings.is_empty() => {
                findings.push(Finding::new(0..text.len(), "there is no rule", "give one, with its `name`"));
            }
            [_, second, ..] => {
                let (message, hint) = ("there is a second rule", "give one rule at a time");
                findings.push(Finding::new(second.span.clone(), message, hint));
            }
            _ => {}
        }
        Masked::of_rules(text, table, !errors.is_empty())
    } else {
        Masked::of_rule(text, table, !errors.is_empty())
    };
    let found = whole.tables("rule").first().unwrap_or(&whole);
    checks::rule(found, &mut findings);
    if !errors.is_empty() {
        findings = with_syntax(text, &masked, findings, &errors);
    }
    match build::rule(found) {
        Some(rule) if findings.is_empty() => Ok(rule),
        _ => Err(report(name, &masked, findings)),
    }
}

/// Reads nothing but `listen.admin`, for those who look for a running Weir and may not read its secrets. Whatever else
/// is wrong with the text does not matter. `None` where it is not given.
pub(crate) fn parse_admin(name: &str, text: &str) -> Result<Option<Address>, Report> {
    let (document, _) = DeTable::parse_recoverable(text);
    let listen = document.get_ref().get("listen").and_then(|listen| listen.get_ref().as_table());
    let Some(admin) = listen.and_then(|listen| listen.get("admin")) else { return Ok(None) };
    let address = admin.get_ref().as_str().and_then(|address| address.parse::<Address>().ok());
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    match address.map(|address| address.under(folder)) {
        Some(Ok(address)) => Ok(Some(address)),
        _ => Err(Report::about(name, "`admin` in `[listen]` is not an address", "`weir check` says why")),
    }
}

/// The configuration of `weir run --backend HOST:PORT [--listen HOST:PORT] [--admin HOST:PORT]`: one server, users by
/// pass-through, clients at `listen` or 127.0.0.1:6033, no admin listener without `admin`, as many server connections
/// as clients.
pub fn from_backend(backend: &str, listen: Option<&str>, admin: Option<&str>) -> Result<Config, Report> {
    let mut problems = Vec::new();
    let backend = argument("--backend", backend, &mut problems);
    let listen = listen.map(|listen| argument("--listen", listen, &mut problems));
    let admin = admin.and_then(|admin| argument("--admin", admin, &mut problems));
    let mut config = parse("", BACKEND_ONLY, &|_| None, &|_| Err(io::ErrorKind::NotFound.into()))?;
    if let Some(address) = listen.flatten() {
        config.listen.mysql = vec![address];
    }
    if let Some(address) = admin {
        if !address.is_local() {
            let message = format!("--admin {address}: it does not encrypt");
            problems.push(Problem::about(message, "use 127.0.0.1:PORT or unix:/PATH"));
        }
        if config.listen.mysql.iter().any(|other| other.overlaps(&address)) {
            problems.push(Problem::about(
                format!("--admin {address}: clients connect there"),
                "choose another port",
            ));
        }
        config.listen.admin = Some(address);
    }
    if let Some(address) = backend {
        if config.listen.mysql.contains(&address) || config.listen.admin.as_ref() == Some(&address) {
            let hint = "give the server's address to --backend, and another one to --listen";
            problems.push(Problem::about("Weir would connect to itself", hint));
        }
        for server in &mut config.servers {
            server.address = address.clone();
            // Nobody has said how many connections the server may have: its own limit decides.
            server.max_connections = config.limits.max_clients;
        }
    }
    if problems.is_empty() { Ok(config) } else { Err(Report::new("command line", problems)) }
}

fn argument(name: &str, text: &str, problems: &mut Vec<Problem>) -> Option<Address> {
    match text.parse() {
        Ok(address) => Some(address),
        Err(AddressError { message, hint }) => {
            // A URL may hold a password.
            let shown = if text.contains('@') { "***".to_owned() } else { text.escape_debug().to_string() };
            problems.push(Problem::about(format!("{name} {shown}: {message}"), hint));
            None
        }
    }
}

fn report(name: &str, masked: &Masked<'_>, mut findings: Vec<Finding>) -> Report {
    if findings.is_empty() {
        return Report::about(name, "the configuration is incomplete", "report this as a bug of Weir");
    }
    findings.sort_by_key(|finding| finding.span.as_ref().map(|span| span.start));
    findings.truncate(MAX_PROBLEMS);
    Report::new(name, findings.into_iter().map(|finding| problem(masked, finding)).collect())
}

/// Syntax errors, and of the other findings those that they cannot have caused: nothing that is missing, and
/// nothing on a line that has one or that may be part of a misread secret.
fn with_syntax(text: &str, masked: &Masked<'_>, findings: Vec<Finding>, errors: &[Error]) -> Vec<Finding> {
    let line = |at: usize| text.as_bytes().iter().take(at).filter(|b| **b == b'\n').count();
    let syntax: Vec<Finding> = errors.iter().take(MAX_PROBLEMS).map(|error| syntax(text, error)).collect();
    let broken: Vec<usize> =
        syntax.iter().filter_map(|f| f.span.as_ref()).map(|span| line(span.start)).collect();
    let innocent = |finding: &Finding| {
        let certain = |span: &Range<usize>| !broken.contains(&line(span.start)) && !masked.is_suspect(span);
        finding.span.as_ref().is_some_and(certain) && !finding.missing
    };
    let mut kept: Vec<Finding> = findings.into_iter().filter(innocent).collect();
    kept.extend(syntax);
    kept
}

/// The parser's messages are fixed texts that do not repeat the file.
fn syntax(text: &str, error: &Error) -> Finding {
    let message = error.message().trim_end_matches(", expected nothing");
    let hint = if message.contains("duplicate") {
        "a key or a table can be given once"
    } else {
        "in TOML a line is `key = value`; text stands in quotes: key = \"text\""
    };
    let span: Range<usize> = error.span().unwrap_or(text.len()..text.len());
    Finding::new(span, format!("not TOML: {message}"), hint)
}

fn problem(masked: &Masked<'_>, finding: Finding) -> Problem {
    let place = finding.span.as_ref().map(|span| masked.place(span));
    Problem { message: finding.message, hint: finding.hint, place }
}

#[cfg(test)]
mod tests;
