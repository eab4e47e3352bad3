//! Retransmission of confirmable messages (RFC 7252, 4.2 and 4.8).

use terse_tls::Instant;
use terse_tls::crypto::{CryptoError, Rng};

/// The transmission parameters (RFC 7252, 4.8).
///
/// # Defaults
///
/// Those of the RFC: a first timeout of 2 to 3 s, and four retransmissions, each after twice the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transmission {
    /// ACK_TIMEOUT, in milliseconds: the shortest time before the first retransmission.
    pub ack_timeout_ms: u32,
    /// ACK_RANDOM_FACTOR in percent: the longest such time, in relation to the shortest.
    pub ack_random_percent: u32,
    /// MAX_RETRANSMIT: how often a message is sent again, at most; more than 10 count as 10.
    pub max_retransmit: u8,
}

impl Default for Transmission {
    fn default() -> Self {
        Self { ack_timeout_ms: 2_000, ack_random_percent: 150, max_retransmit: 4 }
    }
}

impl Transmission {
    /// Returns MAX_TRANSMIT_WAIT in milliseconds: how long a sender waits for an acknowledgement, at most (RFC 7252, 4.8.2).
    pub const fn max_transmit_wait_ms(&self) -> u64 {
        self.span(self.retransmissions() + 1)
    }

    /// Returns EXCHANGE_LIFETIME in milliseconds: how long a message ID is in use (RFC 7252, 4.8.2).
    pub const fn exchange_lifetime_ms(&self) -> u64 {
        self.span(self.retransmissions()).saturating_add(2 * MAX_LATENCY_MS + self.ack_timeout_ms as u64)
    }

    /// Returns the time that the first so many timeouts take together, at most.
    const fn span(&self, timeouts: u8) -> u64 {
        self.longest_timeout().saturating_mul((1 << timeouts) - 1)
    }

    const fn retransmissions(&self) -> u8 {
        if self.max_retransmit > 10 { 10 } else { self.max_retransmit }
    }

    const fn longest_timeout(&self) -> u64 {
        let longest = self.ack_timeout_ms as u64 * self.ack_random_percent as u64 / 100;
        if longest > self.ack_timeout_ms as u64 { longest } else { self.ack_timeout_ms as u64 }
    }

    fn first_timeout(&self, rng: &mut dyn Rng) -> Result<u64, CryptoError> {
        let mut random = [0; 4];
        rng.fill(&mut random)?;
        let shortest = u64::from(self.ack_timeout_ms);
        let choices = self.longest_timeout() - shortest + 1;
        Ok((shortest + u64::from(u32::from_be_bytes(random)) % choices).max(1))
    }
}

/// A confirmable message until it is acknowledged.
#[derive(Debug)]
pub(super) struct Retransmission {
    timeout_ms: u64,
    deadline: Instant,
    left: u8,
    is_due: bool,
}

impl Retransmission {
    /// Begins: the message is due at once.
    pub(super) fn begin(now: Instant, parameters: &Transmission, rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let timeout_ms = parameters.first_timeout(rng)?;
        let deadline = after(now, timeout_ms);
        Ok(Self { timeout_ms, deadline, left: parameters.retransmissions(), is_due: true })
    }

    /// Whether the message is to be sent now.
    pub(super) const fn is_due(&self) -> bool {
        self.is_due
    }

    /// Notes that the message was sent.
    pub(super) const fn sent(&mut self) {
        self.is_due = false;
    }

    pub(super) const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Handles that time has passed. Returns false when the message was sent often enough.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> bool {
        if now < self.deadline {
            return true;
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.timeout_ms = self.timeout_ms.saturating_mul(2);
        self.deadline = after(now, self.timeout_ms);
        self.is_due = true;
        true
    }
}

/// Returns the time so many milliseconds later.
pub(super) const fn after(now: Instant, ms: u64) -> Instant {
    Instant(now.0.saturating_add(ms))
}

/// MAX_LATENCY (RFC 7252, 4.8.2), in milliseconds.
const MAX_LATENCY_MS: u64 = 100_000;

#[cfg(test)]
mod tests;
