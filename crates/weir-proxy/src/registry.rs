//! All sessions by Weir's id: to map KILL, and to wake sessions that must end.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Waker};
use weir_pool::Place;

/// Weir's ids have bit 30 set and none above it, so that they are told from the server's ids, which count up from 1, and
/// are positive for drivers that read them as signed.
const ID_BIT: u32 = 0x4000_0000;

/// Sessions by Weir's id.
#[derive(Debug, Default)]
pub struct Registry {
    next: AtomicU32,
    sessions: Mutex<HashMap<u32, Arc<Handle>>>,
}

/// What others may see and do of a session.
#[derive(Debug)]
pub struct Handle {
    id: u32,
    /// The id of the session's server connection, and the server it is with.
    server_id: u32,
    place: Place,
    ended: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Registry {
    /// An id for a new client. It is in use from the greeting on, before there is a session.
    pub fn next_id(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed) & (ID_BIT - 1) | ID_BIT
    }

    /// Enters a session; dropping the guard takes it out.
    pub(crate) fn enter(shared: &Arc<crate::Shared>, id: u32, (server_id, place): (u32, Place)) -> Entry {
        let handle =
            Arc::new(Handle { id, server_id, place, ended: AtomicBool::new(false), waker: Mutex::new(None) });
        shared.registry.sessions.lock().insert(id, Arc::clone(&handle));
        Entry { handle, shared: Arc::clone(shared) }
    }

    /// The server's id for one of Weir's, for a killer whose connection is with the server of `place`. `None` for an
    /// id that Weir has not given to a session it still has there: the server then judges the number as it stands,
    /// and knows none so large.
    pub(crate) fn server_id(&self, id: u64, place: Place) -> Option<u32> {
        let id = u32::try_from(id).ok().filter(|id| id & ID_BIT != 0)?;
        let sessions = self.sessions.lock();
        sessions.get(&id).filter(|handle| handle.place == place).map(|handle| handle.server_id)
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

    /// Whether the session has been told to end now.
    pub fn ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Registers the session's task for wake-ups; a task keeps its waker, so once is enough.
    pub fn register(&self, cx: &Context<'_>) {
        *self.waker.lock() = Some(cx.waker().clone());
    }

    fn wake(&self) {
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
