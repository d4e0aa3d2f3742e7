//! Changes of a list of rules. Each leaves the list as it was when it fails.

use weir_model::rule::{MAX_RULES, Rule};

/// Rules in their order, no two of one name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleList {
    rules: Vec<Rule>,
}

/// Where a rule is put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    First,
    Last,
    Before(String),
    After(String),
}

/// Why a list was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    #[error("there is already a rule `{0}`; each name can be used once")]
    DuplicateName(String),
    #[error("there is no rule `{0}`")]
    UnknownName(String),
    #[error("rule `{0}` cannot be put beside itself")]
    BesideItself(String),
    #[error("there are {MAX_RULES} rules already; remove one first")]
    Full,
}

impl RuleList {
    /// # Errors
    /// When two have one name, or there are too many.
    pub fn new(rules: Vec<Rule>) -> Result<Self, ListError> {
        let mut list = Self { rules: Vec::with_capacity(rules.len()) };
        let mut names = std::collections::BTreeSet::new();
        for rule in rules {
            if !names.insert(rule.name.clone()) {
                return Err(ListError::DuplicateName(rule.name));
            }
            if list.rules.len() == MAX_RULES {
                return Err(ListError::Full);
            }
            list.rules.push(rule);
        }
        Ok(list)
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    pub fn into_rules(self) -> Vec<Rule> {
        self.rules
    }

    /// The rule of a name and where it stands, from 0.
    pub fn get(&self, name: &str) -> Option<(usize, &Rule)> {
        self.rules.iter().enumerate().find(|(_, rule)| rule.name == name)
    }

    /// # Errors
    /// When there is a rule of this name, none of the name in `place`, or no room.
    pub fn add(&mut self, rule: Rule, place: &Place) -> Result<(), ListError> {
        if self.get(&rule.name).is_some() {
            return Err(ListError::DuplicateName(rule.name));
        }
        if self.rules.len() >= MAX_RULES {
            return Err(ListError::Full);
        }
        let at = self.index_of(place)?;
        self.rules.insert(at, rule);
        Ok(())
    }

    /// Puts a rule in the place of the one with the name `name`, which it may change.
    ///
    /// # Errors
    /// When there is no rule `name`, or another one has the new name.
    pub fn replace(&mut self, name: &str, rule: Rule) -> Result<Rule, ListError> {
        let at = self.position(name)?;
        if rule.name != name && self.get(&rule.name).is_some() {
            return Err(ListError::DuplicateName(rule.name));
        }
        match self.rules.get_mut(at) {
            Some(old) => Ok(std::mem::replace(old, rule)),
            None => Err(ListError::UnknownName(name.to_owned())),
        }
    }

    /// # Errors
    /// When there is no rule of this name.
    pub fn remove(&mut self, name: &str) -> Result<Rule, ListError> {
        let at = self.position(name)?;
        Ok(self.rules.remove(at))
    }

    /// Puts a rule of the list somewhere else.
    ///
    /// # Errors
    /// When there is no rule of one of the names, or both are the same.
    pub fn move_to(&mut self, name: &str, place: &Place) -> Result<(), ListError> {
        let from = self.position(name)?;
        if matches!(place, Place::Before(other) | Place::After(other) if other == name) {
            return Err(ListError::BesideItself(name.to_owned()));
        }
        let to = self.index_of(place)?;
        let rule = self.rules.remove(from);
        self.rules.insert(if to > from { to - 1 } else { to }, rule);
        Ok(())
    }

    fn position(&self, name: &str) -> Result<usize, ListError> {
        self.get(name).map(|(at, _)| at).ok_or_else(|| ListError::UnknownName(name.to_owned()))
    }

    fn index_of(&self, place: &Place) -> Result<usize, ListError> {
        match place {
            Place::First => Ok(0),
            Place::Last => Ok(self.rules.len()),
            Place::Before(name) => self.position(name),
            Place::After(name) => Ok(self.position(name)? + 1),
        }
    }
}

#[cfg(test)]
mod tests;
