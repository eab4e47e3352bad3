//! Segments that arrive are handled as in RFC 9293, 3.10.7, with the checks of RFC 5961 and RFC 7323.

use super::acks::AckScheduler;
use super::acks::Arrival;
use super::congestion::Congestion;
use super::segment::FIXED_HEADER;
use super::{Connection, Ecn, Failure, Segment, SequenceNumber, State};
use crate::Time;
use core::time::Duration;

impl Connection {
    /// Handles a segment that arrived in a packet with this ECN codepoint.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        self.statistics.segments_received += 1;
        match self.state {
            State::Closed => self.reset = segment.reset(),
            State::SynSent => self.in_syn_sent(now, segment),
            _ => self.in_any_other_state(now, segment, ecn),
        }
    }

    /// Handles a segment in SYN-SENT (RFC 9293, 3.10.7.3).
    fn in_syn_sent(&mut self, now: Time, segment: &Segment) {
        let acknowledges = |ack: SequenceNumber| ack.is_after(self.snd.una) && !ack.is_after(self.snd.nxt);
        if segment.acknowledgement.is_some_and(|ack| !acknowledges(ack)) {
            self.reset = segment.reset();
            return;
        }
        if segment.flags.rst {
            if segment.acknowledgement.is_some() {
                self.fail(Failure::Refused);
            }
            return;
        }
        if !segment.flags.syn {
            return;
        }
        self.take_syn(now, segment);
        match segment.acknowledgement {
            Some(acknowledgement) => {
                self.acks.demand();
                self.establish(now, segment, acknowledgement);
            }
            // Both sides have sent a SYN (RFC 9293, 3.5): ours is sent again, with an acknowledgement.
            None => {
                self.state = State::SynReceived;
                self.scoreboard.lose(0);
                self.recovery.urgent = true;
            }
        }
    }

    /// Takes the numbers, the window and the options of the peer's SYN.
    pub(super) fn take_syn(&mut self, now: Time, syn: &Segment) {
        self.rcv.initial = syn.sequence;
        self.rcv.nxt = syn.sequence + 1;
        self.rcv.edge = self.rcv.nxt + u32::from(self.window_of_syn());
        self.rcv.acknowledged = syn.sequence;
        // RFC 7323, 2.2: the window of a SYN is not scaled.
        self.snd.window = u32::from(syn.window);
        self.snd.maximum_window = self.snd.window;
        self.snd.wl1 = syn.sequence;

        let options = &syn.options;
        let peer = options.maximum_segment_size.unwrap_or(self.config.default_segment_size).max(LEAST_SEGMENT_SIZE);
        self.agreed.segment_size = u32::from(peer.min(self.config.maximum_segment_size).max(1));
        self.agreed.sack = options.sack_permitted && (self.config.sack_sender || self.config.sack_receiver);
        self.agreed.timestamps = options.timestamps.filter(|_| self.config.timestamps).map(|(value, _)| (value, now));
        if let (Some(ours), Some(theirs)) = (self.config.window_scale, options.window_scale) {
            // RFC 7323, 2.3: a shift of more than 14 is taken for 14.
            self.agreed.scaled = true;
            self.agreed.receive_shift = ours.min(14);
            self.agreed.send_shift = theirs.min(14);
        }
        let asked = self.scoreboard.first().is_none_or(|first| first.transmissions == 1);
        self.ecn.take_handshake(syn.flags, syn.acknowledgement.is_some(), asked);
        self.acks = AckScheduler::new(self.config.acknowledgements, self.segment_size());
    }

    /// Handles the acknowledgement of our SYN.
    fn establish(&mut self, now: Time, segment: &Segment, acknowledgement: SequenceNumber) {
        let lost_syns = self.scoreboard.first().map_or(0, |first| first.transmissions.saturating_sub(1));
        self.state = if self.snd.closing { State::FinWait1 } else { State::Established };
        self.take_acknowledgement(now, segment, acknowledgement);
        self.congestion = Congestion::new(&self.config, self.segment_size(), lost_syns);
        if let Some(timeout) = self.config.rto_after_lost_syn.filter(|_| lost_syns > 0) {
            self.rto.restart_after_lost_syn(timeout);
        }
    }

    /// Handles a segment in any other state; the checks have the order of RFC 9293, 3.10.7.4.
    fn in_any_other_state(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        // RFC 7323, 3.2: a side that has agreed to timestamps sends them in every segment.
        if self.agreed.timestamps.is_some() && segment.options.timestamps.is_none() && !segment.flags.rst {
            self.statistics.unacceptable += 1;
            return;
        }
        if !self.is_timely(now, segment) || !self.is_acceptable(segment) {
            self.refuse(now, segment);
            return;
        }
        if segment.flags.rst {
            self.take_reset(now, segment);
            return;
        }
        if segment.flags.syn {
            // RFC 5961, 4.2. In SYN-RECEIVED, the SYN of a simultaneous opening was handled before.
            self.challenge(now);
            return;
        }
        let Some(acknowledgement) = segment.acknowledgement else { return };
        if self.state == State::SynReceived {
            if !acknowledgement.is_after(self.snd.una) || acknowledgement.is_after(self.snd.nxt) {
                self.reset = segment.reset();
                return;
            }
            self.establish(now, segment, acknowledgement);
        } else {
            // RFC 5961, 5.2
            let oldest = self.snd.una - self.snd.maximum_window;
            if acknowledgement.is_after(self.snd.nxt) || acknowledgement.is_before(oldest) {
                self.challenge(now);
                return;
            }
            self.take_acknowledgement(now, segment, acknowledgement);
        }
        if self.state == State::Closed {
            return;
        }
        if self.ecn.receive(segment.flags, ecn) {
            self.acks.marked(self.config.receive_window as u32);
        }
        self.take_data(now, segment);
    }

    /// Checks the timestamp by PAWS (RFC 7323, 5.3), and sets TS.Recent (RFC 7323, 4.3).
    fn is_timely(&mut self, now: Time, segment: &Segment) -> bool {
        let Some((recent, since)) = self.agreed.timestamps else { return true };
        let Some((value, _)) = segment.options.timestamps else { return true };
        let newer = value.wrapping_sub(recent) as i32 >= 0;
        if !newer && !segment.flags.rst && now.since(since) < OUTDATED {
            return false;
        }
        if !segment.sequence.is_after(self.rcv.acknowledged) && self.is_acceptable(segment) {
            self.agreed.timestamps = Some((value, now));
        }
        true
    }

    /// Whether some part of the segment lies in the window (RFC 9293, 3.4).
    fn is_acceptable(&self, segment: &Segment) -> bool {
        let window = self.rcv.edge.since(self.rcv.nxt);
        let inside = |number: SequenceNumber| number.since(self.rcv.nxt) < window;
        match segment.sequence_len() {
            // An acknowledgement may lie on the right edge: its sender has filled the window, and a segment was lost.
            0 => segment.sequence.since(self.rcv.nxt) <= window,
            len => inside(segment.sequence) || inside(segment.sequence + (len - 1)),
        }
    }

    /// Answers a segment that is not acceptable with an acknowledgement.
    fn refuse(&mut self, now: Time, segment: &Segment) {
        self.statistics.unacceptable += 1;
        if segment.flags.rst {
            return;
        }
        if self.state == State::SynReceived && segment.flags.syn && segment.sequence == self.rcv.initial {
            self.take_syn_again(now, segment);
            return;
        }
        if self.state == State::TimeWait && segment.flags.fin {
            self.timers.time_wait = Some(now + self.config.time_wait);
        }
        if segment.payload.is_empty() && !segment.flags.fin {
            self.challenge(now);
        } else {
            self.acks.unusual(self.config.receive_window as u32);
        }
    }

    /// Handles a repeated SYN: our SYN-ACK did not arrive, or both sides have opened and this is the peer's SYN-ACK
    /// (RFC 9293, 3.5).
    fn take_syn_again(&mut self, now: Time, segment: &Segment) {
        match segment.acknowledgement {
            Some(acknowledgement) if acknowledgement == self.snd.nxt => {
                self.acks.demand();
                self.establish(now, segment, acknowledgement);
            }
            _ => {
                self.scoreboard.lose(0);
                self.recovery.urgent = true;
            }
        }
    }

    /// Sends a challenge ACK (RFC 5961, 3.2), with a limit on their rate: two sides that disagree would never stop.
    fn challenge(&mut self, now: Time) {
        if self.timers.challenged.is_none_or(|last| now.since(last) >= CHALLENGE_INTERVAL) {
            self.timers.challenged = Some(now);
            self.acks.demand();
        }
    }

    /// Handles a reset. RFC 5961, 3.2: only a reset with exactly the next number is believed.
    fn take_reset(&mut self, now: Time, segment: &Segment) {
        if segment.sequence != self.rcv.nxt {
            self.challenge(now);
            return;
        }
        match self.state {
            State::Closing | State::LastAck | State::TimeWait => self.end(),
            _ => self.fail(Failure::Reset),
        }
    }

    /// Handles the text and the FIN (RFC 9293, 3.10.7.4, seventh and eighth).
    fn take_data(&mut self, now: Time, segment: &Segment) {
        if !matches!(self.state, State::Established | State::FinWait1 | State::FinWait2) {
            return;
        }
        let next = self.rcv.nxt;
        let known = (next.saturating_since(segment.sequence) as usize).min(segment.payload.len());
        let start = segment.sequence + known as u32;
        let room = (self.rcv.edge.saturating_since(start) as usize).min(segment.payload.len() - known);
        let data = &segment.payload[known..known + room];
        let end = segment.sequence + segment.payload.len() as u32;
        let is_last = !end.is_before(next) && self.reassembly.end().is_none_or(|last| !last.is_after(end));
        if segment.flags.fin && end.is_before(self.rcv.edge) && is_last && self.rcv.fin.is_none() {
            self.rcv.fin = Some(end);
        }
        // Data after a FIN is dropped.
        let data = match self.rcv.fin {
            Some(fin) => &data[..data.len().min(fin.saturating_since(start) as usize)],
            None => data,
        };
        if !data.is_empty() {
            let carried = segment.payload.len() + segment.header_len() - FIXED_HEADER;
            let is_full = data.len() == segment.payload.len() && carried >= self.agreed.segment_size as usize;
            self.take_text(now, start, data, is_full);
        }
        if self.rcv.fin == Some(self.rcv.nxt) {
            self.take_fin(now);
        } else if segment.flags.fin && data.is_empty() {
            self.acks.unusual(self.config.receive_window as u32);
        }
    }

    fn take_text(&mut self, now: Time, start: SequenceNumber, data: &[u8], is_full: bool) {
        let window = self.config.receive_window as u32;
        if start != self.rcv.nxt {
            self.statistics.out_of_order += 1;
            self.reassembly.insert(start, data);
            self.acks.unusual(window);
            return;
        }
        let fills_a_gap = !self.reassembly.is_empty();
        self.deliver(data);
        while let Some(more) = self.reassembly.take(self.rcv.nxt) {
            self.deliver(&more);
        }
        self.acks.received(
            now,
            Arrival {
                len: data.len() as u32,
                is_full,
                unacknowledged: self.rcv.nxt.since(self.rcv.acknowledged),
                window_moves: self.next_edge().is_after(self.rcv.edge),
                window,
                rto: self.rto.current(),
                round_trip: self.rto.smoothed(),
            },
        );
        // RFC 5681, 4.2: a segment that fills a gap, in whole or in part, is acknowledged at once.
        if fills_a_gap {
            self.acks.demand();
        }
    }

    fn deliver(&mut self, data: &[u8]) {
        self.received.extend(data);
        self.rcv.nxt += data.len() as u32;
        self.statistics.bytes_received += data.len() as u64;
    }

    fn take_fin(&mut self, now: Time) {
        self.rcv.nxt += 1;
        self.rcv.edge = self.rcv.edge.later(self.rcv.nxt);
        self.reassembly.clear();
        let may_answer = self.state == State::Established;
        self.acks.finished(now, may_answer);
        self.state = match self.state {
            State::Established => State::CloseWait,
            State::FinWait1 => State::Closing,
            _ => {
                self.begin_time_wait(now);
                State::TimeWait
            }
        };
    }

    /// Handles the acknowledgement of our FIN.
    pub(super) fn fin_acknowledged(&mut self, now: Time) {
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => {
                self.begin_time_wait(now);
                self.state = State::TimeWait;
            }
            State::LastAck => self.end(),
            _ => {}
        }
    }
}

/// The least MSS that is accepted from a peer's option. A smaller one would make a segment of each octet.
const LEAST_SEGMENT_SIZE: u16 = 48;
/// The time after which timestamps may have wrapped (RFC 7323, 5.5).
const OUTDATED: Duration = Duration::from_secs(24 * 24 * 60 * 60);
/// The least time between two challenge ACKs.
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);
