//! How many questions are answered.
//!
//! The rate is divided into equal shares, and a secret function of the address says which share counts: who floods from one
//! address uses up one share, and nothing is kept of an address.

use core::hash::BuildHasher as _;
use core::net::{IpAddr, Ipv4Addr};
use std::hash::RandomState;
use std::time::Instant;

use crate::network::network;
use crate::rate::RateLimit;

/// The rate of a socket.
pub(super) struct Shared {
    limit: RateLimit,
    secret: RandomState,
    start: Instant,
}

impl Shared {
    pub(super) fn new() -> Self {
        let limit = RateLimit::per_second(PER_SECOND, AT_ONCE);
        Self { limit, secret: RandomState::new(), start: Instant::now() }
    }

    /// Counts a question. Returns false if it is one too many.
    pub(super) fn admit(&self, address: IpAddr) -> bool {
        let share = self.secret.hash_one(network(address)) % SHARES;
        let share = Ipv4Addr::from(share as u32); // less than SHARES
        self.limit.admit(share.into(), self.start.elapsed()).is_ok()
    }
}

/// The number of shares.
pub(super) const SHARES: u64 = 32;

/// The questions of a share that are answered in a second. One who looks for something asks once a second at most.
const PER_SECOND: u32 = 4;

/// The questions of a share that are answered at once: several hosts have one.
pub(super) const AT_ONCE: u32 = 8;
