//! Answers that are messages of their own (RFC 7252, 5.2.2), each until it is acknowledged.
//!
//! A peer has no more of them than requests in work; one whose requests come one at a time has one (RFC 7252, 4.7).

use alloc::collections::VecDeque;

use terse_tls::Instant;
use terse_tls::crypto::{CryptoError, Rng};

use crate::coap::transmission::Retransmission;
use crate::coap::{Payload, Transmission};

/// The answers that are to be acknowledged.
#[derive(Default)]
pub(super) struct Separate {
    answers: VecDeque<Answer>,
}

struct Answer {
    id: u16,
    datagram: Payload,
    retransmission: Retransmission,
}

impl Separate {
    pub(super) fn push(
        &mut self,
        now: Instant,
        parameters: &Transmission,
        rng: &mut dyn Rng,
        id: u16,
        datagram: Payload,
    ) -> Result<(), CryptoError> {
        let retransmission = Retransmission::begin(now, parameters, rng)?;
        if self.answers.len() >= MAX_ANSWERS {
            self.answers.pop_front(); // the peer has asked again meanwhile, and does not wait for it
        }
        self.answers.push_back(Answer { id, datagram, retransmission });
        Ok(())
    }

    /// Handles that the peer has acknowledged or rejected a message.
    pub(super) fn settle(&mut self, id: u16) {
        self.answers.retain(|answer| answer.id != id);
    }

    /// Returns the answer that is to be sent now.
    pub(super) fn due(&self) -> Option<&Payload> {
        self.answers.iter().find(|answer| answer.retransmission.is_due()).map(|answer| &answer.datagram)
    }

    /// Notes that the answer which is due was sent.
    pub(super) fn sent(&mut self) {
        if let Some(answer) = self.answers.iter_mut().find(|answer| answer.retransmission.is_due()) {
            answer.retransmission.sent();
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.answers.iter().map(|answer| answer.retransmission.deadline()).min()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.answers.retain_mut(|answer| answer.retransmission.handle_timeout(now));
    }
}

/// The most answers that wait for their acknowledgement.
const MAX_ANSWERS: usize = 4;
