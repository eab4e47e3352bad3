//! What a run of a scenario came to.

use core::time::Duration;
use std::collections::BTreeMap;

use crate::network::Cause;

/// A run of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// How long the client took from its SYN, or its first datagram, until its handshake was complete; `None` if that never
    /// happened.
    pub latency: Option<Duration>,
    /// Why the handshake failed, if it did.
    pub failure: Option<String>,
    /// What was on the air.
    pub air: Air,
    /// How often TCP sent a segment again, or DTLS a flight.
    pub retransmissions: u64,
    /// Frames and packets that were dropped in the mesh, by cause.
    pub drops: BTreeMap<Cause, u64>,
    /// How many buffers of the client's mote were in use after each allocation.
    pub pool: Vec<u8>,
}

/// What was on the air, both directions and all hops: the frames of all packets that were sent until both sides were
/// connected. An acknowledgement of TCP that waits for more data is sent later, and is none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Air {
    /// Bytes of frames, the repetitions of the MAC included, its acknowledgements not: what the paper counts.
    pub bytes: u64,
    /// Bytes of acknowledgements of the MAC.
    pub acknowledgement_bytes: u64,
    /// Frames, without acknowledgements.
    pub frames: u64,
    /// IP packets that were sent.
    pub packets: u64,
}

impl Outcome {
    /// Whether the client was connected.
    pub const fn is_connected(&self) -> bool {
        self.latency.is_some() && self.failure.is_none()
    }
}
