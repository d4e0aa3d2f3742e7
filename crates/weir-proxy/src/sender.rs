//! Who sends the statement at hand, and what its answer depends on beside its text: found anew only where it has changed.

use crate::analytics::{Analytics, Sender, here};
use crate::backend::Backend;
use crate::link::of_the_session;
use crate::login::Identity;
use crate::ruled::Ruled;
use crate::sharing::Sharing;
use crate::tally::Tally;
use crate::worker::Worker;
use std::sync::Arc;
use weir_session::{Schema, State};
use weir_stats::digests::Origin;
use weir_wire::caps::Caps;

/// Whether two schemas are surely the same, and if the same is shared by both, at once.
#[inline]
pub(crate) fn same(a: &Schema, b: &Schema) -> bool {
    match (a, b) {
        (Schema::Known(a), Schema::Known(b)) => Arc::ptr_eq(a, b) || a == b,
        _ => a == b,
    }
}

/// What a session's answers depend on beside its statements, as far as it is followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'s> {
    pub schema: &'s Schema,
    /// Of a session that shares connections.
    pub state: Option<&'s State>,
    pub dialect: Caps,
}

/// The schema of it, and a number that changes with the state.
pub(crate) type Stand = (Schema, u64);

/// The part of it that may differ from one statement to the next: the schema, and of a session that shares connections the state.
#[inline]
pub(crate) fn stand_of<'s>(
    sharing: &'s Option<Box<Sharing>>,
    ruled: &'s Ruled,
) -> (&'s Schema, Option<&'s State>) {
    match sharing {
        Some(sharing) => (sharing.wanted.schema(), Some(&sharing.wanted)),
        None => (&ruled.schema, None),
    }
}

/// Where a session is.
#[inline]
pub(crate) fn place_of<'s>(sharing: &'s Option<Box<Sharing>>, ruled: &'s Ruled, server: &Backend) -> At<'s> {
    match sharing {
        Some(sharing) => sharing.at(),
        None => At { schema: &ruled.schema, state: None, dialect: of_the_session(server.caps) },
    }
}

impl Sharing {
    #[inline]
    pub(crate) fn at(&self) -> At<'_> {
        At { schema: self.wanted.schema(), state: Some(&self.wanted), dialect: self.key.dialect }
    }
}

impl Tally {
    /// The sender of the statement at hand, if it is that of the one before.
    #[inline(always)]
    pub(crate) fn sender(&self, (schema, state): (&Schema, Option<&State>)) -> Option<&Sender> {
        let print = state.map_or(0, State::fingerprint);
        let (sender, (known, of)) = self.sender.as_ref()?;
        (*of == print && same(known, schema)).then_some(sender)
    }
}

/// Works with what this thread counts with, and with the sender of the statement at hand.
#[inline(always)]
pub(crate) fn with_sender<R>(
    (tally, at): (&mut Tally, At<'_>),
    of: (&Worker, &Identity),
    work: impl FnOnce(&mut Analytics, &Sender) -> R,
) -> Option<R> {
    if tally.sender((at.schema, at.state)).is_none() {
        // Nobody counts.
        of.0.shared.digests.as_ref()?;
        let print = at.state.map_or(0, State::fingerprint);
        tally.sender = sender((at, print), of);
    }
    let (sender, _) = tally.sender.as_ref()?;
    here(|analytics| work(analytics, sender))
}

#[cold]
fn sender((at, print): (At<'_>, u64), (worker, identity): (&Worker, &Identity)) -> Option<(Sender, Stand)> {
    let name = match at.schema {
        Schema::Known(name) => Box::from(&**name),
        Schema::None | Schema::Unknown => Box::default(),
    };
    let server = worker.shared.upstream.target().name.as_str().into();
    let origin = Origin { user: identity.user.as_slice().into(), schema: name, server };
    here(|analytics| (analytics.sender(origin, at.dialect, at.state), (at.schema.clone(), print)))
}
