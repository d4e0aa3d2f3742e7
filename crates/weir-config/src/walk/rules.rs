//! The checks of single values that only rules have.

use std::ops::Range;

use regex::bytes::RegexBuilder;
use weir_model::rule::{MAX_PATTERN_BYTES, Rate, Ratio, TableMatch};

use super::{Value, Walk};
use crate::hints;
use crate::keys::Key;

impl Walk<'_> {
    pub(super) fn text(&mut self, key: &Key, max: usize, text: &str, span: Range<usize>) -> Option<Value> {
        if text.trim().is_empty() {
            return self.refuse(span, format!("`{}` is empty", key.name), hints::example(key));
        }
        if text.len() > max {
            let message = format!("`{}` is {} bytes long", key.name, text.len());
            return self.refuse(span, message, format!("it has {max} at most"));
        }
        Some(Value::Text(text.to_owned()))
    }

    /// The engine takes time linear in the statement's length for every pattern, so only the size is limited.
    pub(super) fn pattern(&mut self, key: &Key, text: &str, span: Range<usize>) -> Option<Value> {
        if text.is_empty() {
            let hint = "leave it out to match every statement";
            return self.refuse(span, format!("`{}` is empty", key.name), hint);
        }
        let built = RegexBuilder::new(text)
            .unicode(false)
            .dot_matches_new_line(true)
            .size_limit(MAX_PATTERN_BYTES)
            .build();
        match built {
            Ok(_) => Some(Value::Text(text.to_owned())),
            Err(regex::Error::CompiledTooBig(_)) => {
                let message = format!("`{}` is too large when compiled", key.name);
                let hint = "repeat less: nested counts such as `(a{100}){100}` multiply";
                self.refuse(span, message, hint)
            }
            Err(error) => {
                let message = format!("`{}` is not a regular expression: {}", key.name, reason(&error));
                let hint = "write it in single quotes, so that `\\` stays what it is; the syntax is that of \
                            https://docs.rs/regex, without look-around and back-references";
                self.refuse(span, message, hint)
            }
        }
    }

    pub(super) fn table_name(&mut self, key: &Key, text: &str, span: Range<usize>) -> Option<Value> {
        match TableMatch::parse(text) {
            Some(table) => Some(Value::TableName(table)),
            None => {
                let hint = "write \"table\" or \"schema.table\", and a name with a dot as \"`a.b`\"";
                self.refuse(span, format!("`{}` is not the name of a table", key.name), hint)
            }
        }
    }

    pub(super) fn ratio(&mut self, key: &Key, text: &str, span: Range<usize>) -> Option<Value> {
        match Ratio::parse(text) {
            Some(ratio) => Some(Value::Ratio(ratio)),
            None => {
                let hint = "write \"0%\" to \"100%\", with four decimals at most, for example \"0.5%\"";
                self.refuse(span, format!("`{}` is not a percentage", key.name), hint)
            }
        }
    }

    pub(super) fn rate(&mut self, key: &Key, text: &str, span: Range<usize>) -> Option<Value> {
        match Rate::parse(text) {
            Some(rate) => Some(Value::Rate(rate)),
            None => {
                let hint = "write \"100/s\", \"20/m\" or \"5/h\"";
                self.refuse(span, format!("`{}` is not a rate", key.name), hint)
            }
        }
    }
}

/// The last line of the engine's message, which says what is wrong without quoting the pattern.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim().trim_start_matches("error: ").to_owned()
}
