//! `weir token ...`, and where a token comes from that is sent along.

use super::print;
use super::show::table;
use crate::cli::{TokenFile, TokenVerb};
use anyhow::{Context, Result, bail};
use std::path::Path;
use weir_auth::{token_hash, token_text};
use weir_config::{Role, Token, is_plain_name, load_file, tokens_of, with_token, without_token};
use weir_control::{Saved, edit_file};
use zeroize::Zeroizing;

/// The variable that holds a token.
const VARIABLE: &str = "WEIR_TOKEN";

/// Bytes of a file with a token at most, so that a wrong path is told as such.
const FILE_BYTES: usize = 1024;

/// The token to send, if one was given.
pub fn given(file: Option<&Path>) -> Result<Option<Zeroizing<String>>> {
    let text = match file {
        None => std::env::var(VARIABLE).ok().map(Zeroizing::new),
        Some(file) => {
            let text =
                std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            Some(Zeroizing::new(text))
        }
    };
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let token = text.trim();
    if token.len() > FILE_BYTES || !token.bytes().all(|b| b.is_ascii_graphic()) {
        let place =
            file.map_or_else(|| format!("the variable {VARIABLE}"), |file| file.display().to_string());
        bail!("{place} holds no token: one looks like weir_0123...");
    }
    Ok(Some(Zeroizing::new(token.to_owned())))
}

pub fn run(verb: TokenVerb) -> Result<()> {
    match verb {
        TokenVerb::Add { name, role, file } => add(name, role, &file),
        TokenVerb::List { file } => list(&file),
        TokenVerb::Remove { name, file } => remove(&name, &file),
    }
}

fn add(name: String, role: Role, file: &TokenFile) -> Result<()> {
    let config = file.config.or_exit();
    let mut random = Zeroizing::new([0; 32]);
    aws_lc_rs::rand::fill(&mut *random).context("no randomness")?;
    let text = token_text(&random);
    let token = Token { name, role, hash: token_hash(text.as_bytes()) };
    plain(&token.name)?;
    let ((), saved) = edit_file(&config, |path, old| Ok((Some(with_token(path, old, &token)?), ())))?;
    warn(&saved);
    if file.json {
        let shown = serde_json::json!({"name": token.name, "role": role.as_str(), "token": text.as_str()});
        return print(&format!("{shown:#}"));
    }
    // The token alone on standard output, so that it can go into a file.
    eprintln!(
        "the token `{}` ({}) was written to {} as a hash; a running Weir accepts it after `weir reload` or SIGHUP. \
         This is the only time that it is shown:",
        token.name,
        role.as_str(),
        config.display()
    );
    print(&text)
}

fn warn(saved: &Saved) {
    if let Some(why) = &saved.unsure {
        eprintln!("warning: {why}");
    }
}

/// As the configuration asks for it; the file would be refused otherwise.
fn plain(name: &str) -> Result<()> {
    if name.is_empty() || name.len() > 64 || !is_plain_name(name) {
        bail!("this is not a name for a token: use 1 to 64 letters, digits, `.`, `_` and `-`");
    }
    Ok(())
}

fn list(file: &TokenFile) -> Result<()> {
    let config = file.config.or_exit();
    let path = config.display().to_string();
    let tokens = load_file(&config).and_then(|text| tokens_of(&path, &text));
    let tokens = tokens.map_err(|report| anyhow::anyhow!("{report}"))?;
    if file.json {
        let shown: Vec<_> = tokens
            .iter()
            .map(|token| serde_json::json!({"name": token.name, "role": token.role.as_str()}))
            .collect();
        return print(&format!("{:#}", serde_json::Value::from(shown)));
    }
    if tokens.is_empty() {
        return print("no tokens: over TCP only /healthz and /readyz answer");
    }
    let rows = tokens.into_iter().map(|token| vec![token.name, token.role.as_str().to_owned()]);
    print(&table(&["token", "role"], rows))
}

fn remove(name: &str, file: &TokenFile) -> Result<()> {
    let config = file.config.or_exit();
    let (there, saved) = edit_file(&config, |path, old| {
        let new = without_token(path, old, name)?;
        let there = new.is_some();
        Ok((new, there))
    })?;
    warn(&saved);
    if !there {
        bail!("there is no token `{name}` in {}: `weir token list` shows all", config.display());
    }
    if file.json {
        return print(&format!("{:#}", serde_json::json!({"removed": name})));
    }
    print(&format!(
        "the token `{name}` was removed from {}; a running Weir accepts it until `weir reload` or SIGHUP",
        config.display()
    ))
}
