//! The clock of pledge, registrar and MASA: virtual time, counted from when certificates are valid.

use core::time::Duration;

use pki_types::UnixTime;
use terse_tls::{Instant, Now};

use crate::Time;

/// The clock of all hosts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The UNIX seconds at the beginning of the run.
    pub(super) begins: u64,
}

impl Clock {
    /// Returns the time as the engine wants it.
    pub(super) fn now(self, time: Time) -> Now {
        Now::new(Instant(time.as_millis()), Some(self.unix(time)))
    }

    /// Returns the time of day.
    pub(super) fn unix(self, time: Time) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(self.begins) + Duration::from_millis(time.as_millis()))
    }

    /// Returns when something of the engine is due. Timers of the engine have milliseconds: one that is due within this millisecond
    /// is due now.
    pub(super) const fn due(Instant(milliseconds): Instant) -> Time {
        Time::from_millis(milliseconds)
    }
}
