//! The codec turns IP packets into frames and back, one way over a link.

use super::ethernet::Ethernet;
use super::{Direction, Framing, Station, ieee802154, lorawan};
use crate::Time;
use crate::cause::Cause;
use crate::decoded::Decoded;
use crate::layers::Layers;
use crate::packet::Packet;

/// The encoder at one end and the decoder at the other.
#[derive(Debug)]
pub(crate) enum Codec {
    Ethernet(Ethernet),
    Ip,
    Ieee802154(Box<ieee802154::Mac>),
    LoraWan(Box<lorawan::Mac>),
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Coded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) layers: Layers,
    pub(crate) fragment: Option<u16>,
}

impl Codec {
    pub(crate) fn new(framing: &Framing, direction: Direction, from: Station, to: Station) -> Self {
        match framing {
            Framing::Ethernet => Self::Ethernet(Ethernet { from, to }),
            Framing::Ip => Self::Ip,
            Framing::Ieee802154(options) => Self::Ieee802154(Box::new(ieee802154::Mac::new(options, from, to))),
            Framing::LoraWan(options) => Self::LoraWan(Box::new(lorawan::Mac::new(options, direction, from, to))),
        }
    }

    /// Returns the frames of a packet, at least one.
    pub(crate) fn encode(&mut self, packet: &Packet) -> Result<Vec<Coded>, Cause> {
        match self {
            Self::Ethernet(ethernet) => Ok(vec![ethernet.encode(packet)]),
            Self::Ieee802154(mac) => mac.encode(packet),
            Self::LoraWan(mac) => mac.encode(packet),
            Self::Ip => Ok(vec![Coded { bytes: packet.bytes().to_vec(), layers: packet.layers(), fragment: None }]),
        }
    }

    /// Decodes a frame of the packet numbered `id`.
    pub(crate) fn decode(&mut self, now: Time, bytes: &[u8], id: u64) -> Decoded {
        let whole = |packet: Option<Packet>| {
            packet.map_or(Decoded::Dropped(Cause::Malformed), |packet| Decoded::Packet(packet, id))
        };
        match self {
            Self::Ethernet(ethernet) => whole(ethernet.decode(bytes)),
            Self::Ieee802154(mac) => mac.decode(now, bytes, id),
            Self::LoraWan(mac) => mac.decode(now, bytes, id),
            Self::Ip => whole(Packet::parse(bytes.to_vec()).ok()),
        }
    }

    /// Returns when reassembly gives up next.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Ethernet(_) | Self::Ip => None,
            Self::Ieee802154(mac) => mac.sixlowpan_ref().poll_timeout(),
            Self::LoraWan(mac) => mac.schc_ref().poll_timeout(),
        }
    }

    /// Returns the packets that reassembly gave up since the last call.
    pub(crate) fn abandoned(&mut self, now: Time) -> Vec<(u64, Cause)> {
        match self {
            Self::Ethernet(_) | Self::Ip => Vec::new(),
            Self::Ieee802154(mac) => mac.sixlowpan().abandoned(now),
            Self::LoraWan(mac) => mac.schc().abandoned(now),
        }
    }

    /// Returns the packets of which fragments are kept.
    pub(crate) fn held(&self) -> Vec<u64> {
        match self {
            Self::Ethernet(_) | Self::Ip => Vec::new(),
            Self::Ieee802154(mac) => mac.sixlowpan_ref().held(),
            Self::LoraWan(mac) => mac.schc_ref().held(),
        }
    }
}
