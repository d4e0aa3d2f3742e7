//! What WordPress says each time it opens a page: how many round trips to the server each target makes of it.

use anyhow::{Context, Result};

use crate::client::{Client, Login};
use crate::rig::Endpoint;

/// The name of the row.
pub const ROW: &str = "WordPress's opening";
/// Openings before the counted ones: what is remembered of a server is learned from them.
const WARM_UP: u32 = 20;
/// Openings that are counted.
const COUNTED: u32 = 200;

/// What comes behind the login, apart from choosing the schema.
const SETTINGS: [&str; 4] = [
    "SET NAMES utf8mb4",
    "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_520_ci'",
    "SELECT @@SESSION.sql_mode",
    "SET SESSION sql_mode='NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
];

/// Round trips to the server for one opening, beyond that of its one SELECT: logins and commands, as the server counts them.
///
/// # Errors
/// When a login or a statement fails.
pub fn run(endpoint: &Endpoint, server: &Endpoint, login: Login) -> Result<f64> {
    let name = endpoint.target.name();
    let mut monitor = Client::connect(server.address, login, 4096)?;
    let open =
        |times: u32| -> Result<()> { (0..times).try_for_each(|_| opening(endpoint, login).context(name)) };
    open(WARM_UP)?;
    let before = round_trips(&mut monitor)?;
    open(COUNTED)?;
    let after = round_trips(&mut monitor)?;
    // To ask for the first count was one statement itself, and the second asks with two.
    const OWN: u64 = 2;
    Ok((after - before - OWN) as f64 / f64::from(COUNTED) - 1.0)
}

fn opening(endpoint: &Endpoint, login: Login) -> Result<()> {
    let mut client = Client::connect(endpoint.address, Login { schema: "", ..login }, 1024)?;
    for sql in SETTINGS {
        client.query(sql)?;
    }
    client.init_db(login.schema)?;
    client.query("SELECT c FROM sbtest1 WHERE id=1")?;
    client.quit()
}

/// What the server has counted: commands, and connections, each of which is a login.
fn round_trips(monitor: &mut Client) -> Result<u64> {
    let mut count = |variable: &str| -> Result<u64> {
        let value = monitor.value(&format!("SHOW GLOBAL STATUS LIKE '{variable}'"), 1)?;
        value.parse().with_context(|| format!("{variable} is {value}"))
    };
    Ok(count("Questions")? + count("Connections")?)
}
