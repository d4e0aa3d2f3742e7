//! What tells two answers apart.

/// A key that was looked at by [`crate::Cache::key`]: its bytes, and the hash by which they are found. The bytes decide.
#[derive(Debug, Clone, Copy)]
pub struct Key<'k> {
    pub(crate) bytes: &'k [u8],
    pub(crate) hash: u64,
}

impl<'k> Key<'k> {
    /// The bytes, as [`KeyBuilder`] made them.
    pub fn bytes(&self) -> &'k [u8] {
        self.bytes
    }
}

/// Whose answers a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reader<'r> {
    /// One account, as the server sees it, with the roles that are active in it.
    Account { user: &'r [u8], host: &'r [u8], roles: &'r [u8] },
    /// A group of accounts of which it was verified that each may read what the statement reads.
    Group(&'r [u8]),
}

/// In which form the answer's rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Text, as COM_QUERY has it.
    Text,
    /// Binary, as COM_STMT_EXECUTE has it.
    Binary,
}

/// A parameter of a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parameter<'p> {
    /// The type and its flag byte, as COM_STMT_EXECUTE sends them.
    pub kind: [u8; 2],
    /// The value's bytes as they were sent; nothing for NULL.
    pub value: Option<&'p [u8]>,
}

/// Makes a key, part by part, into a buffer of the caller's. Each part is written with its kind and its length before it, so no two
/// different sequences of parts make the same bytes.
#[derive(Debug)]
pub struct KeyBuilder<'b> {
    out: &'b mut Vec<u8>,
}

/// Bytes that most keys fit in.
const USUAL: usize = 512;

/// The kinds of parts. A part that may be missing has two.
#[derive(Debug, Clone, Copy)]
enum Part {
    Statement = 1,
    Parameter,
    NullParameter,
    Schema,
    NoSchema,
    User,
    Host,
    Roles,
    Group,
    Session,
    Protocol,
    Dialect,
    Server,
}

impl<'b> KeyBuilder<'b> {
    /// Begins a key in `buffer`, whose contents are lost.
    pub fn new(buffer: &'b mut Vec<u8>) -> Self {
        buffer.clear();
        buffer.reserve(USUAL);
        Self { out: buffer }
    }

    /// Begins a key with parts that another builder has made.
    pub fn with_front(buffer: &'b mut Vec<u8>, front: &[u8]) -> Self {
        let key = Self::new(buffer);
        key.out.extend_from_slice(front);
        key
    }

    /// The statement's bytes, without plain comments and blanks before and after it.
    pub fn statement(&mut self, sql: &[u8]) -> &mut Self {
        self.part(Part::Statement, sql)
    }

    /// One parameter; call it for each in their order.
    pub fn parameter(&mut self, parameter: Parameter<'_>) -> &mut Self {
        match parameter.value {
            Some(value) => {
                self.head(Part::Parameter, value.len() + 2);
                self.out.extend_from_slice(&parameter.kind);
                self.out.extend_from_slice(value);
                self
            }
            None => self.part(Part::NullParameter, &parameter.kind),
        }
    }

    /// The session's default schema.
    pub fn schema(&mut self, schema: Option<&[u8]>) -> &mut Self {
        match schema {
            Some(schema) => self.part(Part::Schema, schema),
            None => self.part(Part::NoSchema, &[]),
        }
    }

    /// Whose answer it is.
    pub fn reader(&mut self, reader: Reader<'_>) -> &mut Self {
        match reader {
            Reader::Account { user, host, roles } => {
                self.part(Part::User, user).part(Part::Host, host).part(Part::Roles, roles)
            }
            Reader::Group(group) => self.part(Part::Group, group),
        }
    }

    /// All of the session's variables that differ from what a new session has, in a form where equal bytes mean equal
    /// variables.
    pub fn session(&mut self, fingerprint: &[u8]) -> &mut Self {
        self.part(Part::Session, fingerprint)
    }

    /// The form of the rows.
    pub fn protocol(&mut self, protocol: Protocol) -> &mut Self {
        self.part(Part::Protocol, &[matches!(protocol, Protocol::Binary).into()])
    }

    /// The capability flags that change the form of an answer.
    pub fn dialect(&mut self, flags: u64) -> &mut Self {
        self.part(Part::Dialect, &flags.to_le_bytes())
    }

    /// The cluster, pool or shard that the answer comes from, where there are several.
    pub fn server(&mut self, name: &[u8]) -> &mut Self {
        self.part(Part::Server, name)
    }

    fn part(&mut self, part: Part, bytes: &[u8]) -> &mut Self {
        self.head(part, bytes.len());
        self.out.extend_from_slice(bytes);
        self
    }

    /// The kind in one byte, then the length, seven bits in each byte, the lowest first.
    fn head(&mut self, part: Part, length: usize) {
        if length < 0x80 {
            return self.out.extend_from_slice(&[part as u8, length as u8]);
        }
        self.out.push(part as u8);
        let mut rest = length;
        while rest >= 0x80 {
            self.out.push((rest & 0x7F) as u8 | 0x80);
            rest >>= 7;
        }
        self.out.push(rest as u8);
    }
}

#[cfg(test)]
mod tests;
