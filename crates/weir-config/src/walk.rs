//! From a TOML document to checked values: each key is looked up in the table of settings, and everything that
//! is wrong is written down instead of ending the walk.

use std::io;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::keys::{Default, Key, Kind, Section};
use crate::{SecretString, hints};

pub(crate) use found::{Entry, Found, Value};

/// What the walk may ask the world for.
pub(crate) struct Inputs<'a> {
    /// Relative paths are taken from here.
    pub folder: &'a Path,
    pub env: &'a dyn Fn(&str) -> Option<String>,
    pub files: &'a dyn Fn(&Path) -> io::Result<String>,
}

/// Something wrong, and where.
#[derive(Debug)]
pub(crate) struct Finding {
    /// `None` when it concerns the whole file.
    pub span: Option<Range<usize>>,
    pub message: String,
    pub hint: Option<String>,
    /// Something is not there. After a syntax error it may only have been misread.
    pub missing: bool,
}

pub(crate) struct Walk<'a> {
    pub inputs: Inputs<'a>,
    pub findings: Vec<Finding>,
}

impl Finding {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { span: Some(span), message: message.into(), hint: Some(hint.into()), missing: false }
    }

    pub(crate) fn is_within(&self, outer: &Range<usize>) -> bool {
        self.span.as_ref().is_some_and(|span| outer.start <= span.start && span.end <= outer.end)
    }
}

impl Walk<'_> {
    pub(crate) fn section(
        &mut self,
        section: &'static Section,
        span: Range<usize>,
        table: &DeTable<'_>,
    ) -> Found {
        let mut found = Found::at(span);
        for (name, value) in table {
            match section.key(name.get_ref()) {
                Some(key) => {
                    let checked = self.value(key, value);
                    found.set(key.name, checked, value.span());
                }
                None => self.findings.push(unknown(section, name.get_ref(), name.span())),
            }
        }
        for key in section.keys.iter().filter(|key| !table.keys().any(|name| name.get_ref() == key.name)) {
            if let Some(value) = self.absent(section, key, &found.span) {
                found.set(key.name, Some(value), found.span.clone());
            }
        }
        found
    }

    /// The default of a key that is not in the file.
    fn absent(&mut self, section: &Section, key: &'static Key, span: &Range<usize>) -> Option<Value> {
        match (&key.default, &key.kind) {
            (_, Kind::Table(inner)) => Some(Value::Table(self.section(inner, span.clone(), &DeTable::new()))),
            (Default::Is(text), _) => DeValue::parse(text).ok().and_then(|value| self.value(key, &value)),
            (Default::Unset(_), _) => None,
            (Default::Required, Kind::Tables(_)) => {
                self.findings.push(Finding {
                    span: None,
                    message: format!("there is no `[[{}]]`", key.name),
                    hint: Some("add `[[server]]` with `name` and `address`".to_owned()),
                    missing: true,
                });
                None
            }
            (Default::Required, _) => {
                let message = format!("`{}` is missing in `{}`", key.name, section.header);
                let hint = match key.kind {
                    Kind::Optional(_) => hints::example(key),
                    _ => format!("it takes {}", hints::takes(&key.kind)),
                };
                self.findings.push(Finding { missing: true, ..Finding::new(span.clone(), message, hint) });
                None
            }
        }
    }

    fn value(&mut self, key: &'static Key, value: &Spanned<DeValue<'_>>) -> Option<Value> {
        let span = value.span();
        match (&key.kind, value.get_ref()) {
            (Kind::Flag, DeValue::Boolean(on)) => Some(Value::Flag(*on)),
            (Kind::Count { .. } | Kind::Size { .. }, DeValue::Integer(number)) => {
                self.number(key, i128::from_str_radix(number.as_str(), number.radix()).ok(), span)
            }
            (Kind::Size { .. }, DeValue::String(text)) => self.size(key, text, span),
            (Kind::Duration { min, max, zero }, DeValue::String(text)) => {
                self.duration(key, (*min, *max, zero.is_some()), text, span)
            }
            (Kind::Name { max }, DeValue::String(text)) => self.name(key, *max, text, span).map(Value::Text),
            (Kind::Names { max }, DeValue::Array(items)) => {
                Some(Value::Texts(
                    self.items(key, items, |walk, text, span| walk.name(key, *max, text, span)),
                ))
            }
            (Kind::Word(words), DeValue::String(text)) => self.word(key, words, text, span),
            (Kind::Pem(label), DeValue::String(text)) => self.pem(key, label, text, span),
            (Kind::File, DeValue::String(text)) => self.file(key, text, span),
            (Kind::Address, DeValue::String(text)) => self.address(key, text, span).map(Value::Address),
            (Kind::Addresses, DeValue::Array(items)) => {
                Some(Value::Addresses(
                    self.items(key, items, |walk, text, span| walk.address(key, text, span)),
                ))
            }
            (Kind::Networks, DeValue::Array(items)) => {
                let networks = self.items(key, items, |walk, text, span| walk.network(key, text, span));
                Some(Value::Networks(networks.into_iter().map(|(network, _)| network).collect()))
            }
            (Kind::Secret, DeValue::String(text)) => {
                self.secret_text(key, SecretString::new(text.as_ref()), false, span).map(Value::Secret)
            }
            (Kind::Secret, DeValue::Table(table)) => self.secret(key, table, span).map(Value::Secret),
            (Kind::Text { max }, DeValue::String(text)) => self.text(key, *max, text, span),
            (Kind::Pattern, DeValue::String(text)) => self.pattern(key, text, span),
            (Kind::TableName, DeValue::String(text)) => self.table_name(key, text, span),
            (Kind::Ratio, DeValue::String(text)) => self.ratio(key, text, span),
            (Kind::Rate, DeValue::String(text)) => self.rate(key, text, span),
            (Kind::Network, DeValue::String(text)) => self.network(key, text, span).map(Value::Network),
            (Kind::Table(section) | Kind::Optional(section), DeValue::Table(table)) => {
                Some(Value::Table(self.section(section, span, table)))
            }
            (Kind::Tables(section), DeValue::Array(items)) => {
                Some(Value::Tables(self.tables(key, section, items)))
            }
            (Kind::Tables(section), DeValue::Table(table)) => {
                self.wrong_type(key, value);
                self.section(section, span, table);
                None
            }
            _ => {
                self.wrong_type(key, value);
                None
            }
        }
    }

    fn tables(
        &mut self,
        key: &'static Key,
        section: &'static Section,
        items: &[Spanned<DeValue<'_>>],
    ) -> Vec<Found> {
        let mut tables = Vec::with_capacity(items.len());
        for item in items {
            match item.get_ref() {
                DeValue::Table(table) => tables.push(self.section(section, item.span(), table)),
                _ => self.wrong_type(key, item),
            }
        }
        tables
    }

    /// The good ones of a list of texts, each with its place.
    fn items<T>(
        &mut self,
        key: &'static Key,
        items: &[Spanned<DeValue<'_>>],
        mut check: impl FnMut(&mut Self, &str, Range<usize>) -> Option<T>,
    ) -> Vec<(T, Range<usize>)> {
        let mut good = Vec::with_capacity(items.len());
        for item in items {
            match item.get_ref() {
                DeValue::String(text) => {
                    good.extend(check(self, text, item.span()).map(|v| (v, item.span())))
                }
                _ => self.wrong_type(key, item),
            }
        }
        good
    }

    fn wrong_type(&mut self, key: &Key, value: &Spanned<DeValue<'_>>) {
        let message =
            format!("`{}` takes {}, not {}", key.name, hints::takes(&key.kind), hints::is(value.get_ref()));
        self.findings.push(Finding::new(value.span(), message, hints::example(key)));
    }
}

fn unknown(section: &Section, name: &str, span: Range<usize>) -> Finding {
    let key = if hints::is_plain(name) { format!("key `{name}`") } else { "such key".to_owned() };
    let message = match section.header {
        "" => format!("there is no {key} in the configuration"),
        header => format!("there is no {key} in `{header}`"),
    };
    Finding::new(span, message, hints::instead_of(section, name))
}

mod found;
mod rules;
mod secrets;
mod values;
