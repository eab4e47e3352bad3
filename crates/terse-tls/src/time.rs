//! The time, which callers pass as an argument: the engine has no clock.

use pki_types::UnixTime;

/// A time of the caller's monotonic clock, in milliseconds since a start that the caller chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

impl Instant {
    /// Returns the milliseconds since `earlier`; 0 if `earlier` is later.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The time of a call, on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Now {
    /// The monotonic time, for timers and durations.
    pub monotonic: Instant,
    /// The wall-clock time, for certificates; `None` on a device that does not know it.
    pub unix: Option<UnixTime>,
}

impl Now {
    /// The time on both clocks; without wall-clock time on a device that does not know it.
    pub const fn new(monotonic: Instant, unix: Option<UnixTime>) -> Self {
        Self { monotonic, unix }
    }
}

impl Now {
    /// Wall-clock time in seconds since 1970, where one day in 2106 is as good as a later one; 0 if it is not known.
    pub(crate) fn seconds(&self) -> u32 {
        self.unix.map_or(0, |time| u32::try_from(time.as_secs()).unwrap_or(u32::MAX))
    }
}
