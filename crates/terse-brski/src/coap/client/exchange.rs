//! One message exchange: a confirmable message until its response.

use terse_tls::Instant;
use terse_tls::crypto::{CryptoError, Rng};

use super::{Failure, Progress};
use crate::coap::message::{Kind, Message};
use crate::coap::transmission::{Retransmission, after};
use crate::coap::{Code, Transmission};

/// The tokens of a client: one after the other, from a random one (RFC 7252, 5.3.1).
pub(super) struct Tokens {
    first: u32,
    next: u32,
}

impl Tokens {
    pub(super) const fn new(first: u32) -> Self {
        Self { first, next: first }
    }

    pub(super) const fn issue(&mut self) -> u32 {
        let token = self.next;
        self.next = token.wrapping_add(1);
        token
    }

    /// Whether a token is one of this client.
    pub(super) fn was_issued(&self, token: &[u8]) -> bool {
        let Ok(token) = token.try_into().map(u32::from_be_bytes) else { return false };
        token.wrapping_sub(self.first) < self.next.wrapping_sub(self.first)
    }
}

/// A request, or a block of it, until there is a response.
pub(super) struct Exchange {
    pub(super) id: u16,
    token: [u8; 4],
    state: State,
    pub(super) progress: Progress,
}

enum State {
    Sent(Retransmission),
    /// The response comes by itself, until this time.
    Acknowledged(Instant),
}

impl Exchange {
    pub(super) fn begin(
        now: Instant,
        rng: &mut dyn Rng,
        parameters: &Transmission,
        id: u16,
        token: u32,
        progress: Progress,
    ) -> Result<Self, CryptoError> {
        let state = State::Sent(Retransmission::begin(now, parameters, rng)?);
        Ok(Self { id, token: token.to_be_bytes(), state, progress })
    }

    pub(super) const fn token(&self) -> &[u8] {
        &self.token
    }

    /// Returns the message, the same each time.
    pub(super) fn message(&self) -> Message {
        let code: Code = self.progress.code();
        let mut message = Message::new(Kind::Confirmable, code, self.id, &self.token);
        self.progress.write(&mut message);
        message
    }

    /// Whether the message is to be sent now.
    pub(super) const fn is_due(&self) -> bool {
        match &self.state {
            State::Sent(retransmission) => retransmission.is_due(),
            State::Acknowledged(_) => false,
        }
    }

    /// Notes that the message was sent.
    pub(super) const fn sent(&mut self) {
        if let State::Sent(retransmission) = &mut self.state {
            retransmission.sent();
        }
    }

    pub(super) fn acknowledged(&mut self, now: Instant, response_timeout_ms: u64) {
        if let State::Sent(_) = self.state {
            self.state = State::Acknowledged(after(now, response_timeout_ms));
        }
    }

    pub(super) const fn deadline(&self) -> Instant {
        match &self.state {
            State::Sent(retransmission) => retransmission.deadline(),
            State::Acknowledged(deadline) => *deadline,
        }
    }

    /// Returns why the exchange is over, if it is.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Option<Failure> {
        match &mut self.state {
            State::Sent(retransmission) => (!retransmission.handle_timeout(now)).then_some(Failure::Unreachable),
            State::Acknowledged(deadline) => (now >= *deadline).then_some(Failure::NoResponse),
        }
    }
}
