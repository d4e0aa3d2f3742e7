//! What the server has said about the names of statements, for who asks what would become of one. Sessions go by what stands beside
//! each text (`judged.rs`), which is the same.

use crate::judged::{BELIEVED, Names};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use weir_cache::Refusal;
use weir_session::Schema;
use weir_sql::DigestId;

/// Digests that are kept, each in one schema. With more, all are forgotten: it is only told.
const KEPT: usize = 4096;

/// The last that was said.
#[derive(Debug, Default)]
pub(crate) struct KnownNames(Mutex<HashMap<Asked, Names>>);

/// A digest, the schema in which its names are, and whether views are trusted.
type Asked = (DigestId, Option<Box<[u8]>>, bool);

impl KnownNames {
    pub fn keep(&self, digest: DigestId, names: Names) {
        let schema = match &names.schema {
            Schema::Known(name) => Some(name[..].into()),
            Schema::None => None,
            Schema::Unknown => return,
        };
        if names.hidden_from.is_some() {
            // It says nothing of who asks next.
            return;
        }
        let mut known = self.0.lock();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert((digest, schema, names.views), names);
    }

    /// The verdict, and how long ago it was asked for; `None`: the server would be asked.
    pub fn find(
        &self,
        digest: DigestId,
        (schema, views): (Option<&[u8]>, bool),
        epoch: u64,
    ) -> Option<(Result<(), Refusal>, Duration)> {
        let known = self.0.lock();
        let names = known.get(&(digest, schema.map(Box::from), views))?;
        let age = Instant::now().saturating_duration_since(names.at);
        (names.epoch == epoch && age < BELIEVED).then_some((names.verdict.map(|_| ()), age))
    }
}
