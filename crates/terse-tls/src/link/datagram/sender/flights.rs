//! When a flight is sent again, and when it is done: answered, acknowledged, or given up.

use super::{Acknowledged, Arrived, Expired, Flight, Flights, HANDSHAKE, Instant, KEPT, RecordNumber, Sender, Sent};
use crate::wire::HandshakeType;

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

    /// The peer has the KeyUpdate.
    fn use_next_epoch(&mut self) {
        if let Some(next) = self.next_epoch.take() {
            self.epochs.push(next);
        }
    }

    /// A quarter of the timer, in milliseconds (RFC 9147, 7.1). Of the peer's, that is, which wants to know before it runs
    /// out: if nothing is lost on its way, it is not longer than at the beginning, however long a round trip took here.
    fn quarter(&self) -> u64 {
        self.timer.value().min(self.timer.initial()) / 4
    }

    /// Whether the peer may ask for the flight again: not too soon after it was sent, nor too often.
    fn may_repeat(&self, now: Instant) -> bool {
        let flight = &self.flight;
        // Duplicates, and what crosses an answer on its way, are not worth another one. After losses the next attempt of
        // this side is early enough; for the last flight there is none, and the peer's may be due much earlier.
        let (value, undoubled) = (self.timer.value(), self.timer.undoubled());
        let least = if value > undoubled && !flight.is_last { value } else { undoubled / 4 };
        let is_soon = flight.last_sent.is_some_and(|sent| now.since(sent) < least);
        let is_old = flight.is_last && flight.last_sent.is_some_and(|sent| now.since(sent) > KEPT);
        // Nor is anybody who asks without end.
        let is_too_often = flight.repeats >= self.max_repeats;
        let is_there = flight.is_complete && !flight.pieces.is_empty() && flight.todo.is_empty();
        is_there && !is_soon && !is_old && !is_too_often
    }
}

impl Flights for Sender {
    fn peer_is_there(&mut self) {
        let place = self.in_force();
        self.epochs[place].peer_is_there();
    }

    fn arrived(&mut self, now: Instant, arrived: Arrived) {
        // RFC 9147, 7.2: what answers a flight acknowledges all of it.
        let is_answer = arrived.numbers.iter().any(|number| number.epoch == HANDSHAKE);
        if is_answer && !self.is_finished && self.has_partial_acks {
            self.flight.acknowledge_all();
        }
        let quarter = self.has_partial_acks.then(|| self.quarter());
        self.acks.note(now, arrived, quarter, self.is_finished);
    }

    fn acknowledged(&mut self, now: Instant, numbers: &[RecordNumber], is_protected: bool) -> Acknowledged {
        if numbers.is_empty() && self.may_repeat(now) && !self.is_finished && self.has_partial_acks {
            self.flight.repeats += 1; // it was less than another u32
            self.timer.repeated();
            self.flight.send_first_epoch();
            return Acknowledged::Nothing;
        }
        let mut has_key_update = false;
        let epoch = self.epoch();
        let done = |kind, of| has_key_update |= kind == HandshakeType::KEY_UPDATE && of == epoch;
        let Some(arrived) = self.flight.acknowledge(numbers.iter().copied(), is_protected, done) else {
            return Acknowledged::Nothing;
        };
        if has_key_update {
            self.use_next_epoch();
        }
        if self.flight.is_acknowledged() {
            return self.done(now);
        }
        if !self.has_partial_acks || !self.flight.todo.is_empty() {
            return Acknowledged::Something;
        }
        let is_bounded = is_protected || self.flight.repeats < self.max_repeats;
        if is_bounded {
            self.flight.send_lost(arrived);
            self.flight.repeats += u32::from(!is_protected);
        }
        if is_protected {
            self.timer.progress(now);
        }
        Acknowledged::Something
    }

    fn heard(&mut self, now: Instant) {
        let waits = self.flight.is_complete && self.flight.todo.is_empty() && !self.flight.is_last;
        if waits && !(self.is_finished && self.is_dtls13()) {
            self.timer.progress(now);
        }
    }

    fn handled(&mut self, now: Instant, finished: bool) -> bool {
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

    fn repeat(&mut self, now: Instant) {
        let has_acknowledged = self.flight.outstanding.has_acknowledged() || self.flight.is_acknowledged();
        if !self.may_repeat(now) || has_acknowledged {
            return; // RFC 9147, 5.8.1: what is missing is known
        }
        self.flight.repeats += 1; // it was less than another u32
        self.timer.repeated();
        self.send_again();
    }

    fn retransmission_is_due(&self, now: Instant) -> bool {
        self.timer.deadline().is_some_and(|deadline| deadline <= now)
    }

    fn expired(&mut self, now: Instant) -> bool {
        self.acks.expire(now);
        match self.timer.expired(now) {
            Expired::NotDue => false,
            Expired::GiveUp if self.is_finished && !self.has_last_flight() && self.next_epoch.is_none() => {
                self.timer.stop();
                self.flight = Flight::default(); // nothing that the connection rests on
                self.forget_epochs();
                false
            }
            Expired::GiveUp => true,
            Expired::Retransmit => {
                if !self.flight.is_acknowledged() {
                    self.send_again();
                }
                if self.flight.todo.is_empty() {
                    self.timer.sent(now); // all of it arrived, but the answer is missing
                }
                false
            }
        }
    }

    fn take_sent(&mut self) -> Sent {
        core::mem::take(&mut self.sent)
    }
}
