//! Command codes, and the bodies of those that are more than text.

use super::bytes::{put_lenenc_bytes, put_nul};

pub const SLEEP: u8 = 0x00;
pub const QUIT: u8 = 0x01;
pub const INIT_DB: u8 = 0x02;
pub const QUERY: u8 = 0x03;
pub const FIELD_LIST: u8 = 0x04;
pub const STATISTICS: u8 = 0x09;
pub const PROCESS_KILL: u8 = 0x0c;
pub const DEBUG: u8 = 0x0d;
pub const PING: u8 = 0x0e;
pub const CHANGE_USER: u8 = 0x11;
pub const BINLOG_DUMP: u8 = 0x12;
pub const REGISTER_SLAVE: u8 = 0x15;
pub const STMT_PREPARE: u8 = 0x16;
pub const STMT_EXECUTE: u8 = 0x17;
pub const STMT_SEND_LONG_DATA: u8 = 0x18;
pub const STMT_CLOSE: u8 = 0x19;
pub const STMT_RESET: u8 = 0x1a;
pub const SET_OPTION: u8 = 0x1b;
pub const STMT_FETCH: u8 = 0x1c;
pub const RESET_CONNECTION: u8 = 0x1f;
pub const STMT_BULK_EXECUTE: u8 = 0xfa;

/// COM_STMT_EXECUTE flag: open a read-only cursor.
pub const CURSOR_READ_ONLY: u8 = 1;

/// A parameter of a prepared statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Param {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    /// Sent as VAR_STRING.
    Text(String),
    /// Sent as BLOB.
    Bytes(Vec<u8>),
    /// Its value went ahead in COM_STMT_SEND_LONG_DATA; sent as BLOB without a value.
    LongData,
    Date(u16, u8, u8),
    /// Year, month, day, hour, minute, second, microsecond.
    DateTime(u16, u8, u8, u8, u8, u8, u32),
    /// Negative, days, hour, minute, second.
    Time(bool, u32, u8, u8, u8),
}

impl Param {
    /// Type code, and whether it is unsigned.
    fn kind(&self) -> [u8; 2] {
        match self {
            Self::Null => [0x06, 0],
            Self::Int(_) => [0x08, 0],
            Self::UInt(_) => [0x08, 0x80],
            Self::Double(_) => [0x05, 0],
            Self::Text(_) => [0xfd, 0],
            Self::Bytes(_) | Self::LongData => [0xfc, 0],
            Self::Date(..) => [0x0a, 0],
            Self::DateTime(..) => [0x0c, 0],
            Self::Time(..) => [0x0b, 0],
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null | Self::LongData => {}
            Self::Int(value) => out.extend(value.to_le_bytes()),
            Self::UInt(value) => out.extend(value.to_le_bytes()),
            Self::Double(value) => out.extend(value.to_le_bytes()),
            Self::Text(value) => put_lenenc_bytes(out, value.as_bytes()),
            Self::Bytes(value) => put_lenenc_bytes(out, value),
            Self::Date(year, month, day) => {
                out.push(4);
                out.extend(year.to_le_bytes());
                out.extend([*month, *day]);
            }
            Self::DateTime(year, month, day, hour, minute, second, micro) => {
                out.push(11);
                out.extend(year.to_le_bytes());
                out.extend([*month, *day, *hour, *minute, *second]);
                out.extend(micro.to_le_bytes());
            }
            Self::Time(negative, days, hour, minute, second) => {
                out.extend([8, u8::from(*negative)]);
                out.extend(days.to_le_bytes());
                out.extend([*hour, *minute, *second]);
            }
        }
    }
}

/// The body of COM_STMT_EXECUTE.
#[derive(Debug, Clone)]
pub struct Execute<'a> {
    pub id: u32,
    /// Cursor flags.
    pub flags: u8,
    pub params: &'a [Param],
    /// Send the parameters' types. The first execution must; later ones may leave them out.
    pub types: bool,
    /// CLIENT_QUERY_ATTRIBUTES is in force, which adds a count and the parameters' names.
    pub attributes: bool,
}

impl Execute<'_> {
    pub fn body(&self) -> Vec<u8> {
        const PARAMETER_COUNT_AVAILABLE: u8 = 8;
        let mut out = self.id.to_le_bytes().to_vec();
        let counted = self.attributes && !self.params.is_empty();
        out.push(if counted { self.flags | PARAMETER_COUNT_AVAILABLE } else { self.flags });
        out.extend(1u32.to_le_bytes());
        if self.params.is_empty() {
            return out;
        }
        if counted {
            super::bytes::put_lenenc(&mut out, self.params.len() as u64);
        }
        let mut nulls = vec![0u8; self.params.len().div_ceil(8)];
        for (i, _) in self.params.iter().enumerate().filter(|(_, param)| **param == Param::Null) {
            nulls[i / 8] |= 1 << (i % 8);
        }
        out.extend(nulls);
        out.push(u8::from(self.types));
        if self.types {
            for param in self.params {
                out.extend(param.kind());
                if counted {
                    put_lenenc_bytes(&mut out, b"");
                }
            }
        }
        self.params.iter().for_each(|param| param.put(&mut out));
        out
    }
}

/// The body of COM_QUERY with one attribute; CLIENT_QUERY_ATTRIBUTES must be in force.
pub fn query_with_attribute(sql: &str, name: &str, value: &str) -> Vec<u8> {
    // One parameter, one set; no NULLs; types follow; VAR_STRING.
    let mut out = vec![1, 1, 0, 1, 0xfd, 0];
    put_lenenc_bytes(&mut out, name.as_bytes());
    put_lenenc_bytes(&mut out, value.as_bytes());
    out.extend(sql.as_bytes());
    out
}

/// The body of MariaDB's COM_STMT_BULK_EXECUTE for a statement with an INT and a string parameter.
pub fn bulk_execute(id: u32, rows: &[(i32, String)]) -> Vec<u8> {
    const SEND_TYPES: u16 = 128;
    let mut out = id.to_le_bytes().to_vec();
    out.extend(SEND_TYPES.to_le_bytes());
    out.extend([0x03, 0, 0xfd, 0]);
    for (number, text) in rows {
        // Each value has an indicator in front: 0 means that the value follows.
        out.push(0);
        out.extend(number.to_le_bytes());
        out.push(0);
        put_lenenc_bytes(&mut out, text.as_bytes());
    }
    out
}

/// The body of COM_STMT_SEND_LONG_DATA.
pub fn long_data(id: u32, param: u16, data: &[u8]) -> Vec<u8> {
    [&id.to_le_bytes()[..], &param.to_le_bytes(), data].concat()
}

/// The body of COM_STMT_FETCH.
pub fn fetch(id: u32, rows: u32) -> Vec<u8> {
    [id.to_le_bytes(), rows.to_le_bytes()].concat()
}

/// The body of COM_FIELD_LIST.
pub fn field_list(table: &str, wildcard: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_nul(&mut out, table.as_bytes());
    out.extend(wildcard.as_bytes());
    out
}
