//! Clocks that drift: how far a node's time is from the root's, and whether two nodes still hear each other.
//!
//! What must always hold: an offset is a function of the last synchronisation and the time since, so that it makes no
//! difference when it is looked at; whole numbers only, the same on all machines.

use crate::Time;
use crate::chance::{Chance, Purpose};
use core::time::Duration;

/// How fast a clock is: parts per billion by which it gains on the root's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Drift {
    pub(crate) parts_per_billion: i64,
}

impl Drift {
    /// Returns a drift of so many parts per million.
    pub(crate) const fn ppm(parts_per_million: i32) -> Self {
        Self { parts_per_billion: parts_per_million as i64 * 1_000 }
    }

    /// Draws the drift of a node, from `-greatest` to `greatest`, all alike.
    pub(crate) fn draw(chance: Chance, node: u64, greatest: Self) -> Self {
        let most = greatest.parts_per_billion.unsigned_abs();
        let drawn = chance.below(2 * most + 1, Purpose::Drift, node, 0);
        Self { parts_per_billion: drawn as i64 - most as i64 }
    }

    /// Returns by how many nanoseconds the clock gains in a time.
    pub(crate) fn gain(self, time: Duration) -> i64 {
        let gain = time.as_nanos() as i128 * i128::from(self.parts_per_billion) / 1_000_000_000;
        // 2^63 ns are 292 years.
        i64::try_from(gain).unwrap_or(if gain > 0 { i64::MAX } else { i64::MIN })
    }
}

/// A node's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    drift: Drift,
    /// Nanoseconds by which the clock was ahead of the root's when it was last synchronised.
    offset: i64,
    /// When that was.
    since: Time,
}

impl Clock {
    /// Creates a clock that is right now.
    pub(crate) const fn new(drift: Drift, now: Time) -> Self {
        Self { drift, offset: 0, since: now }
    }

    /// Returns by how many nanoseconds the clock is ahead of the root's.
    pub(crate) fn offset(&self, now: Time) -> i64 {
        self.offset.saturating_add(self.drift.gain(now.since(self.since)))
    }

    /// Sets the clock by the one of a time source, to its resolution: the time correction of an acknowledgement is in whole
    /// microseconds (IEEE 802.15.4-2020, 7.4.2.7), a frame is timed in ticks of a crystal. Returns the correction in nanoseconds.
    pub(crate) fn synchronise(&mut self, now: Time, source: &Self, resolution: Duration) -> i64 {
        let before = self.offset(now);
        let resolution = i64::try_from(resolution.as_nanos()).unwrap_or(i64::MAX).max(1);
        // Rounded to the nearest step.
        let difference = source.offset(now).saturating_sub(before);
        let half = if difference < 0 { -(resolution / 2) } else { resolution / 2 };
        let correction = difference.saturating_add(half) / resolution * resolution;
        (self.offset, self.since) = (before.saturating_add(correction), now);
        correction
    }

    /// Whether a node with this clock hears a frame of a node with another one: the receiver listens for `guard` before and after
    /// the moment at which the frame should begin, half of macTsRxWait.
    pub(crate) fn hears(&self, now: Time, sender: &Self, guard: Duration) -> bool {
        u128::from(self.offset(now).abs_diff(sender.offset(now))) <= guard.as_nanos()
    }
}

/// Returns how long two nodes hear each other after they were synchronised, whose clocks differ by `drift` (RFC 7554, B.3);
/// `None` if for ever.
pub(crate) fn longest_silence(drift: Drift, guard: Duration) -> Option<Duration> {
    let drift = u128::from(drift.parts_per_billion.unsigned_abs());
    let nanos = (guard.as_nanos() * 1_000_000_000).checked_div(drift)?;
    Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests;
