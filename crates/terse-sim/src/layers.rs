//! Bytes by layer.

use core::ops::Add;

/// Bytes by layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Layers {
    /// What TCP or UDP carries: TLS or DTLS records.
    pub application: usize,
    /// The header of TCP with its options, or of UDP, as it is on the link (6LoWPAN and SCHC compress it).
    pub transport: usize,
    /// The IP header as it is on the link, with the headers of 6LoWPAN's and SCHC's fragments.
    pub network: usize,
    /// Header and trailer of the link layer.
    pub link: usize,
}

impl Layers {
    /// Returns the sum of all layers.
    pub const fn sum(&self) -> usize {
        self.application + self.transport + self.network + self.link
    }

    /// Returns how many of a packet's bytes `from..to` belong to each layer, counted as on the link: network header
    /// first.
    pub(crate) fn part(&self, from: usize, to: usize) -> Self {
        let within = |start: usize, len: usize| to.min(start + len).saturating_sub(from.max(start));
        Self {
            network: within(0, self.network),
            transport: within(self.network, self.transport),
            application: within(self.network + self.transport, self.application),
            link: 0,
        }
    }
}

impl Add for Layers {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            application: self.application + other.application,
            transport: self.transport + other.transport,
            network: self.network + other.network,
            link: self.link + other.link,
        }
    }
}
