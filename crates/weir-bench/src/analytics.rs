//! What counting statements costs: instructions of Weir for a point select with and without analytics.

use std::ops::Range;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::cached::{POINT_ROWS, POINT_TABLES};
use crate::client::{Client, Login};
use crate::miss::Counted;
use crate::rig::{self, Endpoint};
use crate::summary::Target;

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// COM_QUERY, each with other numbers.
    Text,
    /// COM_STMT_EXECUTE.
    Prepared,
}

impl Sent {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Text, Self::Prepared];

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Prepared => "prepared",
        }
    }
}

/// Queries before the counted ones: the cache advisor watches the first of each statement, and then a sample, which shrinks to its
/// share within some 50,000 of each.
const WARM_UP: u32 = 60_000 * TABLES;
const COUNTED: u32 = 8_000;
/// One client needs one.
const CONNECTIONS: u32 = 100;
/// Statements: so many tables.
const TABLES: u32 = 4;

/// The row of statements that are sent so, with analytics or without.
#[must_use]
pub fn row(sent: Sent, enabled: bool) -> String {
    let with = if enabled { "with" } else { "without" };
    format!("point select, {}, {with} analytics", sent.name())
}

/// Instructions per query of one client, as valgrind counts them.
///
/// # Errors
/// When valgrind is missing, or Weir or a query fails.
pub fn run(
    weir: &Path,
    target: Target,
    server: &Endpoint,
    login: Login,
    (sent, enabled): (Sent, bool),
) -> Result<f64> {
    let config = rig::weir_config(server.address, CONNECTIONS, target);
    let counted = Counted::start(weir, &format!("{config}\n[analytics]\nenabled = {enabled}\n"))?;
    let mut client = Client::connect(counted.address, login, 16 * 1024)?;
    let prepare = |table| client.prepare(&format!("SELECT c FROM sbtest{table} WHERE id=?"));
    let ids = (1..=TABLES).map(prepare).collect::<Result<Vec<_>>>()?;
    ask(&mut client, &ids, sent, 0..WARM_UP)?;
    counted.switch("on")?;
    ask(&mut client, &ids, sent, WARM_UP..WARM_UP + COUNTED)?;
    counted.switch("off")?;
    client.quit()?;
    counted.end(COUNTED)
}

/// Rows in no order, each as often as any other.
fn ask(client: &mut Client, ids: &[u32], sent: Sent, numbers: Range<u32>) -> Result<()> {
    const { assert!(TABLES <= POINT_TABLES) }
    for number in numbers {
        let mixed = number.wrapping_mul(2_654_435_761) >> 8;
        let (table, id) = (mixed % TABLES, mixed / TABLES % POINT_ROWS + 1);
        let rows = match sent {
            Sent::Text => client.query(&format!("SELECT c FROM sbtest{} WHERE id={id}", table + 1))?,
            Sent::Prepared => client.execute(ids[table as usize], id)?,
        };
        ensure!(rows == 1, "{rows} rows instead of 1");
    }
    Ok(())
}
