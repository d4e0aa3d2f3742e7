//! The checks of single values, one for each kind.

use std::ops::Range;
use std::time::Duration;

use super::{Finding, Value, Walk};
use crate::keys::{Key, Kind};
use crate::{Address, IpNet, hints, units};

impl Walk<'_> {
    /// `None` is a number that no integer type holds.
    pub(super) fn number(&mut self, key: &Key, number: Option<i128>, span: Range<usize>) -> Option<Value> {
        let (Kind::Count { min, max } | Kind::Size { min, max }) = &key.kind else { return None };
        match number.and_then(|n| u64::try_from(n).ok()).filter(|n| (min..=max).contains(&n)) {
            Some(number) => Some(Value::Number(number)),
            None => self.out_of_range(key, span),
        }
    }

    pub(super) fn size(&mut self, key: &Key, text: &str, span: Range<usize>) -> Option<Value> {
        match units::size(text) {
            Some(bytes) => self.number(key, Some(i128::from(bytes)), span),
            None => self.refuse(span, format!("`{}` is not a size", key.name), units::SIZE_HINT),
        }
    }

    pub(super) fn duration(
        &mut self,
        key: &Key,
        (min, max, zero): (Duration, Duration, bool),
        text: &str,
        span: Range<usize>,
    ) -> Option<Value> {
        let Some(duration) = units::duration(text) else {
            return self.refuse(span, format!("`{}` is not a duration", key.name), units::DURATION_HINT);
        };
        if (min..=max).contains(&duration) || (zero && duration.is_zero()) {
            return Some(Value::Duration(duration));
        }
        self.out_of_range(key, span)
    }

    pub(super) fn name(&mut self, key: &Key, max: usize, text: &str, span: Range<usize>) -> Option<String> {
        let length = text.chars().count();
        if length == 0 || length > max {
            let message = format!("`{}` is {length} characters long", key.name);
            return self.refuse(span, message, format!("a name has 1 to {max} characters"));
        }
        if text.chars().any(char::is_control) {
            return self.refuse(span, format!("`{}` contains a control character", key.name), "remove it");
        }
        Some(text.to_owned())
    }

    pub(super) fn word(
        &mut self,
        key: &Key,
        words: &[&'static str],
        text: &str,
        span: Range<usize>,
    ) -> Option<Value> {
        if words.contains(&text) {
            return Some(Value::Text(text.to_owned()));
        }
        let message = format!("`{}` takes {}", key.name, hints::takes(&key.kind));
        let hint = match hints::nearest(text, words.iter().copied()) {
            Some(word) => format!("did you mean \"{word}\"?"),
            None => hints::example(key),
        };
        self.refuse(span, message, hint)
    }

    pub(super) fn address(&mut self, key: &Key, text: &str, span: Range<usize>) -> Option<Address> {
        match text.parse::<Address>().and_then(|address| address.under(self.inputs.folder)) {
            Ok(address) => Some(address),
            Err(error) => self.refuse(span, format!("`{}`: {}", key.name, error.message), error.hint),
        }
    }

    pub(super) fn network(&mut self, key: &Key, text: &str, span: Range<usize>) -> Option<IpNet> {
        match IpNet::parse(text) {
            Ok(network) => Some(network),
            Err(hint) => self.refuse(span, format!("`{}`: this is not a network", key.name), hint),
        }
    }

    /// The path of a file that need not exist.
    pub(super) fn file(&mut self, key: &Key, text: &str, span: Range<usize>) -> Option<Value> {
        if text.is_empty() || text.ends_with('/') || text.contains('\0') {
            return self.refuse(
                span,
                format!("`{}` is not the path of a file", key.name),
                hints::example(key),
            );
        }
        Some(Value::Path(self.inputs.folder.join(text)))
    }

    pub(super) fn pem(&mut self, key: &Key, label: &str, text: &str, span: Range<usize>) -> Option<Value> {
        if text.is_empty() {
            return self.refuse(span, format!("`{}` is empty", key.name), "give the path of a PEM file");
        }
        let path = self.inputs.folder.join(text);
        let content = match (self.inputs.files)(&path) {
            Ok(content) => zeroize::Zeroizing::new(content),
            Err(error) => {
                let message = format!("`{}`: cannot read {}: {error}", key.name, path.display());
                return self.refuse(span, message, "relative paths are taken from the folder of this file");
            }
        };
        if content.contains("-----BEGIN ENCRYPTED") || content.contains("Proc-Type: 4,ENCRYPTED") {
            let message = format!("`{}`: the key in {} has a passphrase", key.name, path.display());
            return self.refuse(span, message, "store it without one, readable by Weir's user only");
        }
        // RFC 7468; keys come as "PRIVATE KEY", "RSA PRIVATE KEY" and "EC PRIVATE KEY".
        let begins = |line: &str| {
            let line = line.trim_end();
            line.starts_with("-----BEGIN ") && line.ends_with(&format!("{label}-----"))
        };
        if !content.lines().any(begins) {
            let message = format!("`{}`: there is no {label} in {}", key.name, path.display());
            return self.refuse(span, message, format!("a PEM file has a line `-----BEGIN {label}-----`"));
        }
        Some(Value::Path(path))
    }

    /// Writes down what is wrong; the value is then absent.
    pub(super) fn refuse<T>(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Option<T> {
        self.findings.push(Finding::new(span, message, hint));
        None
    }

    fn out_of_range<T>(&mut self, key: &Key, span: Range<usize>) -> Option<T> {
        let message = format!("`{}` is out of range", key.name);
        self.refuse(span, message, format!("it takes {}", hints::range(&key.kind)))
    }
}
