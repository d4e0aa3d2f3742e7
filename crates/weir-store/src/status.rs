use crate::trouble::Trouble;

/// How the history does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// It is being written. False with no `trouble`: it was not begun yet.
    pub is_writing: bool,
    /// Why not.
    pub trouble: Option<Trouble>,
    /// Bytes that are in use of the file.
    pub bytes: u64,
    /// Seconds written since the process began.
    pub written: u64,
    /// Seconds and minutes that were counted and could not be written.
    pub lost: u64,
    /// The second that was written last, in seconds since 1970.
    pub last_second: Option<u64>,
    /// Files that were corrupt and set aside since the process began.
    pub set_aside: u64,
    /// How often the wall clock was set.
    pub clock_steps: u64,
}
