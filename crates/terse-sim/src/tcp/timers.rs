//! The timers of a connection: retransmission (RFC 6298, 5), the probe of a closed window (RFC 9293, 3.8.6.1), the
//! probe of the end of a flight (RFC 8985, 7), TIME-WAIT. The delay of acknowledgements is in `acks`.

use super::recovery::Phase;
use super::{Connection, Failure, RetransmissionTimers, State};
use crate::Time;
use core::time::Duration;

/// The times at which timers expire.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    /// The connection's retransmission timer, where there is one.
    pub(super) retransmission: Option<Time>,
    /// How often the retransmission timer has expired since there was progress.
    pub(super) expiries: u32,
    /// The time when the end of the flight is probed.
    pub(super) loss_probe: Option<Time>,
    /// Whether the end of this flight has been probed.
    pub(super) loss_probed: bool,
    /// Whether the loss probe is due.
    pub(super) loss_probe_due: bool,
    /// The time when a window that is closed, or too small, is probed.
    pub(super) window_probe: Option<Time>,
    /// The number of window probes since the window was open.
    pub(super) probes: u32,
    /// The number of window probes since anything arrived.
    pub(super) probes_unanswered: u32,
    /// Whether the window probe is due.
    pub(super) window_probe_due: bool,
    /// The time when TIME-WAIT ends.
    pub(super) time_wait: Option<Time>,
    /// The time when the last challenge ACK was sent.
    pub(super) challenged: Option<Time>,
}

impl Connection {
    /// Returns when to call [`handle_timeout`](Self::handle_timeout), if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Time> {
        let timers = &self.timers;
        let single = [timers.retransmission, timers.loss_probe, timers.window_probe, timers.time_wait];
        let acknowledgement = self.acks.deadline().filter(|_| self.state != State::Closed);
        let segments = self.scoreboard.iter().filter_map(|segment| segment.deadline);
        single.into_iter().flatten().chain(acknowledgement).chain(segments).min()
    }

    /// Handles all timers that expire up to `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        let expired = |timer: Option<Time>| timer.is_some_and(|time| time <= now);
        if expired(self.timers.time_wait) {
            self.end();
        }
        if self.state == State::Closed {
            return;
        }
        if expired(self.acks.deadline()) {
            self.acks.expired(self.rto.current());
        }
        if expired(self.timers.loss_probe) {
            self.timers.loss_probe = None;
            self.timers.loss_probed = true;
            self.timers.loss_probe_due = true;
            // RFC 8985, 7.3: after an unanswered probe the retransmission timer runs, from the probe on.
            self.timers.retransmission = Some(now + self.rto.current());
        }
        if expired(self.timers.window_probe) {
            self.window_probe_expired();
        }
        if expired(self.timers.retransmission) {
            self.retransmission_expired(now);
        }
        self.segments_expired(now);
    }

    /// Handles an expiry of the connection's timer (RFC 6298, 5.4 to 5.6; RFC 5681, 3.1).
    fn retransmission_expired(&mut self, now: Time) {
        self.timers.retransmission = None;
        if self.scoreboard.is_empty() {
            return;
        }
        self.statistics.timeouts += 1;
        self.timers.expiries += 1;
        if self.timers.expiries > self.retries() {
            self.fail(Failure::TimedOut);
            return;
        }
        if self.scoreboard.first().is_some_and(|first| first.sacked) {
            self.scoreboard.forget_reports();
        }
        if !self.is_opening() {
            self.congestion.timed_out(self.flight(), self.rto.doublings() > 0);
            self.recovery.phase = Phase::Timeout;
            self.recovery.point = self.snd.nxt;
            self.recovery.duplicates = 0;
            self.recovery.limited = 0;
            self.ecn.reduced(self.snd.nxt);
        }
        self.scoreboard.lose_all();
        self.recovery.urgent = true;
        self.rto.back_off();
        self.timers.loss_probe = None;
        self.timers.loss_probe_due = false;
        self.timers.retransmission = Some(now + self.rto.current());
    }

    /// Handles the expired timers of single segments.
    fn segments_expired(&mut self, now: Time) {
        for index in 0..self.scoreboard.len() {
            let Some(segment) = self.scoreboard.get(index) else { break };
            if segment.deadline.is_none_or(|time| time > now) {
                continue;
            }
            let again = segment.transmissions > 1;
            self.statistics.timeouts += 1;
            if segment.transmissions > self.retries() && self.snd.window > 0 {
                self.fail(Failure::TimedOut);
                return;
            }
            if !self.is_opening() {
                self.congestion.timed_out(self.flight(), again);
            }
            self.scoreboard.lose(index);
            if index == 0 {
                // The timeout stays doubled until the next sample: a path slower than the timeout would never give one
                // (RFC 6298, 5.5; Karn).
                self.rto.back_off();
            }
        }
    }

    fn window_probe_expired(&mut self) {
        self.timers.window_probe = None;
        self.timers.window_probe_due = true;
        self.timers.probes = self.timers.probes.saturating_add(1);
        self.timers.probes_unanswered += 1;
        if self.timers.probes_unanswered > self.config.retries {
            self.fail(Failure::TimedOut);
        }
    }

    fn retries(&self) -> u32 {
        if self.is_opening() { self.config.syn_retries } else { self.config.retries }
    }

    pub(super) const fn is_opening(&self) -> bool {
        matches!(self.state, State::SynSent | State::SynReceived)
    }

    /// Restarts the timer after progress, for the segments still in flight (RFC 6298, 5.2 and 5.3).
    pub(super) fn restart_retransmission(&mut self, now: Time) {
        self.timers.loss_probe = None;
        self.timers.loss_probed = false;
        self.timers.loss_probe_due = false;
        if self.config.retransmission_timers == RetransmissionTimers::One {
            self.timers.retransmission = (!self.scoreboard.is_empty()).then(|| now + self.rto.current());
        }
        self.schedule_loss_probe(now);
    }

    /// Starts the timer for a segment that was sent, if it does not run already (RFC 6298, 5.1).
    pub(super) fn start_retransmission(&mut self, now: Time) {
        if self.config.retransmission_timers == RetransmissionTimers::One && self.timers.retransmission.is_none() {
            self.timers.retransmission = Some(now + self.rto.current());
        }
    }

    /// Returns the deadline of a segment that is sent now, where segments have one.
    pub(super) fn segment_deadline(&self, now: Time, transmissions: u32) -> Option<Time> {
        let timeout = match self.config.retransmission_timers {
            RetransmissionTimers::One => return None,
            RetransmissionTimers::PerSegment => self.rto.doubled(transmissions.max(self.rto.doublings())),
        };
        Some(now + timeout)
    }

    /// Schedules the loss probe. RFC 8985, 7.2: it follows two round trips after the last segment of a flight, or
    /// replaces the timeout.
    pub(super) fn schedule_loss_probe(&mut self, now: Time) {
        let usable = self.config.loss_probe
            && self.config.retransmission_timers == RetransmissionTimers::One
            && self.may_act_on_sack()
            && !self.is_opening()
            && self.recovery.phase == Phase::Open
            && !self.timers.loss_probed
            && !self.scoreboard.is_empty()
            && self.scoreboard.reported_segments() == 0;
        if !usable {
            self.timers.loss_probe = None;
            return;
        }
        let mut delay = self.rto.smoothed().map_or(Duration::from_secs(1), |time| time * 2);
        // A peer that has a single segment may delay its acknowledgement.
        let single = self.scoreboard.len() == 1;
        delay += if single { self.config.rto_granularity } else { LEAST_SLACK };
        self.timers.loss_probe = self.timers.retransmission.map(|timeout| timeout.min(now + delay));
    }

    /// Schedules a window probe for data that only the peer's window holds back, each later than the one before.
    pub(super) fn schedule_window_probe(&mut self, now: Time) {
        if self.timers.window_probe.is_none() && !self.timers.window_probe_due {
            self.timers.window_probe = Some(now + self.rto.doubled(self.timers.probes));
        }
    }

    /// Stops the probes: the window is open.
    pub(super) fn stop_window_probes(&mut self) {
        self.timers.window_probe = None;
        self.timers.window_probe_due = false;
        self.timers.probes = 0;
    }

    pub(super) fn begin_time_wait(&mut self, now: Time) {
        self.timers.retransmission = None;
        self.timers.loss_probe = None;
        self.timers.window_probe = None;
        self.timers.time_wait = Some(now + self.config.time_wait);
    }
}

/// The least time that Linux adds to two round trips: two ticks of its clock.
const LEAST_SLACK: Duration = Duration::from_millis(2);
