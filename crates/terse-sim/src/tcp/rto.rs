//! The retransmission timeout (RFC 6298).
//!
//! Karn's algorithm is the caller's: it gives no sample of a segment that was retransmitted, unless timestamps tell the
//! copies apart.

use super::Config;
use core::time::Duration;

/// The estimator of the retransmission timeout, from SRTT and RTTVAR.
#[derive(Clone, Debug)]
pub(super) struct RtoEstimator {
    smoothed: Option<Duration>,
    variation: Duration,
    base: Duration,
    /// How often the timeout has been doubled since the last sample.
    doublings: u32,
    minimum: Duration,
    maximum: Duration,
    granularity: Duration,
}

impl RtoEstimator {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            smoothed: None,
            variation: Duration::ZERO,
            base: config.rto_initial.min(config.rto_maximum),
            doublings: 0,
            minimum: config.rto_minimum,
            maximum: config.rto_maximum,
            granularity: config.rto_granularity,
        }
    }

    /// Returns the current timeout, with all doublings.
    pub(super) fn current(&self) -> Duration {
        self.doubled(self.doublings)
    }

    /// Returns the timeout after `times` doublings, whatever has been doubled before.
    pub(super) fn doubled(&self, times: u32) -> Duration {
        self.base.saturating_mul(1 << times.min(20)).min(self.maximum)
    }

    /// Returns SRTT, once there was a sample.
    pub(super) const fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// Returns how often the timeout has been doubled since the last sample.
    pub(super) const fn doublings(&self) -> u32 {
        self.doublings
    }

    /// Takes a measured round-trip time (RFC 6298, 2.2 and 2.3). It ends the doubling.
    pub(super) fn sample(&mut self, round_trip: Duration) {
        let smoothed = match self.smoothed {
            None => {
                self.variation = round_trip / 2;
                round_trip
            }
            Some(smoothed) => {
                // beta = 1/4, alpha = 1/8; RTTVAR is computed with the previous SRTT.
                self.variation = (self.variation * 3 + smoothed.abs_diff(round_trip)) / 4;
                (smoothed * 7 + round_trip) / 8
            }
        };
        self.smoothed = Some(smoothed);
        // RFC 6298, 2.3, 2.4, 2.5: RTO = SRTT + max(G, 4 RTTVAR)
        let timeout = smoothed + self.granularity.max(self.variation * 4);
        self.base = timeout.clamp(self.minimum.min(self.maximum), self.maximum);
        self.doublings = 0;
    }

    /// Handles an expiry of the timer (RFC 6298, 5.5).
    pub(super) fn back_off(&mut self) {
        self.doublings = self.doublings.saturating_add(1);
    }

    /// Sets the timeout after a handshake whose SYN was sent more than once (RFC 6298, 5.7). A sample takes precedence.
    pub(super) fn restart_after_lost_syn(&mut self, timeout: Duration) {
        if self.smoothed.is_none() {
            self.base = timeout.min(self.maximum);
            self.doublings = 0;
        }
    }
}

#[cfg(test)]
mod tests;
