//! The congestion window: slow start, congestion avoidance, recovery (RFC 5681, RFC 6582), in bytes.

use super::Config;

/// The variables cwnd and ssthresh.
#[derive(Clone, Debug)]
pub(super) struct Congestion {
    enabled: bool,
    window: u32,
    threshold: u32,
    segment_size: u32,
    initial: u32,
    slow_start_limit: u32,
    /// Bytes acknowledged since the window grew last, in congestion avoidance.
    credit: u32,
}

impl Congestion {
    /// Creates the state at the end of a handshake whose SYN was sent again `lost_syns` times.
    pub(super) fn new(config: &Config, segment_size: u32, lost_syns: u32) -> Self {
        let forgiven = lost_syns <= config.lost_syns_forgiven;
        let segments = if forgiven { config.initial_window } else { config.initial_window_after_lost_syn };
        let initial = segments.max(1).saturating_mul(segment_size);
        Self {
            enabled: config.congestion_control,
            window: initial,
            threshold: u32::MAX,
            segment_size,
            initial,
            slow_start_limit: config.slow_start_limit.max(1).saturating_mul(segment_size),
            credit: 0,
        }
    }

    /// Returns cwnd; without congestion control there is no limit.
    pub(super) const fn window(&self) -> u32 {
        if self.enabled { self.window } else { u32::MAX }
    }

    #[cfg(test)]
    pub(super) const fn threshold(&self) -> u32 {
        self.threshold
    }

    /// Handles an acknowledgement of new data outside of recovery; `flight` bytes had been in flight (RFC 5681, 3.1).
    ///
    /// A window that was not used does not grow.
    pub(super) fn acknowledged(&mut self, bytes: u32, flight: u32) {
        if self.window < self.threshold {
            if flight.saturating_mul(2) >= self.window {
                let grown = self.window.saturating_add(bytes.min(self.slow_start_limit));
                self.window = grown.min(self.threshold);
            }
        } else if flight.saturating_add(self.segment_size) > self.window {
            self.credit = self.credit.saturating_add(bytes);
            if self.credit >= self.window {
                self.credit -= self.window;
                self.window = self.window.saturating_add(self.segment_size);
            }
        }
    }

    /// Handles a loss that was found without the timer (RFC 5681, 3.2; RFC 6675, 5, step 4.2).
    ///
    /// `inflate`: there is no SACK, so the duplicate acknowledgements stand for segments that have left the network.
    pub(super) fn enter_recovery(&mut self, flight: u32, inflate: bool) {
        self.halve(flight);
        self.window = self.threshold;
        if inflate {
            self.window = self.window.saturating_add(3 * self.segment_size);
        }
    }

    /// Handles one more duplicate acknowledgement in recovery without SACK (RFC 5681, 3.2, step 4).
    pub(super) fn inflate(&mut self) {
        self.window = self.window.saturating_add(self.segment_size);
    }

    /// Handles a partial acknowledgement in recovery without SACK (RFC 6582, 3.2, step 3).
    pub(super) fn deflate(&mut self, bytes: u32) {
        let refill = if bytes >= self.segment_size { self.segment_size } else { 0 };
        self.window = self.window.saturating_sub(bytes).saturating_add(refill).max(self.segment_size);
    }

    /// Handles that everything in flight at the time of the loss has arrived (RFC 6582, 3.2, step 3).
    pub(super) fn leave_recovery(&mut self, flight: u32, inflated: bool) {
        self.credit = 0;
        self.window = self.threshold;
        if inflated {
            self.window = self.window.min(flight.max(self.segment_size).saturating_add(self.segment_size));
        }
    }

    /// Handles an expired timer (RFC 5681, 3.1). `again`: it expired for the same data before.
    pub(super) fn timed_out(&mut self, flight: u32, again: bool) {
        if !again {
            self.halve(flight);
        }
        self.credit = 0;
        self.window = self.segment_size;
    }

    /// Handles the echo of a congestion mark (RFC 3168, 6.1.2).
    pub(super) fn marked(&mut self, flight: u32) {
        self.halve(flight);
        self.credit = 0;
        self.window = self.threshold.min(self.window);
    }

    /// Handles that nothing was sent for as long as a timeout (RFC 5681, 4.1).
    pub(super) fn restart_after_idle(&mut self) {
        self.window = self.window.min(self.initial);
    }

    fn halve(&mut self, flight: u32) {
        self.threshold = (flight / 2).max(2 * self.segment_size);
    }
}

#[cfg(test)]
mod tests;
