//! One client connects again and again: how many exchanges it completes in a minute.
//!
//! What must always hold: connections follow each other, and all of them share the caches, sessions and keys of one pair.

use core::time::Duration;

use super::connect::connect;
use super::failed::Failed;
use super::measure::Comparison;
use super::runs;
use super::setting::Setting;
use crate::probe::Unwatched;

/// Exchanges on connections of their own, one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeated {
    /// The number of exchanges that were completed.
    pub exchanges: usize,
    /// The milliseconds of virtual time that they took.
    pub milliseconds: f64,
}

impl Repeated {
    /// Returns how many exchanges a minute has room for.
    pub fn per_minute(&self) -> f64 {
        self.exchanges as f64 * 60_000.0 / self.milliseconds
    }
}

impl Comparison {
    /// Repeats the exchange of `setting` until `limit` is over or `at_most` of them are completed; one is always done.
    ///
    /// Each exchange has a connection of its own, which begins when the reply of the one before has arrived: the client
    /// closes then, and does not wait for the server to close as well. Connections do not compete for the link. A mode
    /// that needs an earlier connection has one first, which is not counted. The number of runs does not count here.
    pub fn repeat(&self, setting: &Setting, limit: Duration, at_most: usize) -> Result<Repeated, Failed> {
        let pair = self.pair(setting)?;
        let earlier = self.earlier(setting, &pair, self.seed)?;
        let mut done = Repeated { exchanges: 0, milliseconds: 0.0 };
        for number in 0..at_most.max(1) {
            let clock = self.clock().after(earlier + Duration::from_secs_f64(done.milliseconds / 1e3));
            let met = connect(setting, &pair, runs::seed(self.seed, number), clock, None, &mut Unwatched)?;
            let milliseconds = done.milliseconds + met.verified(setting, &pair)?.times.replied;
            if done.exchanges > 0 && milliseconds > limit.as_secs_f64() * 1e3 {
                break;
            }
            done = Repeated { exchanges: done.exchanges + 1, milliseconds };
        }
        Ok(done)
    }
}
