//! KILL: ids mapped, and connections made to end what a vanished client left running.

use crate::prepared::Handled;
use crate::session::{Exit, Session};
use parking_lot::Mutex;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
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
        let registry = &self.worker.shared.registry;
        // MySQL has dropped the command, and says so.
        let known = self.server.family == ServerFamily::MariaDb;
        if known && registry.kill_detached(id, false, &self.identity.user) {
            self.killed(cx, PROCESS_KILL, len)?;
            return Ok(true);
        }
        let Some(mapped) = registry.server_id(id, self.server.place) else { return Ok(false) };
        if let Handled::Pass | Handled::Packet(_) = self.share(cx, PROCESS_KILL, payload, len)? {
            let mut packet = Vec::new();
            put_packet(&mut packet, 0, &[&[PROCESS_KILL][..], &mapped.to_le_bytes()].concat());
            self.forward(cx, PROCESS_KILL, &packet)?;
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

    /// Kills this session's server connection through a connection of its own, logged in as the same user: an
    /// account may always kill its own. It stands beside the limit of the clients' connections (`limits.max_kills`
    /// bounds it), for what vanished clients left running may be what fills that. Gives up after
    /// `limits.server_connect_timeout`.
    pub(crate) async fn kill_own(&self) {
        let killed = timeout(self.limits.server_connect_timeout, self.kill_beside()).await;
        let why = match killed {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no time left (limits.server_connect_timeout)".to_owned(),
        };
        tracing::warn!(event = "kill_failed", server_connection = self.server.id, %why,
            "could not end what a client left running; closing its connection");
    }

    async fn kill_beside(&self) -> Result<(), ConnectError> {
        let killers = &self.worker.killers;
        let _turn = killers.turn().await;
        // A burst of aborts is worked off by connections that are there already.
        while let Some(mut killer) = killers.take(&self.identity.user, self.server.place) {
            if killer.kill(self.server.id).await.is_ok() {
                self.worker.stats().kill_sent();
                killers.put(killer).await;
                return Ok(());
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
        // Whatever the server answers (1094: the statement ended by itself), there is nothing left to do.
        if killer.kill(self.server.id).await.is_ok() {
            killers.put(killer).await;
        }
        Ok(())
    }
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

    async fn kill(&mut self, id: u32) -> io::Result<()> {
        let mut payload = vec![command::QUERY];
        payload.extend_from_slice(format!("KILL {id}").as_bytes());
        self.packets.set_seq(0);
        self.packets.write(&payload).await?;
        self.packets.read().await.map(|_| ()).map_err(io::Error::other)
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
