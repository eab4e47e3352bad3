//! Links between two nodes are data: every field can be changed.
//!
//! A [`Link`] has two [`Path`]s, one for each direction, and a [`Framing`]: the headers around an IP packet, which are
//! real bytes. Neighbours know each other's link-layer addresses: there is no ARP, no neighbour discovery and no
//! joining.

mod address;
mod codec;
mod duration;
mod ethernet;
pub(crate) mod ieee802154;
pub(crate) mod lorawan;
mod profiles;
#[cfg(test)]
mod tests;

use core::time::Duration;
use std::borrow::Cow;

pub use crate::direction::Direction;
pub(crate) use address::Station;
pub(crate) use codec::{Codec, Coded};
pub(crate) use duration::transmission;
pub use ieee802154::Ieee802154;
pub use lorawan::LoraWan;
pub use profiles::{PROFILES, UnknownLink};

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The name, also of the interface in a capture.
    pub name: Cow<'static, str>,
    /// The headers around an IP packet.
    pub framing: Framing,
    /// The length of the longest IP packet, header included, in bytes.
    pub mtu: usize,
    /// Whether the two directions share one medium: then only one of them sends at a time.
    pub half_duplex: bool,
    /// The path from the first end to the second.
    pub up: Path,
    /// The path from the second end to the first.
    pub down: Path,
}

impl Link {
    /// Returns the path of `direction`.
    pub const fn path(&self, direction: Direction) -> &Path {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// Applies `change` to both paths.
    pub fn with_paths(mut self, change: impl Fn(&mut Path)) -> Self {
        change(&mut self.up);
        change(&mut self.down);
        self
    }
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Bits per second on the link; with `None`, sending takes no time. LoRaWAN has its own formula and does not read
    /// this.
    pub rate: Option<u64>,
    /// The time from the last bit sent to the last bit received.
    pub delay: Duration,
    /// The probability that a frame is lost, 0 to 1. Each frame, and each fragment, has its own chance.
    pub loss: f64,
    /// The probability that a frame arrives twice.
    pub duplication: f64,
    /// The probability that a frame is late by [`Self::late_by`], and thus overtaken.
    pub reordering: f64,
    /// The delay of a late frame.
    pub late_by: Duration,
    /// The share of time in which the sender may be on the air, up to 1: after sending for t it is silent for
    /// t(1/duty_cycle - 1) (ETSI EN 300 220, as LoRaWAN devices do it).
    pub duty_cycle: f64,
    /// The most packets that wait at the sender, besides the one that is being sent.
    pub queue: usize,
    /// From which share of the queue on packets are marked with CE (RFC 3168), if they may be; the paper on TLS over
    /// 6TiSCH has 0.75.
    pub mark_at: Option<f64>,
}

impl Path {
    /// A path that takes no time and loses nothing, with a queue of 1000 packets (Linux's `txqueuelen`).
    pub const IDEAL: Self = Self {
        rate: None,
        delay: Duration::ZERO,
        loss: 0.0,
        duplication: 0.0,
        reordering: 0.0,
        late_by: Duration::from_millis(1),
        duty_cycle: 1.0,
        queue: 1000,
        mark_at: None,
    };

    /// Returns a path with this rate and delay.
    pub const fn new(rate: u64, delay: Duration) -> Self {
        let mut path = Self::IDEAL;
        path.rate = Some(rate);
        path.delay = delay;
        path
    }
}

/// The headers around an IP packet on a link.
#[derive(Clone, Debug, PartialEq)]
pub enum Framing {
    /// Ethernet II: a header of 14 B. The FCS is not counted, nor padding to 60 B, as a capture at a (virtual)
    /// interface does not see them.
    Ethernet,
    /// No headers: IPv4 and IPv6 packets as they are.
    Ip,
    /// IEEE 802.15.4 without TSCH, with 6LoWPAN: IPv6 only.
    Ieee802154(Ieee802154),
    /// LoRaWAN with SCHC: IPv6 only. The first end is the device.
    LoraWan(LoraWan),
}
