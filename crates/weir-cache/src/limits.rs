/// What the cache may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// Bytes of memory for everything the cache holds: answers, keys, indexes, names, flights. What the allocator rounds up is
    /// counted.
    pub memory: usize,
    /// Bytes of one entry at most: its key, its packets, its warnings. A larger answer is not stored. Never more than
    /// half of `memory`.
    pub max_entry: usize,
    /// Bytes that the entries stored for one user may take; `None`: no limit but `memory`.
    pub user_memory: Option<usize>,
    /// How many parts with a lock each; rounded up to a power of two, 1 to 1,024.
    pub shards: usize,
}

impl CacheLimits {
    pub(crate) fn shard_count(&self) -> usize {
        self.shards.clamp(1, 1024).next_power_of_two()
    }

    pub(crate) fn largest_entry(&self) -> usize {
        self.max_entry.min(self.memory / 2).min(u32::MAX as usize)
    }
}

impl Default for CacheLimits {
    /// 256 MiB, 1 MiB, and 64 parts: enough that 64 threads seldom meet at one, and a part of the memory is still many
    /// times the largest entry.
    fn default() -> Self {
        Self { memory: 256 << 20, max_entry: 1 << 20, user_memory: None, shards: 64 }
    }
}
