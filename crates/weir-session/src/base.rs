//! What a connection looks like when it is fresh: read once after the login, shared by all that look alike.

use std::sync::{Arc, Weak};

use weir_wire::Malformed;

use crate::state::Schema;
use crate::value::{Value, canonical};
use crate::variable::{Server, VarSet, Variable};

/// The values of all movable variables of a connection at the time they were read: absolute values, for SET GLOBAL and
/// init_connect make the defaults of old and new connections differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    server: Server,
    present: VarSet,
    values: Box<[Value]>,
}

impl Base {
    /// The values of a server's variables, in the order of the table.
    pub fn new(server: Server, values: impl IntoIterator<Item = (Variable, Value)>) -> Self {
        let mut all = vec![None; Variable::COUNT].into_boxed_slice();
        let mut present = VarSet::EMPTY;
        for (v, value) in values {
            all[v.index()] = value;
            present.insert(v);
        }
        Self { server, present, values: all }
    }

    /// The statement that reads the default schema and all movable variables of a server, after a login or a reset.
    pub fn read_text(server: Server) -> String {
        read_text(server, VarSet::on(server))
    }

    /// Takes the row that answers [`Self::read_text`]; None stands for NULL.
    ///
    /// # Errors
    /// [`Malformed`] when the row has another number of columns, or the schema is no hexadecimal text.
    pub fn from_row(server: Server, row: &[Option<&[u8]>]) -> Result<(Self, Schema), Malformed> {
        let set = VarSet::on(server);
        let (schema, values) = read_row(set, row)?;
        Ok((Self::new(server, values), schema))
    }

    /// A variable of such connections was set to another value.
    pub fn set(&mut self, v: Variable, value: &[u8]) {
        if self.present.contains(v) {
            self.values[v.index()] = Some(Arc::from(value));
        }
    }

    pub fn server(&self) -> Server {
        self.server
    }

    /// The variables that this server has.
    pub fn present(&self) -> VarSet {
        self.present
    }

    /// The value of a variable; None for NULL, and for a variable that this server does not have.
    pub fn get(&self, v: Variable) -> Option<&[u8]> {
        self.values[v.index()].as_deref()
    }

    pub(crate) fn value(&self, v: Variable) -> &Value {
        &self.values[v.index()]
    }
}

/// The statement that reads the default schema and these variables back from the session that it runs in. The schema comes as
/// hexadecimal digits, for its characters would otherwise be converted to character_set_results.
pub fn read_text(server: Server, set: VarSet) -> String {
    let mut text = String::from("SELECT HEX(DATABASE())");
    for v in set.iter() {
        text.push_str(",@@SESSION.");
        text.push_str(v.name_on(server));
    }
    // Without it, sql_select_limit may leave no row.
    text.push_str(" LIMIT 1");
    text
}

/// Takes the row that answers [`read_text`].
///
/// # Errors
/// [`Malformed`] when the row has another number of columns, or the schema is no hexadecimal text.
pub fn read_row(set: VarSet, row: &[Option<&[u8]>]) -> Result<(Schema, Vec<(Variable, Value)>), Malformed> {
    const WHAT: Malformed = Malformed("row of session variables");
    let (schema, values) = row.split_first().filter(|(_, values)| values.len() == set.len()).ok_or(WHAT)?;
    let schema = match schema {
        None => Schema::None,
        Some(hex) => Schema::Known(unhex(hex).ok_or(WHAT)?.into()),
    };
    let values = set.iter().zip(values).map(|(v, read)| (v, canonical(v, *read))).collect();
    Ok((schema, values))
}

/// The bases in use: connections whose fresh state is the same share one, which makes their states small and quick to
/// compare.
#[derive(Debug, Default)]
pub struct Bases {
    list: Vec<Weak<Base>>,
}

impl Bases {
    /// As many bases are looked through at most; a base beyond them is still right, just not shared.
    pub const MAX: usize = 64;

    /// The shared base that is equal to this one.
    pub fn share(&mut self, base: Base) -> Arc<Base> {
        self.list.retain(|known| known.strong_count() > 0);
        let known = self.list.iter().filter_map(Weak::upgrade).find(|known| **known == base);
        known.unwrap_or_else(|| {
            let base = Arc::new(base);
            if self.list.len() < Self::MAX {
                self.list.push(Arc::downgrade(&base));
            }
            base
        })
    }
}

pub(crate) fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    let (pairs, rest) = text.as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    if rest.is_empty() { bytes } else { None }
}

#[cfg(test)]
mod tests;
