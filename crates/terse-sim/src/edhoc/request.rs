//! A confirmable request, retransmitted until its response comes (RFC 7252, 4.2).

use core::time::Duration;

use crate::{Random, Time};

/// A request that waits for its response.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: u16,
    pub(super) datagram: Vec<u8>,
    timeout: Duration,
    deadline: Time,
    retransmissions: u32,
}

impl Request {
    /// Creates a request that is sent at `now`.
    pub(super) fn new(id: u16, datagram: Vec<u8>, now: Time, random: &mut Random) -> Self {
        // ACK_TIMEOUT to ACK_TIMEOUT * ACK_RANDOM_FACTOR, in 2^32 steps.
        let spread = ACK_TIMEOUT.as_nanos() as u64 / 2;
        let more = (u128::from(spread) * u128::from(random.next_u32())) >> 32;
        let timeout = ACK_TIMEOUT + Duration::from_nanos(more as u64); // less than `spread`
        Self { id, datagram, timeout, deadline: now + timeout, retransmissions: 0 }
    }

    /// Returns when [`Self::expire`] is due.
    pub(super) const fn deadline(&self) -> Time {
        self.deadline
    }

    /// Handles the timeout. Returns whether the request is to be sent again; it has failed otherwise.
    pub(super) fn expire(&mut self, now: Time) -> bool {
        if self.retransmissions >= MAX_RETRANSMIT {
            return false;
        }
        self.retransmissions += 1;
        self.timeout *= 2;
        self.deadline = now + self.timeout;
        true
    }
}

/// RFC 7252, 4.8. ACK_RANDOM_FACTOR is 1.5.
const ACK_TIMEOUT: Duration = Duration::from_secs(2);
const MAX_RETRANSMIT: u32 = 4;
