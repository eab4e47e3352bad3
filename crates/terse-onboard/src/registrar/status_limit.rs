//! How many status messages a device may send: each is a line of the log and a transaction.

use core::time::Duration;

use terse_brski::digest::Sha256;

use crate::rate::RateLimit;

/// A limit for each device, by the SHA-256 of its IDevID: [`AT_ONCE`] messages, then one every [`INTERVAL`].
#[derive(Debug)]
pub(super) struct StatusLimit(RateLimit<Sha256>);

impl StatusLimit {
    /// Counts a message at `now`, a time since any start. Fails with how many seconds to wait if it is one too many; it is not
    /// counted then.
    pub(super) fn admit(&self, idevid: &Sha256, now: Duration) -> Result<(), u32> {
        let seconds = |wait: Duration| u32::try_from(wait.as_millis().div_ceil(1_000)).unwrap_or(u32::MAX);
        self.0.admit_key(*idevid, now).map_err(seconds)
    }
}

impl Default for StatusLimit {
    fn default() -> Self {
        Self(RateLimit::new(INTERVAL, AT_ONCE))
    }
}

const INTERVAL: Duration = Duration::from_secs(10);

/// A device that onboards sends two messages, and some more when something fails.
const AT_ONCE: u32 = 16;

#[cfg(test)]
mod tests;
