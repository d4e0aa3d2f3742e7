//! What one server has answered before, so that it need not be asked again.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;

use crate::state::State;
use crate::statement::{Assigned, Effect, Statement};
use crate::value::Value;
use crate::variable::Variable;

/// The values that a server has accepted, and what became of literals. One for each server and worker; it outlives
/// connections and is emptied when the server was restarted or is another version.
#[derive(Debug)]
pub struct Memory {
    accepted: HashSet<(Variable, Value), FixedState>,
    literals: HashMap<(Variable, Box<[u8]>), Value, FixedState>,
    names: HashMap<NamesKey, [Value; 3], FixedState>,
}

/// What decides the result of SET NAMES: its words, and the variables that say which collation a character set has by default.
type NamesKey = [Option<Box<[u8]>>; 4];

/// The variables that SET NAMES sets.
pub(crate) const NAMES: [Variable; 3] =
    [Variable::CHARACTER_SET_CLIENT, Variable::CHARACTER_SET_RESULTS, Variable::COLLATION_CONNECTION];

impl Memory {
    /// Each of the three tables is emptied when it has this many entries. A table that full has seen values that do not
    /// repeat, and forgetting costs one round trip per value.
    pub const MAX_ENTRIES: usize = 4096;

    /// Nothing remembered yet. `seed` is a random number: clients choose what is hashed.
    pub fn new(seed: u64) -> Self {
        let hasher = FixedState::with_seed(seed);
        Self {
            accepted: HashSet::with_hasher(hasher.clone()),
            literals: HashMap::with_hasher(hasher.clone()),
            names: HashMap::with_hasher(hasher),
        }
    }

    /// Whether this server has accepted a SET of this value before.
    pub fn accepts(&self, v: Variable, value: &Value) -> bool {
        self.accepted.contains(&(v, value.clone()))
    }

    /// This server has accepted a SET of this value.
    pub fn accept(&mut self, v: Variable, value: Value) {
        if self.accepted.len() >= Self::MAX_ENTRIES {
            self.accepted.clear();
        }
        self.accepted.insert((v, value));
    }

    /// Takes what a statement that succeeded came to, after its state was learned or read back.
    pub fn remember(&mut self, statement: &Statement<'_>, after: &State) {
        for (i, effect) in statement.effects.iter().enumerate() {
            let later = || statement.effects[i + 1..].iter();
            match *effect {
                Effect::Variable { name, value } => {
                    let Some(v) = Variable::find(name) else { continue };
                    let Some(set) = after.value(v).cloned() else { continue };
                    if later().any(|e| touches(e, v)) {
                        continue;
                    }
                    self.accept(v, set.clone());
                    // What follows another variable has no literal of its own.
                    if let Assigned::Literal(text) = value
                        && !Variable::is_derived_name(name)
                        // A literal may name some of its flags, and leaves the others as they are.
                        && v != Variable::OPTIMIZER_SWITCH
                    {
                        if self.literals.len() >= Self::MAX_ENTRIES {
                            self.literals.clear();
                        }
                        self.literals.insert((v, text.into()), set);
                    }
                }
                Effect::Names { charset, collation } => {
                    let values = NAMES.map(|v| after.value(v).cloned());
                    let [Some(a), Some(b), Some(c)] = values else { continue };
                    if later().any(|e| NAMES.iter().any(|v| touches(e, *v))) {
                        continue;
                    }
                    let values = [a, b, c];
                    for (v, value) in NAMES.iter().zip(&values) {
                        self.accept(*v, value.clone());
                    }
                    if charset.is_none() {
                        continue;
                    }
                    if self.names.len() >= Self::MAX_ENTRIES {
                        self.names.clear();
                    }
                    if let Some(key) = names_key(charset, collation, after) {
                        self.names.insert(key, values);
                    }
                }
                _ => {}
            }
        }
    }

    /// What a variable becomes when this literal is assigned to it.
    pub(crate) fn literal(&self, v: Variable, text: &[u8]) -> Option<&Value> {
        self.literals.get(&(v, text.into()))
    }

    /// What the variables of SET NAMES become.
    pub(crate) fn names(
        &self,
        charset: Option<&[u8]>,
        collation: Option<&[u8]>,
        state: &State,
    ) -> Option<&[Value; 3]> {
        self.names.get(&names_key(charset, collation, state)?)
    }
}

/// Whether an effect may set a variable.
fn touches(effect: &Effect<'_>, v: Variable) -> bool {
    match *effect {
        Effect::Variable { name, .. } => {
            Variable::find(name).is_none_or(|other| other == v || other.disturbs().contains(v))
        }
        Effect::Names { .. } | Effect::CharacterSet => NAMES.contains(&v),
        Effect::UserVariable { .. } | Effect::Schema(_) | Effect::SchemaUnknown => false,
        Effect::Everything => true,
    }
}

/// None where what decides is not known.
fn names_key(charset: Option<&[u8]>, collation: Option<&[u8]>, state: &State) -> Option<NamesKey> {
    let decides = |v: Variable| match state.base().present().contains(v) {
        true => state.get(v).map(|value| value.map(Box::from)),
        false => Some(None),
    };
    let lower = |word: &[u8]| word.to_ascii_lowercase().into_boxed_slice();
    Some([
        charset.map(lower),
        collation.map(lower),
        decides(Variable::DEFAULT_COLLATION_FOR_UTF8MB4)?,
        decides(Variable::CHARACTER_SET_COLLATIONS)?,
    ])
}
