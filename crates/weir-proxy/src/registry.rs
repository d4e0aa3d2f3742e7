//! All sessions by Weir's id: to map KILL, and to wake sessions that must end.

use crate::live::{Birth, Live, SessionSeen};
use crate::login::Identity;
use crate::orders::Orders;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use weir_pool::Place;

/// Weir's ids have bit 30 set and none above it, so that they are told from the server's ids, which count up from 1, and
/// are positive for drivers that read them as signed.
const ID_BIT: u32 = 0x4000_0000;

/// How long a client may take to ask for what its last statement left, before the connection that holds it is given to
/// those who wait. A driver asks for warnings or ROW_COUNT() at once.
const COURTESY: Duration = Duration::from_secs(1);

/// Sessions by Weir's id.
#[derive(Debug, Default)]
pub struct Registry {
    next: AtomicU32,
    sessions: Mutex<HashMap<u32, Arc<Handle>>>,
    /// Sessions that keep a connection for what their next statement might ask of the last.
    courteous: Mutex<BTreeMap<u32, (Instant, Arc<Handle>)>>,
}

/// What others may see and do of a session.
#[derive(Debug)]
pub struct Handle {
    id: u32,
    /// The session's server connection, while it has one.
    attached: Mutex<Option<Attached>>,
    /// Others need a connection, and this session keeps one that it could do without.
    asked: AtomicBool,
    ended: AtomicBool,
    killed: AtomicBool,
    /// Who is logged in.
    user: Mutex<Arc<Identity>>,
    waker: Mutex<Option<Waker>>,
    /// What is told of it.
    pub(crate) live: Live,
    pub(crate) orders: Orders,
}

/// A server connection that a session has now.
#[derive(Debug, Clone, Copy)]
struct Attached {
    /// The server's id of it, and the server it is with.
    server_id: u32,
    place: Place,
    /// Somebody was told its id to kill it, or a KILL of Weir's own is on its way: nobody else may get it.
    killed: bool,
}

impl Registry {
    /// An id for a new client. It is in use from the greeting on, before there is a session.
    pub fn next_id(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed) & (ID_BIT - 1) | ID_BIT
    }

    /// Enters a session; dropping the guard takes it out.
    pub(crate) fn enter(
        shared: &Arc<crate::Shared>,
        id: u32,
        user: &Arc<Identity>,
        (server_id, place): (u32, Place),
        birth: Birth,
    ) -> Entry {
        let handle = Arc::new(Handle {
            id,
            attached: Mutex::new(Some(Attached { server_id, place, killed: false })),
            asked: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            killed: AtomicBool::new(false),
            user: Mutex::new(Arc::clone(user)),
            waker: Mutex::new(None),
            live: Live::new(birth),
            orders: Orders::default(),
        });
        handle.live.connected(server_id);
        shared.registry.sessions.lock().insert(id, Arc::clone(&handle));
        Entry { handle, shared: Arc::clone(shared) }
    }

    /// The server's id for one of Weir's, for a killer whose connection is with the server of `place`. `None` for an
    /// id that Weir has not given to a session it still has there: the server then judges the number as it stands,
    /// and knows none so large.
    pub(crate) fn server_id(&self, id: u64, place: Place) -> Option<u32> {
        let id = u32::try_from(id).ok().filter(|id| id & ID_BIT != 0)?;
        let sessions = self.sessions.lock();
        let mut attached = sessions.get(&id)?.attached.lock();
        let attached = attached.as_mut().filter(|attached| attached.place == place)?;
        attached.killed = true;
        Some(attached.server_id)
    }

    /// Ends the session of this id, or (`query`) the statement of it that waits in Weir, if it is this user's and a KILL of it has
    /// nothing to meet at the server.
    pub(crate) fn kill_detached(&self, id: u64, query: bool, user: &[u8]) -> bool {
        let Some(handle) = u32::try_from(id).ok().and_then(|id| self.find(id)) else { return false };
        let (state, command) = handle.live.state();
        let detached = handle.attached.lock().is_none() || (query && state.waits());
        if !detached || handle.user.lock().user != user {
            return false;
        }
        if !query {
            handle.killed.store(true, Ordering::SeqCst);
        } else if state.waits() {
            handle.orders.end_command(command);
        }
        handle.wake();
        true
    }

    /// Remembers a session that keeps a connection only for what its next statement might ask.
    pub(crate) fn offer(&self, handle: &Arc<Handle>) {
        self.courteous.lock().insert(handle.id, (Instant::now(), Arc::clone(handle)));
    }

    /// The session has a better reason now, or none.
    pub(crate) fn withdraw(&self, id: u32) {
        self.courteous.lock().remove(&id);
    }

    /// Asks one of those sessions for its connection, if its client has had time enough to ask.
    pub(crate) fn ask_for_a_connection(&self) {
        let handle = {
            let mut courteous = self.courteous.lock();
            let late = courteous.iter().find(|(_, (since, _))| since.elapsed() >= COURTESY);
            late.map(|(id, _)| *id).and_then(|id| courteous.remove(&id))
        };
        if let Some((_, handle)) = handle {
            handle.asked.store(true, Ordering::SeqCst);
            handle.wake();
        }
    }

    /// All sessions as they are now, in no order.
    pub fn seen(&self) -> Vec<SessionSeen> {
        let all: Vec<Arc<Handle>> = self.sessions.lock().values().cloned().collect();
        all.iter().map(|handle| handle.seen()).collect()
    }

    /// The session of this id of Weir's as it is now.
    pub fn one_seen(&self, id: u32) -> Option<SessionSeen> {
        self.find(id).map(|handle| handle.seen())
    }

    pub(crate) fn find(&self, id: u32) -> Option<Arc<Handle>> {
        self.sessions.lock().get(&id).cloned()
    }

    /// Sessions now.
    pub fn len(&self) -> usize {
        self.sessions.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lets every session look around.
    pub fn wake_all(&self) {
        self.sessions.lock().values().for_each(|handle| handle.wake());
    }

    /// Ends every session where it stands.
    pub fn end_all(&self) {
        for handle in self.sessions.lock().values() {
            handle.ended.store(true, Ordering::SeqCst);
            handle.wake();
        }
    }
}

impl Handle {
    pub fn id(&self) -> u32 {
        self.id
    }

    fn seen(&self) -> SessionSeen {
        let user = self.user.lock().user.clone();
        self.live.seen(self.id, user)
    }

    /// Whether the session has been told to end now.
    pub fn ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// The session has a server connection now.
    pub(crate) fn attach(&self, server_id: u32, place: Place) {
        *self.attached.lock() = Some(Attached { server_id, place, killed: false });
        self.live.connected(server_id);
    }

    /// The session has given its connection back. True: somebody is about to kill it.
    pub(crate) fn detach(&self) -> bool {
        self.live.connected(0);
        self.attached.lock().take().is_some_and(|attached| attached.killed)
    }

    /// A KILL is about to be sent to the connection that the session has: nobody else may get it.
    pub(crate) fn will_be_killed(&self) {
        if let Some(attached) = self.attached.lock().as_mut() {
            attached.killed = true;
        }
    }

    /// Whether the session has been asked for its connection.
    pub(crate) fn take_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) && self.asked.swap(false, Ordering::SeqCst)
    }

    /// The session is another user's now.
    pub(crate) fn set_user(&self, user: &Arc<Identity>) {
        *self.user.lock() = Arc::clone(user);
    }

    /// Whether a KILL has ended the session while it had no server connection.
    pub(crate) fn was_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    /// Registers the session's task for wake-ups; a task keeps its waker, so once is enough.
    pub fn register(&self, cx: &Context<'_>) {
        *self.waker.lock() = Some(cx.waker().clone());
    }

    pub(crate) fn wake(&self) {
        if let Some(waker) = self.waker.lock().as_ref() {
            waker.wake_by_ref();
        }
    }
}

/// A session's place in the registry.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) handle: Arc<Handle>,
    shared: Arc<crate::Shared>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.shared.registry.sessions.lock().remove(&self.handle.id);
    }
}
