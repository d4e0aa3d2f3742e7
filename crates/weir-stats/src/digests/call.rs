use crate::Timing;

/// Who has answered a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// The server, and the cache had no part in it.
    #[default]
    Server,
    /// The server; the cache had nothing to answer with.
    Miss,
    /// The server; the cache left it alone for the reason with this number, below [`super::REASONS`].
    Refused(u8),
    /// The cache.
    Hit,
    /// Weir itself: an error of its own, an answer that it remembers, `SHOW WEIR SESSION`.
    Weir,
}

/// One statement that was answered. Times are nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Call {
    /// From when the statement was there to the last byte of the answer that the client took.
    pub total_ns: u64,
    /// The part of it before the statement was sent, if it had to wait; else 0.
    pub queue_ns: u64,
    /// From the first byte sent to the server to the end of its answer; 0 where no server answered.
    pub server_ns: u64,
    pub rows_sent: u64,
    pub rows_affected: u64,
    /// With the headers of packets.
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// The error that the client got.
    pub error: Option<u16>,
    pub source: Source,
    /// What the server took for the answer that the cache has given.
    pub saved_ns: u64,
    /// When, in nanoseconds since the tables were made.
    pub at_ns: u64,
}

/// What most statements are: one that did not wait, that a server has answered without an error and without writing, and whose
/// client took the answer at once.
#[derive(Debug, Clone, Copy)]
pub struct PlainCall {
    /// [`Call::total_ns`] and [`Call::server_ns`], which is not 0.
    pub time: Timing,
    /// As in [`Call`].
    pub rows_sent: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub at_ns: u64,
}
