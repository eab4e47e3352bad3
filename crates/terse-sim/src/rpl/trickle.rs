//! The Trickle timer (RFC 6206), with the parameters that RPL gives it (RFC 6550, 8.3.1).
//!
//! ```text
//! │<──────────── I ────────────>│<──────────────────────── 2 I ────────────────────────>│
//! │             │<─ t in here ─>│                          │<──────── t in here ───────>│
//!                      send if c < k
//! ```
//!
//! What must always hold: I is from Imin to Imax and t from I/2 to I; intervals follow each other without a gap, so that it
//! makes no difference how late the timer is looked at; where t lies is a hash of the node and the number of the interval.

use core::time::Duration;

use crate::Time;
use crate::chance::{Chance, Purpose};

/// The three parameters of a Trickle timer (RFC 6206, 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The logarithm to base 2 of Imin in milliseconds: DIOIntervalMin.
    pub interval_min: u8,
    /// How often Imin is doubled at most: DIOIntervalDoublings.
    pub doublings: u8,
    /// The redundancy constant k. 0 stands for infinity (RFC 6206, 6.5).
    pub redundancy: u8,
}

impl Parameters {
    /// The defaults of RPL, from 8 ms to 2.3 hours (RFC 6550, 17), which RFC 8180, 5.3, demands of 6TiSCH.
    pub const RPL: Self = Self { interval_min: 3, doublings: 20, redundancy: 10 };

    /// The parameters of the 6TiSCH Simulator (SimEngine/Mote/rpl.py), from 16 s to 2.3 hours: a schedule with few cells has
    /// no room for intervals of 8 ms. Any DODAG may have its own (RFC 6550, 6.7.6).
    pub const SIXTISCH_SIMULATOR: Self = Self { interval_min: 14, doublings: 9, redundancy: 3 };

    /// Returns the shortest interval. Exponents without any use are cut, so that nothing overflows: 2^40 ms are 34 years.
    pub(crate) fn shortest(&self) -> Duration {
        Duration::from_millis(1 << self.interval_min.min(GREATEST_EXPONENT))
    }

    /// Returns the longest interval.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_millis(1 << self.interval_min.saturating_add(self.doublings).min(GREATEST_EXPONENT))
    }
}

/// A Trickle timer that runs.
#[derive(Clone, Debug)]
pub(crate) struct Trickle {
    parameters: Parameters,
    chance: Chance,
    /// What distinguishes the chances of this timer from those of others.
    node: u64,
    /// How many intervals began.
    number: u64,
    began: Time,
    /// I.
    interval: Duration,
    /// t, as a time. `None` once it has passed.
    fires: Option<Time>,
    /// c.
    counter: u32,
}

impl Trickle {
    /// Starts a timer with an interval of Imin (RFC 6206, 4.2, rule 1, lets this be chosen). `number` is the number of the
    /// first interval: a timer that takes the place of another one of the node goes on with [`Self::number`].
    pub(crate) fn new(parameters: Parameters, chance: Chance, node: u64, number: u64, now: Time) -> Self {
        let interval = parameters.shortest();
        let mut timer = Self { parameters, chance, node, number, began: now, interval, fires: None, counter: 0 };
        timer.begin(now);
        timer
    }

    /// Returns when the timer has something to do next.
    pub(crate) fn next_time(&self) -> Time {
        self.fires.unwrap_or_else(|| self.end())
    }

    /// Moves on to `now`, and returns whether a message is to be sent. It moves on to one message at most: call it until it
    /// returns `false`.
    pub(crate) fn handle_timeout(&mut self, now: Time) -> bool {
        while self.next_time() <= now {
            if self.fires.take().is_none() {
                // Rule 5.
                let end = self.end();
                self.interval = (self.interval * 2).min(self.parameters.longest());
                self.begin(end);
            } else if self.parameters.redundancy == 0 || self.counter < self.parameters.redundancy.into() {
                return true; // Rule 4.
            }
        }
        false
    }

    /// Counts a consistent message (rule 3).
    pub(crate) const fn hear_consistent(&mut self) {
        self.counter = self.counter.saturating_add(1);
    }

    /// Resets the timer after an inconsistent message or another event, unless its interval is Imin (rule 6).
    pub(crate) fn reset(&mut self, now: Time) {
        let shortest = self.parameters.shortest();
        if self.interval > shortest {
            self.interval = shortest;
            self.begin(now);
        }
    }

    /// Returns the number of the next interval.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Returns I.
    #[cfg(test)]
    pub(crate) const fn interval(&self) -> Duration {
        self.interval
    }

    fn end(&self) -> Time {
        self.began + self.interval
    }

    /// Begins an interval (rule 2).
    fn begin(&mut self, now: Time) {
        let half = u64::try_from(self.interval.as_nanos() / 2).unwrap_or(u64::MAX);
        let within = self.chance.below(half, Purpose::Trickle, self.node, self.number);
        self.fires = Some(now + Duration::from_nanos(half.saturating_add(within)));
        (self.began, self.counter) = (now, 0);
        self.number += 1;
    }
}

/// Intervals are at most 2^40 ms long.
const GREATEST_EXPONENT: u8 = 40;

#[cfg(test)]
mod tests;
