//! Step 11 for a session that shares connections: when its connection goes, and where to.

use crate::link::Link;
use crate::registry::Handle;
use crate::session::{Exit, Phase, Session};
use crate::sharing::Sharing;
use std::sync::Arc;
use std::time::Instant;
use weir_model::CloseReason;
use weir_session::{PinReason, PinSet, Reads, ServerStatements, Variable};
use weir_wire::command as com;
use weir_wire::packet::ErrPacket;

impl Session {
    /// Between two commands: gives the connection back, if nothing keeps it. What must be read from it before is said as
    /// an exit.
    pub(crate) fn release(&mut self) -> Result<(), Exit> {
        let Some(sharing) = &mut self.sharing else { return Ok(()) };
        if self.phase != Phase::Idle || self.closing.is_some() || sharing.fit || !self.to_server.is_empty() {
            return Ok(());
        }
        if self.has_done_filling() {
            return Err(Exit::Settle);
        }
        let Some(sharing) = &mut self.sharing else { return Ok(()) };
        let releasable = sharing.is_releasable();
        let Some(lease) = &mut sharing.lease else { return Ok(()) };
        if !releasable {
            const OWN: PinSet = PinSet::of(&[PinReason::SessionMode, PinReason::StateUnknown]);
            if sharing.pins.why().contains(PinReason::SessionMode) {
                // A connection of its own: nobody else asks for it, and it does not count among the pinned. Only a session whose
                // state is known is served from the cache.
                self.entry.handle.live.pinned(sharing.pins.why(), self.began, None);
                let unknown = !sharing.wanted.is_known() && sharing.pins.why().without(OWN).is_empty();
                return if unknown { Err(Exit::Settle) } else { Ok(()) };
            }
            lease.pin();
            let why = sharing.pins.why();
            if why != sharing.counted {
                let new = why.without(sharing.counted);
                self.worker.shared.pins.count(new);
                self.tally.pinned(new);
                sharing.counted = why;
                let (at, slot) = (self.current.ended, self.tally.slot());
                sharing.kept.becomes(why, at, slot);
                self.entry.handle.live.pinned(why, at, slot);
            }
            let courteous = sharing.is_courteous();
            if courteous && self.entry.handle.take_asked() {
                sharing.unclean |= sharing.leftovers.has_diagnostics();
                sharing.pins.hold(PinSet::EMPTY);
            } else {
                if courteous && !std::mem::replace(&mut sharing.offered, true) {
                    self.worker.shared.registry.offer(&self.entry.handle);
                }
                return Ok(());
            }
        }
        if sharing.must_read_back() || self.server.stream.is_awaited() {
            return Err(Exit::Settle);
        }
        // Without another look at the clock where nothing has kept it.
        self.give_back(if releasable { self.current.ended } else { Instant::now() });
        Ok(())
    }

    /// After everything was read back.
    pub(crate) fn give_back_if_free(&mut self) {
        if self.sharing.as_ref().is_some_and(|s| s.is_releasable() && !s.must_read_back()) {
            self.give_back(Instant::now());
        }
    }

    /// Gives the connection back to the pool; one that is not fit for others is closed.
    /// `now` may be when it was last read from.
    pub(crate) fn give_back(&mut self, now: Instant) {
        let sound = self.is_sound();
        let Some(sharing) = &mut self.sharing else { return };
        let Some(lease) = sharing.lease.take() else { return };
        let killed = self.entry.handle.detach();
        sharing.is_free(&self.entry.handle);
        let mut link = sharing.link.take().unwrap_or_else(|| {
            let (away, state) = (Box::new(self.server.away()), sharing.wanted.clone());
            Box::new(Link::of(away, &sharing.key.user, state, self.worker.index(), now))
        });
        self.server.stays_in(&mut link.server);
        std::mem::swap(&mut self.server, &mut link.server);
        std::mem::swap(&mut sharing.prepared, &mut link.prepared);
        link.becomes(&sharing.wanted);
        link.insert_id = sharing.insert_id_there;
        link.used_by = sharing.used_by.and(self.entry.handle.id());
        (link.born, link.worker, link.since) = (lease.born, self.worker.index(), now);
        if !Arc::ptr_eq(&link.user, &sharing.key.user) && link.user != sharing.key.user {
            link.user = Arc::clone(&sharing.key.user);
        }
        let movable = link.server.stream.park();
        if !sound || killed || !movable || !self.worker.shared.upstream.is_current(link.server.place) {
            self.worker.close_link(*link, lease);
            return;
        }
        let until = link.until(&self.worker.shared.settings.load().pool, now);
        if let Some(unwanted) = lease.give_back(&sharing.key, link, now, until) {
            self.worker.close_server(unwanted.server);
        }
    }

    /// Whether nothing is under way on the connection and nothing of it is held.
    fn is_sound(&self) -> bool {
        self.phase == Phase::Idle
            && self.to_server.is_empty()
            && self.server.held.is_empty()
            && !self.server.owes
            && self.walker.at_boundary()
            && !self.ruled.may_be_killed()
            && self.sharing.as_ref().is_some_and(|s| s.wanted.is_known() && s.actual.is_none())
    }

    /// The connection is of no more use.
    pub(crate) fn drop_link(&mut self) {
        let Some(sharing) = &mut self.sharing else { return };
        (sharing.actual, sharing.fit, sharing.switched) = (None, false, false);
        if std::mem::take(&mut sharing.offered) {
            self.worker.shared.registry.withdraw(self.entry.handle.id());
            self.entry.handle.take_asked();
        }
        // A KILL that is still on its way meets nothing of the session.
        self.ruled.over();
        self.ruled.stray = None;
        if let Some(lease) = sharing.lease.take() {
            self.entry.handle.detach();
            sharing.is_free(&self.entry.handle);
            let away = match sharing.link.take() {
                Some(mut link) => {
                    self.server.stays_in(&mut link.server);
                    link.server
                }
                None => Box::new(self.server.away()),
            };
            *sharing.prepared = ServerStatements::nowhere();
            let server = std::mem::replace(&mut self.server, away);
            self.worker.close_server(server);
            drop(lease);
        }
    }

    /// The command at hand cannot be run: a connection that was attached for it goes again.
    pub(crate) fn leave_unfit(&mut self) {
        if self.sharing.as_ref().is_some_and(|sharing| sharing.actual.is_some()) {
            self.drop_link();
        }
    }

    /// The command at hand has failed on the attached connection before it was sent.
    pub(crate) fn failed_here(&mut self) {
        let server = self.server_kind();
        if let Some(sharing) = &mut self.sharing {
            sharing.actual = None;
            sharing.leftovers.after_command(com::SLEEP, false, server);
            sharing.pins.hold(sharing.leftovers.holds(server));
        }
    }

    /// The command at hand is answered with this error when it is taken again.
    pub(crate) fn refuse_next(&mut self, err: ErrPacket) {
        if let Some(sharing) = &mut self.sharing {
            sharing.refusal = Some(err);
        }
    }

    /// The session ends: its connection goes back if it is as good as new, and is closed if not.
    pub(crate) fn leave(&mut self, reason: CloseReason) {
        let Some(sharing) = &mut self.sharing else { return };
        if sharing.offered {
            self.worker.shared.registry.withdraw(self.entry.handle.id());
        }
        if !sharing.statements.is_empty() {
            sharing.statements.clear();
            self.worker.shared.statements.client_gone();
        }
        let kept = sharing.pins.why().without(PinReason::SessionMode.into());
        let clean = kept.is_empty() && sharing.rebase.is_none() && !sharing.must_clean();
        if is_about_client(reason) && sharing.is_attached() && clean {
            sharing.prepared.close_all_left();
            self.give_back(Instant::now());
        } else {
            self.drop_link();
        }
    }
}

/// Whether a session that ends for this reason has done nothing at the server that is not known to be over.
fn is_about_client(reason: CloseReason) -> bool {
    use CloseReason as R;
    matches!(
        reason,
        R::Quit | R::ClientGone | R::ClientIo | R::ClientProtocol | R::IdleTimeout | R::Draining | R::Denied
    )
}

impl Sharing {
    /// Whether nothing but what can be read back keeps the connection.
    pub fn is_releasable(&self) -> bool {
        self.rebase.is_some() || self.pins.why().without(self.readable()).is_empty()
    }

    /// The reasons that end when what only the connection knows is read back.
    fn readable(&self) -> PinSet {
        let state = PinSet::of(&[PinReason::StateUnknown]);
        if self.unread.can_be_read() { state.union(PinReason::UserVariable.into()) } else { state }
    }

    /// Whether it has user variables whose values are not known, and may be.
    pub fn has_unread(&self) -> bool {
        self.pins.why().contains(PinReason::UserVariable) && self.unread.can_be_read()
    }

    /// Whether something is on the connection that no other can be given, a user variable that could not be read back say.
    pub fn keeps_more_than_state(&self) -> bool {
        const STATE: PinSet = PinSet::of(&[
            PinReason::SessionMode,
            PinReason::StateUnknown,
            PinReason::FoundRows,
            PinReason::RowCount,
            PinReason::Warnings,
        ]);
        !self.pins.why().without(STATE).is_empty()
    }

    /// Whether it keeps the connection only for what its next statement might ask of the last.
    pub fn is_courteous(&self) -> bool {
        const COURTESY: PinSet =
            PinSet::of(&[PinReason::FoundRows, PinReason::RowCount, PinReason::Warnings]);
        self.pins.why().without(COURTESY.union(self.readable())).is_empty()
    }

    /// Whether the session can go on if the attached connection ends: what it keeps there is given away to others who wait, too.
    pub fn can_do_without(&self) -> bool {
        self.is_attached()
            && self.is_courteous()
            && self.wanted.is_known()
            && self.rebase.is_none()
            && !self.has_unread()
            && self.leftovers.owes().minus(Reads::FOUND_ROWS).is_none()
    }

    /// Whether another connection can take the place of the attached one, and nothing of the session is lost. An id that only
    /// the attached one knows would be: another's would be read in its place.
    pub fn is_replaceable(&self) -> bool {
        const MOVES: PinSet =
            PinSet::of(&[PinReason::SessionMode, PinReason::FoundRows, PinReason::RowCount]);
        self.wanted.is_known()
            && self.pins.why().without(MOVES).is_empty()
            && self.leftovers.owes() == Reads::NONE
    }

    /// It has no connection any more that it could keep.
    fn is_free(&mut self, handle: &Handle) {
        if !self.counted.is_empty() {
            self.counted = PinSet::EMPTY;
            self.kept.becomes(PinSet::EMPTY, Instant::now(), None);
            handle.live.unpinned();
        }
    }

    pub fn must_read_back(&self) -> bool {
        self.rebase.is_some()
            || !self.wanted.is_known()
            || self.leftovers.owes() != Reads::NONE
            || self.has_unread()
            || self.must_clean()
    }

    /// Whether the connection has an error or a warning that others must not see, and which nothing keeps there.
    pub fn must_clean(&self) -> bool {
        self.unclean || (self.leftovers.warns_anew() && self.foreign_parts.has_own_diagnostics())
    }

    /// Sets or ends what the session's state keeps it for.
    pub fn level_state(&mut self) {
        self.pins.level(PinReason::StateUnknown, !self.wanted.is_known());
        if self.doing.with(|statement| !statement.effects.is_empty()) {
            self.keep_for_null_ids();
        }
    }

    /// With sql_auto_is_null a read of `id IS NULL` finds the row that its connection has inserted last, and no SET makes another's so.
    pub fn keep_for_null_ids(&mut self) {
        if self.wanted.get(Variable::SQL_AUTO_IS_NULL).flatten() == Some(b"ON") {
            self.pins.add(PinReason::UntrackedVariable.into());
        }
    }
}
