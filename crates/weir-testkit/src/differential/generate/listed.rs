//! What is known to differ where sessions share connections, taken out of a session's statements.
//!
//! Each of these is listed in `docs/compatibility.md`, or is chance: a run without them has to be identical, and
//! whatever else differs is a mistake. The rest of a session stays as its seed made it.

use std::collections::BTreeMap;

use crate::client::command::{self, Param};
use crate::servers::Flavor;

use super::super::script::{Action, Step};

/// A kind of statement that is left out.
struct Listed {
    /// Why its answer may differ.
    why: &'static str,
    flavors: &'static [Flavor],
    /// Changes a step that is of this kind.
    mend: fn(&mut Action, &mut Slots),
}

/// What is known of the prepared statements, by slot.
#[derive(Default)]
struct Slots {
    texts: BTreeMap<usize, Vec<u8>>,
    /// The parameters of the first execution that named their types.
    bound: BTreeMap<usize, Vec<Param>>,
    /// Whether the statement that was prepared last has parameters.
    last_has_parameters: bool,
    /// The session has asked to hear of all variables.
    hears_all: bool,
    /// A statement with a trigger has been there that may have failed.
    trigger_may_have_failed: bool,
}

const LISTED: &[Listed] = &[
    Listed {
        why: "MySQL reads values by the types that were bound first, on one connection: `SELECT ?`, `? + 1`",
        flavors: &[Flavor::MySql],
        mend: other_types,
    },
    Listed {
        why: "what an out-of-range argument of a procedure is said to be in, `at row 1` or another, MariaDB \
              takes from the statement before it on the connection",
        flavors: &[Flavor::MariaDb],
        mend: out_of_range,
    },
    Listed {
        why: "MariaDB reads the types of an execution whose body ends ahead of them from behind its end, where \
              something of an earlier command stands: none comes without them",
        flavors: &[Flavor::MariaDb],
        mend: cut_short,
    },
    Listed {
        why: "a packet of several statements counts as a reader of warnings ahead of it, though its first \
              statement replaces them: error 1105 where they are gone",
        flavors: &Flavor::BOTH,
        mend: warnings_in_a_packet,
    },
    Listed {
        why: "the flag SERVER_SESSION_STATE_CHANGED may be missing for who sets session_track_transaction_info",
        flavors: &Flavor::BOTH,
        mend: transaction_tracker,
    },
    Listed {
        why: "what a trigger sets is not found again if its statement fails",
        flavors: &Flavor::BOTH,
        mend: failed_trigger,
    },
    Listed {
        why: "the flag SERVER_SESSION_STATE_CHANGED stands alone in MySQL's answer to who has heard of all variables and asks for less",
        flavors: &[Flavor::MySql],
        mend: hears_less,
    },
    Listed {
        why: "SET timestamp = DEFAULT tells the time of day to who hears of all variables",
        flavors: &Flavor::BOTH,
        mend: tells_time,
    },
    Listed {
        why: "a value that SET STATEMENT has put back is told by MariaDB with the next answer that tells any change, \
              which through Weir may come earlier",
        flavors: &[Flavor::MariaDb],
        mend: put_back,
    },
];

/// Leaves out everything that is listed.
pub(super) fn leave_out(flavor: Flavor, steps: &mut [Step]) {
    let mut slots = Slots::default();
    for step in steps {
        if let Action::Prepare { slot, sql } = &step.action {
            slots.last_has_parameters = sql.before.contains(&b'?');
            slots.texts.insert(*slot, sql.before.clone());
            slots.bound.remove(slot);
        }
        for listed in LISTED.iter().filter(|listed| listed.flavors.contains(&flavor)) {
            (listed.mend)(&mut step.action, &mut slots);
        }
    }
}

/// What is left out of the sessions of this flavor, each with its reason.
pub fn reasons(flavor: Flavor) -> impl Iterator<Item = &'static str> {
    LISTED.iter().filter(move |listed| listed.flavors.contains(&flavor)).map(|listed| listed.why)
}

/// Later executions have the parameters of the first, also those that leave their types out.
fn other_types(action: &mut Action, slots: &mut Slots) {
    let Action::Execute { slot, params, .. } = action else { return };
    if params.is_empty() || params.contains(&Param::LongData) {
        return;
    }
    let first = slots.bound.entry(*slot).or_insert_with(|| params.clone());
    params.clone_from(first);
}

fn out_of_range(action: &mut Action, slots: &mut Slots) {
    let Action::Execute { slot, params, .. } = action else { return };
    let text = slots.texts.get(slot).map_or(&b""[..], Vec::as_slice);
    match params.as_mut_slice() {
        [a, _, c] if text.starts_with(b"CALL pr_out") => {
            (*a, *c) = (Param::Int(4), Param::Text("in and out".to_owned()));
        }
        [x] if text.starts_with(b"CALL pr_multi") => *x = Param::Int(4),
        _ => {}
    }
}

fn cut_short(action: &mut Action, slots: &mut Slots) {
    let ends_early = match action {
        Action::Command { code: command::STMT_EXECUTE, body } => {
            slots.last_has_parameters && body.starts_with(&u32::MAX.to_le_bytes())
        }
        Action::Execute { slot, params, .. } => {
            params.is_empty() && slots.texts.get(slot).is_some_and(|text| text.contains(&b'?'))
        }
        // Nor does it see that an id is cut.
        Action::Uncertain { code: command::STMT_FETCH | command::STMT_RESET, body } => body.len() < 4,
        _ => false,
    };
    if ends_early {
        *action = Action::Command { code: command::PING, body: Vec::new() };
    }
}

fn warnings_in_a_packet(action: &mut Action, _: &mut Slots) {
    let Action::Query(text) = action else { return };
    if text.before.ends_with(b"; SHOW WARNINGS") {
        text.before.truncate(text.before.len() - b"; SHOW WARNINGS".len());
    }
}

fn transaction_tracker(action: &mut Action, _: &mut Slots) {
    let Action::Query(text) = action else { return };
    if String::from_utf8_lossy(&text.before).contains("session_track_transaction_info") {
        *action = Action::Query("SELECT @@session_track_transaction_info".into());
    }
}

fn failed_trigger(action: &mut Action, slots: &mut Slots) {
    let sql = match action {
        Action::Query(text) => text,
        Action::Prepare { sql, .. } => sql,
        _ => return,
    };
    let text = String::from_utf8_lossy(&sql.before).into_owned();
    slots.trigger_may_have_failed |= text.contains("INTO k ")
        && !text.contains("IGNORE")
        // Before there is a trigger.
        && !text.ends_with("(3,'c')");
    if slots.trigger_may_have_failed && text.contains(", @tr") {
        *action = Action::Query(text.replace(", @tr", "").as_str().into());
    }
}

fn hears_less(action: &mut Action, slots: &mut Slots) {
    let Action::Query(text) = action else { return };
    let sql = String::from_utf8_lossy(&text.before);
    let all = sql.contains("session_track_system_variables = '*'");
    if slots.hears_all && !all && sql.contains("session_track_system_variables = ") {
        *action = Action::Query("SELECT @@session_track_system_variables".into());
    }
    slots.hears_all |= all;
}

fn tells_time(action: &mut Action, slots: &mut Slots) {
    let Action::Query(text) = action else { return };
    let sql = String::from_utf8_lossy(&text.before);
    slots.hears_all |= sql.contains("session_track_system_variables = '*'");
    if slots.hears_all && sql.contains("timestamp = DEFAULT") {
        *action = Action::Query(sql.replace("timestamp = DEFAULT", "timestamp = 1700000000").as_str().into());
    }
}

fn put_back(action: &mut Action, slots: &mut Slots) {
    let Action::Query(text) = action else { return };
    let sql = String::from_utf8_lossy(&text.before);
    slots.hears_all |= sql.contains("session_track_system_variables = '*'");
    if slots.hears_all && sql.contains("SET STATEMENT ") {
        *action = Action::Query("SELECT @@group_concat_max_len".into());
    }
}

#[cfg(test)]
mod tests;
