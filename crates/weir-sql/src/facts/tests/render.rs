//! Facts as a line of words, for tables of statements with what is expected of them.

use super::super::*;

/// | word | fact |
/// |---|---|
/// | `ro` | read only |
/// | `begin`, `commit+chain-release`, `implicit`, ... | transaction |
/// | `pin:x`, `end:x`, `reads:x` | members of the sets |
/// | `@r`, `@w` | user variables are read, are computed |
/// | `session.x=Integer(1)`, `@a=?` | effects; `?` is an expression |
pub(super) fn render(facts: &Facts, sql: &[u8]) -> String {
    let mut words = Vec::new();
    if facts.read_only {
        words.push("ro".to_owned());
    }
    words.extend(transaction(facts.transaction));
    words.extend(facts.effects(sql).map(effect));
    words.extend(facts.pins.iter().map(|pin| format!("pin:{}", pin.as_str())));
    words.extend(facts.ends.iter().map(|pin| format!("end:{}", pin.as_str())));
    words.extend(facts.reads.iter().map(|leftover| format!("reads:{}", leftover.as_str())));
    words.extend(facts.variables.read.then(|| "@r".to_owned()));
    words.extend(facts.variables.computed.then(|| "@w".to_owned()));
    words.extend(facts.fresh.then(|| "fresh".to_owned()));
    words.join(" ")
}

fn transaction(found: Transaction) -> Option<String> {
    let completed = |verb: &str, c: Completion| {
        let sign = |word: &str, on| match on {
            Some(true) => format!("+{word}"),
            Some(false) => format!("-{word}"),
            None => String::new(),
        };
        format!("{verb}{}{}", sign("chain", c.chain), sign("release", c.release))
    };
    Some(match found {
        Transaction::None => return None,
        Transaction::Begin { access, consistent_snapshot } => {
            let access = access.map(|a| format!(":{a:?}")).unwrap_or_default();
            format!("begin{access}{}", if consistent_snapshot { ":snapshot" } else { "" })
        }
        Transaction::Commit(how) => completed("commit", how),
        Transaction::Rollback(how) => completed("rollback", how),
        Transaction::Savepoint => "savepoint".to_owned(),
        Transaction::RollbackToSavepoint => "rollback_to".to_owned(),
        Transaction::ReleaseSavepoint => "release_savepoint".to_owned(),
        Transaction::ImplicitCommit => "implicit".to_owned(),
        Transaction::Xa(verb) => format!("xa:{verb:?}"),
        Transaction::SetTransaction(_) => "set_transaction".to_owned(),
        Transaction::Several => "several".to_owned(),
    })
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string().replace("\\'", "'").replace("\\\"", "\"").replace("\\\\", "\\")
}

fn effect(effect: Effect<&[u8]>) -> String {
    let literal = |l: Literal<&[u8]>| format!("{:?}({})", l.kind, text(l.text));
    let value = |v| match v {
        Value::Literal(l) => literal(l),
        Value::Expression => "?".to_owned(),
    };
    match effect {
        Effect::Schema(name) => format!("use({})", text(&name.decoded())),
        Effect::Variable { name, scope, value: v } => {
            let scope = format!("{scope:?}").to_lowercase();
            format!("{scope}.{}={}", text(&name.decoded()), value(v))
        }
        Effect::UserVariable { name, value: v } => format!("@{}={}", text(&name.decoded()), value(v)),
        Effect::Names { charset, collation } => {
            let collation = collation.map(|c| format!(",{}", literal(c))).unwrap_or_default();
            format!("names({}{collation})", literal(charset))
        }
        Effect::CharacterSet(charset) => format!("charset({})", literal(charset)),
        Effect::Transaction(SetTransaction { scope, isolation, access }) => {
            let isolation = isolation.map(|i| format!(",{i:?}")).unwrap_or_default();
            let access = access.map(|a| format!(",{a:?}")).unwrap_or_default();
            format!("transaction({scope:?}{isolation}{access})")
        }
        Effect::Password => "password".to_owned(),
        Effect::Role => "role".to_owned(),
        Effect::DefaultRole => "default_role".to_owned(),
        Effect::ResourceGroup => "resource_group".to_owned(),
    }
}
