//! Loopback ports that no two test processes take at the same time.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};

/// Below the range from which Linux takes the ports of outgoing connections (32768 and up), so that a client
/// cannot sit on a port between a server's stop and its restart.
const FIRST: u32 = 12_000;
const COUNT: u32 = 20_000;

/// A port on 127.0.0.1, this process's own until the lease is dropped.
#[derive(Debug)]
pub struct PortLease {
    number: u16,
    /// Locked; other test processes skip the port while it is.
    _lock: File,
}

impl PortLease {
    /// Finds a port that nobody listens on and no other test process holds.
    ///
    /// # Errors
    /// When the lock folder cannot be written, or every port is taken.
    pub fn take() -> Result<Self> {
        static TURN: AtomicU32 = AtomicU32::new(0);
        let folder = std::env::temp_dir().join("weir-test-ports");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for _ in 0..COUNT {
            let turn = TURN.fetch_add(1, Ordering::Relaxed);
            // Processes start at different places so that they rarely meet.
            let offset = (process::id().wrapping_mul(977).wrapping_add(turn)) % COUNT;
            let Ok(number) = u16::try_from(FIRST + offset) else { continue };
            let lock = File::create(folder.join(number.to_string()));
            let lock = lock.with_context(|| format!("cannot write in {}", folder.display()))?;
            if lock.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Ok(Self { number, _lock: lock });
            }
        }
        bail!("no free port between {FIRST} and {}", FIRST + COUNT)
    }

    pub fn number(&self) -> u16 {
        self.number
    }
}
