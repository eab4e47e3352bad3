//! From IP packets to frames and back, one way over a link.

use super::ethernet::Ethernet;
use super::{Framing, Station};
use crate::Time;
use crate::ledger::Layers;
use crate::network::Cause;
use crate::packet::Packet;

/// The encoder at one end and the decoder at the other.
#[derive(Debug)]
pub(crate) enum Codec {
    Ethernet(Ethernet),
    Ip,
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Coded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) layers: Layers,
    pub(crate) fragment: Option<u16>,
}

/// What a frame came to. The framings that fragment make all of them.
#[derive(Debug, PartialEq, Eq)]
#[allow(dead_code)]
pub(crate) enum Decoded {
    /// A packet is whole, which is the packet with this number.
    Packet(Packet, u64),
    /// A fragment, and others are missing.
    Partial,
    /// The link layer had it already.
    Repeated,
    /// Nothing can be made of the packet it belongs to.
    Dropped(Cause),
}

impl Codec {
    pub(crate) fn new(framing: &Framing, from: Station, to: Station) -> Self {
        match framing {
            Framing::Ethernet => Self::Ethernet(Ethernet { from, to }),
            Framing::Ip => Self::Ip,
        }
    }

    /// The frames of a packet, one at least.
    pub(crate) fn encode(&mut self, packet: &Packet) -> Result<Vec<Coded>, Cause> {
        match self {
            Self::Ethernet(ethernet) => Ok(vec![ethernet.encode(packet)]),
            Self::Ip => Ok(vec![Coded { bytes: packet.bytes().to_vec(), layers: packet.layers(), fragment: None }]),
        }
    }

    /// Takes a frame of the packet numbered `id`.
    pub(crate) fn decode(&mut self, _now: Time, bytes: &[u8], id: u64) -> Decoded {
        let whole = |packet: Option<Packet>| {
            packet.map_or(Decoded::Dropped(Cause::Malformed), |packet| Decoded::Packet(packet, id))
        };
        match self {
            Self::Ethernet(ethernet) => whole(ethernet.decode(bytes)),
            Self::Ip => whole(Packet::parse(bytes.to_vec()).ok()),
        }
    }

    /// When reassembly gives up for the next time.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Ethernet(_) | Self::Ip => None,
        }
    }

    /// The packets that reassembly gave up since the last call.
    pub(crate) fn abandoned(&mut self, _now: Time) -> Vec<(u64, Cause)> {
        match self {
            Self::Ethernet(_) | Self::Ip => Vec::new(),
        }
    }

    /// The packets of which fragments are kept.
    pub(crate) fn held(&self) -> Vec<u64> {
        match self {
            Self::Ethernet(_) | Self::Ip => Vec::new(),
        }
    }
}
