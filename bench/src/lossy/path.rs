//! A simulated path carries packets of limited size, one after the other at a limited rate, and loses some.
//!
//! A datagram that does not fit one packet is carried as IPv6 fragments, and lost if one of them is. So stacks can be
//! compared that do not fragment their ClientHello, or accept no small MTU. Time is in microseconds.
//!
//! What must always hold: the fate of the n-th packet of a direction depends on the seed and on nothing else; packets
//! of a direction do not overtake each other.

use fastrand::Rng;
use serde::Serialize;

/// The properties of both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Path {
    /// The largest packet, in bytes.
    pub mtu: u16,
    /// The percentage of packets that are lost.
    pub loss: u8,
    /// The time that a packet takes to the other side once it has left, in milliseconds.
    pub delay: u32,
    /// The rate at which packets leave, in kilobits per second.
    pub rate: u32,
}

impl Path {
    /// Returns the length of the largest datagram that fits one packet.
    pub fn datagram(&self) -> usize {
        usize::from(self.mtu).saturating_sub(IP_AND_UDP)
    }

    /// Returns the lengths of the packets that carry a datagram of `len` bytes.
    fn packets(&self, len: usize) -> Vec<usize> {
        if len <= self.datagram() {
            return vec![len + IP_AND_UDP];
        }
        let room = usize::from(self.mtu).saturating_sub(IP + FRAGMENT_HEADER).max(8) & !7;
        let parts = (len + UDP).div_ceil(room);
        let part = |index| room.min(len + UDP - index * room) + IP + FRAGMENT_HEADER;
        (0..parts).map(part).collect()
    }
}

/// One direction.
#[derive(Debug)]
pub(super) struct Direction {
    path: Path,
    rng: Rng,
    /// The time when everything that was sent has left.
    free: u64,
}

/// The fate of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    /// The time when it arrives, or `None` if it is lost.
    pub(super) arrives: Option<u64>,
    /// The number of its packets.
    pub(super) packets: usize,
}

impl Direction {
    /// Creates a direction without packets in flight.
    pub(super) const fn new(path: Path, rng: Rng) -> Self {
        Self { path, rng, free: 0 }
    }

    /// Carries a datagram of `len` bytes that is sent `now`.
    pub(super) fn carry(&mut self, now: u64, len: usize) -> Fate {
        self.free = self.free.max(now);
        let packets = self.path.packets(len);
        let mut is_lost = false;
        for len in &packets {
            self.free += *len as u64 * 8_000 / u64::from(self.path.rate);
            is_lost |= self.rng.u8(..100) < self.path.loss;
        }
        let arrives = self.free + u64::from(self.path.delay) * 1_000;
        Fate { arrives: (!is_lost).then_some(arrives), packets: packets.len() }
    }
}

/// The length of headers, in bytes.
const IP: usize = 40;
const UDP: usize = 8;
const FRAGMENT_HEADER: usize = 8;
const IP_AND_UDP: usize = IP + UDP;

#[cfg(test)]
mod tests;
