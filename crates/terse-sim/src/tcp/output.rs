//! Segments are sent as in RFC 9293, 3.8, in this order: repairs, new data, probes, acknowledgements.

use super::connection::Transmit;
use super::recovery::Phase;
use super::segment::{MAXIMUM_OPTIONS, TIMESTAMPS_LEN, sack_blocks_in};
use super::{Connection, Flags, Nagle, Options, Segment, SequenceNumber, State};
use crate::Time;

impl Connection {
    /// Returns the next segment to send at `now`, or `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        if let Some(segment) = self.reset.take() {
            self.statistics.segments_sent += 1;
            return Some(Transmit { segment, ecn: super::Ecn::NotEct });
        }
        if self.state == State::Closed {
            return None;
        }
        let transmit = self
            .repair(now)
            .or_else(|| self.syn(now))
            .or_else(|| self.new_data(now))
            .or_else(|| self.last_resort(now))
            .or_else(|| self.loss_probe(now))
            .or_else(|| self.window_probe(now))
            .or_else(|| self.acknowledge(now))?;
        self.statistics.segments_sent += 1;
        Some(transmit)
    }

    /// Retransmits what is lost, in order (RFC 6675, 4, `NextSeg`, rule 1).
    fn repair(&mut self, now: Time) -> Option<Transmit> {
        let index = self.scoreboard.next_lost()?;
        let len = self.scoreboard.get(index)?.len();
        if !self.recovery.urgent && !self.fits_congestion_window(len) {
            return None;
        }
        self.recovery.urgent = false;
        self.retransmit(now, index)
    }

    /// Retransmits what may be lost, rather than nothing (RFC 6675, 4, `NextSeg`, rules 3 and 4).
    fn last_resort(&mut self, now: Time) -> Option<Transmit> {
        if self.recovery.phase != Phase::Fast
            || !self.acts_on_sack()
            || !self.fits_congestion_window(self.segment_size())
        {
            return None;
        }
        if let Some(index) = self.scoreboard.next_suspect() {
            self.scoreboard.lose(index);
            return self.retransmit(now, index);
        }
        let index = self.scoreboard.newest().filter(|_| !self.recovery.rescued)?;
        self.recovery.rescued = true;
        self.retransmit(now, index)
    }

    /// Sends the loss probe. RFC 8985, 7.3: without new data, it is the newest segment once more.
    fn loss_probe(&mut self, now: Time) -> Option<Transmit> {
        if !core::mem::take(&mut self.timers.loss_probe_due) {
            return None;
        }
        let index = self.scoreboard.newest()?;
        self.statistics.loss_probes += 1;
        self.retransmit(now, index)
    }

    /// Retransmits the segment at `index` of the scoreboard.
    fn retransmit(&mut self, now: Time, index: usize) -> Option<Transmit> {
        let sent = *self.scoreboard.get(index)?;
        let deadline = self.segment_deadline(now, sent.transmissions);
        self.scoreboard.repair(index, now, deadline);
        self.start_retransmission(now);
        self.statistics.retransmissions += 1;
        if sent.left == self.snd.initial {
            return Some(self.syn_segment(now, true));
        }
        let fin = self.snd.fin.is_some_and(|fin| fin + 1 == sent.right);
        let end = if fin { sent.right - 1 } else { sent.right };
        let payload = self.send_buffer.copy(sent.left, end);
        self.statistics.bytes_retransmitted += payload.len() as u64;
        let psh = end == self.send_buffer.end() && !payload.is_empty();
        Some(self.segment(now, sent.left, Flags { fin, psh, ..Flags::default() }, payload, false))
    }

    /// Returns the SYN, or the SYN-ACK, if it was not sent yet.
    fn syn(&mut self, now: Time) -> Option<Transmit> {
        if self.snd.nxt != self.snd.initial {
            return None;
        }
        self.snd.nxt += 1;
        let deadline = self.segment_deadline(now, 0);
        self.scoreboard.push(self.snd.initial, self.snd.nxt, now, deadline);
        self.start_retransmission(now);
        Some(self.syn_segment(now, false))
    }

    fn syn_segment(&mut self, now: Time, retransmitted: bool) -> Transmit {
        let answers = self.state == State::SynReceived;
        let mut flags = Flags { syn: true, ..Flags::default() };
        self.ecn.handshake_flags(&mut flags, answers, retransmitted);
        let acknowledgement = answers.then_some(self.rcv.nxt);
        let mut segment = self.bare(self.snd.initial, acknowledgement, flags);
        let config = &self.config;
        segment.options = Options {
            maximum_segment_size: Some(config.maximum_segment_size),
            window_scale: config.window_scale.filter(|_| !answers || self.agreed.scaled).map(|shift| shift.min(14)),
            sack_permitted: (config.sack_sender || config.sack_receiver) && (!answers || self.agreed.sack),
            timestamps: (config.timestamps && (!answers || self.agreed.timestamps.is_some()))
                .then(|| (self.timestamp(now), self.agreed.timestamps.map_or(0, |(recent, _)| recent))),
            sack: Vec::new(),
        };
        // RFC 7323, 2.2: the window of a SYN is not scaled.
        segment.window = self.window_of_syn();
        if answers {
            self.acknowledged();
        }
        Transmit { segment, ecn: super::Ecn::NotEct }
    }

    /// Returns the window that a SYN advertises.
    pub(super) fn window_of_syn(&self) -> u16 {
        u16::try_from(self.config.receive_window).unwrap_or(u16::MAX)
    }

    /// Sends new data, if the windows, Nagle's algorithm and the peer's SYN allow it.
    fn new_data(&mut self, now: Time) -> Option<Transmit> {
        use State::{CloseWait, Closing, Established, FinWait1, LastAck};
        let may_send = matches!(self.state, Established | CloseWait | FinWait1 | Closing | LastAck);
        let available = self.send_buffer.available(self.snd.nxt);
        if !may_send || self.snd.fin.is_some() || (available == 0 && !self.snd.closing) {
            return None;
        }
        let freed = if self.config.free_sacked { self.scoreboard.reported_segments() } else { 0 };
        let limit = self.config.maximum_in_flight.max(1);
        // A peer that reports segments by SACK and never acknowledges them can at most double the limit.
        if self.scoreboard.len() >= limit + freed.min(limit) {
            return None;
        }
        if self.config.idle_restart && self.scoreboard.is_empty() && now.since(self.snd.last) > self.rto.current() {
            self.congestion.restart_after_idle();
        }
        let full = self.payload_beside_sack();
        let room = (self.snd.una + self.snd.window).saturating_since(self.snd.nxt);
        let len = available.min(full);
        let fin = self.snd.closing && len == available && room > len;
        if room < len || (len == 0 && !fin) {
            return self.squeeze(now, room);
        }
        self.stop_window_probes();
        // RFC 8985, 7.3: new data is the preferred probe, whatever the congestion window says.
        let may_go = self.timers.loss_probe_due || self.fits_congestion_window(len);
        if (len < full && !fin && self.must_wait_for_more()) || !may_go {
            return None;
        }
        Some(self.send_new(now, len, fin, full))
    }

    /// Sends a part of the data where the window is too small for all of it, if that part is worth a segment (RFC 9293,
    /// 3.8.6.2.1), or has waited.
    fn squeeze(&mut self, now: Time, room: u32) -> Option<Transmit> {
        let override_timeout = self.timers.window_probe_due;
        let worth = room >= (self.snd.maximum_window / 2).max(1);
        if room > 0 && (worth || override_timeout) && self.fits_congestion_window(room) {
            let len = room.min(self.send_buffer.available(self.snd.nxt));
            self.stop_window_probes();
            return (len > 0).then(|| self.send_new(now, len, false, room));
        }
        if self.scoreboard.is_empty() {
            self.schedule_window_probe(now);
        }
        None
    }

    /// Sends `len` new bytes. A full segment has `full` bytes.
    fn send_new(&mut self, now: Time, len: u32, fin: bool, full: u32) -> Transmit {
        let left = self.snd.nxt;
        let payload = self.send_buffer.copy(left, left + len);
        let psh = len > 0 && left + len == self.send_buffer.end();
        self.snd.nxt = left + len + u32::from(fin);
        if fin {
            self.snd.fin = Some(left + len);
        }
        if len < full {
            self.snd.small = self.snd.nxt;
        }
        if self.recovery.phase == Phase::Open && self.recovery.duplicates > 0 {
            self.recovery.limited = self.recovery.limited.saturating_add(len);
        }
        let deadline = self.segment_deadline(now, 0);
        self.scoreboard.push(left, self.snd.nxt, now, deadline);
        self.snd.last = now;
        self.statistics.bytes_sent += u64::from(len);
        if len > 0 {
            self.acks.data_sent(now);
        }
        self.start_retransmission(now);
        self.statistics.loss_probes += u64::from(core::mem::take(&mut self.timers.loss_probe_due));
        self.schedule_loss_probe(now);
        self.segment(now, left, Flags { fin, psh, ..Flags::default() }, payload, len > 0)
    }

    /// Whether Nagle's algorithm (RFC 1122, 4.2.3.4), or Minshall's variation of it, holds a small segment back.
    fn must_wait_for_more(&self) -> bool {
        match self.config.nagle {
            Nagle::Off => false,
            Nagle::On => !self.scoreboard.is_empty(),
            Nagle::Minshall => self.snd.small.is_after(self.snd.una),
        }
    }

    /// Whether `len` more bytes may be in the network. One segment always may.
    fn fits_congestion_window(&self, len: u32) -> bool {
        let pipe = self.scoreboard.pipe();
        let mut window = self.congestion.window();
        // RFC 3042 applies without SACK only: with it, reported segments have left the pipe.
        if self.config.limited_transmit && self.recovery.phase == Phase::Open && !self.acts_on_sack() {
            window = window.saturating_add(self.recovery.duplicates.min(2).saturating_mul(self.segment_size()));
        }
        pipe == 0 || pipe.saturating_add(len) <= window
    }

    /// Sends a window probe: a segment without data, one octet before the window. It is not acceptable, so that its
    /// answer reports the window.
    fn window_probe(&mut self, now: Time) -> Option<Transmit> {
        if !core::mem::take(&mut self.timers.window_probe_due) {
            return None;
        }
        self.statistics.window_probes += 1;
        self.schedule_window_probe(now);
        Some(self.segment(now, self.snd.una - 1, Flags::default(), Vec::new(), false))
    }

    /// Sends an acknowledgement that no data carries.
    fn acknowledge(&mut self, now: Time) -> Option<Transmit> {
        if self.state == State::SynSent || !self.acks.is_due(now) {
            return None;
        }
        self.statistics.pure_acks_sent += 1;
        let (acknowledged, edge) = (self.rcv.acknowledged, self.rcv.edge);
        let transmit = self.segment(now, self.snd.nxt, Flags::default(), Vec::new(), false);
        self.statistics.duplicate_acks_sent += u64::from(acknowledged == self.rcv.nxt && edge == self.rcv.edge);
        Some(transmit)
    }

    /// Builds a segment of a connection whose peer's SYN is known.
    fn segment(
        &mut self,
        now: Time,
        sequence: SequenceNumber,
        mut flags: Flags,
        payload: Vec<u8>,
        new_data: bool,
    ) -> Transmit {
        let ecn = self.ecn.send(&mut flags, new_data);
        let mut segment = self.bare(sequence, Some(self.rcv.nxt), flags);
        segment.options.timestamps = self.agreed.timestamps.map(|(recent, _)| (self.timestamp(now), recent));
        if self.agreed.sack && self.config.sack_receiver {
            segment.options.sack = self.reassembly.sack_blocks(self.sack_blocks_beside(payload.len()));
        }
        segment.payload = payload;
        self.advertise(&mut segment);
        self.acknowledged();
        Transmit { segment, ecn }
    }

    /// Returns the payload of a full segment beside the SACK blocks that are due.
    fn payload_beside_sack(&self) -> u32 {
        let blocks = if self.agreed.sack && self.config.sack_receiver {
            self.reassembly.blocks().min(self.sack_blocks_beside(0))
        } else {
            0
        };
        let options = if blocks > 0 { 4 + 8 * blocks as u32 } else { 0 };
        // A segment full of SACK blocks would have no room for data.
        if options < self.segment_size() { self.segment_size() - options } else { self.segment_size() }
    }

    /// Returns how many SACK blocks fit beside `payload` bytes.
    fn sack_blocks_beside(&self, payload: usize) -> usize {
        let timestamps = if self.agreed.timestamps.is_some() { TIMESTAMPS_LEN } else { 0 };
        let header = MAXIMUM_OPTIONS - timestamps;
        // A segment without payload may have more options than a full segment has room for, if the MSS is tiny.
        let space = if payload == 0 { header } else { (self.segment_size() as usize).saturating_sub(payload) };
        sack_blocks_in(space.min(header))
    }

    /// Writes the window, and remembers its right edge (RFC 9293, 3.8.6.2.2: it never moves in small steps, nor back).
    fn advertise(&mut self, segment: &mut Segment) {
        let edge = self.next_edge().later(self.rcv.edge);
        let window = edge.since(self.rcv.nxt) >> self.agreed.receive_shift;
        segment.window = u16::try_from(window).unwrap_or(u16::MAX);
        let promised = self.rcv.nxt + (u32::from(segment.window) << self.agreed.receive_shift);
        self.rcv.edge = self.rcv.edge.later(promised);
    }

    /// Returns the right edge of the window that would be advertised now.
    pub(super) fn next_edge(&self) -> SequenceNumber {
        let free = self.config.receive_window.saturating_sub(self.received.len());
        let limit = u32::from(u16::MAX) << self.agreed.receive_shift;
        let edge = self.rcv.nxt + (free as u32).min(limit);
        let step = (self.config.receive_window as u32 / 2).min(self.agreed.segment_size);
        if edge.saturating_since(self.rcv.edge) >= step.max(1) { edge } else { self.rcv.edge }
    }

    /// Handles that the application has read: a window that has at least doubled since it was advertised is worth a
    /// segment.
    pub(super) fn update_window(&mut self) {
        if self.is_opening() || self.has_peer_fin() {
            return;
        }
        let advertised = self.rcv.edge.since(self.rcv.nxt);
        let now = self.next_edge().later(self.rcv.edge).since(self.rcv.nxt);
        if now > advertised && now / 2 >= advertised {
            self.acks.demand();
        }
    }

    fn acknowledged(&mut self) {
        self.rcv.acknowledged = self.rcv.nxt;
        self.acks.sent();
    }

    /// Returns the timestamp clock: milliseconds, from a point that the initial sequence number hides (RFC 7323, 5.4).
    pub(super) const fn timestamp(&self, now: Time) -> u32 {
        (now.as_millis() as u32).wrapping_add(self.snd.initial.0)
    }
}
