//! `[[token]]` in the text of a configuration. Nothing else of it is looked at, so who edits it need not be able to read the
//! secrets that it names.

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};
use weir_model::{Role, TokenHash};

use crate::Token;
use crate::report::Report;

/// The tokens of a text, in their order.
///
/// # Errors
/// When it is not TOML, or `token` is no list of tables, each with a name, a role and a hash.
pub fn tokens_of(name: &str, text: &str) -> Result<Vec<Token>, Report> {
    let document = document(name, text)?;
    tables(name, &document)?.iter().flat_map(|tables| tables.iter()).map(|table| read(name, table)).collect()
}

/// The text with one more token; the rest of it stays as it is.
///
/// # Errors
/// As [`tokens_of`], and when there is one of this name.
pub fn with_token(name: &str, text: &str, token: &Token) -> Result<String, Report> {
    if tokens_of(name, text)?.iter().any(|there| there.name == token.name) {
        let message = format!("there is already a token `{}`", token.name);
        return Err(Report::about(name, message, "remove it first, or choose another name"));
    }
    let mut document = document(name, text)?;
    let mut table = Table::new();
    table.insert("name", value(&token.name));
    table.insert("role", value(token.role.as_str()));
    table.insert("hash", value(token.hash.to_string()));
    let place = super::places::last_position(document.as_table()) + 1;
    table.decor_mut().set_prefix("\n");
    table.set_position(Some(place));
    let item = document.entry("token").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    if let Item::ArrayOfTables(tables) = item {
        tables.push(table);
    }
    Ok(document.to_string())
}

/// The text without a token; `None` when there is none of this name.
///
/// # Errors
/// As [`tokens_of`].
pub fn without_token(name: &str, text: &str, token: &str) -> Result<Option<String>, Report> {
    let at = tokens_of(name, text)?.iter().position(|there| there.name == token);
    let mut document = document(name, text)?;
    let (Some(at), Some(Item::ArrayOfTables(tables))) = (at, document.get_mut("token")) else {
        return Ok(None);
    };
    tables.remove(at);
    if tables.is_empty() {
        document.remove("token");
    }
    Ok(Some(document.to_string()))
}

fn document(name: &str, text: &str) -> Result<DocumentMut, Report> {
    // What toml_edit says would quote the text, which may hold secrets.
    let bad = |_| Report::about(name, "the file is not TOML", "see what is wrong with `weir check`");
    text.parse().map_err(bad)
}

fn tables<'d>(name: &str, document: &'d DocumentMut) -> Result<Option<&'d ArrayOfTables>, Report> {
    match document.get("token") {
        None => Ok(None),
        Some(Item::ArrayOfTables(tables)) => Ok(Some(tables)),
        Some(_) => Err(Report::about(name, "`token` is no list of `[[token]]`", "write each as `[[token]]`")),
    }
}

fn read(name: &str, table: &Table) -> Result<Token, Report> {
    let text = |key| table.get(key).and_then(Item::as_str);
    let role = text("role").map_or(Some(Role::default()), Role::from_word);
    match (text("name"), role, text("hash").and_then(TokenHash::parse)) {
        (Some(name), Some(role), Some(hash)) => Ok(Token { name: name.to_owned(), role, hash }),
        _ => Err(Report::about(name, "a `[[token]]` is wrong", "see what is wrong with `weir check`")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn token(name: &str, role: Role) -> Token {
        Token { name: name.to_owned(), role, hash: TokenHash([name.len() as u8; 32]) }
    }

    #[test]
    fn tokens_come_and_go_and_the_rest_stays() {
        let text = "# mine\n[[server]] # one\nname = \"db\"\naddress = \"127.0.0.1:3306\"\n\n[log]\nlevel = \"warn\" # quiet\n";
        let one = with_token("weir.toml", text, &token("ci", Role::Operate)).unwrap();
        assert!(one.starts_with(text), "{one}");
        let two = with_token("weir.toml", &one, &token("grafana", Role::Read)).unwrap();
        assert_eq!(
            tokens_of("weir.toml", &two).unwrap(),
            [token("ci", Role::Operate), token("grafana", Role::Read)]
        );
        assert_eq!(
            crate::parse("weir.toml", &two, &|_| None, &|_| Err(std::io::ErrorKind::NotFound.into()))
                .unwrap()
                .tokens,
            [token("ci", Role::Operate), token("grafana", Role::Read)]
        );
        let back = without_token("weir.toml", &two, "grafana").unwrap().unwrap();
        assert_eq!(back, one);
        assert_eq!(without_token("weir.toml", &back, "ci").unwrap().unwrap(), text);
        assert_eq!(without_token("weir.toml", &back, "other").unwrap(), None);
    }

    #[test]
    fn what_is_wrong_is_said_without_the_text() {
        let good = with_token("weir.toml", "", &token("ci", Role::Read)).unwrap();
        for (text, expected) in [
            ("password = \"secret", "not TOML"),
            ("token = 3", "no list of"),
            ("[[token]]\nname = \"a\"\nrole = \"root\"\nhash = \"secret\"", "is wrong"),
            (good.as_str(), "already a token `ci`"),
        ] {
            let error = with_token("weir.toml", text, &token("ci", Role::Read)).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("secret"), "{error}");
        }
    }
}
