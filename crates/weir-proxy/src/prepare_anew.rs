//! A statement that the client has prepared, on a connection that has not.

use crate::attach::{self, Trouble};
use crate::exchange::{Answer, exchange};
use crate::foreign::Foreign;
use crate::packets::UNKNOWN_STATEMENT;
use crate::question::clean;
use crate::session::Session;
use std::sync::Arc;
use weir_session::{Memory, Plan, State, Step, plan_sync};
use weir_wire::command::{self as com, Shape};
use weir_wire::packet::ErrPacket;

/// Prepares on the attached connection what the command at hand needs and it has not. The text is read as it was when
/// the client prepared it: under the schema, `sql_mode` and character sets of then.
pub(crate) async fn prepare_for(session: &mut Session) -> Result<(), Trouble> {
    let Some(sharing) = &mut session.sharing else { return Ok(()) };
    let statement = sharing.executing.and_then(|id| sharing.statements.get(id).ok());
    let Some(key) = statement.map(|s| Arc::clone(s.key())).filter(|key| sharing.prepared.id(key).is_none())
    else {
        return Ok(());
    };
    if !sharing.wanted.is_known() {
        // What it is prepared in must be put back afterwards.
        crate::settle::read_back_state(session).await?;
    }
    let Some(sharing) = &mut session.sharing else { return Ok(()) };
    let now = sharing.wanted.clone();
    let then = key.prepare_state(&now);
    let differs = !then.same_as(&now);
    // On a connection that the session had already, what its last statement left is still there.
    let had = sharing.actual.is_none();
    if differs {
        let Some(steps) = steps(&then, &now, &session.worker.learned.lock().memory) else {
            // Nothing was changed yet.
            return Err(Trouble::Failed(not_again()));
        };
        sharing.actual = Some(now.clone());
        go(session, &then, steps).await?;
    }
    let payload = [&[com::STMT_PREPARE][..], key.text()].concat();
    let answer = exchange(&mut session.server, &payload, Shape::Prepare).await?;
    let id = match answer {
        Answer::Prepared { id, warnings } => {
            if warnings > 0 {
                // What is deprecated was told when the client prepared it.
                clean(&mut session.server).await?;
            }
            id
        }
        Answer::Refused(err) => {
            if differs {
                change_back(session, &now, &then).await?;
                // What it says of its error is gone there.
                session.disturbed();
            }
            return Err(Trouble::Failed(err));
        }
        Answer::Done { .. } => return Err(std::io::Error::other("the answer to COM_STMT_PREPARE").into()),
    };
    if differs {
        change_back(session, &now, &then).await?;
    }
    if let Some(sharing) = &mut session.sharing {
        sharing.has_prepared(key, id);
    }
    if differs && had {
        session.disturbed();
    }
    Ok(())
}

impl Session {
    /// The state of the attached connection was changed for a while, and is what it was.
    fn disturbed(&mut self) {
        if let Some(sharing) = &mut self.sharing {
            (sharing.actual, sharing.foreign_parts) = (None, Foreign::ALL);
        }
    }
}

/// What brings a connection from one state to another; `None` where only a new beginning does.
fn steps(to: &State, from: &State, memory: &Memory) -> Option<Vec<Step>> {
    match plan_sync(to, from, memory) {
        Plan::Nothing => Some(Vec::new()),
        Plan::Sync(steps) => Some(steps),
        Plan::Reset(_) | Plan::ChangeUser(_) | Plan::Stay(_) => None,
    }
}

fn not_again() -> ErrPacket {
    let text = "weir: this statement was prepared without a default schema and cannot be prepared again; prepare it anew";
    ErrPacket::new(UNKNOWN_STATEMENT, b"HY000", text)
}

async fn change_back(session: &mut Session, to: &State, from: &State) -> Result<(), Trouble> {
    let steps = steps(to, from, &session.worker.learned.lock().memory);
    match steps {
        Some(steps) => go(session, to, steps).await,
        None => Err(Trouble::Refused(not_again())),
    }
}

async fn go(session: &mut Session, to: &State, steps: Vec<Step>) -> Result<(), Trouble> {
    if steps.is_empty() { Ok(()) } else { attach::sync(session, to, steps).await }
}
