//! SHOW WEIR SESSION: this client's session, as Weir sees it.

use crate::accept::host;
use crate::session::Session;
use crate::sharing::Sharing;
use weir_session::{PinReason, Schema, Variable};
use weir_wire::packet::status;
use weir_wire::resultset::put_text;

impl Session {
    /// Appends the result set, as the answer to a command.
    pub(crate) fn show_session(&self, out: &mut Vec<u8>) {
        let target = self.worker.shared.upstream.target();
        let flags = self.walker.status() & status::OF_THE_SESSION;
        let yes_no = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
        let version = option_env!("CARGO_PKG_VERSION").unwrap_or("unknown");
        let (sharing, pinned) = match &self.sharing {
            None => ("session", "yes (one server connection for each client)".to_owned()),
            Some(shared) if shared.pins.why().contains(PinReason::SessionMode) => {
                ("session", shared.pins.why().to_string())
            }
            Some(shared) if shared.is_attached() => ("transaction", shared.pins.why().to_string()),
            Some(_) => ("transaction", "no".to_owned()),
        };
        let rows = [
            ("weir_version", version.to_owned()),
            ("client_id", self.entry.handle.id().to_string()),
            ("user", text(&self.identity.user)),
            ("client_host", host(self.peer)),
            ("client_tls", self.client.tls_version().unwrap_or("none").to_owned()),
            ("client_compression", compression(&self.client).to_owned()),
            ("server", target.name.clone()),
            ("server_version", text(weir_model::shown_version(&self.server.greeting.version))),
            ("server_family", self.server.greeting.family().as_str().to_owned()),
            ("server_connection_id", self.server.id.to_string()),
            ("server_tls", self.server.stream.tls_version().unwrap_or("none").to_owned()),
            ("server_compression", compression(&self.server.stream).to_owned()),
            ("sharing", sharing.to_owned()),
            ("pinned", pinned),
            ("cache", self.cache_shown()),
            ("in_transaction", yes_no(flags & status::IN_TRANS != 0)),
            ("autocommit", yes_no(flags & status::AUTOCOMMIT != 0)),
            ("schema", self.shown_of_state(Sharing::schema_shown)),
            ("character_set_client", self.variable_shown(Variable::CHARACTER_SET_CLIENT)),
            ("character_set_results", self.variable_shown(Variable::CHARACTER_SET_RESULTS)),
            ("collation_connection", self.variable_shown(Variable::COLLATION_CONNECTION)),
            ("sql_mode", self.variable_shown(Variable::SQL_MODE)),
            ("time_zone", self.variable_shown(Variable::TIME_ZONE)),
            ("transaction_isolation", self.variable_shown(Variable::TRANSACTION_ISOLATION)),
            ("user_variables", self.shown_of_state(Sharing::user_variables_shown)),
            ("prepared_statements", self.statements.len().to_string()),
            ("commands", self.commands.to_string()),
            ("seconds", self.began.elapsed().as_secs().to_string()),
        ];
        let rows: Vec<_> = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
        put_text(out, self.server.caps, flags, 1, &["Variable_name", "Value"], &rows);
    }

    /// What is followed of sessions that share connections (or may be answered from the cache), and of no others.
    fn shown_of_state(&self, show: impl FnOnce(&Sharing) -> String) -> String {
        self.sharing.as_deref().map_or_else(unknown, show)
    }

    fn variable_shown(&self, variable: Variable) -> String {
        self.shown_of_state(|sharing| match sharing.wanted.get(variable) {
            Some(Some(value)) => text(value),
            Some(None) => "NULL".to_owned(),
            None => unknown(),
        })
    }

    /// Whether a statement of this session could be answered from the cache now.
    fn cache_shown(&self) -> String {
        let rules = self.worker.shared.rules.load();
        let is_meant = rules.caches_for(&self.identity.user);
        match (is_meant, &self.sharing, self.state_refusal()) {
            (false, ..) => "no: no cache rule is for this user".to_owned(),
            (true, None, _) => {
                "no: logged in before a cache rule was for this user; connect again".to_owned()
            }
            (true, Some(_), _) if !rules.serves(&self.identity.user) => {
                "no: the cache rules for this user are shadows, which answer nothing".to_owned()
            }
            (true, Some(_), Some(reason)) => format!("not now: {}", reason.as_str()),
            (true, Some(_), None) => "yes".to_owned(),
        }
    }
}

impl Sharing {
    fn schema_shown(&self) -> String {
        match self.wanted.schema() {
            Schema::Known(name) => text(name),
            Schema::None => "NULL".to_owned(),
            Schema::Unknown => unknown(),
        }
    }

    /// How many move from connection to connection, and their names. Values may be secrets.
    fn user_variables_shown(&self) -> String {
        let names: Vec<String> = self.wanted.user_variables().iter().map(|known| text(&known.name)).collect();
        let moving = match names.len() {
            0 => "0".to_owned(),
            count => format!("{count} ({})", names.join(", ")),
        };
        match self.pins.why().contains(PinReason::UserVariable) {
            true => format!("{moving}, and others on the connection"),
            false => moving,
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn compression(stream: &weir_net::Stream) -> &'static str {
    stream.compression().unwrap_or("none")
}
