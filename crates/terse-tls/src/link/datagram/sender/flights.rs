//! When a flight is retransmitted, and when it is done: answered, acknowledged, or given up.

use super::{
    Acknowledged, Arrived, Expired, Flight, HANDSHAKE, Instant, KEPT, MAX_FRAGMENT, RecordNumber, Sender, Sent,
};
use crate::link::datagram::{ack, outstanding::Position};

impl Sender {
    /// Whether a flight that answers the peer's was completed and not sent yet. A post-handshake message of DTLS 1.3
    /// answers nothing.
    fn has_answer(&self, finished: bool) -> bool {
        let is_after = self.is_dtls13() && finished && self.flight.pieces.iter().all(|piece| piece.epoch > HANDSHAKE);
        self.flight.is_fresh && !is_after
    }

    /// Handles that the whole flight is acknowledged.
    fn done(&mut self, now: Instant) -> Acknowledged {
        let was_last = self.flight.pieces.iter().any(|piece| piece.epoch == HANDSHAKE);
        if self.is_finished {
            self.timer.answered(now);
            self.flight = Flight::default();
            self.forget_epochs();
        } else {
            self.timer.progress(now); // the answer is still missing
        }
        if self.is_finished && was_last { Acknowledged::LastFlight } else { Acknowledged::Something }
    }

    /// Whether the peer has received the KeyUpdate, but maybe not the messages before it.
    fn peer_has_key_update(&self) -> bool {
        self.flight.up_to_key_update(self.epoch()).last().is_some_and(|piece| piece.is_acknowledged)
    }

    /// Puts the next epoch in force, if there is one: the peer has handled the KeyUpdate.
    fn use_next_epoch(&mut self) {
        if let Some(next) = self.next_epoch.take() {
            self.epochs.push(next);
        }
    }

    /// Returns a quarter of the retransmission timer, in milliseconds (RFC 9147, 7.1). The ACK must arrive before the
    /// peer's timer expires, which may still have its initial value even if round trips measured here were longer.
    fn quarter(&self) -> u64 {
        self.timer.value().min(self.timer.initial()) / 4
    }

    /// Schedules the parts that the peer should have acknowledged, all those before `arrived`, for retransmission. If
    /// there is no gap, the peer waits for later parts, so those are retransmitted. Not after the handshake, when the
    /// peer does not wait, nor if its ACK had no room for more.
    fn send_lost(&mut self, now: Instant, arrived: Position, numbers: usize) {
        let has_gap = self.flight.send_before(arrived);
        let is_handshake = !self.is_finished || self.has_last_flight();
        if !has_gap && !self.flight.leaves_gap() && is_handshake && numbers < self.numbers_in_ack() {
            // A part that was sent in the latter half of the round trip may have arrived after the ACK was sent.
            self.flight.send_older(Instant(arrived.sent.0 + now.since(arrived.sent) / 2));
        }
    }

    /// Returns how many record numbers fit into an ACK of the peer, if its datagrams are as large as those of this
    /// side. After an ACK with so many, another one may follow.
    fn numbers_in_ack(&self) -> usize {
        let (head, tail) = self.frame(self.in_force(), MAX_FRAGMENT);
        ack::max_numbers(self.max_datagram.saturating_sub(head + tail))
    }

    /// Whether the flight may be retransmitted on the peer's request: not too soon after it was sent, nor too often.
    fn may_repeat(&self, now: Instant) -> bool {
        let flight = &self.flight;
        // Duplicates, and requests that cross an answer on its way, cause no retransmission. After losses this side's
        // own timer is early enough; the last flight has no timer, and the peer's may expire much earlier.
        let (value, undoubled) = (self.timer.value(), self.timer.undoubled());
        let least = if value > undoubled && !flight.is_last { value } else { undoubled / 4 };
        let is_soon = flight.last_sent.is_some_and(|sent| now.since(sent) < least);
        let is_old = flight.is_last && flight.last_sent.is_some_and(|sent| now.since(sent) > KEPT);
        // Endless requests are ignored.
        let is_too_often = flight.repeats >= self.max_repeats;
        let is_there = flight.is_complete && flight.todo.is_empty() && !flight.is_acknowledged();
        is_there && !is_soon && !is_old && !is_too_often
    }
}

impl Sender {
    /// Notes that an authentic record came.
    pub(in crate::link::datagram) fn peer_is_there(&mut self) {
        let place = self.in_force();
        self.epochs[place].peer_is_there();
        self.flight.is_heard = true;
        if core::mem::take(&mut self.flight.is_asleep) {
            self.flight.send_again();
        }
    }

    /// Notes records that may have to be acknowledged.
    pub(in crate::link::datagram) fn arrived(&mut self, now: Instant, arrived: Arrived) {
        if self.flight.pieces.is_empty() && !self.is_finished {
            return; // a server that has no ClientHello yet does not answer
        }
        let quarter = (self.has_partial_acks || self.is_finished).then(|| self.quarter());
        self.acks.note(now, arrived, quarter, self.is_finished);
    }

    /// Forgets the records that are to be acknowledged, because DTLS 1.2 was negotiated, which has no ACKs.
    pub(in crate::link::datagram) fn peer_has_no_acks(&mut self) {
        self.acks.answered();
    }

    /// Handles an ACK of these records.
    pub(in crate::link::datagram) fn acknowledged(
        &mut self,
        now: Instant,
        numbers: &[RecordNumber],
        is_protected: bool,
    ) -> Acknowledged {
        let waits = !self.is_finished || self.has_last_flight();
        if numbers.is_empty() && self.may_repeat(now) && waits && self.has_partial_acks {
            self.flight.repeats += 1; // less than `max_repeats` before
            self.timer.repeated();
            self.flight.send_again();
            self.flight.keep_first_epoch();
            return Acknowledged::Nothing;
        }
        let Some(arrived) = self.flight.acknowledge(numbers.iter().copied(), is_protected) else {
            return Acknowledged::Nothing;
        };
        // A peer may acknowledge a KeyUpdate that it keeps, but cannot handle before earlier messages arrive.
        if self.flight.up_to_key_update(self.epoch()).iter().all(|piece| piece.is_acknowledged) {
            self.use_next_epoch();
        }
        if self.flight.is_acknowledged() {
            return self.done(now);
        }
        if !self.has_partial_acks || !self.flight.todo.is_empty() {
            return Acknowledged::Something;
        }
        if is_protected {
            self.send_lost(now, arrived, numbers.len());
            self.timer.progress(now);
        } else if self.flight.repeats < self.max_repeats {
            self.send_lost(now, arrived, numbers.len());
            self.flight.keep_first_epoch();
            self.flight.repeats += 1; // less than `max_repeats` before
        }
        Acknowledged::Something
    }

    /// Notes that a part of the answer came.
    pub(crate) fn heard(&mut self, now: Instant) {
        let waits = self.flight.is_complete && self.flight.todo.is_empty() && !self.flight.is_last;
        if waits && !(self.is_finished && self.is_dtls13()) {
            if self.is_dtls13() && self.epoch() >= HANDSHAKE {
                self.flight.acknowledge_all(); // the answer is protected, so the peer has sent it
            }
            self.timer.progress(now);
        }
    }

    /// Notes that a message was handled; with `finished` it was the last one of the handshake. Returns whether this
    /// side has an answer to send.
    pub(in crate::link::datagram) fn handled(&mut self, now: Instant, finished: bool) -> bool {
        if self.is_finished && self.is_dtls13() {
            return false;
        }
        let is_new = self.has_answer(finished);
        let ends = finished && self.is_dtls13();
        self.is_finished |= ends;
        if is_new {
            self.timer.answered(now);
            self.flight.is_last = finished && !ends;
            self.acks.answered();
        } else if ends {
            // This is a server, and the client's flight has answered its own.
            self.timer.answered(now);
            self.acks.finish();
            self.owes_last_ack = true;
            if !self.flight.is_fresh {
                self.flight = Flight::default();
            }
        } else if finished && !self.flight.is_last {
            self.timer.answered(now);
            self.flight = Flight { is_complete: true, ..Flight::default() };
        } else if !self.flight.is_complete {
            self.timer.answered(now); // the next flight is being made
        }
        if ends {
            self.forget_epochs();
        }
        is_new
    }

    /// Retransmits the flight on the peer's request: the peer did not receive the answer to its last flight.
    pub(crate) fn repeat(&mut self, now: Instant) {
        if !self.may_repeat(now) || self.flight.outstanding.has_acknowledged() {
            return; // RFC 9147, 5.8.1: ACKs say what is missing
        }
        self.flight.repeats += 1; // less than `max_repeats` before
        self.timer.repeated();
        self.send_again();
    }

    /// Whether [`Self::expired`] would retransmit the flight, or give up.
    pub(crate) fn retransmission_is_due(&self, now: Instant) -> bool {
        self.timer.deadline().is_some_and(|deadline| deadline <= now)
    }

    /// Handles the deadlines that have passed: retransmits the flight, and makes an ACK due. Returns `true` if the
    /// handshake, or a KeyUpdate, must be given up.
    pub(crate) fn expired(&mut self, now: Instant) -> bool {
        self.acks.expire(now);
        match self.timer.expired(now) {
            Expired::NotDue => false,
            // The connection goes on if a post-handshake message, such as a ticket, is lost.
            Expired::GiveUp
                if self.is_finished
                    && !self.has_last_flight()
                    && (self.next_epoch.is_none() || self.peer_has_key_update()) =>
            {
                self.timer.stop();
                self.use_next_epoch();
                self.flight.give_up();
                self.forget_epochs();
                self.max_datagram = self.configured; // the silence of the peer says nothing about the path
                false
            }
            Expired::GiveUp => true,
            Expired::Retransmit => {
                self.flight.is_heard = false;
                self.send_again();
                if self.flight.todo.is_empty() {
                    self.timer.sent(now); // the whole flight arrived, but the answer is missing
                }
                false
            }
        }
    }

    /// Returns the counts of what was sent of flights since the last call, if anything was.
    pub(crate) fn take_sent(&mut self) -> Option<Sent> {
        (self.sent.datagrams > 0).then(|| core::mem::take(&mut self.sent))
    }
}
