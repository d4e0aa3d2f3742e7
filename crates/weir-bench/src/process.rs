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

/// User and kernel time of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// Time in its own code, and in that of its libraries.
    pub user: Duration,
    /// Time in the kernel on its behalf.
    pub sys: Duration,
}

impl Cpu {
    /// What was used since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { user: self.user.saturating_sub(earlier.user), sys: self.sys.saturating_sub(earlier.sys) }
    }

    /// Both.
    #[must_use]
    pub fn total(self) -> Duration {
        self.user + self.sys
    }
}

/// The kernel shows times in this unit to programs on every architecture that Linux has in use (`USER_HZ`, proc(5)).
const TICK: Duration = Duration::from_millis(10);

/// CPU time that all threads of a process have used, those that have ended as well, in steps of 10 ms.
///
/// # Errors
/// When the process is gone.
pub fn cpu_split(pid: u32) -> Result<Cpu> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("process {pid} is gone"))?;
    // The name of the program, in brackets, may hold anything; the 14th and 15th fields are utime and stime.
    let (_, rest) = text.rsplit_once(')').with_context(|| format!("{path} names no program"))?;
    let mut fields = rest.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    let (user, sys) = ticks().zip(ticks()).with_context(|| format!("{path} holds no times"))?;
    Ok(Cpu { user: TICK * user, sys: TICK * sys })
}

/// Time that all cores of the machine together have been busy, whoever was it for.
///
/// # Errors
/// When the system does not say.
pub fn machine_busy() -> Result<Duration> {
    let text = fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("cpu ")).context("/proc/stat has no sum")?;
    let ticks = line.split_whitespace().map(|field| field.parse::<u64>().unwrap_or(0));
    // user, nice, system, idle, iowait, irq, softirq, steal; those of guests are in the first two already.
    let busy: u64 = ticks.take(8).enumerate().filter(|(at, _)| !matches!(at, 3 | 4)).map(|(_, n)| n).sum();
    Ok(Duration::from_millis(busy * 10))
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
