//! What the walk found, by the name and the type of a key.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use weir_model::rule::{Rate, Ratio, TableMatch};

use crate::{Address, IpNet, SecretString};

/// A table whose values have been checked one by one.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub span: Range<usize>,
    entries: BTreeMap<&'static str, Entry>,
    /// Keys that are in the file with values that were refused.
    broken: Vec<&'static str>,
}

/// A value that was given, with its place, or a default, with that of its table.
#[derive(Debug)]
pub(crate) struct Entry {
    pub value: Value,
    pub span: Range<usize>,
}

/// A checked value. Lists hold their good items.
#[derive(Debug)]
pub(crate) enum Value {
    Flag(bool),
    Number(u64),
    Duration(Duration),
    Text(String),
    Texts(Vec<(String, Range<usize>)>),
    Path(PathBuf),
    Address(Address),
    Addresses(Vec<(Address, Range<usize>)>),
    Network(IpNet),
    Networks(Vec<IpNet>),
    TableName(TableMatch),
    Ratio(Ratio),
    Rate(Rate),
    Secret(SecretString),
    Table(Found),
    Tables(Vec<Found>),
}

impl Found {
    pub(super) fn at(span: Range<usize>) -> Self {
        Self { span, ..Self::default() }
    }

    /// `None` is a value that was refused.
    pub(super) fn set(&mut self, name: &'static str, value: Option<Value>, span: Range<usize>) {
        match value {
            Some(value) => {
                self.entries.insert(name, Entry { value, span });
            }
            None => self.broken.push(name),
        }
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// Whether the key holds something, be it its default.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Whether the key is in the file with a value that was refused.
    pub(crate) fn broken(&self, name: &str) -> bool {
        self.broken.contains(&name)
    }

    pub(crate) fn table(&self, name: &str) -> Option<&Found> {
        match self.entry(name).map(|entry| &entry.value) {
            Some(Value::Table(found)) => Some(found),
            _ => None,
        }
    }

    pub(crate) fn tables(&self, name: &str) -> &[Found] {
        match self.entry(name).map(|entry| &entry.value) {
            Some(Value::Tables(found)) => found,
            _ => &[],
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<(&str, Range<usize>)> {
        match self.entry(name) {
            Some(Entry { value: Value::Text(text), span }) => Some((text, span.clone())),
            _ => None,
        }
    }

    pub(crate) fn texts(&self, name: &str) -> &[(String, Range<usize>)] {
        match self.entry(name).map(|entry| &entry.value) {
            Some(Value::Texts(texts)) => texts,
            _ => &[],
        }
    }

    pub(crate) fn duration(&self, name: &str) -> Option<(Duration, Range<usize>)> {
        match self.entry(name) {
            Some(Entry { value: Value::Duration(duration), span }) => Some((*duration, span.clone())),
            _ => None,
        }
    }

    /// The addresses of `[listen]`: those for clients, then the one for administrators.
    pub(crate) fn listeners(&self) -> Vec<(&Address, Range<usize>)> {
        let mut listeners = Vec::new();
        if let Some(Value::Addresses(addresses)) = self.entry("mysql").map(|entry| &entry.value) {
            listeners.extend(addresses.iter().map(|(address, span)| (address, span.clone())));
        }
        if let Some(Entry { value: Value::Address(address), span }) = self.entry("admin") {
            listeners.push((address, span.clone()));
        }
        listeners
    }
}
