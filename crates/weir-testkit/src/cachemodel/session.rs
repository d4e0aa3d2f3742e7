//! A session on both sides, and what is known of it.

use std::net::SocketAddr;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use super::world::User;
use crate::client::bytes::text_row;
use crate::client::caps::Capabilities;
use crate::client::command::{self, Execute, Param};
use crate::client::{Client, ConnectOptions, Outcome, Packet, Response};
use crate::servers::Flavor;

/// Capabilities of which a session has one.
const SHAPES: [Capabilities; 2] = [Capabilities(0), Capabilities::DEPRECATE_EOF];

/// What shapes packets.
const SHAPING: u64 = Capabilities::DEPRECATE_EOF.0 | Capabilities::MARIADB_EXTENDED_METADATA.0;

/// All that makes two sessions equal but for the account. Not in it is what [`generate`](super::generate) sets besides, wait_timeout: whose
/// sessions differ in that alone are to share answers.
const STATE: &str = "SELECT DATABASE(), @@sql_mode, @@time_zone, @@character_set_client, @@character_set_connection, \
     @@collation_connection, @@character_set_results, @@div_precision_increment, @@group_concat_max_len, \
     @@sql_select_limit, @@lc_time_names, @@default_week_format, @@max_sort_length, @@optimizer_switch \
     /*M! , @@join_cache_level */";

/// A prepared statement on both sides.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// On the direct side, and through Weir.
    ids: [u32; 2],
    /// The session as it was.
    pub state: Vec<u8>,
    /// The default schema then.
    pub schema: Option<String>,
    /// Its types were sent.
    bound: bool,
}

/// An open transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// The only table that it locks rows of, as `schema.name`.
    pub table: String,
    /// Steps after which it ends.
    pub left: usize,
    /// It is one because autocommit is off.
    pub autocommit_off: bool,
    pub read_only: bool,
}

/// Both sides of a session.
pub struct Session {
    pub number: usize,
    pub user: User,
    direct: Client,
    weir: Client,
    /// Of [`STATE`], as the server answered.
    pub state: Vec<u8>,
    pub schema: Option<String>,
    pub transaction: Option<Transaction>,
    /// The schema of its temporary table, which hides `lasting`.
    pub temporary: Option<String>,
    /// The step of its last write.
    pub wrote: u64,
    /// It has done something for which Weir keeps its connection until a reset, and does not know its state for as long: CALL, a stored
    /// function, CONNECTION_ID(), a temporary table, several statements in one. Nor does it prepare anything: a statement that another
    /// connection has cannot be prepared again in a state that is not known.
    pub clouded: bool,
    /// The last command was a SET that warned: Weir keeps the connection for who asks for the warnings, and reads the state back after the next
    /// statement only.
    pub unread: bool,
}

/// What both sides answered.
#[derive(Debug)]
pub struct Both {
    pub direct: Response,
    pub weir: Response,
    /// Before the statement was sent to Weir, and when its answer had come.
    pub time: [Instant; 2],
}

impl Both {
    /// Both answers as packets.
    pub fn packets(&self) -> [Vec<Packet>; 2] {
        [comparable(&self.direct), comparable(&self.weir)]
    }
}

impl Session {
    /// Logs in on both sides.
    ///
    /// # Errors
    /// When a side refuses.
    pub async fn open(
        number: usize,
        sides: [SocketAddr; 2],
        user: User,
        flavor: Flavor,
        schema: &str,
    ) -> Result<Self> {
        let mut more = SHAPES[usize::from(number % 4 == 2)];
        if flavor == Flavor::MariaDb && number % 8 == 6 {
            more = more | Capabilities::MARIADB_EXTENDED_METADATA;
        }
        let options = |addr| {
            let options = ConnectOptions::tcp(addr, user.0, user.1).database(schema).with(more);
            // On MariaDB its absence announces the extended flags.
            if more.has(Capabilities::MARIADB_EXTENDED_METADATA) {
                options.without(Capabilities::MYSQL)
            } else {
                options
            }
        };
        let direct = options(sides[0]).connect().await.context("direct")?;
        let weir = options(sides[1]).connect().await.context("through Weir")?;
        let (state, schema) = (Vec::new(), Some(schema.to_owned()));
        let mut session = Self {
            number,
            user,
            direct,
            weir,
            state,
            schema,
            transaction: None,
            temporary: None,
            wrote: 0,
            clouded: false,
            unread: false,
        };
        session.look().await?;
        Ok(session)
    }

    /// How it is, apart from its schema.
    pub fn manner(&self) -> &[u8] {
        let length = self.schema.as_ref().map_or(0, String::len);
        self.state.get(1 + length..).unwrap_or_default()
    }

    /// What shapes the packets of its answers.
    pub fn shape(&self) -> u64 {
        self.direct.capabilities().0 & SHAPING
    }

    /// A query on both sides.
    ///
    /// # Errors
    /// When a connection fails.
    pub async fn query(&mut self, sql: &[u8]) -> Result<Both> {
        self.both(command::QUERY, [sql.to_vec(), sql.to_vec()]).await
    }

    /// Any command on both sides, with the bodies for the direct one and for Weir.
    ///
    /// # Errors
    /// When a connection fails.
    pub async fn both(&mut self, code: u8, [direct, weir]: [Vec<u8>; 2]) -> Result<Both> {
        let before = Instant::now();
        let weir = self.weir.command(code, &weir).await.context("through Weir")?;
        let time = [before, Instant::now()];
        let direct = self.direct.command(code, &direct).await.context("direct")?;
        ensure!(!direct.closed, "the server closed the direct connection");
        ensure!(!weir.closed, "the connection through Weir was closed");
        Ok(Both { direct, weir, time })
    }

    /// Prepares on both sides; `None` where both refuse it.
    ///
    /// # Errors
    /// When a connection fails, or only one side refuses.
    pub async fn prepare(&mut self, sql: &[u8]) -> Result<Option<Prepared>> {
        let both = self.both(command::STMT_PREPARE, [sql.to_vec(), sql.to_vec()]).await?;
        let id = |response: &Response| match response.outcomes.first() {
            Some(Outcome::Prepared(prepared)) => Ok(prepared.id),
            _ => Err(response.packets.clone()),
        };
        match (id(&both.direct), id(&both.weir)) {
            (Ok(direct), Ok(weir)) => Ok(Some(Prepared {
                ids: [direct, weir],
                state: self.state.clone(),
                schema: self.schema.clone(),
                bound: false,
            })),
            (Err(direct), Err(weir)) if direct == weir => Ok(None),
            (direct, weir) => bail!("only one side prepares it: {direct:?} direct, {weir:?} through Weir"),
        }
    }

    /// Executes on both sides.
    ///
    /// # Errors
    /// When a connection fails.
    pub async fn execute(&mut self, prepared: &mut Prepared, params: &[Param]) -> Result<Both> {
        let types = !std::mem::replace(&mut prepared.bound, true);
        let body = |id| Execute { id, flags: 0, params, types, attributes: false }.body();
        self.both(command::STMT_EXECUTE, prepared.ids.map(body)).await
    }

    /// COM_STMT_CLOSE on both sides.
    ///
    /// # Errors
    /// When a connection fails.
    pub async fn close(&mut self, prepared: &Prepared) -> Result<()> {
        self.direct.send(command::STMT_CLOSE, &prepared.ids[0].to_le_bytes()).await?;
        self.weir.send(command::STMT_CLOSE, &prepared.ids[1].to_le_bytes()).await
    }

    /// COM_CHANGE_USER on both sides.
    ///
    /// # Errors
    /// When a side refuses.
    pub async fn change_user(&mut self, user: User, schema: &str) -> Result<()> {
        for client in [&mut self.weir, &mut self.direct] {
            let reply = client.change_user(user.0, user.1, schema, 45).await?;
            if let Some(error) = reply.err() {
                bail!("COM_CHANGE_USER to {}: {error}", user.0);
            }
        }
        (self.user, self.temporary, self.transaction, self.clouded) = (user, None, None, false);
        self.look().await
    }

    /// Why Weir keeps it on its connection, as Weir says it.
    ///
    /// # Errors
    /// When the connection fails.
    pub async fn pinned(&mut self) -> Result<String> {
        let reply = self.weir.run("SHOW WEIR SESSION").await?;
        for row in reply.rows() {
            let mut values = text_row(row)?.into_iter().map(Option::unwrap_or_default);
            if values.next().as_deref() == Some(b"pinned") {
                return Ok(String::from_utf8_lossy(&values.next().unwrap_or_default()).into_owned());
            }
        }
        bail!("SHOW WEIR SESSION does not say whether it is pinned")
    }

    /// Asks the direct side what the session is like now.
    ///
    /// # Errors
    /// When the connection fails.
    pub async fn look(&mut self) -> Result<()> {
        let reply = self.direct.run(STATE).await?;
        self.state = reply.rows().next().context("no row of the session's state")?.to_vec();
        // DATABASE() is ASCII here, whatever the character set is.
        let schema = text_row(&self.state)?.into_iter().next().flatten();
        self.schema = schema.map(|name| String::from_utf8_lossy(&name).into_owned());
        Ok(())
    }
}

/// The packets, less a flag that MariaDB leaves in EOF packets of later statements, where connections are shared.
fn comparable(response: &Response) -> Vec<Packet> {
    let mut packets = response.packets.clone();
    for packet in &mut packets {
        if let [0xfe, _, _, _, flags] = &mut packet.payload[..] {
            *flags &= !0x40;
        }
    }
    packets
}
