//! The tables. Times are seconds since 1970-01-01 UTC; a point is that of the time that begins there.

use rusqlite::{Connection, TransactionBehavior};

use crate::trouble::{Kind, Trouble};

/// "Weir" in ASCII: tells a file of ours from other databases (PRAGMA application_id).
pub(crate) const APPLICATION: u32 = 0x5765_6972;
/// The version of the tables and of what is in their blobs (PRAGMA user_version).
///
/// 2: counts of a digest have one number more. Their bytes tell nothing of that, so those of before are not read.
pub(crate) const VERSION: i64 = 2;

const TABLES: &str = "
CREATE TABLE second (
  at INTEGER PRIMARY KEY, covered_ms INTEGER NOT NULL,
  statements INTEGER NOT NULL, errors INTEGER NOT NULL, hits INTEGER NOT NULL, misses INTEGER NOT NULL,
  bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL, logins INTEGER NOT NULL, server_opened INTEGER NOT NULL,
  cpu_ms INTEGER NOT NULL, clients INTEGER NOT NULL, server_connections INTEGER NOT NULL,
  total BLOB NOT NULL, server BLOB NOT NULL);
CREATE TABLE minute (
  at INTEGER PRIMARY KEY, covered_ms INTEGER NOT NULL,
  statements INTEGER NOT NULL, errors INTEGER NOT NULL, hits INTEGER NOT NULL, misses INTEGER NOT NULL,
  bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL, logins INTEGER NOT NULL, server_opened INTEGER NOT NULL,
  cpu_ms INTEGER NOT NULL, clients INTEGER NOT NULL, server_connections INTEGER NOT NULL,
  total BLOB NOT NULL, server BLOB NOT NULL);
CREATE TABLE digest (
  number INTEGER PRIMARY KEY, id INTEGER NOT NULL, last_at INTEGER NOT NULL, is_cut INTEGER NOT NULL,
  is_cacheable INTEGER NOT NULL, text BLOB NOT NULL);
CREATE INDEX digest_id ON digest (id);
CREATE INDEX digest_last ON digest (last_at);
CREATE TABLE origin (
  number INTEGER PRIMARY KEY, user BLOB NOT NULL, schema BLOB NOT NULL, server TEXT NOT NULL, last_at INTEGER NOT NULL);
CREATE INDEX origin_user ON origin (user, schema);
-- A digest and an origin of 0 are all that had no row of its own.
CREATE TABLE digest_minute (
  at INTEGER NOT NULL, digest INTEGER NOT NULL, origin INTEGER NOT NULL,
  calls INTEGER NOT NULL, errors INTEGER NOT NULL, hits INTEGER NOT NULL, total_us INTEGER NOT NULL,
  sums BLOB NOT NULL, PRIMARY KEY (at, digest, origin)) WITHOUT ROWID;
";

/// Makes the tables in a file that has none, and refuses a file that is not ours.
pub(crate) fn prepare(connection: &mut Connection) -> Result<(), Trouble> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    if application != 0 && application != i64::from(APPLICATION) {
        return Err(Trouble::foreign());
    }
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    if application == 0 && tables > 0 {
        return Err(Trouble::foreign());
    }
    if version > VERSION {
        let why = format!(
            "a newer Weir has made it (version {version} of its tables, this Weir knows {VERSION}) and it was not touched: \
             move it away, or give history.file another name"
        );
        return Err(Trouble::new(Kind::Newer, why));
    }
    if tables == 0 {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.commit()?;
    } else if version < VERSION {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute("DELETE FROM digest_minute", ())?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.commit()?;
        tracing::warn!(
            event = "history_converted",
            from = version,
            to = VERSION,
            "the history was made by an older Weir: its totals are kept, what it knew of digests is removed"
        );
    }
    Ok(())
}
