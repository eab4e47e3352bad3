//! The time of a call, from the machine's clocks.
//!
//! What must always hold: one program uses one [`Clock`] for everything that shares a cache, because points in time
//! are counted from where the clock was made.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use pki_types::UnixTime;
use terse_tls::{Instant, Now};

/// The machine's clocks, or a wall clock that pretends to be elsewhere in time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: std::time::Instant,
    pretended: Option<UnixTime>,
}

impl Clock {
    /// The machine's clocks. The monotonic one counts from here.
    pub fn new() -> Self {
        Self { start: std::time::Instant::now(), pretended: None }
    }

    /// As if it were `time` now: for trying what expires.
    pub fn starting_at(time: UnixTime) -> Self {
        Self { pretended: Some(time), ..Self::new() }
    }

    /// The time of a call.
    pub fn now(&self) -> Now {
        let elapsed = self.elapsed();
        Now { monotonic: milliseconds(elapsed), unix: self.wall(elapsed) }
    }

    /// The time of a call that comes after the one at `last`. The wall clock is read at most once in a second: nothing
    /// that needs it counts in less.
    pub fn now_after(&self, last: Now) -> Now {
        let elapsed = self.elapsed();
        let is_same_second = last.monotonic.0 / 1000 == elapsed.as_secs();
        Now { monotonic: milliseconds(elapsed), unix: if is_same_second { last.unix } else { self.wall(elapsed) } }
    }

    fn elapsed(&self) -> Duration {
        #[cfg(test)]
        READINGS.set(READINGS.get() + 1);
        self.start.elapsed()
    }

    fn wall(&self, elapsed: Duration) -> Option<UnixTime> {
        let time = match self.pretended {
            Some(time) => Some(Duration::from_secs(time.as_secs()).saturating_add(elapsed)),
            None => SystemTime::now().duration_since(UNIX_EPOCH).ok(), // before 1970: the clock was never set
        };
        time.map(UnixTime::since_unix_epoch)
    }
}

#[cfg(test)]
thread_local! {
    /// How often this thread has read a clock.
    pub(crate) static READINGS: core::cell::Cell<u32> = const { core::cell::Cell::new(0) };
}

const fn milliseconds(elapsed: Duration) -> Instant {
    Instant(elapsed.as_millis() as u64) // 584 million years
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}
