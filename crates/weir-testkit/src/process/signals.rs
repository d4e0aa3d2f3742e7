//! The two system calls that the standard library has no safe form of.
#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A signal that tests send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Term,
    Int,
    Hup,
    Stop,
    Continue,
}

/// Sends `signal` to a child that has not been waited for yet, so its id cannot have passed to another process.
pub(super) fn send(pid: u32, signal: Signal) -> io::Result<()> {
    let number = match signal {
        Signal::Term => libc::SIGTERM,
        Signal::Int => libc::SIGINT,
        Signal::Hup => libc::SIGHUP,
        Signal::Stop => libc::SIGSTOP,
        Signal::Continue => libc::SIGCONT,
    };
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    // SAFETY: kill(2) takes two integers and touches no memory of ours.
    if unsafe { libc::kill(pid, number) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the kernel kill the child when the thread that starts it ends.
pub(super) fn die_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let arm = move || {
        // SAFETY: prctl(2) with PR_SET_PDEATHSIG takes an integer and touches no memory of ours.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: getppid(2) has no argument and cannot fail.
        let now = unsafe { libc::getppid() };
        // The parent may have died before the line above was in force.
        if u32::try_from(now) == Ok(parent) { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: between fork and exec the closure only makes two async-signal-safe system calls; it neither
    // allocates nor takes a lock.
    unsafe { command.pre_exec(arm) };
}
