//! KILL: ids mapped, and connections made to end what a vanished client left running.

use crate::prepared::Handled;
use crate::session::{Exit, Session};
use parking_lot::Mutex;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Context;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use weir_model::ServerFamily;
use weir_net::PacketStream;
use weir_pool::{ConnectError, LoginRequest, Place, ServerConnection, Slot, login_beside};
use weir_wire::caps;
use weir_wire::command::{self, PROCESS_KILL};
use weir_wire::frame::put_packet;
use weir_wire::packet::{ok_payload, status};

/// utf8mb4_general_ci.
const UTF8MB4: u8 = 45;

impl Session {
    /// COM_PROCESS_KILL of one of Weir's ids: with the server's id in its place, for the server checks that the killer may; or
    /// of a session that has no server connection. False: it is passed on as it stands.
    pub(crate) fn process_kill(
        &mut self,
        cx: &mut Context<'_>,
        payload: &[u8],
        len: usize,
    ) -> Result<bool, Exit> {
        let Some(id) = payload.get(1..).and_then(|body| body.first_chunk()) else { return Ok(false) };
        let id = u64::from(u32::from_le_bytes(*id));
        // MySQL has dropped the command, and says so.
        let known = self.server.family == ServerFamily::MariaDb;
        if self.has_killed() {
            self.killed(cx, PROCESS_KILL, len)?;
            return Ok(true);
        }
        let registry = &self.worker.shared.registry;
        if known && registry.kill_detached(id, false, &self.identity.user) {
            self.killed(cx, PROCESS_KILL, len)?;
            return Ok(true);
        }
        let Some(mapped) = registry.server_id(id, self.server.place) else { return Ok(false) };
        match self.share(cx, PROCESS_KILL, payload, len)? {
            Handled::Pass | Handled::Packet(_) => {
                let mut packet = Vec::new();
                put_packet(&mut packet, 0, &[&[PROCESS_KILL][..], &mapped.to_le_bytes()].concat());
                self.forward(cx, PROCESS_KILL, &packet)?;
            }
            Handled::Wait if known => self.kill_instead_of_waiting(format!("KILL {mapped}").as_bytes()),
            Handled::Wait | Handled::Done => {}
        }
        Ok(true)
    }

    /// Answers a KILL that Weir has carried out.
    pub(crate) fn killed(&mut self, cx: &mut Context<'_>, command: u8, len: usize) -> Result<(), Exit> {
        self.begin(command, command::shape(command));
        let mut out = Vec::new();
        put_packet(&mut out, 1, &ok_payload(self.walker.status() & status::OF_THE_SESSION));
        self.sharing_killed();
        self.answer(cx, command, len, &out)
    }

    /// A KILL is most urgent where no connection is free: it goes on one of its own.
    pub(crate) fn kill_instead_of_waiting(&mut self, sql: &[u8]) {
        if let Some(sharing) = &mut self.sharing
            && sharing.kill.is_none()
            && sharing.waiting.take().is_some()
        {
            self.exit = Some(Exit::Kill(sql.to_vec()));
        }
    }

    /// Whether the KILL at hand has been carried out ahead of the queue.
    pub(crate) fn has_killed(&mut self) -> bool {
        match &mut self.sharing {
            Some(sharing) if sharing.kill == Some(true) => sharing.kill.take().is_some(),
            _ => false,
        }
    }

    /// Sends the KILL at hand, which is taken again after that: to be answered, or, where the server has refused it, to wait as
    /// every statement does, for its error must be found where the client looks for it.
    pub(crate) async fn kill_ahead(&mut self, sql: &[u8]) {
        let sent = self.kill_in_time(sql).await;
        if let Some(sharing) = &mut self.sharing {
            sharing.kill = Some(matches!(sent, Sent::Taken));
        }
    }

    /// Kills this session's server connection through a connection of its own, logged in as the same user: an
    /// account may always kill its own. It stands beside the limit of the clients' connections (`limits.max_kills`
    /// bounds it), for what vanished clients left running may be what fills that. Gives up after
    /// `limits.server_connect_timeout`.
    pub(crate) async fn kill_own(&self) {
        let kill = format!("KILL {}", self.server.id);
        let why = match self.kill_in_time(kill.as_bytes()).await {
            // Whatever the server answers (1094: the statement ended by itself), there is nothing left to do.
            Sent::Taken | Sent::Refused => return,
            Sent::Not(why) | Sent::Unknown(why) => why,
        };
        tracing::warn!(event = "kill_failed", server_connection = self.server.id, %why,
            "could not end what a client left running; closing its connection");
    }

    /// Sends a KILL on a connection for that. Gives up after `limits.server_connect_timeout`.
    pub(crate) async fn kill_in_time(&self, sql: &[u8]) -> Sent {
        let under_way = AtomicBool::new(false);
        let sent = timeout(self.limits.server_connect_timeout, self.kill_beside(sql, &under_way)).await;
        let why = match sent {
            Ok(Ok(true)) => return Sent::Taken,
            Ok(Ok(false)) => return Sent::Refused,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no time left (limits.server_connect_timeout)".to_owned(),
        };
        // Who has waited for his turn, or for the login, has sent nothing.
        if under_way.into_inner() { Sent::Unknown(why) } else { Sent::Not(why) }
    }

    /// `under_way` says that the KILL may have left Weir.
    async fn kill_beside(&self, sql: &[u8], under_way: &AtomicBool) -> Result<bool, ConnectError> {
        let killers = &self.worker.killers;
        let _turn = killers.turn().await;
        // A burst of aborts is worked off by connections that are there already.
        while let Some(mut killer) = killers.take(&self.identity.user, self.server.place) {
            under_way.store(true, Ordering::Relaxed);
            if let Ok(taken) = killer.send(sql).await {
                self.worker.stats().kill_sent();
                killers.put(killer).await;
                return Ok(taken);
            }
        }
        let request = LoginRequest {
            user: self.identity.user.clone(),
            secret: self.secret.clone(),
            database: None,
            caps: caps::PROTOCOL_41 | caps::TRANSACTIONS,
            max_packet: 1 << 24,
            charset: UTF8MB4,
            attributes: None,
        };
        let connection =
            login_beside(&self.worker.shared.upstream, &request, Some(self.server.place)).await?;
        self.worker.stats().kill_sent();
        let mut killer = Killer::new(request.user, connection);
        under_way.store(true, Ordering::Relaxed);
        let sent = killer.send(sql).await;
        if sent.is_ok() {
            killers.put(killer).await;
        }
        Ok(sent.unwrap_or(false))
    }
}

/// How a KILL has fared.
#[derive(Debug)]
pub(crate) enum Sent {
    /// The server took it.
    Taken,
    /// The server has not taken it, or it has not said so.
    Refused,
    /// It has not left Weir, and will not. Says why.
    Not(String),
    /// Nobody knows whether the server has got it, or when it will. Says why.
    Unknown(String),
}

/// A connection that is there to kill others of its user.
#[derive(Debug)]
struct Killer {
    user: Vec<u8>,
    place: Place,
    packets: PacketStream,
    _slot: Slot,
}

impl Killer {
    fn new(user: Vec<u8>, mut connection: ServerConnection) -> Self {
        let packets = PacketStream::new(connection.stream.take(), connection.early, 1 << 16);
        Self { user, place: connection.place, packets, _slot: connection.slot }
    }

    async fn send(&mut self, sql: &[u8]) -> io::Result<bool> {
        self.packets.set_seq(0);
        self.packets.write(&[&[command::QUERY][..], sql].concat()).await?;
        let answer = self.packets.read().await.map_err(io::Error::other)?;
        Ok(answer.first() != Some(&0xFF))
    }

    async fn quit(self) {
        crate::close::quit_server(&mut self.packets.into_parts().0).await;
    }
}

/// Connections of one worker that kill, as many as `limits.max_kills` at once. They stay while others wait to kill, and no longer.
#[derive(Debug)]
pub(crate) struct Killers {
    turns: Semaphore,
    waiting: AtomicUsize,
    idle: Mutex<Vec<Killer>>,
}

impl Killers {
    pub fn new(at_once: u32) -> Self {
        Self {
            turns: Semaphore::new(at_once.max(1) as usize),
            waiting: AtomicUsize::new(0),
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Waits for the right to kill.
    async fn turn(&self) -> Turn<'_> {
        let _waits = Waits::new(&self.waiting);
        Turn { killers: self, _permit: self.turns.acquire().await.ok() }
    }

    fn take(&self, user: &[u8], place: Place) -> Option<Killer> {
        let mut idle = self.idle.lock();
        let at = idle.iter().position(|killer| killer.user == user && killer.place == place)?;
        Some(idle.swap_remove(at))
    }

    /// Keeps a killer for the next, or ends it and all others if nobody waits.
    async fn put(&self, killer: Killer) {
        self.idle.lock().push(killer);
        if self.waiting.load(Ordering::Relaxed) > 0 {
            return;
        }
        let unwanted = std::mem::take(&mut *self.idle.lock());
        for killer in unwanted {
            killer.quit().await;
        }
    }
}

/// The right to kill.
struct Turn<'a> {
    killers: &'a Killers,
    _permit: Option<SemaphorePermit<'a>>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Whoever ends early, by an error or out of time, leaves no connection behind that nobody will use.
        if self.killers.waiting.load(Ordering::Relaxed) == 0 {
            for killer in self.killers.idle.lock().drain(..) {
                crate::close::quit_at_once(&mut killer.packets.into_parts().0);
            }
        }
    }
}

/// Counts one who waits, until dropped.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
