//! Step 5: what a statement means to Weir. Never fails: what is not understood is for the server.

use crate::analytics::Plain;
use crate::doing::Doing;
use crate::session::{Noted, Session};
use crate::sharing::Known;
use crate::writes::Alters;
use std::ops::Range;
use weir_session::{Effect, PinReason, PinSet, Replay, Schema, with_statement};
use weir_sql::{
    CharsetClass, Classified, ClientCharset, Facts, Keyword, Kill, KillTarget, LexMode, Statement,
    StatementKind, WeirCommand, parse_kill, quick,
};
use weir_wire::attributes::statement_offset;
use weir_wire::caps::{self, Caps};
use weir_wire::frame::put_packet;

/// Several statements may stand in one packet. COM_SET_OPTION switches that on and off; where it is off the server
/// refuses what stands behind a `;` anyway, so looking there costs little and does no harm.
pub(crate) const MULTI: bool = true;

/// Whether the server takes several statements in one text of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MultiStatements {
    Off,
    On,
    /// They are being switched off; the server has not answered yet.
    TurningOff,
}

impl MultiStatements {
    pub fn of_login(flags: Caps) -> Self {
        if flags & caps::MULTI_STATEMENTS == 0 { Self::Off } else { Self::On }
    }

    pub fn may_be_on(self) -> bool {
        self != Self::Off
    }

    /// COM_SET_OPTION is on its way. Until it is answered they may be on.
    pub fn asked(&mut self, option: &[u8]) {
        let turns_off = matches!(option, [1, 0, ..]);
        *self = match (*self, turns_off) {
            (Self::Off, true) => Self::Off,
            (_, true) => Self::TurningOff,
            (_, false) => Self::On,
        };
    }

    /// It was answered.
    pub fn answered(&mut self, succeeded: bool) {
        if *self == Self::TurningOff {
            *self = if succeeded { Self::Off } else { Self::On };
        }
    }
}

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
pub(crate) struct Asked {
    pub meaning: Meaning,
    /// The server may ask for a local file.
    pub local_infile: bool,
    /// What must be known when it has succeeded.
    pub noted: Option<Noted>,
    /// The schema that it enters if it succeeds, for a session whose state is not followed.
    pub enters: Option<Schema>,
}

impl Session {
    /// Looks at a whole COM_QUERY.
    pub(crate) fn analyse(&mut self, payload: &[u8]) -> Asked {
        let plain = |noted| Asked { meaning: Meaning::ForServer, local_infile: false, noted, enters: None };
        // A payload that ends within its attributes is the server's to refuse.
        let Ok(offset) = statement_offset(payload, self.server.caps) else { return plain(None) };
        let sql = &payload[offset..];
        if self.sharing.is_some()
            && let Some(Known { local_infile, noted }) = self.known(sql)
        {
            return Asked { local_infile, ..plain(noted) };
        }
        let mode = self.lex_mode();
        if let Some(known) = self.tally_text(sql, mode) {
            self.forgettable &= known.forgettable;
            self.follow(known.kind, sql);
            return plain(Some(Noted::plain(known.kind)));
        }
        let look = quick(sql, mode, MULTI);
        if !look.needs_full {
            let (noted, enters) = self.quickly(look.leading, sql, mode);
            return Asked { enters, ..plain(noted) };
        }
        self.forgettable = false;
        let facts = Facts::of(sql, mode, MULTI);
        let (noted, found) = (self.noted_of(&facts, sql), facts.classified);
        self.follow(found.kind, sql);
        let enters = schema_after(&facts, sql);
        if found.weir == Some(WeirCommand::ShowSession) {
            return Asked { meaning: Meaning::ShowSession, ..plain(None) };
        }
        // One that has been sent ahead of the queue must not hit what its target does next.
        let sent = self.sharing.as_ref().is_some_and(|sharing| sharing.kill == Some(true));
        let kill = parse_kill(sql, mode).filter(|_| !sent);
        let registry = &self.worker.shared.registry;
        if let Some(kill) = &kill
            && registry.kill_detached(kill.id, kill.target == KillTarget::Query, &self.identity.user)
        {
            return Asked { meaning: Meaning::Killed, ..plain(None) };
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
        Asked { meaning, local_infile: found.local_infile, noted: Some(noted), enters }
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
            let noted = Noted { charset: None, ..self.noted_of(&facts, sql) };
            return (Some(noted), schema_after(&facts, sql));
        }
        let found = Statement::classify(sql, mode, MULTI);
        self.follow(found.kind, sql);
        let noted = Noted { alters: Alters::of(&found, sql, mode), ..Noted::plain(found.kind) };
        if noted.alters == Alters::No {
            self.tally_plain(Plain { kind: found.kind, forgettable });
        }
        (Some(noted), None)
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
        (sharing.fresh, sharing.cache.passing) = (false, None);
        if let Some(text) = self.worker.learned.lock().texts.find(sql, mode) {
            (sharing.facts, sharing.read) = (None, text.doing.plain());
            (sharing.kind, sharing.alters) = (Some(text.kind), Alters::No);
            sharing.cache.passing.clone_from(&text.passing);
            let noted = Noted::plain(text.kind);
            let of = (&*self.worker, &*self.identity);
            self.tally.spot((sharing.at(), of), &mut text.spot, sql, mode);
            return Some(Known { local_infile: false, noted: Some(noted) });
        }
        self.tally_text(sql, mode);
        let facts = Facts::of(sql, mode, MULTI);
        let Classified { weir, local_infile, kinds, .. } = facts.classified;
        let noted = self.noted_of(&facts, sql);
        let plain = weir.is_none() && !kinds.contains(StatementKind::Kill);
        let sharing = self.sharing.as_mut()?;
        sharing.fresh = facts.fresh;
        (sharing.kind, sharing.alters) = (plain.then(|| facts.kind()), noted.alters);
        if plain && !Replay::is_likely(&facts, sql) {
            let doing = Doing::of_text(sql, facts.clone());
            if !facts.fresh {
                self.worker.learned.lock().texts.keep(&facts, &doing, mode);
            }
            (sharing.facts, sharing.read) = (None, Some(doing));
        } else {
            (sharing.facts, sharing.read) = (Some(facts), None);
        }
        plain.then_some(Known { local_infile, noted: Some(noted) })
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
        let (front, mode) = (&so_far[offset..], self.lex_mode());
        let found = Statement::classify(front, mode, false);
        self.forgettable = false;
        self.follow(StatementKind::Other, &[]);
        self.current.local_infile = found.local_infile;
        // Where a client may send several at once, what is not seen of it may be anything.
        let alters = match self.multi.may_be_on() {
            true => Alters::Yes,
            false => Alters::of(&found, front, mode),
        };
        self.current.noted = Some(Noted { alters, ..Noted::plain(StatementKind::Other) });
        if let Some(sharing) = &mut self.sharing {
            sharing.cache.wipes.clear();
        }
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
        let alters = Alters::of(&facts.classified, sql, self.lex_mode());
        Noted { kind: facts.kind(), charset, alters }
    }

    /// The kind of the command under way.
    pub(crate) fn current_kind(&self) -> StatementKind {
        self.current.noted.map_or(StatementKind::Other, |noted| noted.kind)
    }
}

impl Noted {
    /// Of a statement that changes neither character sets nor what names stand for.
    pub(crate) fn plain(kind: StatementKind) -> Self {
        Self { kind, charset: None, alters: Alters::No }
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
