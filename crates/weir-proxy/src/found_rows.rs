//! `SELECT FOUND_ROWS()`, answered by Weir where it knows the number: in the form in which the server has answered it before.

use crate::cached::Cached;
use crate::doing::Doing;
use crate::foreign::Foreign;
use crate::session::{Exit, Session};
use std::collections::HashMap;
use std::task::Context;
use weir_model::ServerFamily;
use weir_session::{Outcome, Reads};
use weir_sql::read_facts;
use weir_wire::attributes::statement_offset;
use weir_wire::command::{self as com, shape};
use weir_wire::frame::{put_packet, split_packet};
use weir_wire::lenenc::put_lenenc;

/// Forms that one worker keeps. Programs have a few; beyond, all are forgotten.
const FORMS_MAX: usize = 256;
/// The longest text that is one of them: a name of 12 bytes may be written in capitals or not.
const TEXT_MAX: usize = 64;

/// How the server answers, by everything that decides the form: the text, the session's state, the dialect.
#[derive(Debug, Default)]
pub(crate) struct Forms(HashMap<FormOf, Form, foldhash::quality::RandomState>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FormOf {
    text: Box<[u8]>,
    results: u64,
    place: u64,
    dialect: u64,
}

/// An answer around its row.
#[derive(Debug)]
struct Form {
    /// The packets before the row.
    head: Box<[u8]>,
    /// The payload of the packet behind it, and the number of the row's packet.
    end: Box<[u8]>,
    seq: u8,
    status: u16,
    warns: bool,
}

impl Form {
    /// Takes an answer apart. `None`: it is not one row with this number.
    fn of(answer: &[u8], n: u64, status: u16, warns: bool) -> Option<Self> {
        let (mut rest, mut packets) = (answer, Vec::new());
        while let Some((header, payload, behind)) = split_packet(rest) {
            packets.push((answer.len() - rest.len(), header.seq, payload));
            rest = behind;
        }
        let [.., (at, seq, row), (_, _, end)] = packets[..] else { return None };
        let told = rest.is_empty() && *row == *number(n);
        told.then(|| Self { head: answer[..at].into(), end: end.into(), seq, status, warns })
    }

    fn with(&self, n: u64) -> Vec<u8> {
        let mut out = self.head.to_vec();
        put_packet(&mut out, self.seq, &number(n));
        put_packet(&mut out, self.seq.wrapping_add(1), &self.end);
        out
    }
}

fn number(n: u64) -> Vec<u8> {
    let digits = n.to_string();
    let mut row = Vec::new();
    put_lenenc(&mut row, digits.len() as u64);
    row.extend_from_slice(digits.as_bytes());
    row
}

impl Session {
    /// Answers the statement at hand if it asks for FOUND_ROWS() and nothing else, and the form of the answer is known.
    pub(crate) fn found_rows(
        &mut self,
        cx: &mut Context<'_>,
        payload: &[u8],
        len: usize,
    ) -> Result<Cached, Exit> {
        let Some((of, n)) = self.asks_found_rows(payload) else { return Ok(Cached::Ask) };
        let Some(sharing) = &mut self.sharing else { return Ok(Cached::Ask) };
        let learned = self.worker.learned.lock();
        let Some(form) = learned.forms.0.get(&of) else {
            sharing.cache.form = Some(Box::new((of, n)));
            return Ok(Cached::Ask);
        };
        let (answer, status, warns) = (form.with(n), form.status, form.warns);
        drop(learned);
        self.begin(com::QUERY, shape(com::QUERY));
        self.walker.set_status(status);
        let server = self.server_kind();
        if let Some(sharing) = &mut self.sharing {
            sharing.doing = sharing.read.take().unwrap_or(Doing::Command(com::SLEEP));
            sharing.as_if_run(Outcome::Rows { status, rows: 1, warnings: 0 }, server, |leftovers| {
                if warns {
                    leftovers.told_found_rows();
                }
            });
        }
        self.answer(cx, com::QUERY, len, &answer)?;
        Ok(Cached::Answered)
    }

    /// The form in which the statement at hand asks for FOUND_ROWS(), and what that is.
    fn asks_found_rows(&mut self, payload: &[u8]) -> Option<(FormOf, u64)> {
        let sharing = self.sharing.as_ref()?;
        let n = sharing.leftovers.found_rows()?;
        let asks = sharing.read.as_ref()?.with(|statement| statement.reads == Reads::FOUND_ROWS);
        let sql = &payload[statement_offset(payload, self.server.caps).ok()?..];
        if !asks || sql.len() > TEXT_MAX || self.state_refusal().is_some() {
            return None;
        }
        let (dialect, place) = (sharing.key.dialect, self.place());
        if !read_facts(sql, self.lex_mode()).asks_found_rows {
            return None;
        }
        Some((FormOf { text: sql.into(), results: self.results_id()?, place, dialect }, n))
    }

    /// The server's own answer to such a statement has come, and ends with these bytes.
    pub(crate) fn learn_form(&mut self, answer: &[u8]) {
        let Some(form) = self.sharing.as_mut().and_then(|sharing| sharing.cache.form.take()) else { return };
        let (of, n) = *form;
        let (warnings, status) = (self.walker.ok().warnings, self.walker.status());
        let deprecated = warnings == 1 && self.server.family == ServerFamily::MySql;
        if self.walker.error().is_some() || (warnings > 0 && !deprecated) {
            return;
        }
        let server = self.server_kind();
        if let (true, Some(sharing)) = (deprecated, &mut self.sharing) {
            sharing.leftovers.told_found_rows();
            sharing.pins.hold(sharing.leftovers.holds(server));
            sharing.foreign_parts = Foreign::ALL;
        }
        let Some(form) = Form::of(answer, n, status, deprecated) else { return };
        let forms = &mut self.worker.learned.lock().forms.0;
        if forms.len() >= FORMS_MAX {
            forms.clear();
        }
        forms.insert(of, form);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_told_with_another_number() {
        let answer = |n: u64| {
            let mut out = Vec::new();
            for (seq, payload) in (1..).zip([&[1][..], b"a column", &number(n), b"\xfe\0\0\x02\0"]) {
                put_packet(&mut out, seq, payload);
            }
            out
        };
        let form = Form::of(&answer(7), 7, 2, false).unwrap();
        assert_eq!(form.with(12345), answer(12345));
        assert!(Form::of(&answer(7), 8, 2, false).is_none());
        assert!(Form::of(&answer(7)[..20], 7, 2, false).is_none());
        assert!(Form::of(b"", 7, 2, false).is_none());
    }
}
