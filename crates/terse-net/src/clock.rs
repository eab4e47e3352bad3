//! The clock gives the time of a call, from the machine's clocks.
//!
//! What must always hold: one program uses one [`Clock`] for everything that shares a cache, because points in time
//! are counted from where the clock was made.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use pki_types::UnixTime;
#[cfg(target_os = "linux")]
use rustix::time::ClockId;
use terse_tls::{Instant, Now};

/// The machine's clocks, or a wall clock that pretends to be at another time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Start,
    pretended: Option<UnixTime>,
}

impl Clock {
    /// Returns the machine's clocks. The monotonic one counts from here.
    pub fn new() -> Self {
        Self { start: Start::now(), pretended: None }
    }

    /// Returns a clock that pretends that it is `time` now, to try what expires.
    pub fn starting_at(time: UnixTime) -> Self {
        Self { pretended: Some(time), ..Self::new() }
    }

    /// Returns the time of a call.
    pub fn now(&self) -> Now {
        let elapsed = self.elapsed();
        Now::new(milliseconds(elapsed), self.wall(elapsed))
    }

    /// Returns the time of a call that comes after the one at `last`. The wall clock is read at most once in a second,
    /// which is precise enough for all that needs it.
    pub fn now_after(&self, last: Now) -> Now {
        self.after(last, self.elapsed())
    }

    /// Returns the time of the system's last tick, but never a time before `last`. It may be 10 ms old, and costs a
    /// fraction of [`Self::now_after`]. Only Linux has ticks that can be read; elsewhere this is the time of the call.
    #[inline] // handing over the time costs as much as finding it
    pub fn last_tick_after(&self, last: Now) -> Now {
        #[cfg(test)]
        TICKS.set(TICKS.get() + 1);
        self.after(last, self.start.elapsed_at_last_tick())
    }

    #[inline]
    fn after(&self, last: Now, elapsed: Duration) -> Now {
        let monotonic = milliseconds(elapsed).max(last.monotonic);
        let is_same_second = last.monotonic.0 / 1000 == monotonic.0 / 1000;
        Now::new(monotonic, if is_same_second { last.unix } else { self.wall(elapsed) })
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

/// The monotonic clock's value when it was first read.
#[derive(Clone, Copy, Debug)]
struct Start {
    clock: std::time::Instant,
    #[cfg(target_os = "linux")]
    ticks: Duration,
}

impl Start {
    fn now() -> Self {
        Self {
            clock: std::time::Instant::now(),
            // This is read after the other clock, so that no tick seems to be in the future.
            #[cfg(target_os = "linux")]
            ticks: read(ClockId::Monotonic),
        }
    }

    fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    fn elapsed_at_last_tick(&self) -> Duration {
        #[cfg(target_os = "linux")]
        return read(ClockId::MonotonicCoarse).saturating_sub(self.ticks);
        #[cfg(not(target_os = "linux"))]
        return self.elapsed();
    }
}

/// Reads Linux's `CLOCK_MONOTONIC`, or its value at the last tick.
#[cfg(target_os = "linux")]
fn read(clock: ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32) // neither is negative
}

#[cfg(test)]
thread_local! {
    /// How often this thread has read a clock.
    pub(crate) static READINGS: core::cell::Cell<u32> = const { core::cell::Cell::new(0) };
    /// How often this thread has asked for the last tick.
    pub(crate) static TICKS: core::cell::Cell<u32> = const { core::cell::Cell::new(0) };
}

const fn milliseconds(elapsed: Duration) -> Instant {
    Instant(elapsed.as_millis() as u64) // 584 million years
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
