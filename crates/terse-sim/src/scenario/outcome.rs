//! What a run of a scenario came to.

use core::time::Duration;
use std::collections::BTreeMap;

use super::fleet::Fleet;
use super::timeline::Timeline;
use crate::network::Cause;
use crate::tsch::Cell;

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
    /// How many packets routers have marked (RFC 3168).
    pub marked: u64,
    /// What the handshake took of batteries, if that is counted.
    pub charge: Option<Charge>,
    /// What each mote took of its battery before the client began, from the root on.
    pub standing: Vec<Standing>,
    /// What it took the network to form itself before, if it did.
    pub forming: Option<Forming>,
    /// How many hops the client was from the root when it began; `None` if that is not known.
    pub hops: Option<u8>,
    /// The cells of the motes on the client's way to the root when it began, from the client on, in a network that formed itself.
    pub schedule: Vec<ScheduledCell>,
    /// How many buffers of the client's mote were in use after each allocation.
    pub pool: Vec<u8>,
    /// The frames of the handshake, and those of the network meanwhile.
    pub timeline: Timeline,
    /// What happened to a whole network, if the scenario is about one. The latency is then the time until all devices were
    /// connected, and the bytes are those of all of them.
    pub fleet: Option<Fleet>,
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
    /// Bytes of frames that the network sent meanwhile to stay as it is: beacons, keep-alives, 6P, RPL. They are none of `bytes`.
    pub network_bytes: u64,
}

/// What a handshake took of batteries, from its first packet until both sides were connected, idle listening included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Charge {
    /// Of the client's mote, in millicoulombs.
    pub client: f64,
    /// What the client's processor took of that.
    pub computing: f64,
    /// Of all motes together with the root.
    pub all: f64,
    /// The share of time in which the radio of the client's mote was on.
    pub duty_cycle: f64,
    /// The days that the client's battery lasts if the mote does nothing but stay in the network: as in the time before the
    /// handshake, as long as there was one.
    pub days: f64,
    /// Those of the mote whose battery is empty first; the root has none.
    pub least_days: f64,
}

/// What a mote takes of its battery to stay in the network, without the handshake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The mote; 0 is the root.
    pub mote: u16,
    /// How many hops it is from the root, if its parents lead there.
    pub hops: Option<u8>,
    /// The mean current in microamperes.
    pub microamperes: f64,
    /// The share of time in which its radio is on.
    pub duty_cycle: f64,
    /// The days that its battery lasts.
    pub days: f64,
}

/// A cell of a mote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledCell {
    /// The mote.
    pub mote: u16,
    /// The cell, in which the mote does this.
    pub cell: Cell,
    /// Whether it belongs to the client's tunnel.
    pub is_of_tunnel: bool,
}

/// A tunnel to the root and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// How long it took until it had cells on all hops, both ways.
    pub time: Duration,
    /// The cells of the hop that has the fewest.
    pub cells: u8,
}

/// How a network formed itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forming {
    /// How long it took until every mote had a parent, a cell to it, and a route from the root.
    pub time: Duration,
    /// Frames, without acknowledgements of the MAC.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The charge of all motes, in millicoulombs; `None` if energy is not counted.
    pub charge: Option<f64>,
    /// The tunnel, if the client wanted one.
    pub tunnel: Option<Tunnel>,
}

impl Outcome {
    /// Whether the client was connected.
    pub const fn is_connected(&self) -> bool {
        self.latency.is_some() && self.failure.is_none()
    }
}
