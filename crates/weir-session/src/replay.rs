//! Which statements a server answers alike whenever it is asked in the same state: those that only set or show variables that
//! are tracked. What it has answered once need not be asked again.

use weir_sql::{Facts, StatementKind, Statements, Transaction};

use crate::statement::{Assigned, Effect, FoundRows, InsertId, Reads, Statement};
use crate::variable::Variable;

/// How far the answer to a statement holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// It may be another one next time.
    Never,
    /// As long as the user may do what it did: USE, and variables that a privilege is needed for.
    WhilePermitted,
    /// The state before it decides it.
    Always,
}

impl Replay {
    /// A quick look for what is worth [`Self::of`]: no for most statements.
    pub fn is_likely(facts: &Facts, text: &[u8]) -> bool {
        // Where `@@` begins in what is shown: behind SELECT and blanks.
        const FRONT: usize = 24;
        match facts.kind() {
            StatementKind::Set | StatementKind::Use => true,
            StatementKind::Read => text.windows(2).take(FRONT).any(|two| two == b"@@"),
            _ => false,
        }
    }

    /// What a text is whose facts are these, and which comes to this statement.
    pub fn of(facts: &Facts, sql: &[u8], statement: &Statement<'_>) -> Self {
        let alone = facts.classified.statements == Statements::One
            && !facts.fresh
            && facts.transaction == Transaction::None
            && !facts.variables.read
            && statement.pins.is_empty()
            && statement.ends.is_empty()
            && statement.reads == Reads::NONE
            && statement.insert_id == InsertId::Kept
            && !statement.temporary;
        if !alone {
            return Self::Never;
        }
        match facts.kind() {
            StatementKind::Set if statement.found_rows == FoundRows::Kept => sets(statement.effects),
            StatementKind::Use if statement.effects.len() == 1 => Self::of_schema(&statement.effects[0]),
            StatementKind::Read if statement.effects.is_empty() && shows_variables(sql) => Self::Always,
            _ => Self::Never,
        }
    }

    /// What USE and COM_INIT_DB are.
    pub fn of_schema(effect: &Effect<'_>) -> Self {
        match effect {
            Effect::Schema(_) => Self::WhilePermitted,
            _ => Self::Never,
        }
    }
}

fn sets(effects: &[Effect<'_>]) -> Replay {
    let mut replay = if effects.is_empty() { Replay::Never } else { Replay::Always };
    for effect in effects {
        match *effect {
            Effect::Names { charset: Some(_), .. } => {}
            Effect::Variable { name, value: Assigned::Literal(_) } => match Variable::find(name) {
                // What is reported of changes decides how the answer looks.
                Some(v) if v.name().starts_with("session_track_") => return Replay::Never,
                Some(v) if v.may_fail() && replay == Replay::Always => replay = Replay::WhilePermitted,
                Some(_) => {}
                None => return Replay::Never,
            },
            _ => return Replay::Never,
        }
    }
    replay
}

/// Whether a text is `SELECT @@SESSION.name, @@name, ...` of tracked variables, with nothing else but blanks. All of it is
/// ASCII, so it reads alike in every mode and character set.
fn shows_variables(sql: &[u8]) -> bool {
    let Some(mut rest) = after_word(sql.trim_ascii(), b"select") else { return false };
    loop {
        let Some(name) = rest.trim_ascii_start().strip_prefix(b"@@") else { return false };
        let name =
            [&b"session."[..], b"local."].into_iter().find_map(|s| after_word(name, s)).unwrap_or(name);
        let end = name.iter().position(|b| !b.is_ascii_alphanumeric() && *b != b'_').unwrap_or(name.len());
        let (name, behind) = name.split_at(end);
        if Variable::find(name).is_none() {
            return false;
        }
        match behind.trim_ascii_start() {
            [] => return true,
            [b',', more @ ..] => rest = more,
            _ => return false,
        }
    }
}

/// What stands behind `word` at the front, in any case of letters.
fn after_word<'a>(text: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let (front, rest) = text.split_at_checked(word.len())?;
    front.eq_ignore_ascii_case(word).then_some(rest)
}

#[cfg(test)]
mod tests;
