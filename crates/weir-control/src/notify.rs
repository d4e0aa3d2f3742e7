//! What systemd is told (`Type=notify-reload`, `WatchdogSec=`). Nothing happens where nobody listens.

use sd_notify::NotifyState;
use std::time::Duration;

/// The service manager, if there is one.
#[derive(Debug, Default)]
pub struct Service;

impl Service {
    pub fn ready(&self) {
        self.tell(&[NotifyState::Ready, NotifyState::Status("accepting clients")]);
    }

    pub fn reloading(&self) {
        let Ok(now) = NotifyState::monotonic_usec_now() else { return };
        self.tell(&[NotifyState::Reloading, now]);
    }

    pub fn stopping(&self) {
        self.tell(&[NotifyState::Stopping, NotifyState::Status("draining")]);
    }

    pub fn alive(&self) {
        self.tell(&[NotifyState::Watchdog]);
    }

    /// How often [`Self::alive`] must be called, if the service manager watches: half of what it asks for.
    pub fn watchdog_interval(&self) -> Option<Duration> {
        sd_notify::watchdog_enabled().map(|limit| limit / 2)
    }

    fn tell(&self, state: &[NotifyState<'_>]) {
        if let Err(e) = sd_notify::notify(state) {
            tracing::warn!(event = "notify_failed", error = %e, "the service manager could not be told");
        }
    }
}
