//! A session: one client, its server connection, and where the two are in their conversation.
//!
//! Two pumps move bytes: `up.rs` from the client to the server, `down.rs` back. Both are called until neither
//! can move; what they may do follows from the phase:
//!
//! ```text
//!            whole request                     answer complete
//!   Idle ---------------------> Answer -----------------------------> Idle
//!    |  first part   rest sent   ^ |  ^                                ^
//!    +-----> Request ------------+ |  +-- empty packet -- LocalInfile  |
//!    |                             +---- file asked for ------^        |
//!    +-----> Binlog (both ways, until the stream ends) ----------------+
//!    +-----> Dropped (what has no answer and goes no further) ---------+
//! ```

use crate::analyse::MultiStatements;
use crate::attach::{attach, stopped};
use crate::backend::Backend;
use crate::change_user::change_user;
use crate::down::SERVER_LOST;
use crate::followed::Followed;
use crate::live::Birth;
use crate::login::{Identity, LoggedIn};
use crate::long::Room;
use crate::observe;
use crate::open::Opened;
use crate::overtime::Ending;
use crate::registry::{Entry, Registry};
use crate::ruled::Ruled;
use crate::settings::Settings;
use crate::settle::settle;
use crate::shared::ClientCount;
use crate::sharing::Sharing;
use crate::spare::{can_serve_another, keep};
use crate::statements::Statements;
use crate::tally::Tally;
use crate::turn::{Share, Turn, give_way};
use crate::unsent::Unsent;
use crate::vanish::vanish;
use crate::watchdog::Watchdog;
use crate::worker::Worker;
use crate::writes::Alters;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::time::Sleep;
use weir_auth::Secret;
use weir_model::{CloseReason, Limits, ServerFamily};
use weir_net::Stream;
use weir_sql::{CharsetClass, LexMode, StatementKind};
use weir_wire::caps::Caps;
use weir_wire::command::Shape;
use weir_wire::greeting::Nonce;
use weir_wire::packet::{ErrPacket, status};
use weir_wire::request::Span;
use weir_wire::response::Walker;

/// Where the conversation is. `up.rs` and `down.rs` move it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Between commands.
    Idle,
    /// A request too long to hold is being passed on.
    Request(Span),
    /// The request is with the server; its answer is due or under way.
    Answer,
    /// The server has asked for a local file, and the client sends it.
    LocalInfile(Span),
    /// The connection streams the binary log.
    Binlog,
    /// The rest of a request that has no answer is read, and goes no further.
    Dropped(Span),
}

impl Phase {
    /// Nothing of a command is with the server.
    pub fn asks_nothing(self) -> bool {
        matches!(self, Phase::Idle | Phase::Dropped(_))
    }
}

/// What the pumps cannot do themselves.
#[derive(Debug)]
pub(crate) enum Exit {
    /// The session is over.
    Close(CloseReason),
    /// The session is over, and the client is told why.
    Tell(CloseReason, ErrPacket),
    /// The same, and what it is told waits for it already.
    Told(CloseReason),
    /// The client asks for COM_CHANGE_USER; the payload without its command byte.
    ChangeUser(Vec<u8>),
    /// The client is gone while a request is under way.
    Vanished,
    /// The command at hand needs a server connection, or more of the one there is.
    Attach,
    /// The server connection is asked for what only it knows, before it is given back.
    Settle,
    /// The command at hand is this KILL, and no connection is free for it.
    Kill(Vec<u8>),
    /// The statement under way has run longer than its rule allows.
    Overtime,
    /// The statement under way is to end: an operator says so.
    Interrupt,
    /// So is the session, and its connection runs a statement.
    EndAtServer,
    /// A KILL of the last statement may still be on its way.
    Absorb(Ending),
}

/// The command under way.
#[derive(Debug)]
pub(crate) struct Current {
    pub command: u8,
    /// What its answer looks like.
    pub shape: Shape,
    /// What is known of a statement.
    pub noted: Option<Noted>,
    /// The text holds LOAD DATA LOCAL, so the server may ask for a file.
    pub local_infile: bool,
    /// The session was in a transaction before this command.
    pub in_transaction: bool,
    pub started: Instant,
    /// When its answer was complete; the same as `started` until then.
    pub ended: Instant,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

/// What Weir has to know of a statement when it runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noted {
    pub kind: StatementKind,
    /// What it makes of the client's character set if it succeeds.
    pub charset: Option<CharsetClass>,
    pub alters: Alters,
}

pub(crate) struct Session {
    pub worker: Arc<Worker>,
    pub client: Stream,
    pub server: Box<Backend>,
    /// Present where the session shares server connections.
    pub sharing: Option<Box<Sharing>>,
    pub phase: Phase,
    pub walker: Walker,
    /// Present where the client's link is compressed: the sequence id that its next packet gets. Such clients number
    /// packets by frames, and a server at the end of a plain link counts (error 1156).
    pub up_seq: Option<u8>,
    /// Read from the client, not yet passed on; what a pipelining client sent ahead.
    pub held_up: Vec<u8>,
    /// `held_up` does not hold a request that can be judged: read more first.
    pub starved: bool,
    /// The request at the front is longer than one read, and held until all of it is there.
    pub long: Option<Room>,
    /// One that was taken, and is not all with the server.
    pub long_sent: Option<Room>,
    pub to_server: Unsent,
    pub to_client: Unsent,
    pub share: Share,
    pub current: Current,
    /// What the operator's rules have to do with it.
    pub ruled: Ruled,
    /// What is kept of the client's prepared statements.
    pub statements: Statements,
    /// What is counted of its statements' digests.
    pub tally: Tally,
    /// Its state, where it has a connection of its own and nobody else follows it.
    pub followed: Followed,
    pub limits: Arc<Limits>,
    pub watchdog: Watchdog,
    pub identity: Arc<Identity>,
    pub secret: Secret,
    /// Flags agreed with the client.
    pub client_caps: Caps,
    /// A text may hold several statements, as the login or COM_SET_OPTION has asked for.
    pub multi: MultiStatements,
    pub charset: CharsetClass,
    /// The collation of the login, for connections that are opened for the session.
    pub charset_id: u8,
    /// What COM_RESET_CONNECTION restores.
    pub login_charset: CharsetClass,
    pub client_nonce: Nonce,
    pub entry: Entry,
    pub commands: u64,
    /// A command was taken and waits, or is being looked at: what is said now answers it.
    pub has_command: bool,
    /// How many bytes of it stand at the front of `held_up`.
    pub command_bytes: usize,
    /// What the command just taken asks for and the pumps cannot do.
    pub exit: Option<Exit>,
    /// So far it did nothing that outlives COM_RESET_CONNECTION and COM_CHANGE_USER on any server.
    pub forgettable: bool,
    /// The session ends when the client has taken what waits for it.
    pub closing: Option<CloseReason>,
    pub peer: Option<SocketAddr>,
    pub began: Instant,
    /// How many orders to end the session have been sent to the server.
    pub ends_carried_out: u32,
    /// Until when its end at the server is awaited then.
    pub end_due: Option<Pin<Box<Sleep>>>,
    _count: ClientCount,
}

impl Session {
    /// A session for a client that has just logged in.
    pub fn new(
        worker: &Arc<Worker>,
        settings: &Settings,
        logged_in: LoggedIn,
        peer: Option<SocketAddr>,
    ) -> Box<Session> {
        let LoggedIn { client, early, id, nonce, caps, charset, identity, secret, opened, count, schema } =
            logged_in;
        let Opened { server, status, sharing, .. } = opened;
        let (tls, own) = (client.tls_version(), sharing.is_none());
        let birth = Birth { peer, tls, worker: worker.index(), own };
        let entry = Registry::enter(&worker.shared, id, &identity, (server.id, server.place), birth);
        if sharing.as_ref().is_some_and(|sharing| !sharing.is_attached()) {
            entry.handle.detach();
        }
        let digests = worker.shared.digests.as_ref();
        let tally = Tally::new(digests.map_or(0, |digests| digests.nanos(entry.handle.live.began())));
        let now = Instant::now();
        observe::logged_in(&identity.user, id, server.id, peer, &client);
        let up_seq = client.compression().map(|_| 0);
        let mut walker = Walker::new(server.caps, status);
        if sharing.is_some() {
            walker.watch_changes();
        }
        let forgettable = own && !settings.pool.reuse_timeout.is_zero() && can_serve_another(&server);
        let login_charset = CharsetClass::from_collation_id(u16::from(charset));
        Box::new(Session {
            worker: Arc::clone(worker),
            client,
            server: Box::new(server),
            sharing,
            phase: Phase::Idle,
            walker,
            up_seq,
            starved: early.is_empty(),
            held_up: early,
            long: None,
            long_sent: None,
            to_server: Unsent::default(),
            to_client: Unsent::default(),
            share: Share::default(),
            current: Current::none(now),
            ruled: Ruled::new(schema),
            statements: Statements::default(),
            tally,
            followed: Followed::default(),
            limits: Arc::clone(&settings.limits),
            watchdog: Watchdog::default(),
            identity,
            secret,
            client_caps: caps,
            multi: MultiStatements::of_login(caps),
            charset: login_charset,
            charset_id: charset,
            login_charset,
            client_nonce: nonce,
            entry,
            commands: 0,
            has_command: false,
            command_bytes: 0,
            exit: None,
            forgettable,
            closing: None,
            peer,
            began: now,
            ends_carried_out: 0,
            end_due: None,
            _count: count,
        })
    }

    /// Runs the conversation to its end.
    pub async fn run(mut session: Box<Session>, peer: Option<SocketAddr>) -> CloseReason {
        let mut registered = false;
        session.live_logged_in();
        // What has to be done before that is found out below.
        let _ = session.release();
        let reason = loop {
            let turn = poll_fn(|cx| {
                if !registered {
                    session.entry.handle.register(cx);
                    registered = true;
                }
                session.poll(cx)
            });
            match turn.await {
                Exit::ChangeUser(body) => {
                    if let Err(reason) = Box::pin(change_user(&mut session, body)).await {
                        break reason;
                    }
                }
                Exit::Attach => {
                    if let Err(exit) = Box::pin(attach(&mut session)).await {
                        break session.end(exit).await;
                    }
                }
                Exit::Settle => match Box::pin(settle(&mut session)).await {
                    Ok(()) => session.give_back_if_free(),
                    Err(exit) => break session.end(exit).await,
                },
                Exit::Kill(sql) => Box::pin(session.kill_ahead(&sql)).await,
                Exit::Overtime => Box::pin(session.end_statement()).await,
                Exit::Interrupt => Box::pin(session.interrupt()).await,
                Exit::EndAtServer => {
                    if let Err(exit) = Box::pin(session.end_at_server()).await {
                        break session.end(exit).await;
                    }
                }
                Exit::Absorb(ending) => {
                    if let Err(exit) = Box::pin(session.absorb(ending)).await {
                        break session.end(exit).await;
                    }
                }
                Exit::Vanished => break Box::pin(vanish(&mut session)).await,
                exit @ (Exit::Tell(..) | Exit::Told(_) | Exit::Close(_)) => break session.end(exit).await,
            }
        };
        session.changed_unknown();
        let reason = session.end_reason(reason);
        observe::closed(&session, peer, reason);
        if session.sharing.is_some() {
            session.leave(reason);
            return reason;
        }
        if reason == CloseReason::Quit && session.phase == Phase::Idle && session.is_reusable() {
            session.leave_for_another().await;
            return reason;
        }
        if reason != CloseReason::Quit && !session.server_is_gone(reason) {
            crate::close::quit_server(&mut session.server.stream).await;
        }
        reason
    }

    /// Whether another client may be given the connection when this one leaves now.
    pub fn is_reusable(&self) -> bool {
        self.forgettable
            && !self.walker.in_transaction()
            && self.walker.at_boundary()
            && self.to_server.is_empty()
            && self.server.held.is_empty()
    }

    async fn leave_for_another(&mut self) {
        let away = Box::new(self.server.away());
        let server = std::mem::replace(&mut self.server, away);
        // Whoever was told its id to kill it means this session.
        if self.entry.handle.detach() {
            self.worker.close_server(server);
        } else {
            keep(&self.worker, *server).await;
        }
    }

    /// Tells the client what it is to be told, and says why the session ends.
    async fn end(&mut self, exit: Exit) -> CloseReason {
        // Before its client hears of it.
        self.changed_unknown();
        match exit {
            Exit::Tell(reason, err) => {
                Box::pin(self.tell(&err)).await;
                if reason == CloseReason::ServerTimeout {
                    Box::pin(self.kill_own()).await;
                }
                reason
            }
            Exit::Told(reason) => {
                let bytes = self.to_client.take();
                Box::pin(crate::close::last_words(self.client.take(), &bytes)).await;
                reason
            }
            Exit::Close(reason) => reason,
            Exit::ChangeUser(_) | Exit::Vanished | Exit::Attach | Exit::Settle | Exit::Kill(_) => {
                CloseReason::ClientGone
            }
            Exit::Overtime | Exit::Absorb(_) | Exit::Interrupt | Exit::EndAtServer => CloseReason::ClientGone,
        }
    }

    fn server_is_gone(&self, reason: CloseReason) -> bool {
        matches!(reason, CloseReason::ServerGone | CloseReason::ServerIo | CloseReason::ServerProtocol)
            || self.phase != Phase::Idle
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        self.share.begin();
        loop {
            // The server's side first: a connection that the server has closed must not be given one more request,
            // of which nobody could say what became.
            let turns = self.poll_down(cx).and_then(|down| {
                if let Some(exit) = self.ordered_between(cx) {
                    return Err(exit);
                }
                if let Some(ending) = self.ruled.stray {
                    return Err(Exit::Absorb(ending));
                }
                self.release()?;
                Ok((down, self.poll_up(cx)?))
            });
            match turns {
                Err(exit) => return Poll::Ready(exit),
                Ok((Turn::Blocked, Turn::Blocked)) => break,
                Ok(_) if self.share.is_used_up() => {
                    give_way(cx);
                    break;
                }
                Ok(_) => {}
            }
        }
        if let Some(reason) = self.closing
            && self.to_client.is_empty()
        {
            return Poll::Ready(Exit::Close(reason));
        }
        if let Some(exit) = self.ordered(cx) {
            return Poll::Ready(exit);
        }
        if self.is_queued() && !self.is_in_line() && !self.is_in_flight() && stopped(self).is_some() {
            // The client is told there.
            return Poll::Ready(Exit::Attach);
        }
        if self.entry.handle.was_killed() {
            return Poll::Ready(Exit::Close(CloseReason::ServerGone));
        }
        if self.entry.handle.ended() {
            return Poll::Ready(self.shut_down());
        }
        if self.worker.shared.draining() && self.is_idle() {
            return Poll::Ready(self.shut_down());
        }
        if let Poll::Ready(exit) = self.poll_overtime(cx) {
            return Poll::Ready(exit);
        }
        self.poll_watchdog(cx)
    }

    /// Whether nothing is under way and no transaction is open.
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
            && !self.walker.in_transaction()
            && self.to_client.is_empty()
            && !self.is_queued()
            && self.long.is_none()
    }

    pub(crate) fn shut_down(&self) -> Exit {
        if !self.phase.asks_nothing() && !self.has_behind() {
            let text = "Lost connection to MySQL server during query (weir is stopping; whether the statement took effect is not known)";
            return Exit::Tell(CloseReason::Draining, ErrPacket::new(SERVER_LOST, b"08S01", text));
        }
        let text = match self.has_command && !self.has_behind() {
            true => "Server shutdown in progress (weir is stopping; the statement did not run)",
            false => "Server shutdown in progress (weir is stopping)",
        };
        let err = ErrPacket::new(1053, b"08S01", text);
        Exit::Tell(CloseReason::Draining, err)
    }

    /// How the server splits a statement of this session into tokens.
    pub fn lex_mode(&self) -> LexMode {
        let (flags, family) = (self.walker.status(), self.server.family);
        LexMode {
            family,
            server_version: self.server.version,
            ansi_quotes: family == ServerFamily::MariaDb && flags & status::ANSI_QUOTES != 0,
            no_backslash_escapes: flags & status::NO_BACKSLASH_ESCAPES != 0,
            charset: self.charset,
        }
    }
}

impl Current {
    fn none(now: Instant) -> Self {
        Self {
            command: 0,
            shape: Shape::Single,
            noted: None,
            local_infile: false,
            in_transaction: false,
            started: now,
            ended: now,
            bytes_in: 0,
            bytes_out: 0,
        }
    }
}
