//! How a state follows from what a statement says and what the server answers.

use weir_wire::track::Change;

use crate::memory::{Memory, NAMES};
use crate::pins::{PinReason, PinSet};
use crate::state::{ResultsCollation, Schema, State};
use crate::statement::{Assigned, Effect, Outcome, Statement, UserAssigned};
use crate::user::{UserValue, charset_of};
use crate::value::tracked;
use crate::variable::{VarSet, Variable};

/// Character sets whose ASCII is not ASCII bytes: text in another character set changes its bytes on the way in.
pub(crate) const WIDE: [&[u8]; 5] = [b"ucs2", b"utf16", b"utf16le", b"utf32", b"utf16be"];

impl State {
    /// Takes in what a statement did, from its text, its outcome and the changes that the server reported with it (all
    /// of its OK packets, in order).
    ///
    /// What the text sets and the server does not report is taken from `memory`, where the server has answered the same
    /// before, and is unknown otherwise: read it back with [`State::read_back_text`], then call [`Memory::remember`].
    /// Returned are the pins of what this state cannot hold.
    pub fn learn(
        &mut self,
        statement: &Statement<'_>,
        outcome: Outcome,
        changes: &[Change<'_>],
        memory: &Memory,
    ) -> PinSet {
        let mut pins = PinSet::EMPTY;
        if !statement.effects.is_empty() {
            let known_before = self.clone();
            for effect in statement.effects {
                pins = pins.union(self.apply(effect, outcome, memory, &known_before));
                if matches!(effect, Effect::Schema(_)) && !outcome.is_ok() && statement.may_begin {
                    // One of several statements: another may have failed.
                    self.set_schema(Schema::Unknown);
                }
            }
        }
        if !statement.temporary {
            self.observe(changes);
        }
        pins
    }

    /// Takes in what a server reports, whether the text shows it or not (a procedure may have set it).
    pub fn observe(&mut self, changes: &[Change<'_>]) {
        for change in changes {
            match *change {
                Change::SystemVariable { name, value } => {
                    let Some(v) = Variable::find(name) else { continue };
                    if !Variable::is_derived_name(name) {
                        self.set(v, tracked(v, value));
                    } else if !self.follows(v, value) {
                        self.forget(v);
                    }
                    // What it disturbs is reported only if the server does so, and then after it.
                    v.disturbs().iter().for_each(|d| self.forget(d));
                }
                Change::Schema(b"") => self.set_schema(Schema::None),
                Change::Schema(name) => self.set_schema(Schema::Known(name.into())),
                _ => {}
            }
        }
    }

    /// Whether a collation that is known is one of the reported character set.
    ///
    /// It may be another of the same character set all the same, so an effect that sets it makes it unknown first.
    fn follows(&self, collation: Variable, charset: &[u8]) -> bool {
        self.get(collation).flatten().is_some_and(|known| charset_of(known) == charset)
    }

    fn apply(&mut self, effect: &Effect<'_>, outcome: Outcome, memory: &Memory, before: &State) -> PinSet {
        match *effect {
            Effect::Variable { name, value } => match Variable::find(name) {
                None => return PinReason::UntrackedVariable.into(),
                Some(Variable::COLLATION_CONNECTION)
                    if [self.results_collation(), self.client_collation()]
                        .contains(&&ResultsCollation::OfConnection) =>
                {
                    // Of these only the last could be read back.
                    self.forget(Variable::COLLATION_CONNECTION);
                    self.set_results_collation(ResultsCollation::Unknown);
                    self.set_client_collation(ResultsCollation::Unknown);
                    return PinReason::UntrackedVariable.into();
                }
                Some(v) => {
                    self.assign(v, name, value, outcome, memory, before);
                    if v == Variable::CHARACTER_SET_RESULTS && outcome.is_ok() {
                        self.set_results_collation(ResultsCollation::Default);
                    }
                    if v == Variable::CHARACTER_SET_CLIENT && outcome.is_ok() {
                        self.set_client_collation(ResultsCollation::Default);
                    }
                }
            },
            Effect::Names { charset, collation } => {
                let known = memory.names(charset, collation, self).filter(|_| outcome.is_ok()).cloned();
                match known {
                    Some(values) => NAMES.into_iter().zip(values).for_each(|(v, value)| self.set(v, value)),
                    None => NAMES.into_iter().for_each(|v| self.forget(v)),
                }
                if outcome.is_ok() {
                    self.names_follow_connection();
                }
            }
            Effect::CharacterSet => {
                NAMES.into_iter().for_each(|v| self.forget(v));
                if outcome.is_ok() {
                    self.set_results_collation(ResultsCollation::Default);
                    self.set_client_collation(ResultsCollation::Default);
                }
            }
            Effect::UserVariable { name, value } => return self.assign_user(name, value, outcome),
            // An error leaves the schema as it was: both servers look it up before they leave the old one.
            Effect::Schema(_) if !outcome.is_ok() => {}
            Effect::Schema(name) => self.set_schema(Schema::Known(name.into())),
            Effect::SchemaUnknown => self.set_schema(Schema::Unknown),
            Effect::Everything => self.forget_all(),
        }
        PinSet::EMPTY
    }

    fn assign(
        &mut self,
        v: Variable,
        name: &[u8],
        value: Assigned<'_>,
        outcome: Outcome,
        memory: &Memory,
        before: &State,
    ) {
        let known = match value {
            Assigned::Literal(text) if outcome.is_ok() && !Variable::is_derived_name(name) => {
                // A value that the server reported once is what it makes of that value again.
                let same = || before.value(v).filter(|old| old.as_deref() == Some(text));
                memory.literal(v, text).or_else(same).cloned()
            }
            _ => None,
        };
        match known {
            Some(value) => self.set(v, value),
            None => self.forget(v),
        }
        v.disturbs().iter().for_each(|d| self.forget(d));
    }

    fn assign_user(&mut self, name: &[u8], value: UserAssigned<'_>, outcome: Outcome) -> PinSet {
        let value = match value {
            _ if !outcome.is_ok() => None,
            UserAssigned::Number(text) => Some(UserValue::Number(text.into())),
            UserAssigned::Binary(bytes) => Some(UserValue::Binary(bytes.into())),
            UserAssigned::Text(bytes) => self.text(bytes),
            UserAssigned::Null => Some(UserValue::Null),
            UserAssigned::Computed => None,
        };
        let set = value.map(|value| self.set_user_variable(name, value));
        match set {
            Some(Ok(())) => PinSet::EMPTY,
            None | Some(Err(_)) => PinReason::UserVariable.into(),
        }
    }

    /// A string literal of the client as the server stores it: in the character set and collation of the connection. None
    /// where the bytes change on the way, or the collation is not known.
    fn text(&self, bytes: &[u8]) -> Option<UserValue> {
        let collation = self.value(Variable::COLLATION_CONNECTION)?.clone()?;
        let client = self.value(Variable::CHARACTER_SET_CLIENT)?.clone()?;
        let charset = charset_of(&collation);
        let unchanged = *client == *charset || (bytes.is_ascii() && !WIDE.contains(&charset));
        unchanged.then(|| UserValue::Text { bytes: bytes.into(), collation })
    }

    /// The variables whose values a statement could have changed, as far as they are unknown: none of them may be carried
    /// to another connection until they were read back.
    pub fn must_read_back(&self) -> Option<VarSet> {
        (!self.is_known()).then(|| self.unknown())
    }
}

#[cfg(test)]
mod tests;
