//! What a statement that is no read means to the cache: its own session is not served what is older, and what changes tables
//! or rights themselves takes out what was made of them.

use crate::packets::UNKNOWN_STATEMENT;
use crate::prepared::then;
use crate::session::{Phase, Session};
use std::sync::Arc;
use std::time::Instant;
use weir_cache::Selector;
use weir_session::{PinReason, PinSet, Schema};
use weir_sql::{Classified, Keyword, LexMode, StatementKind, Statements, quick, read_facts};
use weir_wire::attributes::statement_offset;
use weir_wire::command as com;

/// Why a statement keeps its connection that changes no data: a function that might is a reason of its own.
const STILL: PinSet = PinSet::of(&[PinReason::FoundRows, PinReason::UserVariable]);

/// Whether a statement changes what names stand for, or who may read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alters {
    No,
    Yes,
    /// It runs what cannot be told, and has changed nothing if it answers with rows.
    Perhaps,
}

impl Alters {
    /// What the text says. What a procedure does inside is not looked at.
    pub fn of(found: &Classified, sql: &[u8], mode: LexMode) -> Self {
        use StatementKind as S;
        let holds = |kind| found.kinds.contains(kind);
        if holds(S::Ddl) || holds(S::Admin) {
            return Self::Yes;
        }
        if !holds(S::PrepareText) && !holds(S::Other) {
            return Self::No;
        }
        if found.statements == Statements::Many {
            return Self::Yes;
        }
        match quick(sql, mode, false).leading {
            Some(Keyword::Prepare | Keyword::Deallocate | Keyword::Drop) => Self::No,
            // A function that is not built in, or text that is not understood: it can change no table itself.
            Some(Keyword::Select | Keyword::With | Keyword::Table | Keyword::Values | Keyword::Do) => {
                Self::No
            }
            Some(Keyword::Set | Keyword::Show | Keyword::Explain | Keyword::Describe | Keyword::Desc) => {
                Self::No
            }
            _ => Self::Perhaps,
        }
    }
}

impl Session {
    /// A command was answered at this moment. Unless it is sure to have changed nothing, the session is not served what was asked
    /// of a server before.
    pub(crate) fn written(&mut self, at: Instant) {
        let kind = self.current.noted.map(|noted| noted.kind);
        let command = self.current.command;
        let Some(sharing) = &mut self.sharing else { return };
        let still = match command {
            com::PING
            | com::INIT_DB
            | com::STATISTICS
            | com::FIELD_LIST
            | com::STMT_PREPARE
            | com::STMT_RESET
            | com::STMT_FETCH
            | com::PROCESS_INFO
            | com::SET_OPTION => true,
            com::QUERY | com::STMT_EXECUTE => {
                let plain = sharing.doing.with(|statement| statement.pins.without(STILL).is_empty());
                plain && matches!(kind, Some(StatementKind::Read | StatementKind::Use | StatementKind::Set))
            }
            _ => false,
        };
        // However a transaction ends, what was written in it counts from then on: SET autocommit = 1 commits.
        let committed = self.current.in_transaction && !self.walker.in_transaction();
        if !still || committed {
            sharing.cache.wrote = Some(at);
        }
    }

    /// Takes note of a statement that changes tables or rights themselves.
    pub(crate) fn changes(&mut self, command: u8, payload: &[u8]) {
        let Some(sharing) = &mut self.sharing else { return };
        // Of one before it that was never sent.
        sharing.cache.wipes.clear();
        let (alters, key) = match command {
            com::QUERY => (sharing.alters, None),
            _ => {
                let statement = sharing.executing.and_then(|id| sharing.statements.get(id).ok());
                // What is bound to its connection may be cut: then all of it is taken out in the end.
                let own = statement.filter(|statement| !statement.key().is_bound());
                let Some(key) = own.map(|statement| Arc::clone(statement.key())) else { return };
                let kept = sharing.executing.and_then(|id| self.statements.get(id));
                (kept.map_or(Alters::Perhaps, |kept| kept.noted.alters), Some(key))
            }
        };
        if alters != Alters::Yes {
            return;
        }
        let schema = sharing.wanted.schema().clone();
        let mode = self.lex_mode();
        match (key, statement_offset(payload, self.server.caps)) {
            // As the server has read it.
            (Some(key), _) => {
                self.note_changes(key.text(), then(&key, mode).unwrap_or(mode), key.schema());
            }
            (None, Ok(offset)) => self.note_changes(&payload[offset..], mode, &schema),
            (None, Err(_)) => {}
        }
    }

    /// A statement is about to be sent that may change what names stand for, or who may read them. What it concerns is taken out
    /// of the cache when it has ended. `schema` is where names without one are looked up.
    fn note_changes(&mut self, sql: &[u8], mode: LexMode, schema: &Schema) {
        let Some(sharing) = &mut self.sharing else { return };
        let writes = read_facts(sql, mode).writes;
        let schema = match schema {
            Schema::Known(name) => Some(&**name),
            Schema::None | Schema::Unknown => None,
        };
        let table = |table: &weir_sql::TableName| {
            let of = table.schema.as_deref().or(schema)?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            Some(Selector::all().table(&text(of), &text(&table.name)))
        };
        let named: Option<Vec<Selector>> = writes.tables.iter().map(table).collect();
        let wipes = named.filter(|named| !writes.unsure && !named.is_empty());
        // Rights, users, schemas: anything.
        sharing.cache.wipes = wipes.unwrap_or_else(|| vec![Selector::all()]);
        self.worker.shared.change_names();
    }

    /// Whether the command at hand changes tables or rights, as far as that is known.
    fn alters(&self) -> Alters {
        let executes = matches!(self.current.command, com::STMT_EXECUTE | com::STMT_BULK_EXECUTE);
        match self.current.noted {
            Some(noted) => noted.alters,
            // More are prepared than are kept (limits.max_statements), unless the server has none with that number either.
            None if executes
                && self.statements.has_others()
                && self.walker.error() != Some(UNKNOWN_STATEMENT) =>
            {
                Alters::Perhaps
            }
            None => Alters::No,
        }
    }

    /// The session ends; how the statement at hand does, if there is one, nobody will hear.
    pub(crate) fn changed_unknown(&mut self) {
        if self.phase != Phase::Idle {
            self.changed();
        }
    }

    /// The statement at hand has ended, well or not, or nobody will hear how: what it may have changed is taken out.
    pub(crate) fn changed(&mut self) {
        let mut wipes = self.sharing.as_mut().map_or_else(Vec::new, |s| std::mem::take(&mut s.cache.wipes));
        let shared = &self.worker.shared;
        if wipes.is_empty() {
            // Of a session that is not followed, or of which a text was not read whole: whatever it was.
            match self.alters() {
                Alters::Yes => {}
                Alters::Perhaps if !self.walker.ended_rows() => {}
                Alters::No | Alters::Perhaps => return,
            }
            if !shared.has_rules() {
                return;
            }
            wipes.push(Selector::all());
        }
        shared.change_names();
        for selector in &wipes {
            shared.cache().wipe(selector);
        }
    }
}
