//! Step 5: what a statement means to Weir. Never fails: what is not understood is for the server.

use crate::analytics::Plain;
use crate::doing::Doing;
use crate::session::{Noted, Session};
use crate::sharing::Known;
use std::ops::Range;
use weir_session::{Effect, PinReason, PinSet, Replay, Schema, with_statement};
use weir_sql::{
    CharsetClass, Classified, ClientCharset, Facts, Keyword, Kill, KillTarget, LexMode, Statement,
    StatementKind, WeirCommand, parse_kill, quick,
};
use weir_wire::attributes::statement_offset;
use weir_wire::command::QUERY;
use weir_wire::frame::put_packet;

/// Several statements may stand in one packet. COM_SET_OPTION switches that on and off; where it is off the server
/// refuses what stands behind a `;` anyway, so looking there costs little and does no harm.
pub(crate) const MULTI: bool = true;

/// Statements whose text is kept while they run. A longer one that its client abandons is left to finish: 4 KiB
/// holds nearly every read, and the copy is paid for every statement.
const KEPT_MAX: usize = 4 * 1024;

/// What a SET may do besides setting variables that are known to be of the session.
const OF_A_SET: PinSet = PinSet::of(&[PinReason::UserVariable, PinReason::NextTransaction]);

/// What becomes of a statement.
#[derive(Debug)]
pub(crate) enum Meaning {
    /// It is passed on as it stands.
    ForServer,
    /// It is passed on with other bytes: a KILL of one of Weir's ids.
    Rewritten(Vec<u8>),
    /// SHOW WEIR SESSION.
    ShowSession,
    /// A KILL of a session that has no server connection: it is done.
    Killed,
}

/// A statement, as far as it was looked at.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub meaning: Meaning,
    /// The server may ask for a local file.
    pub local_infile: bool,
    /// The text to keep while it runs; empty where the statement is surely no read.
    pub text: &'a [u8],
    /// What must be known when it has succeeded.
    pub noted: Option<Noted>,
    /// The schema that it enters if it succeeds, for a session whose state is not followed.
    pub enters: Option<Schema>,
}

impl Session {
    /// Looks at a whole COM_QUERY.
    pub(crate) fn analyse<'a>(&mut self, payload: &'a [u8]) -> Asked<'a> {
        let plain = |text| Asked {
            meaning: Meaning::ForServer,
            local_infile: false,
            text,
            noted: None,
            enters: None,
        };
        // A payload that ends within its attributes is the server's to refuse.
        let Ok(offset) = statement_offset(payload, self.server.caps) else { return plain(&[]) };
        let sql = &payload[offset..];
        if self.sharing.is_some()
            && let Some(Known { local_infile, noted }) = self.known(sql)
        {
            return Asked { local_infile, noted, ..plain(&[]) };
        }
        let mode = self.lex_mode();
        if let Some(known) = self.tally_text(sql, mode) {
            self.forgettable &= known.forgettable;
            self.follow(known.kind, sql);
            return Asked { noted: Some(Noted { kind: known.kind, charset: None }), ..plain(&[]) };
        }
        let look = quick(sql, mode, MULTI);
        let text = if may_read(look.leading) && sql.len() <= KEPT_MAX { sql } else { &[] };
        if !look.needs_full {
            let (noted, enters) = self.quickly(look.leading, sql, mode);
            return Asked { noted, enters, ..plain(text) };
        }
        self.forgettable = false;
        let facts = Facts::of(sql, mode, MULTI);
        let (noted, found) = (self.noted_of(&facts, sql), facts.classified);
        self.follow(found.kind, sql);
        let enters = schema_after(&facts, sql);
        if found.weir == Some(WeirCommand::ShowSession) {
            return Asked { meaning: Meaning::ShowSession, ..plain(&[]) };
        }
        // One that has been sent ahead of the queue must not hit what its target does next.
        let sent = self.sharing.as_ref().is_some_and(|sharing| sharing.kill == Some(true));
        let kill = parse_kill(sql, mode).filter(|_| !sent);
        let registry = &self.worker.shared.registry;
        if let Some(kill) = &kill
            && registry.kill_detached(kill.id, kill.target == KillTarget::Query, &self.identity.user)
        {
            return Asked { meaning: Meaning::Killed, ..plain(&[]) };
        }
        let mapped =
            kill.and_then(|kill| Some((registry.server_id(kill.id, self.server.place)?, kill.id_span)));
        let meaning = match mapped {
            Some((id, span)) => {
                let id = Kill::other_id(u64::from(id));
                Meaning::Rewritten(splice(payload, offset + span.start..offset + span.end, &id))
            }
            None => Meaning::ForServer,
        };
        Asked { meaning, local_infile: found.local_infile, text, noted: Some(noted), enters }
    }

    /// What is noted of a statement that says by its first word what it does, and the schema that it enters.
    fn quickly(
        &mut self,
        leading: Option<Keyword>,
        sql: &[u8],
        mode: LexMode,
    ) -> (Option<Noted>, Option<Schema>) {
        if leading == Some(Keyword::Set) {
            let facts = Facts::of(sql, mode, MULTI);
            self.follow(facts.kind(), sql);
            self.forgettable &= with_statement(&facts, sql, |set| set.pins.without(OF_A_SET).is_empty());
            return (Some(self.noted_of(&facts, sql)), None);
        }
        let forgettable = is_forgettable(leading);
        self.forgettable &= forgettable;
        if let Some(Keyword::Use | Keyword::Execute) = leading {
            let facts = Facts::of(sql, mode, MULTI);
            self.follow(facts.kind(), sql);
            return (None, schema_after(&facts, sql));
        }
        let kind = Statement::classify(sql, mode, MULTI).kind;
        self.follow(kind, sql);
        self.tally_plain(Plain { kind, forgettable });
        (None, None)
    }

    /// The same for a session that needs all the facts anyway; they are kept for it. `None`: the statement is about Weir or its
    /// ids.
    fn known(&mut self, sql: &[u8]) -> Option<Known> {
        let mode = self.lex_mode();
        let sharing = self.sharing.as_mut()?;
        if let Some(known) = sharing.known.take()
            && sharing.fit
        {
            return Some(known);
        }
        sharing.fresh = false;
        if let Some(text) = self.worker.learned.lock().texts.find(sql, mode) {
            (sharing.facts, sharing.read) = (None, text.doing.plain());
            sharing.kind = Some(text.kind);
            let noted = Noted { kind: text.kind, charset: None };
            let of = (&*self.worker, &*self.identity);
            self.tally.spot((sharing.at(), of), &mut text.spot, sql, mode);
            return Some(Known { local_infile: false, noted: Some(noted) });
        }
        self.tally_text(sql, mode);
        let facts = Facts::of(sql, mode, MULTI);
        let Classified { weir, local_infile, kinds, .. } = facts.classified;
        let noted = Some(self.noted_of(&facts, sql));
        let plain = weir.is_none() && !kinds.contains(StatementKind::Kill);
        let sharing = self.sharing.as_mut()?;
        sharing.fresh = facts.fresh;
        sharing.kind = plain.then(|| facts.kind());
        if plain && !Replay::is_likely(&facts, sql) {
            let doing = Doing::of_text(sql, facts.clone());
            if !facts.fresh {
                self.worker.learned.lock().texts.keep(&facts, &doing, mode);
            }
            (sharing.facts, sharing.read) = (None, Some(doing));
        } else {
            (sharing.facts, sharing.read) = (Some(facts), None);
        }
        plain.then_some(Known { local_infile, noted })
    }

    /// A command waits for a connection, and is not looked at again.
    pub(crate) fn keep_known(&mut self, known: Known) {
        if let Some(sharing) = &mut self.sharing {
            sharing.known = Some(known);
        }
    }

    /// Looks at the first part of a COM_QUERY too long to hold: what it begins with is all there is to go by.
    pub(crate) fn analyse_part(&mut self, so_far: &[u8]) {
        let Ok(offset) = statement_offset(so_far, self.server.caps) else { return };
        let found = Statement::classify(&so_far[offset..], self.lex_mode(), false);
        self.forgettable = false;
        self.follow(StatementKind::Other, &[]);
        self.current.local_infile = found.local_infile;
        self.current.noted = Some(Noted { kind: StatementKind::Other, charset: None });
    }

    /// What must be known of a statement when it runs, at once or after it was prepared, and what it is.
    pub(crate) fn noted(&self, sql: &[u8]) -> (Noted, Classified) {
        let facts = Facts::of(sql, self.lex_mode(), MULTI);
        (self.noted_of(&facts, sql), facts.classified)
    }

    pub(crate) fn noted_of(&self, facts: &Facts, sql: &[u8]) -> Noted {
        let charset = facts.client_charset(sql).map(|charset| match charset {
            ClientCharset::Named(class) => class,
            ClientCharset::Default => {
                CharsetClass::from_collation_id(u16::from(self.server.greeting.charset))
            }
            // Most often what was saved before, in a variable.
            ClientCharset::Unknown => self.login_charset,
        });
        Noted { kind: facts.kind(), charset }
    }

    /// The kind of the command under way.
    pub(crate) fn current_kind(&self) -> StatementKind {
        let current = &self.current;
        match current.noted {
            Some(noted) => noted.kind,
            None if current.command != QUERY || current.text.is_empty() => StatementKind::Other,
            None => Statement::classify(&current.text, self.lex_mode(), MULTI).kind,
        }
    }
}

/// The schema that a statement enters.
fn schema_after(facts: &Facts, sql: &[u8]) -> Option<Schema> {
    with_statement(facts, sql, |statement| {
        statement.effects.iter().fold(None, |schema, effect| match effect {
            Effect::Schema(name) => Some(Schema::Known((*name).into())),
            Effect::SchemaUnknown | Effect::Everything => Some(Schema::Unknown),
            _ => schema,
        })
    })
}

/// Whether the traces of a statement that begins so go with the session, on either server. What a procedure, a LOAD DATA or a
/// statement about the server leaves is not known so well.
fn is_forgettable(leading: Option<Keyword>) -> bool {
    use Keyword as K;
    matches!(
        leading,
        Some(
            K::Select
                | K::Insert
                | K::Update
                | K::Delete
                | K::Replace
                | K::Show
                | K::Use
                | K::Begin
                | K::Start
                | K::Commit
                | K::Rollback
                | K::Savepoint
                | K::Explain
                | K::Desc
                | K::Describe
        )
    )
}

/// Whether a statement that begins so may be a read, or the end of a transaction.
fn may_read(leading: Option<Keyword>) -> bool {
    use Keyword as K;
    match leading {
        None => true,
        Some(word) => !matches!(word, K::Insert | K::Update | K::Delete | K::Replace | K::Load | K::Call),
    }
}

/// The packet of `payload` with other text at `span`.
fn splice(payload: &[u8], span: Range<usize>, text: &str) -> Vec<u8> {
    let mut changed = Vec::with_capacity(payload.len() + text.len());
    changed.extend_from_slice(&payload[..span.start]);
    changed.extend_from_slice(text.as_bytes());
    changed.extend_from_slice(&payload[span.end..]);
    let mut packet = Vec::with_capacity(changed.len() + weir_wire::HEADER);
    put_packet(&mut packet, 0, &changed);
    packet
}
