//! Secrets: a text, `{ env = "NAME" }` or `{ file = "path" }`. No message here repeats a secret.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::Walk;
use crate::SecretString;
use crate::hints;
use crate::keys::Key;

impl Walk<'_> {
    pub(super) fn secret(
        &mut self,
        key: &'static Key,
        table: &DeTable<'_>,
        span: Range<usize>,
    ) -> Option<SecretString> {
        let entry = table.iter().next();
        let (Some((source, value)), 1) = (entry, table.len()) else {
            let message = format!("`{}` takes one source, `env` or `file`", key.name);
            return self.refuse(span, message, hints::example(key));
        };
        let DeValue::String(text) = value.get_ref() else {
            let message = format!("the source of `{}` is a string", key.name);
            return self.refuse(value.span(), message, hints::example(key));
        };
        let secret = match source.get_ref().as_ref() {
            "env" => self.env_secret(key, text, value.span())?,
            "file" => self.file_secret(key, text, value.span())?,
            _ => {
                let message = format!("`{}` comes from `env` or `file`", key.name);
                return self.refuse(source.span(), message, hints::example(key));
            }
        };
        self.secret_text(key, secret, true, value.span())
    }

    /// A secret may be empty when it is written so; a variable or a file that is empty is a mistake.
    pub(super) fn secret_text(
        &mut self,
        key: &Key,
        secret: SecretString,
        fetched: bool,
        span: Range<usize>,
    ) -> Option<SecretString> {
        if fetched && secret.expose().is_empty() {
            let message = format!("the source of `{}` is empty", key.name);
            return self.refuse(span, message, "for an account without a password write \"\"");
        }
        // mysql_clear_password ends a password with a NUL, so one inside could never be sent.
        if secret.expose().contains('\0') {
            let message = format!("`{}` contains a NUL character", key.name);
            return self.refuse(span, message, "a password is text without NUL characters");
        }
        Some(secret)
    }

    fn env_secret(&mut self, key: &Key, name: &str, span: Range<usize>) -> Option<SecretString> {
        match (self.inputs.env)(name) {
            Some(secret) => Some(SecretString::new(secret)),
            None => {
                let message = format!("`{}`: the environment variable {name} is not set", key.name);
                self.refuse(span, message, "set it, as UTF-8, for the process of Weir")
            }
        }
    }

    fn file_secret(&mut self, key: &Key, name: &str, span: Range<usize>) -> Option<SecretString> {
        let path = self.inputs.folder.join(name);
        match (self.inputs.files)(&path) {
            Ok(content) => {
                let content = SecretString::new(content);
                let secret = content.expose();
                let secret = secret.strip_suffix('\n').map_or(secret, |s| s.strip_suffix('\r').unwrap_or(s));
                Some(SecretString::new(secret))
            }
            Err(error) => {
                let message = format!("`{}`: cannot read {}: {error}", key.name, path.display());
                self.refuse(span, message, "relative paths are taken from the folder of this file")
            }
        }
    }
}
