/// How the bytes of a client character set have to be read by a lexer that looks for quotes.
///
/// Only five character sets have trail bytes in the ASCII range, where `\` (0x5C) and `` ` `` (0x60) lie; a lexer
/// that does not skip their characters whole takes a trail byte for an escape and loses count of the quotes. The
/// ranges were measured byte by byte on MySQL 9.7 and MariaDB 10.11. ucs2, utf16, utf16le and utf32 cannot be
/// client character sets (manual, "Impermissible Client Character Sets").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CharsetClass {
    /// Every byte below 0x80 is that ASCII character: utf8mb4, utf8mb3, ascii, binary, cp125x, koi8, ujis, euckr, ...
    #[default]
    AsciiSafe,
    /// As above, and 0xA0 separates tokens as a blank does: latin1, latin2, greek, hebrew, cp1250, latin5,
    /// latin7, armscii8, geostd8, dec8.
    BlankA0,
    /// As above with 0xFF: cp852, cp866, keybcs2.
    BlankFf,
    Big5,
    Gbk,
    Gb18030,
    /// sjis and cp932, which cut bytes into characters alike.
    Sjis,
}

impl CharsetClass {
    /// From the id of a collation as it stands in a handshake or in `information_schema.collations`. MariaDB's
    /// NOPAD collations are their parents' ids plus 1024. Unknown ids are `AsciiSafe`.
    pub fn from_collation_id(id: u16) -> Self {
        let padded = if (1025..=1247).contains(&id) { id - 1024 } else { id };
        match padded {
            1 | 84 => Self::Big5,
            13 | 88 | 95 | 96 => Self::Sjis,
            28 | 87 => Self::Gbk,
            248..=250 => Self::Gb18030,
            36 | 37 | 40 | 68 | 73 | 81 => Self::BlankFf,
            2 | 3 | 5 | 8 | 9 | 15 | 16 | 20 | 21 | 25 | 26 | 27 | 30..=32 | 34 | 41 | 42 | 44 => {
                Self::BlankA0
            }
            47..=49 | 64 | 66 | 69..=71 | 77..=79 | 92..=94 | 99 => Self::BlankA0,
            _ => Self::AsciiSafe,
        }
    }

    /// From the name of a character set, in any case of letters. Unknown names are `AsciiSafe`.
    pub fn from_name(name: &[u8]) -> Self {
        let is_any = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        if is_any(&["sjis", "cp932"]) {
            Self::Sjis
        } else if is_any(&["gbk"]) {
            Self::Gbk
        } else if is_any(&["big5"]) {
            Self::Big5
        } else if is_any(&["gb18030"]) {
            Self::Gb18030
        } else if is_any(&["cp852", "cp866", "keybcs2"]) {
            Self::BlankFf
        } else if is_any(&["latin1", "latin2", "latin5", "latin7", "greek", "hebrew", "cp1250"])
            || is_any(&["armscii8", "geostd8", "dec8"])
        {
            Self::BlankA0
        } else {
            Self::AsciiSafe
        }
    }

    /// Whether a character of several bytes can hold a byte that looks like an ASCII character.
    pub(crate) fn is_multibyte(self) -> bool {
        matches!(self, Self::Big5 | Self::Gbk | Self::Gb18030 | Self::Sjis)
    }

    /// Length in bytes of the character at the front: 2 or 4 for a whole multi-byte character, otherwise 1. A
    /// lead byte without a fitting trail byte counts as one byte, as the servers count it.
    pub(crate) fn char_len(self, at: &[u8]) -> usize {
        let (Some(&lead), Some(&trail)) = (at.first(), at.get(1)) else { return 1 };
        let pair = match self {
            Self::AsciiSafe | Self::BlankA0 | Self::BlankFf => false,
            Self::Big5 => (0xA1..=0xF9).contains(&lead) && matches!(trail, 0x40..=0x7E | 0xA1..=0xFE),
            Self::Gbk => (0x81..=0xFE).contains(&lead) && matches!(trail, 0x40..=0x7E | 0x80..=0xFE),
            Self::Sjis => {
                matches!(lead, 0x81..=0x9F | 0xE0..=0xFC) && matches!(trail, 0x40..=0x7E | 0x80..=0xFC)
            }
            Self::Gb18030 => {
                if is_gb18030_four(at) {
                    return 4;
                }
                (0x81..=0xFE).contains(&lead) && matches!(trail, 0x40..=0x7E | 0x80..=0xFE)
            }
        };
        if pair { 2 } else { 1 }
    }

    /// Whether the byte separates tokens.
    pub(crate) fn is_blank(self, byte: u8) -> bool {
        match byte {
            b' ' | b'\t'..=b'\r' => true,
            0xA0 => self == Self::BlankA0,
            0xFF => self == Self::BlankFf,
            _ => false,
        }
    }

    /// Whether a byte of 0x80 and more continues the name of a user variable (`@name`). The servers read that
    /// name byte by byte, even in a multi-byte character set, so a trail byte can end it.
    pub(crate) fn is_high_alnum(self, byte: u8) -> bool {
        match self {
            Self::Gbk => (0xA1..=0xFE).contains(&byte),
            Self::Big5 => (0xA1..=0xF9).contains(&byte),
            Self::Sjis => false,
            Self::AsciiSafe | Self::BlankA0 | Self::BlankFf | Self::Gb18030 => {
                byte >= 0x80 && !self.is_blank(byte)
            }
        }
    }
}

fn is_gb18030_four(at: &[u8]) -> bool {
    matches!(at, [0x81..=0xFE, b'0'..=b'9', 0x81..=0xFE, b'0'..=b'9', ..])
}

#[cfg(test)]
mod tests;
