//! Replies as structured data.

use std::fmt;

use anyhow::Result;

use super::bytes::Fields;
use super::caps::{Capabilities, status};
use super::packet::Packet;

/// Everything that answers one command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// Every packet in order.
    pub packets: Vec<Packet>,
    /// The same, understood: one for each result of the command.
    pub outcomes: Vec<Outcome>,
    /// The connection was closed where a packet was due.
    pub closed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Ok(OkPacket),
    Err(ErrPacket),
    Rows(ResultSet),
    Prepared(Prepared),
    /// The answer to COM_STATISTICS.
    Text(Vec<u8>),
    /// The server asked for this file; what it said after it got the data is the next outcome.
    LocalFile(Vec<u8>),
    /// An authentication packet in the reply to COM_CHANGE_USER or a login: its first byte tells which.
    Auth(Vec<u8>),
    /// A progress report of MariaDB.
    Progress(Vec<u8>),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OkPacket {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub status: u16,
    pub warnings: u16,
    pub info: Vec<u8>,
    pub changes: Vec<SessionChange>,
}

/// One entry of the session state information.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionChange {
    /// 0 variable, 1 schema, 2 state change, 3 GTIDs, 4 transaction characteristics, 5 transaction state.
    pub kind: u8,
    pub data: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrPacket {
    pub code: u16,
    pub state: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultSet {
    pub columns: Vec<Column>,
    /// False when the server left the metadata out because the capabilities allow it.
    pub metadata: bool,
    /// The EOF packet between columns and rows, where there is one.
    pub columns_end: Option<End>,
    pub rows: Vec<Vec<u8>>,
    pub end: Option<End>,
}

/// How a list of rows or columns ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Eof { warnings: u16, status: u16 },
    Ok(OkPacket),
    Err(ErrPacket),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    pub id: u32,
    pub params: Vec<Column>,
    pub columns: Vec<Column>,
    pub param_count: u16,
    pub column_count: u16,
    pub warnings: u16,
}

/// All of a column definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub catalog: Vec<u8>,
    pub schema: Vec<u8>,
    pub table: Vec<u8>,
    pub org_table: Vec<u8>,
    pub name: Vec<u8>,
    pub org_name: Vec<u8>,
    /// MariaDB's extended metadata, undecoded.
    pub extended: Vec<u8>,
    pub charset: u16,
    pub length: u32,
    pub kind: u8,
    pub flags: u16,
    pub decimals: u8,
    /// COM_FIELD_LIST's default value and whatever else follows.
    pub rest: Vec<u8>,
}

impl Response {
    /// The first error of the reply.
    pub fn err(&self) -> Option<&ErrPacket> {
        self.outcomes.iter().find_map(|outcome| match outcome {
            Outcome::Err(err) | Outcome::Rows(ResultSet { end: Some(End::Err(err)), .. }) => Some(err),
            _ => None,
        })
    }

    /// The first OK that is not the end of rows.
    pub fn ok(&self) -> Option<&OkPacket> {
        self.outcomes.iter().find_map(|outcome| match outcome {
            Outcome::Ok(ok) => Some(ok),
            _ => None,
        })
    }

    /// The result sets of the reply.
    pub fn results(&self) -> impl Iterator<Item = &ResultSet> {
        self.outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Rows(rows) => Some(rows),
            _ => None,
        })
    }

    /// The undecoded rows of every result set.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.results().flat_map(|result| result.rows.iter().map(Vec::as_slice))
    }

    /// The status flags of the last packet that carries them.
    pub fn status(&self) -> Option<u16> {
        self.outcomes.iter().rev().find_map(|outcome| match outcome {
            Outcome::Ok(ok) => Some(ok.status),
            Outcome::Rows(ResultSet { end: Some(end), .. }) => end.status(),
            _ => None,
        })
    }

    /// The warning count of the last packet that carries one.
    pub fn warnings(&self) -> Option<u16> {
        self.outcomes.iter().rev().find_map(|outcome| match outcome {
            Outcome::Ok(ok) | Outcome::Rows(ResultSet { end: Some(End::Ok(ok)), .. }) => Some(ok.warnings),
            Outcome::Rows(ResultSet { end: Some(End::Eof { warnings, .. }), .. }) => Some(*warnings),
            _ => None,
        })
    }

    /// Every session change that the reply reports.
    pub fn changes(&self) -> impl Iterator<Item = &SessionChange> {
        self.outcomes.iter().flat_map(|outcome| match outcome {
            Outcome::Ok(ok) | Outcome::Rows(ResultSet { end: Some(End::Ok(ok)), .. }) => {
                ok.changes.as_slice()
            }
            _ => &[],
        })
    }
}

impl End {
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Eof { status, .. } => Some(*status),
            Self::Ok(ok) => Some(ok.status),
            Self::Err(_) => None,
        }
    }
}

impl OkPacket {
    /// Decodes an OK packet, its first byte (0x00 or 0xFE) included.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn parse(payload: &[u8], capabilities: Capabilities) -> Result<Self> {
        let mut fields = Fields(payload);
        fields.u8()?;
        let mut ok = Self {
            affected_rows: fields.lenenc()?,
            last_insert_id: fields.lenenc()?,
            status: fields.u16()?,
            warnings: fields.u16()?,
            ..Self::default()
        };
        // The manual says that without CLIENT_SESSION_TRACK the text runs to the end; both servers send its
        // length all the same.
        if !fields.is_empty() {
            ok.info = fields.lenenc_bytes()?.to_vec();
        }
        let tracks = capabilities.has(Capabilities::SESSION_TRACK);
        if tracks && ok.status & status::SESSION_STATE_CHANGED != 0 && !fields.is_empty() {
            let mut changes = Fields(fields.lenenc_bytes()?);
            while !changes.is_empty() {
                let kind = changes.u8()?;
                ok.changes.push(SessionChange { kind, data: changes.lenenc_bytes()?.to_vec() });
            }
        }
        anyhow::ensure!(fields.is_empty(), "{} bytes after an OK packet", fields.0.len());
        Ok(ok)
    }
}

impl ErrPacket {
    /// Decodes an ERR packet, its first byte included.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn parse(payload: &[u8]) -> Result<Self> {
        let mut fields = Fields(payload);
        fields.u8()?;
        let code = fields.u16()?;
        let mut state = String::new();
        // An error ahead of the login has no state.
        if fields.0.first() == Some(&b'#') {
            state = String::from_utf8_lossy(&fields.take(6)?[1..]).into_owned();
        }
        Ok(Self { code, state, message: String::from_utf8_lossy(fields.rest()).into_owned() })
    }
}

impl fmt::Display for ErrPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code, self.state, self.message)
    }
}

impl Column {
    /// Decodes a column definition.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn parse(payload: &[u8], capabilities: Capabilities) -> Result<Self> {
        let mut fields = Fields(payload);
        let mut texts = [const { Vec::new() }; 6];
        for text in &mut texts {
            *text = fields.lenenc_bytes()?.to_vec();
        }
        let extended = match capabilities.has(Capabilities::MARIADB_EXTENDED_METADATA) {
            true => fields.lenenc_bytes()?.to_vec(),
            false => Vec::new(),
        };
        fields.lenenc()?;
        let [catalog, schema, table, org_table, name, org_name] = texts;
        let (charset, length, kind) = (fields.u16()?, fields.u32()?, fields.u8()?);
        let (flags, decimals) = (fields.u16()?, fields.u8()?);
        fields.take(2)?;
        let rest = fields.rest().to_vec();
        Ok(Self {
            catalog,
            schema,
            table,
            org_table,
            name,
            org_name,
            extended,
            charset,
            length,
            kind,
            flags,
            decimals,
            rest,
        })
    }
}
