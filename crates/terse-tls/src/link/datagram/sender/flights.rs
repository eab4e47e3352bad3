//! When a flight is sent again, and when it is done: answered, acknowledged, or given up.

use super::{
    Acknowledged, Arrived, Expired, Flight, HANDSHAKE, Instant, KEPT, MAX_FRAGMENT, RecordNumber, Sender, Sent,
};
use crate::link::datagram::{ack, outstanding::Position};

impl Sender {
    /// A flight that answers the peer's was completed and not sent yet. What DTLS 1.3 sends once the handshake is over
    /// answers nothing.
    fn has_answer(&self, finished: bool) -> bool {
        let is_after = self.is_dtls13() && finished && self.flight.pieces.iter().all(|piece| piece.epoch > HANDSHAKE);
        self.flight.is_fresh && !is_after
    }

    /// All of what was sent is acknowledged.
    fn done(&mut self, now: Instant) -> Acknowledged {
        let was_last = self.flight.pieces.iter().any(|piece| piece.epoch == HANDSHAKE);
        if self.is_finished {
            self.timer.answered(now);
            self.flight = Flight::default();
            self.forget_epochs();
        } else {
            self.timer.progress(now); // the answer is still to come
        }
        if self.is_finished && was_last { Acknowledged::LastFlight } else { Acknowledged::Something }
    }

    /// Whether the peer has the KeyUpdate, but maybe not what comes before it.
    fn peer_has_key_update(&self) -> bool {
        self.flight.up_to_key_update(self.epoch()).last().is_some_and(|piece| piece.is_acknowledged)
    }

    /// The peer has handled the KeyUpdate, if there is one.
    fn use_next_epoch(&mut self) {
        if let Some(next) = self.next_epoch.take() {
            self.epochs.push(next);
        }
    }

    /// A quarter of the timer, in milliseconds (RFC 9147, 7.1). Of the peer's, that is, which wants to know before it
    /// runs out: if nothing is lost on its way, it is not longer than at the beginning, however long a round trip took
    /// here.
    fn quarter(&self) -> u64 {
        self.timer.value().min(self.timer.initial()) / 4
    }

    /// What the peer should have acknowledged by now is to be sent again: whatever precedes what `arrived`. If the peer
    /// has no gap, it has waited for what comes after, in vain: but not after the handshake, when it does not wait, nor
    /// if its ACK had no room for more.
    fn send_lost(&mut self, now: Instant, arrived: Position, numbers: usize) {
        let has_gap = self.flight.send_before(arrived);
        let is_handshake = !self.is_finished || self.has_last_flight();
        if !has_gap && !self.flight.leaves_gap() && is_handshake && numbers < self.numbers_in_ack() {
            // Not what was sent when the ACK was on its way, or half of its way at least.
            self.flight.send_older(Instant(arrived.sent.0 + now.since(arrived.sent) / 2));
        }
    }

    /// How many numbers go into an ACK of the peer, if its datagrams are as large as those of this side: after one with
    /// so many, another one may follow.
    fn numbers_in_ack(&self) -> usize {
        let (head, tail) = self.frame(self.in_force(), MAX_FRAGMENT);
        ack::max_numbers(self.max_datagram.saturating_sub(head + tail))
    }

    /// Whether the peer may ask for the flight again: not too soon after it was sent, nor too often.
    fn may_repeat(&self, now: Instant) -> bool {
        let flight = &self.flight;
        // Duplicates, and what crosses an answer on its way, are not worth another one. After losses the next attempt
        // of this side is early enough; for the last flight there is none, and the peer's may be due much earlier.
        let (value, undoubled) = (self.timer.value(), self.timer.undoubled());
        let least = if value > undoubled && !flight.is_last { value } else { undoubled / 4 };
        let is_soon = flight.last_sent.is_some_and(|sent| now.since(sent) < least);
        let is_old = flight.is_last && flight.last_sent.is_some_and(|sent| now.since(sent) > KEPT);
        // Nor is anybody who asks without end.
        let is_too_often = flight.repeats >= self.max_repeats;
        let is_there = flight.is_complete && flight.todo.is_empty() && !flight.is_acknowledged();
        is_there && !is_soon && !is_old && !is_too_often
    }
}

impl Sender {
    /// Something authentic came.
    pub(in crate::link::datagram) fn peer_is_there(&mut self) {
        let place = self.in_force();
        self.epochs[place].peer_is_there();
        self.flight.is_heard = true;
        if core::mem::take(&mut self.flight.is_asleep) {
            self.flight.send_again();
        }
    }

    /// Records came of which the peer may have to be told.
    pub(in crate::link::datagram) fn arrived(&mut self, now: Instant, arrived: Arrived) {
        if self.flight.pieces.is_empty() && !self.is_finished {
            return; // a server that was asked nothing yet has nothing to say
        }
        let quarter = (self.has_partial_acks || self.is_finished).then(|| self.quarter());
        self.acks.note(now, arrived, quarter, self.is_finished);
    }

    /// DTLS 1.2 was chosen, which has no ACKs: none is due any more for what came before the choice.
    pub(in crate::link::datagram) fn peer_has_no_acks(&mut self) {
        self.acks.answered();
    }

    /// The peer has these records.
    pub(in crate::link::datagram) fn acknowledged(
        &mut self,
        now: Instant,
        numbers: &[RecordNumber],
        is_protected: bool,
    ) -> Acknowledged {
        let waits = !self.is_finished || self.has_last_flight();
        if numbers.is_empty() && self.may_repeat(now) && waits && self.has_partial_acks {
            self.flight.repeats += 1; // it was less than another u32
            self.timer.repeated();
            self.flight.send_again();
            self.flight.keep_first_epoch();
            return Acknowledged::Nothing;
        }
        let Some(arrived) = self.flight.acknowledge(numbers.iter().copied(), is_protected) else {
            return Acknowledged::Nothing;
        };
        // A peer may acknowledge what it keeps, and cannot handle before something else came.
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
            self.flight.repeats += 1; // it was less than another u32
        }
        Acknowledged::Something
    }

    /// A part of the answer came.
    pub(crate) fn heard(&mut self, now: Instant) {
        let waits = self.flight.is_complete && self.flight.todo.is_empty() && !self.flight.is_last;
        if waits && !(self.is_finished && self.is_dtls13()) {
            if self.is_dtls13() && self.epoch() >= HANDSHAKE {
                self.flight.acknowledge_all(); // what comes is protected as well, so it is the peer who answers
            }
            self.timer.progress(now);
        }
    }

    /// A message was handled; with `finished` it was the last one of the handshake. Returns whether there is an answer.
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
            // A server, whose flight the client's has answered.
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
            self.timer.answered(now); // the next flight is in the making
        }
        if ends {
            self.forget_epochs();
        }
        is_new
    }

    /// The peer did not get the answer to its last flight.
    pub(crate) fn repeat(&mut self, now: Instant) {
        if !self.may_repeat(now) || self.flight.outstanding.has_acknowledged() {
            return; // RFC 9147, 5.8.1: what is missing is known
        }
        self.flight.repeats += 1; // it was less than another u32
        self.timer.repeated();
        self.send_again();
    }

    /// Whether [`Self::expired`] would send the flight again, or give up.
    pub(crate) fn retransmission_is_due(&self, now: Instant) -> bool {
        self.timer.deadline().is_some_and(|deadline| deadline <= now)
    }

    /// Time has passed: the flight is sent again if that is due, and the peer told of what came. `true`: the flight was
    /// sent often enough.
    pub(crate) fn expired(&mut self, now: Instant) -> bool {
        self.acks.expire(now);
        match self.timer.expired(now) {
            Expired::NotDue => false,
            // Without a ticket the connection goes on.
            Expired::GiveUp
                if self.is_finished
                    && !self.has_last_flight()
                    && (self.next_epoch.is_none() || self.peer_has_key_update()) =>
            {
                self.timer.stop();
                self.use_next_epoch();
                self.flight.give_up();
                self.forget_epochs();
                self.max_datagram = self.configured; // that nobody was there says nothing about the path
                false
            }
            Expired::GiveUp => true,
            Expired::Retransmit => {
                self.flight.is_heard = false;
                self.send_again();
                if self.flight.todo.is_empty() {
                    self.timer.sent(now); // all of it arrived, but the answer is missing
                }
                false
            }
        }
    }

    /// What was sent of flights since the last call, if anything was.
    pub(crate) fn take_sent(&mut self) -> Option<Sent> {
        (self.sent.datagrams > 0).then(|| core::mem::take(&mut self.sent))
    }
}
