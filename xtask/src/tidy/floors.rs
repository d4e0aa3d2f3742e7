use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

use super::Finding;

/// The floors of the house, lowest first. The wall stands between DECIDE and SHELL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Floor {
    Cellar,
    Words,
    Decide,
    Shell,
    Flow,
    Face,
    Roof,
    /// Beside the house: may use every floor, and is used by tests only.
    Shed,
}

const FLOORS: &[(&str, Floor)] = &[
    ("weir", Floor::Roof),
    ("weir-admin", Floor::Face),
    ("weir-proxy", Floor::Flow),
    ("weir-control", Floor::Flow),
    ("weir-net", Floor::Shell),
    ("weir-pool", Floor::Shell),
    ("weir-store", Floor::Shell),
    ("weir-config", Floor::Decide),
    ("weir-session", Floor::Decide),
    ("weir-policy", Floor::Decide),
    ("weir-cache", Floor::Decide),
    ("weir-topology", Floor::Decide),
    ("weir-shard", Floor::Decide),
    ("weir-stats", Floor::Decide),
    ("weir-wire", Floor::Words),
    ("weir-auth", Floor::Words),
    ("weir-sql", Floor::Words),
    ("weir-model", Floor::Cellar),
    ("weir-testkit", Floor::Shed),
    ("weir-bench", Floor::Shed),
    ("xtask", Floor::Shed),
];

/// Rooms of one floor that know each other, with the reason.
const NEIGHBOURS: &[(&str, &str)] = &[
    // A pool makes its connections from the sockets of weir-net.
    ("weir-pool", "weir-net"),
    // An exchange reads and writes the packets of weir-wire.
    ("weir-auth", "weir-wire"),
];

/// Crates that do I/O, read clocks or draw random numbers. Direct use below the wall is refused.
const IO_CRATES: &[&str] = &[
    "axum",
    "chrono",
    "fastrand",
    "getrandom",
    "hyper",
    "jiff",
    "libc",
    "mio",
    "nix",
    "rand",
    "rusqlite",
    "rustix",
    "rustls",
    "sd-notify",
    "socket2",
    "tempfile",
    "time",
    "tokio",
    "tokio-rustls",
];

/// Those of them that must not come in through another crate either.
const RUNTIMES: &[&str] = &["axum", "hyper", "mio", "socket2", "tokio"];

const WHY_FLOOR: &str = "dependencies run down only (ARCHITECTURE.md, floors)";
const WHY_WALL: &str = "below the wall there is no runtime, socket, file, clock or randomness";

pub fn floor_of(name: &str) -> Option<Floor> {
    FLOORS.iter().find(|(n, _)| *n == name).map(|(_, floor)| *floor)
}

pub fn below_the_wall(name: &str) -> bool {
    floor_of(name).is_some_and(|floor| floor <= Floor::Decide)
}

pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .exec()
        .context("cargo metadata failed")?;
    let members: BTreeSet<&str> = metadata.workspace_packages().iter().map(|p| p.name.as_str()).collect();
    let mut findings = Vec::new();
    for package in metadata.workspace_packages() {
        let manifest = Manifest::read(&metadata, package)?;
        for dependency in &package.dependencies {
            let (name, kind) = (dependency.name.as_str(), dependency.kind);
            let what = if members.contains(name) {
                refusal(&package.name, name, kind).map(|what| (what, WHY_FLOOR))
            } else {
                io_refusal(&package.name, name, kind).map(|what| (what, WHY_WALL))
            };
            findings.extend(what.map(|(what, why)| manifest.finding(name, what, why)));
        }
        if below_the_wall(&package.name) {
            let runtimes = reached(&metadata, &package.id, RUNTIMES);
            findings.extend(
                runtimes.into_iter().map(|(first, last)| {
                    manifest.finding(first, format!("{first} brings in {last}"), WHY_WALL)
                }),
            );
        }
        if floor_of(&package.name).is_none() {
            let what = format!("{} stands on no floor", package.name);
            findings.push(manifest.finding("name", what, "add it to the table in xtask/src/tidy/floors.rs"));
        }
        if !manifest.text.contains("[lints]\nworkspace = true") {
            let what = "`[lints] workspace = true` is missing";
            findings.push(manifest.finding("name", what.to_owned(), "the lints hold for every crate"));
        }
    }
    Ok(findings)
}

/// Why `from` may not depend on its fellow member `to`; nothing if it may.
pub fn refusal(from: &str, to: &str, kind: DependencyKind) -> Option<String> {
    let (Some(upper), Some(lower)) = (floor_of(from), floor_of(to)) else { return None };
    if upper == Floor::Shed {
        return None;
    }
    if lower == Floor::Shed {
        let refused = kind != DependencyKind::Development;
        return refused.then(|| format!("{from} uses {to}, which is for tests only, outside its tests"));
    }
    if lower < upper || NEIGHBOURS.contains(&(from, to)) {
        return None;
    }
    let place = if lower == upper { "on the same floor" } else { "on a floor above" };
    Some(format!("{from} ({upper:?}) uses {to} ({lower:?}), {place}"))
}

/// Why `from` may not depend on the foreign crate `to`; nothing if it may.
pub fn io_refusal(from: &str, to: &str, kind: DependencyKind) -> Option<String> {
    let refused = below_the_wall(from) && kind != DependencyKind::Development && IO_CRATES.contains(&to);
    refused.then(|| format!("{from} uses {to}"))
}

/// Which of `wanted` a package reaches through its normal dependencies: the first and the last step.
fn reached<'m>(metadata: &'m Metadata, from: &PackageId, wanted: &[&str]) -> Vec<(&'m str, &'m str)> {
    let Some(resolve) = &metadata.resolve else { return Vec::new() };
    let nodes: BTreeMap<_, _> = resolve.nodes.iter().map(|n| (&n.id, n)).collect();
    let normal = |id: &'m PackageId| {
        let deps = nodes.get(id).map(|n| n.deps.as_slice()).unwrap_or_default();
        let is_normal =
            |d: &&cargo_metadata::NodeDep| d.dep_kinds.iter().any(|k| k.kind == DependencyKind::Normal);
        deps.iter().filter(is_normal).map(|d| &d.pkg)
    };
    let Some(from) = nodes.get(from).map(|n| &n.id) else { return Vec::new() };
    let mut found = Vec::new();
    for first in normal(from) {
        let mut seen = BTreeSet::from([first]);
        let mut open: Vec<&PackageId> = normal(first).collect();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                let name = metadata[id].name.as_str();
                if wanted.contains(&name) {
                    found.push((metadata[first].name.as_str(), name));
                }
                open.extend(normal(id));
            }
        }
    }
    found
}

/// The text of a package's Cargo.toml, to find lines in.
struct Manifest {
    path: String,
    text: String,
}

impl Manifest {
    fn read(metadata: &Metadata, package: &Package) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(&package.manifest_path)?;
        let path =
            package.manifest_path.strip_prefix(&metadata.workspace_root).unwrap_or(&package.manifest_path);
        Ok(Self { path: path.to_string(), text })
    }

    /// A finding at the line that sets `key`.
    fn finding(&self, key: &str, what: String, why: &'static str) -> Finding {
        let sets_key = |l: &str| l.strip_prefix(key).is_some_and(|r| r.starts_with(['.', ' ', '=']));
        let line = self.text.lines().position(sets_key).map_or(1, |i| i + 1);
        Finding::new(&self.path, line, what, why)
    }
}
