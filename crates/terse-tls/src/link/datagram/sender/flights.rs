//! When a flight is retransmitted, and when it is done: answered, acknowledged, or given up.

use super::Sender;
use crate::link::datagram::ack::{self, Arrived};
use crate::link::datagram::driver::{Acknowledged, Sent};
use crate::link::datagram::flight::Flight;
use crate::link::datagram::fragment::HEADER_LEN;
use crate::link::datagram::outstanding::Position;
use crate::link::datagram::retransmit::Expired;
use crate::record::datagram::RecordNumber;
use crate::record::datagram12::{HEADER_LEN as RECORD_HEADER_LEN, MAX_FRAGMENT};
use crate::schedule::tls13::epoch::HANDSHAKE;
use crate::time::Instant;

impl Sender {
    /// Begins the next flight; after the handshake a message is added to those that are not acknowledged yet.
    pub(super) fn begin_flight(&mut self) {
        if self.is_finished && self.epochs.is_dtls13() {
            self.flight.is_complete = false;
            self.timer.renew();
        } else if self.flight.is_complete {
            self.flight = Flight::default();
        }
    }

    /// Whether the client's last flight of DTLS 1.3 is not acknowledged yet.
    pub(super) fn has_last_flight(&self) -> bool {
        self.flight.pieces.iter().any(|piece| piece.epoch == HANDSHAKE && !piece.is_acknowledged)
    }

    /// Retransmits everything that is not acknowledged; after losses in smaller datagrams.
    fn send_again(&mut self) {
        // The loss of small datagrams says little about the path. But during the handshake the size serves the next
        // flight as well.
        let largest = if self.is_finished { self.flight.largest } else { usize::MAX };
        self.flight.losses = self.flight.losses.saturating_add(1);
        self.path_mtu.lost(self.flight.losses, self.least_datagram(), largest);
        self.flight.outstanding.forget_claims();
        self.flight.send_again();
    }

    /// Returns the size of a datagram that has room for any record with one byte of a fragment.
    pub(super) fn least_datagram(&self) -> usize {
        RECORD_HEADER_LEN + self.epochs.peer_cid().len() + MAX_EXPANSION + HEADER_LEN + 1
    }

    /// Forgets the epochs that are not needed for sending any more.
    fn forget_epochs(&mut self) {
        let pieces = &self.flight.pieces;
        self.epochs.forget_unused(|epoch| pieces.iter().any(|piece| piece.epoch == epoch && !piece.is_acknowledged));
    }

    /// Whether a flight that answers the peer's was completed and not sent yet. A post-handshake message of DTLS 1.3
    /// answers nothing.
    fn has_answer(&self, finished: bool) -> bool {
        let is_after =
            self.epochs.is_dtls13() && finished && self.flight.pieces.iter().all(|piece| piece.epoch > HANDSHAKE);
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
        self.flight.up_to_key_update(self.epochs.epoch()).last().is_some_and(|piece| piece.is_acknowledged)
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
        let (head, tail) = self.epochs.frame(self.epochs.in_force(), MAX_FRAGMENT);
        ack::max_numbers(self.path_mtu.max_datagram().saturating_sub(head + tail))
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
    /// Returns when [`Self::forget`] frees the last flight.
    pub(crate) fn forgets_at(&self) -> Option<Instant> {
        let sent = self.flight.last_sent.filter(|_| self.flight.is_last && self.flight.todo.is_empty())?;
        Some(Instant(sent.0.saturating_add(KEPT + 1)))
    }

    /// Forgets the last flight, if the peer cannot ask for it any more.
    pub(in crate::link::datagram) fn forget(&mut self, now: Instant) {
        if self.forgets_at().is_some_and(|time| time <= now) {
            self.flight = Flight { is_complete: true, ..Flight::default() };
            self.forget_epochs();
        }
    }

    /// Notes that an authentic record came.
    pub(in crate::link::datagram) fn peer_is_there(&mut self) {
        self.epochs.peer_is_there();
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
        if self.flight.up_to_key_update(self.epochs.epoch()).iter().all(|piece| piece.is_acknowledged) {
            self.epochs.use_next();
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
        if waits && !(self.is_finished && self.epochs.is_dtls13()) {
            if self.epochs.is_dtls13() && self.epochs.epoch() >= HANDSHAKE {
                self.flight.acknowledge_all(); // the answer is protected, so the peer has sent it
            }
            self.timer.progress(now);
        }
    }

    /// Notes that a message was handled; with `finished` it was the last one of the handshake. Returns whether this
    /// side has an answer to send.
    pub(in crate::link::datagram) fn handled(&mut self, now: Instant, finished: bool) -> bool {
        if self.is_finished && self.epochs.is_dtls13() {
            return false;
        }
        let is_new = self.has_answer(finished);
        let ends = finished && self.epochs.is_dtls13();
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
                    && (!self.epochs.has_next() || self.peer_has_key_update()) =>
            {
                self.timer.stop();
                self.epochs.use_next();
                self.flight.give_up();
                self.forget_epochs();
                self.path_mtu.restore(); // the silence of the peer says nothing about the path
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

/// The most bytes that protection adds: the explicit part of a nonce, the content type of a record with a connection
/// ID, and a tag.
const MAX_EXPANSION: usize = 8 + 1 + 16;

/// How long the last flight is kept in case it was lost: twice the maximum segment lifetime (RFC 6347, 4.2.4), in
/// milliseconds.
pub(super) const KEPT: u64 = 240_000;
