//! The scheduler of acknowledgements that no data carries (RFC 1122, 4.2.3.2; RFC 5681, 4.2; Linux's habits).

use super::Acknowledgements;
use crate::Time;
use core::time::Duration;

/// Decides, for each segment that arrives, whether it is acknowledged now or later.
#[derive(Clone, Debug)]
pub(super) struct AckScheduler {
    policy: Acknowledgements,
    due: Option<Due>,
    /// The number of segments that count for `Acknowledgements::Delayed` and are not acknowledged.
    pending: u32,
    /// The size of the peer's full segments, as far as Linux has seen them.
    full_size: u32,
    linux: Habits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Now,
    At(Time),
}

/// The state of `Acknowledgements::Adaptive`.
#[derive(Clone, Debug, Default)]
struct Habits {
    /// The usual time until the application answers; `None` before the first data.
    timeout: Option<Duration>,
    /// The number of acknowledgements that are still sent at once.
    quick: u32,
    /// Whether the application answers quickly, so that its answers can carry acknowledgements.
    interactive: bool,
    last_received: Time,
    /// The number of segments that were not full and wait for their acknowledgement.
    small: u32,
}

/// A segment that arrived in order, and the connection as it stands after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Bytes of payload.
    pub(super) len: u32,
    /// Whether the segment is full: it has as much payload as the two MSS options leave room for beside its own options.
    pub(super) is_full: bool,
    /// Bytes that arrived since the last acknowledgement.
    pub(super) unacknowledged: u32,
    /// Whether the window that would be advertised reaches further than the last one.
    pub(super) window_moves: bool,
    /// The receive window, in bytes.
    pub(super) window: u32,
    /// The retransmission timeout.
    pub(super) rto: Duration,
    /// SRTT.
    pub(super) round_trip: Option<Duration>,
}

impl AckScheduler {
    /// Creates a scheduler. `segment_size` is the most that the peer may send in a segment.
    pub(super) fn new(policy: Acknowledgements, segment_size: u32) -> Self {
        let full_size = segment_size.clamp(SMALLEST_FULL_SIZE, LIKELY_FULL_SIZE);
        Self { policy, due: None, pending: 0, full_size, linux: Habits::default() }
    }

    /// Makes an acknowledgement due at once, whatever the policy says.
    pub(super) fn demand(&mut self) {
        self.due = Some(Due::Now);
    }

    /// Whether an acknowledgement is due at `now`.
    pub(super) fn is_due(&self, now: Time) -> bool {
        match self.due {
            Some(Due::Now) => true,
            Some(Due::At(time)) => time <= now,
            None => false,
        }
    }

    /// Returns when an acknowledgement will be due, if none is due already.
    pub(super) const fn deadline(&self) -> Option<Time> {
        match self.due {
            Some(Due::At(time)) => Some(time),
            _ => None,
        }
    }

    /// Handles a segment that arrived out of order, old, or marked. It is acknowledged at once, and so are the next
    /// ones for a while.
    pub(super) fn unusual(&mut self, window: u32) {
        if let Acknowledgements::Adaptive { minimum, quick, .. } = self.policy {
            self.be_quick(window, quick);
            self.linux.interactive = false;
            self.linux.timeout = Some(minimum);
        }
        self.demand();
    }

    /// Handles a congestion mark. Linux reports it at once; others when an acknowledgement is due anyway.
    pub(super) fn marked(&mut self, window: u32) {
        if matches!(self.policy, Acknowledgements::Adaptive { .. }) {
            self.unusual(window);
        }
    }

    /// Handles data that arrived in order.
    pub(super) fn received(&mut self, now: Time, arrival: Arrival) {
        match self.policy {
            Acknowledgements::Immediate => self.demand(),
            Acknowledgements::Delayed { delay, segments, full_sized } => {
                let counts = arrival.is_full || !full_sized;
                self.pending = if counts { self.pending + 1 } else { 0 };
                if self.pending >= segments { self.demand() } else { self.delay_until(now + delay) }
            }
            Acknowledgements::Adaptive { minimum, maximum, quick } => {
                self.measure(arrival.len);
                self.follow(now, minimum, quick, arrival);
                let full = arrival.unacknowledged > self.full_size && arrival.window_moves;
                let quickly = self.linux.quick > 0 && !self.linux.interactive;
                if full || quickly {
                    self.demand();
                } else {
                    self.delay_until(now + self.adaptive_delay(minimum, maximum, arrival.round_trip));
                }
            }
        }
    }

    /// Handles the peer's FIN, in order. Linux waits for the application to close, if that is what comes next.
    pub(super) fn finished(&mut self, now: Time, application_may_answer: bool) {
        match self.policy {
            Acknowledgements::Adaptive { minimum, .. } if application_may_answer => {
                self.linux.interactive = true;
                if !self.is_due(now) {
                    self.delay_until(now + minimum);
                }
            }
            _ => self.demand(),
        }
    }

    /// Handles that the application has read. `all`: it has read everything that had arrived.
    pub(super) fn read(&mut self, all: bool, unacknowledged: u32) {
        if !matches!(self.policy, Acknowledgements::Adaptive { .. }) || self.due.is_none() {
            return;
        }
        let end_of_flight = self.linux.small > 1 || (self.linux.small == 1 && !self.linux.interactive);
        if unacknowledged > self.full_size || (all && end_of_flight) {
            self.demand();
        }
    }

    /// Handles that data of the application is sent.
    pub(super) fn data_sent(&mut self, now: Time) {
        if self.linux.timeout.is_some_and(|timeout| now.since(self.linux.last_received) < timeout) {
            self.linux.interactive = true;
        }
    }

    /// Handles that a segment is sent, which acknowledges all that arrived.
    pub(super) fn sent(&mut self) {
        if self.due.take().is_some()
            && self.linux.quick > 0
            && let Acknowledgements::Adaptive { minimum, .. } = self.policy
        {
            self.linux.quick -= 1;
            if self.linux.quick == 0 {
                self.linux.timeout = Some(minimum);
            }
        }
        self.pending = 0;
        self.linux.small = 0;
    }

    /// Handles the end of the delay.
    pub(super) fn expired(&mut self, rto: Duration) {
        if let Acknowledgements::Adaptive { minimum, .. } = self.policy {
            if self.linux.interactive {
                // The application did not answer within the delay.
                self.linux.interactive = false;
                self.linux.timeout = Some(minimum);
            } else {
                self.linux.timeout = self.linux.timeout.map(|timeout| (timeout * 2).min(rto));
            }
        }
        self.demand();
    }

    fn delay_until(&mut self, time: Time) {
        self.due = match self.due {
            Some(Due::Now) => Some(Due::Now),
            Some(Due::At(earlier)) => Some(Due::At(earlier.min(time))),
            None => Some(Due::At(time)),
        };
    }

    /// Learns how large the peer's full segments are; a smaller segment ends a flight.
    fn measure(&mut self, len: u32) {
        if len >= self.full_size {
            self.full_size = len;
        } else {
            self.linux.small += 1;
        }
    }

    /// Adapts the delay to the time between segments.
    fn follow(&mut self, now: Time, minimum: Duration, quick: u32, arrival: Arrival) {
        let gap = now.since(self.linux.last_received);
        self.linux.last_received = now;
        match self.linux.timeout {
            None => {
                self.be_quick(arrival.window, quick);
                self.linux.timeout = Some(minimum);
            }
            Some(timeout) if gap <= minimum / 2 => self.linux.timeout = Some(timeout / 2 + minimum / 2),
            Some(timeout) if gap < timeout => self.linux.timeout = Some((timeout / 2 + gap).min(arrival.rto)),
            // The sender has been silent for long, and may begin again with slow start.
            Some(_) if gap > arrival.rto => self.be_quick(arrival.window, quick),
            Some(_) => {}
        }
    }

    fn be_quick(&mut self, window: u32, most: u32) {
        let half_window = (window / (2 * self.full_size)).max(2);
        self.linux.quick = self.linux.quick.max(half_window.min(most));
    }

    fn adaptive_delay(&self, minimum: Duration, maximum: Duration, round_trip: Option<Duration>) -> Duration {
        let habit = self.linux.timeout.unwrap_or(minimum);
        if habit <= minimum {
            return habit.min(maximum);
        }
        let quick_answers = self.linux.interactive || self.linux.small > 0;
        let most = if quick_answers { maximum } else { WITHOUT_ANSWERS };
        let most = round_trip.map_or(most, |time| time.max(minimum).min(most));
        habit.min(most).min(maximum)
    }
}

/// The least size that is taken for a full segment.
const SMALLEST_FULL_SIZE: u32 = 88;
/// The size that is taken for a full segment before one was seen.
const LIKELY_FULL_SIZE: u32 = 536;
/// The longest delay of a bulk transfer.
const WITHOUT_ANSWERS: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests;
