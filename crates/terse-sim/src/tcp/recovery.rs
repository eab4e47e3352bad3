//! Acknowledgements show progress or losses, and end recovery (RFC 5681, 6582, 6675; RFC 3168, 6.1.2).

use super::{Connection, Segment, SequenceNumber};
use crate::Time;
use core::time::Duration;

/// The state of loss recovery.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    pub(super) phase: Phase,
    /// The number of duplicate acknowledgements in a row.
    pub(super) duplicates: u32,
    /// RecoveryPoint, or `recover`: SND.NXT when the last loss was found.
    pub(super) point: SequenceNumber,
    /// Whether the next retransmission goes out whatever the congestion window says.
    pub(super) urgent: bool,
    /// Whether this fast recovery has had a partial acknowledgement (RFC 6582, 3.2), and its one rescue (RFC 6675, 4,
    /// condition 4).
    pub(super) partial: bool,
    pub(super) rescued: bool,
    /// Whether the peer has sent selective acknowledgements.
    pub(super) reports_seen: bool,
    /// The bytes that limited transmit sent, which the flight does not count (RFC 5681, 3.2, step 2).
    pub(super) limited: u32,
}

/// Whether losses are being repaired, and how they were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Open,
    /// Duplicate acknowledgements or SACK found the loss.
    Fast,
    /// The timer found the loss.
    Timeout,
}

impl Recovery {
    pub(super) const fn new(initial: SequenceNumber) -> Self {
        Self {
            phase: Phase::Open,
            duplicates: 0,
            point: initial,
            urgent: false,
            partial: false,
            rescued: false,
            reports_seen: false,
            limited: 0,
        }
    }
}

impl Connection {
    /// Handles an acceptable acknowledgement.
    pub(super) fn take_acknowledgement(&mut self, now: Time, segment: &Segment, acknowledgement: SequenceNumber) {
        let flight = self.flight();
        let duplicate = self.is_duplicate(segment, acknowledgement);
        let reported = self.may_act_on_sack() && self.scoreboard.select(&segment.options.sack);
        self.recovery.reports_seen |= reported;
        self.timers.probes_unanswered = 0;
        if self.snd.window == 0 {
            // A peer that answers is alive, even if it accepts nothing (RFC 9293, 3.8.6.1).
            self.timers.expiries = 0;
        }
        self.take_window(segment, acknowledgement);
        if acknowledgement.is_after(self.snd.una) {
            self.progress(now, segment, acknowledgement, flight);
        }
        self.look_for_losses(duplicate, reported);
        self.take_echo(segment, acknowledgement, flight);
        if self.snd.fin.is_some_and(|fin| self.snd.una.is_after(fin)) {
            self.fin_acknowledged(now);
        }
    }

    /// Whether losses are repaired by selective acknowledgements. A peer may agree to them and send none.
    pub(super) const fn acts_on_sack(&self) -> bool {
        self.may_act_on_sack() && self.recovery.reports_seen
    }

    /// Whether selective acknowledgements would be acted upon if the peer sent any.
    pub(super) const fn may_act_on_sack(&self) -> bool {
        self.agreed.sack && self.config.sack_sender
    }

    /// Returns FlightSize: the bytes that were sent and are not acknowledged (RFC 5681, 2).
    pub(super) const fn flight(&self) -> u32 {
        self.snd.nxt.since(self.snd.una)
    }

    /// Updates SND.WND (RFC 9293, 3.10.7.4, fifth).
    pub(super) fn take_window(&mut self, segment: &Segment, acknowledgement: SequenceNumber) {
        let (wl1, wl2) = (self.snd.wl1, self.snd.wl2);
        let is_newer = wl1.is_before(segment.sequence) || (wl1 == segment.sequence && !wl2.is_after(acknowledgement));
        if segment.flags.syn || !is_newer || acknowledgement.is_before(self.snd.una) {
            return;
        }
        self.snd.window = u32::from(segment.window) << self.agreed.send_shift;
        self.snd.maximum_window = self.snd.maximum_window.max(self.snd.window);
        self.snd.wl1 = segment.sequence;
        self.snd.wl2 = acknowledgement;
    }

    /// Whether this is a duplicate acknowledgement (RFC 5681, 2).
    fn is_duplicate(&self, segment: &Segment, acknowledgement: SequenceNumber) -> bool {
        !self.scoreboard.is_empty()
            && segment.payload.is_empty()
            && !segment.flags.syn
            && !segment.flags.fin
            && acknowledgement == self.snd.una
            && u32::from(segment.window) << self.agreed.send_shift == self.snd.window
    }

    /// Handles an acknowledgement of new data.
    fn progress(&mut self, now: Time, segment: &Segment, acknowledgement: SequenceNumber, flight: u32) {
        let bytes = acknowledgement.since(self.snd.una);
        let acknowledged = self.scoreboard.acknowledge(acknowledgement);
        self.snd.una = acknowledgement;
        self.send_buffer.acknowledge(acknowledgement);
        let echoed = || self.echoed_round_trip(now, segment);
        if let Some(round_trip) = acknowledged.sent_at.map(|sent| now.since(sent)).or_else(echoed) {
            self.rto.sample(round_trip);
        }
        if self.scoreboard.first().is_some_and(|first| first.sacked) {
            self.scoreboard.forget_reports();
        }
        self.recovery.duplicates = 0;
        self.recovery.limited = 0;
        self.timers.expiries = 0;
        let mut restart = true;
        match self.recovery.phase {
            Phase::Fast if !self.snd.una.is_before(self.recovery.point) => {
                self.recovery.phase = Phase::Open;
                self.congestion.leave_recovery(self.flight(), !self.acts_on_sack());
            }
            Phase::Fast if !self.acts_on_sack() => {
                // RFC 6582, 3.2, step 3: the next segment was lost too; only the first partial acknowledgement restarts
                // the timer.
                self.congestion.deflate(bytes);
                self.scoreboard.lose_first();
                self.recovery.urgent = true;
                restart = !core::mem::replace(&mut self.recovery.partial, true);
            }
            Phase::Fast => {}
            Phase::Open | Phase::Timeout => {
                // RFC 3168, 6.1.2: an echo does not make the window larger.
                if !(self.ecn.agreed && segment.flags.ece) {
                    self.congestion.acknowledged(bytes, flight);
                }
                if !self.snd.una.is_before(self.recovery.point) {
                    self.recovery.phase = Phase::Open;
                }
            }
        }
        if restart || self.scoreboard.is_empty() {
            self.restart_retransmission(now);
        }
    }

    /// Returns the round-trip time that a timestamp shows, also for segments that were sent twice (RFC 7323, 4.1).
    fn echoed_round_trip(&self, now: Time, segment: &Segment) -> Option<Duration> {
        self.agreed.timestamps?;
        let (_, echo) = segment.options.timestamps?;
        let elapsed = self.timestamp(now).wrapping_sub(echo);
        // An echo of a future timestamp is ignored.
        (elapsed < 1 << 31).then(|| Duration::from_millis(elapsed.into()))
    }

    /// Looks for losses by duplicate acknowledgements (RFC 5681, 3.2) or by SACK (RFC 6675, 5).
    fn look_for_losses(&mut self, duplicate: bool, reported: bool) {
        if duplicate {
            self.statistics.duplicate_acks_received += 1;
        }
        let Some(threshold) = self.config.duplicate_ack_threshold else { return };
        let sack = self.acts_on_sack();
        if self.scoreboard.is_empty() || !(reported || (duplicate && !sack)) {
            return;
        }
        self.recovery.duplicates = self.recovery.duplicates.saturating_add(1);
        match self.recovery.phase {
            Phase::Open => {
                let many = self.recovery.duplicates >= threshold;
                let found = sack && self.scoreboard.find_losses(threshold, self.segment_size());
                // A loss that the timer has found is not found again (RFC 6582, 3.2, step 2; RFC 6675, 5.1).
                let new = if sack {
                    !self.snd.una.is_before(self.recovery.point)
                } else {
                    self.snd.una.is_after(self.recovery.point)
                };
                if (many || found) && new {
                    self.enter_recovery();
                }
            }
            Phase::Fast if sack => {
                self.scoreboard.find_losses(threshold, self.segment_size());
            }
            Phase::Fast => self.congestion.inflate(),
            Phase::Timeout => {}
        }
    }

    fn enter_recovery(&mut self) {
        self.statistics.fast_retransmits += 1;
        let flight = self.flight().saturating_sub(self.recovery.limited);
        self.recovery.phase = Phase::Fast;
        self.recovery.point = self.snd.nxt;
        self.recovery.urgent = true;
        self.recovery.partial = false;
        self.recovery.rescued = false;
        self.recovery.limited = 0;
        self.congestion.enter_recovery(flight, !self.acts_on_sack());
        self.scoreboard.lose_first();
        self.ecn.reduced(self.snd.nxt);
        self.timers.loss_probe = None;
    }

    /// Handles an echo. RFC 3168, 6.1.2: it has the effect of a loss, once for each window.
    fn take_echo(&mut self, segment: &Segment, acknowledgement: SequenceNumber, flight: u32) {
        if !segment.flags.syn && self.ecn.should_reduce(segment.flags, acknowledgement) {
            if self.recovery.phase == Phase::Open {
                self.congestion.marked(flight);
                self.statistics.ecn_reductions += 1;
            }
            self.ecn.reduced(self.snd.nxt);
        }
    }
}
