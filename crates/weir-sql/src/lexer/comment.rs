//! Comments, and the version comments that are code to some servers.
//!
//! | text | MySQL | MariaDB |
//! |---|---|---|
//! | `/*! code */` | code | code |
//! | `/*!NNNNN code */` | code if NNNNN <= version | code if NNNNN <= version and NNNNN < 50700 |
//! | `/*!NNNNNN code */` | 6 digits only if a blank follows them, otherwise 5 digits and code that begins with the sixth | code if NNNNNN <= version and (< 50700 or > 99999) |
//! | `/*M! code */` | comment | code |
//! | `/*M!NNNNN code */` | comment | code if NNNNN <= version |
//!
//! Fewer than five digits are part of the code. The version of 9.7.4 is 90704, of 10.11.19 it is 101119; MariaDB
//! skips 50700 to 99999 because such comments hold syntax of MySQL 5.7 and later. Sources: "Comments" in the MySQL
//! 9.7 manual, "Comment Syntax" in the MariaDB documentation; each cell was measured on 9.7.4 and 10.11.19.
//!
//! Inside code of a version comment a plain comment may stand, and the next `*/` ends the version comment, even
//! after a second `/*!`. Inside a version comment that is skipped, one level of plain comments is skipped whole.

use super::Lexer;
use crate::{Keyword, TokenKind};
use memchr::{memchr2, memmem};
use weir_model::ServerFamily;

impl Lexer<'_> {
    /// End of a line comment: before the line feed, or before a NUL, at which the servers stop too.
    pub(super) fn line_end(&self, start: usize) -> usize {
        memchr2(b'\n', 0, self.rest(start)).map_or(self.sql.len(), |i| start + i)
    }

    /// `--` begins a comment before a blank, a control character or the end of the text.
    pub(super) fn is_dash_comment(&self, start: usize) -> bool {
        match self.rest(start) {
            [b'-', b'-'] => true,
            [b'-', b'-', next, ..] => next.is_ascii_control() || self.mode.charset.is_blank(*next),
            _ => false,
        }
    }

    /// What begins with `/*`.
    pub(super) fn block(&mut self, start: usize) -> (TokenKind, usize) {
        let mariadb = self.mode.family == ServerFamily::MariaDb;
        let (digits_at, own_mark) = match self.rest(start) {
            [_, _, b'!', ..] => (start + 3, false),
            [_, _, b'M', b'!', ..] if mariadb => (start + 4, true),
            [_, _, b'+', ..] if self.hint_fits() => return self.plain_block(start, TokenKind::BlockHint),
            _ => return self.plain_block(start, TokenKind::BlockComment),
        };
        let Some((version, digits)) = self.version(digits_at) else {
            self.in_version_comment = true;
            return (TokenKind::VersionCommentStart, digits_at);
        };
        if version <= self.mode.server_version
            && (!mariadb || own_mark || !(50_700..=99_999).contains(&version))
        {
            self.in_version_comment = true;
            return (TokenKind::VersionCommentStart, digits_at + digits);
        }
        self.skipped_block(digits_at)
    }

    /// The number of a version comment and how many digits it has: 5, or 6 as the family counts them.
    fn version(&self, at: usize) -> Option<(u32, usize)> {
        let digits = self.rest(at).iter().take(6).take_while(|b| b.is_ascii_digit()).count();
        let len = match digits {
            6 if self.mode.family == ServerFamily::MariaDb => 6,
            6 if self.byte(at + 6).is_some_and(|b| self.mode.charset.is_blank(b)) => 6,
            5 | 6 => 5,
            _ => return None,
        };
        let number = self.rest(at).iter().take(len).fold(0, |n, b| n * 10 + u32::from(b - b'0'));
        Some((number, len))
    }

    fn plain_block(&self, start: usize, kind: TokenKind) -> (TokenKind, usize) {
        match memmem::find(self.rest(start + 2), b"*/") {
            Some(i) => (kind, start + 2 + i + 2),
            None => self.unterminated(),
        }
    }

    /// A version comment that is not code, whose content begins at `at`.
    fn skipped_block(&self, mut at: usize) -> (TokenKind, usize) {
        while let Some(i) = memchr2(b'*', b'/', self.rest(at)) {
            at += i;
            match self.rest(at) {
                [b'*', b'/', ..] => return (TokenKind::VersionCommentSkipped, at + 2),
                [b'/', b'*', ..] => match memmem::find(self.rest(at + 2), b"*/") {
                    Some(inner) => at += 2 + inner + 2,
                    None => break,
                },
                _ => at += 1,
            }
        }
        self.unterminated()
    }

    /// Whether the server reads `/*+` here as an optimizer hint: only blanks lie between it and the keyword.
    fn hint_fits(&self) -> bool {
        use Keyword as K;
        self.mode.has_optimizer_hints()
            && self.previous.is_some_and(|previous| {
                matches!(previous.keyword(), Some(K::Select | K::Insert | K::Replace | K::Update | K::Delete))
            })
    }
}
