//! Steps as lines, for the story of a failure.

use crate::cachemodel::generate::Step;
use crate::cachemodel::session::Session;

/// Whether it changes its session, or prepares something.
pub fn is_history(step: &Step) -> bool {
    match step {
        Step::Read(read) => read.params.is_some(),
        Step::Write { params, .. } => params.is_some(),
        Step::Behind(_) | Step::Wipe(_) | Step::Rights(_) | Step::Define { .. } => false,
        _ => true,
    }
}

pub fn step(number: u64, session: &Session, step: &Step) -> String {
    let what = match step {
        Step::Read(read) => {
            let behind = if read.behind.is_empty() { String::new() } else { format!("; {}", read.behind) };
            let params = read.params.as_ref().map_or(String::new(), |params| format!(" {params:?}"));
            format!("{}{}{params}{behind}", read.hint.text(), read.sql)
        }
        Step::Write { sql, params, .. } => {
            let params = params.as_ref().map_or(String::new(), |params| format!(" {params:?}"));
            format!("{sql}{params}")
        }
        Step::Begin(_, sql) | Step::End(sql) => (*sql).to_owned(),
        Step::Set(sql) | Step::Rights(sql) | Step::Define { sql, .. } => sql.clone(),
        Step::InitDb(name) => format!("COM_INIT_DB {name}"),
        Step::ChangeUser((name, _), schema) => format!("COM_CHANGE_USER {name} {schema}"),
        Step::Reset => "COM_RESET_CONNECTION".to_owned(),
        Step::MakeTemporary => "CREATE TEMPORARY TABLE lasting".to_owned(),
        Step::DropTemporary => "DROP TEMPORARY TABLE lasting".to_owned(),
        Step::Wipe(wipe) => format!("wipe {wipe:?}"),
        Step::Behind(sql) => format!("behind Weir: {sql}"),
    };
    let schema = session.schema.as_deref().unwrap_or("-");
    format!("{number:6} session {} {}@{schema}: {what}", session.number, session.user.0)
}
