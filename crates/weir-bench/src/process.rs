//! What a running process costs, read from `/proc`.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// CPU time that all living threads of a process have used, user and kernel, to the nanosecond.
///
/// `/proc/PID/stat` shows the same clock rounded to 10 ms; `schedstat` shows it whole (kernel documentation,
/// `scheduler/sched-stats`). Threads that have ended are not counted: the measured programs keep theirs.
///
/// # Errors
/// When the process is gone or the kernel has no scheduler statistics.
pub fn cpu_time(pid: u32) -> Result<Duration> {
    let mut nanos = 0u64;
    for task in fs::read_dir(format!("/proc/{pid}/task")).with_context(|| format!("process {pid} is gone"))? {
        let path = task?.path().join("schedstat");
        // A thread may end between the listing and the reading.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        nanos += first_number(&text).with_context(|| format!("{} holds no number", path.display()))?;
    }
    Ok(Duration::from_nanos(nanos))
}

/// Resident memory of a process now, in bytes (`VmRSS`).
///
/// # Errors
/// When the process is gone.
pub fn resident(pid: u32) -> Result<u64> {
    status_field(pid, "VmRSS:")
}

/// The highest resident memory of a process since [`reset_peak`], in bytes (`VmHWM`).
///
/// # Errors
/// When the process is gone.
pub fn resident_peak(pid: u32) -> Result<u64> {
    status_field(pid, "VmHWM:")
}

/// Sets the peak back to what is resident now (`proc(5)`, `clear_refs`, value 5).
///
/// # Errors
/// When the process is gone or belongs to somebody else.
pub fn reset_peak(pid: u32) -> Result<()> {
    let path = format!("/proc/{pid}/clear_refs");
    fs::write(&path, "5").with_context(|| format!("cannot write {path}"))
}

fn status_field(pid: u32, field: &str) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(first_number).with_context(|| format!("{path} has no {field}"))?;
    Ok(kib * 1024)
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests;
