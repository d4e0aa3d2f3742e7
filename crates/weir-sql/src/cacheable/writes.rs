//! The tables that a statement other than a query writes, as far as it names them.

use super::Writes;
use super::from::is_identifier;
use super::names::{TableName, unquoted};
use super::words::Folded;
use crate::classify::Cursor;
use crate::{Token, TokenKind};

/// More names than this are not gathered.
const LIMIT: usize = 256;

/// Takes the statement. True: it names more than are gathered.
pub(super) fn of(cursor: &mut Cursor<'_>) -> (Writes, bool) {
    let mut targets = Targets { cursor, found: Writes::default(), cut: false };
    targets.statement();
    (targets.found, targets.cut)
}

struct Targets<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    found: Writes,
    cut: bool,
}

impl Targets<'_, '_> {
    fn statement(&mut self) {
        let first = self.word();
        match first.text() {
            b"insert" | b"replace" => self.insert(),
            b"update" => self.until(&[b"set"]),
            b"delete" => self.until(&[b"where", b"order", b"limit", b"returning"]),
            b"load" => self.load(),
            b"truncate" | b"drop" | b"rename" | b"create" | b"alter" => self.define(first.text()),
            // They write no table. What an open transaction wrote, its own statements named.
            b"show" | b"desc" | b"describe" | b"help" | b"use" | b"begin" | b"start" | b"commit"
            | b"rollback" | b"savepoint" | b"release" | b"kill" => {}
            b"" if self.cursor.peek().is_none() => {}
            // SET may evaluate anything; CALL, EXECUTE and what is not known may write anything.
            _ => self.found.unsure = true,
        }
        self.rest();
    }

    /// Behind INSERT or REPLACE.
    fn insert(&mut self) {
        self.skip(&[b"low_priority", b"delayed", b"high_priority", b"ignore", b"into"]);
        self.table();
    }

    /// Behind LOAD: `DATA INFILE '...' INTO TABLE t`.
    fn load(&mut self) {
        while let Some(token) = self.next() {
            if is_word(self.cursor, token, b"into") {
                self.skip(&[b"table"]);
                return self.table();
            }
        }
        self.found.unsure = true;
    }

    /// Behind the first word of a definition: of tables, or of something else that may hold tables.
    fn define(&mut self, verb: &[u8]) {
        self.skip(&[b"or", b"replace", b"online", b"ignore", b"temporary", b"algorithm"]);
        let is_table = self.peek_word().text() == b"table" || self.peek_word().text() == b"tables";
        if !is_table && verb != b"truncate" {
            // CREATE VIEW, DROP DATABASE, CREATE INDEX ... ON t.
            self.found.unsure = true;
            return;
        }
        self.skip(&[b"table", b"tables", b"if", b"not", b"exists"]);
        self.table();
        match verb {
            b"drop" => {
                while self.take(b",") {
                    self.table();
                }
            }
            b"rename" => self.renamed(),
            b"alter" => self.new_name(),
            _ => {}
        }
    }

    /// `a TO b, b TO c` behind the first name.
    fn renamed(&mut self) {
        while let Some(token) = self.next() {
            let text = self.cursor.text(token);
            if text == b"," || text.eq_ignore_ascii_case(b"to") {
                self.table();
            }
        }
    }

    /// `RENAME [TO | AS] b`, partitions that change places with a table, and `CONVERT TABLE b TO PARTITION` and back.
    fn new_name(&mut self) {
        while let Some(token) = self.next() {
            if [&b"rename"[..], b"exchange", b"convert"].iter().any(|w| is_word(self.cursor, token, w)) {
                self.found.unsure = true;
            }
        }
    }

    /// Everything that may be a table up to one of the words, which ends the list of tables: all names but aliases, whose
    /// place is not looked at, so some that are none are among them.
    fn until(&mut self, ends: &[&[u8]]) {
        self.skip(&[b"low_priority", b"quick", b"ignore", b"from"]);
        let mut expects = true;
        while let Some(token) = self.peek() {
            let text = self.cursor.text(token);
            if token.kind == TokenKind::Word && ends.contains(&Folded::of(text).text()) {
                return;
            }
            if expects && is_identifier(token.kind) {
                self.table();
                expects = false;
                continue;
            }
            self.cursor.next();
            match Folded::of(text).text() {
                b"using" if self.peek().is_some_and(|t| self.cursor.text(t) == b"(") => self.columns(),
                b"," | b"join" | b"straight_join" | b"from" | b"using" => expects = true,
                // Tables in parentheses, and subqueries.
                b"(" | b"{" => {
                    expects = true;
                    self.found.unsure = true;
                }
                _ => {}
            }
        }
    }

    /// The list behind USING.
    fn columns(&mut self) {
        while !self.take(b")") && self.next().is_some() {}
    }

    /// The name of a table.
    fn table(&mut self) {
        let Some(first) = self.next().filter(|t| is_identifier(t.kind)) else {
            self.found.unsure = true;
            return;
        };
        let first = self.name_of(first);
        let mut table = TableName { schema: None, name: first };
        // `t.*` of DELETE.
        while self.take(b".") && !self.take(b"*") {
            let Some(token) = self.next().filter(|t| is_identifier(t.kind)) else {
                self.found.unsure = true;
                return;
            };
            let name = self.name_of(token);
            table = TableName { schema: Some(table.name), name };
        }
        if self.found.tables.len() >= LIMIT {
            (self.found.unsure, self.cut) = (true, true);
        } else if !self.found.tables.contains(&table) {
            self.found.tables.push(table);
        }
    }

    /// What stands behind the names, and behind the statement.
    fn rest(&mut self) {
        while let Some(token) = self.cursor.next() {
            if token.kind == TokenKind::Semicolon {
                self.found.unsure |= !self.cursor.is_rest_blank();
                break;
            }
        }
        self.found.unsure |= self.cursor.is_doubtful();
    }

    fn peek(&mut self) -> Option<Token> {
        self.cursor.peek().filter(|token| token.kind != TokenKind::Semicolon)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek()?;
        self.cursor.next();
        Some(token)
    }

    fn peek_word(&mut self) -> Folded {
        self.peek().map_or(Folded::of(b""), |t| Folded::of_word(t, self.cursor.sql()))
    }

    /// Takes the next token; empty if it is no word.
    fn word(&mut self) -> Folded {
        let word = self.peek_word();
        if !word.text().is_empty() {
            self.cursor.next();
        }
        word
    }

    /// Takes any of these words, in any number.
    fn skip(&mut self, words: &[&[u8]]) {
        while words.contains(&self.peek_word().text()) {
            self.cursor.next();
        }
    }

    fn take(&mut self, operator: &[u8]) -> bool {
        let found =
            self.peek().is_some_and(|t| t.kind == TokenKind::Operator && self.cursor.text(t) == operator);
        if found {
            self.cursor.next();
        }
        found
    }

    fn name_of(&self, token: Token) -> Vec<u8> {
        unquoted(token, self.cursor.sql(), self.cursor.mode().charset)
    }
}

fn is_word(cursor: &Cursor<'_>, token: Token, word: &[u8]) -> bool {
    token.kind == TokenKind::Word && cursor.text(token).eq_ignore_ascii_case(word)
}
