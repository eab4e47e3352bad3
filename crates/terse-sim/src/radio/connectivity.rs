//! The share of frames that arrive, for each pair of nodes and each channel: a matrix.
//!
//! What must always hold: nodes that are not named hear nothing of each other. A node that hears another one at all is also
//! disturbed by it: two frames on one channel in one slot are both lost to a node that hears both senders.

use std::collections::BTreeMap;

/// The quality of all links between nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connectivity {
    links: BTreeMap<(u16, u16), Quality>,
}

/// The quality of one link, one way.
#[derive(Clone, Debug, Default, PartialEq)]
struct Quality {
    delivery: f64,
    /// Channels with another quality.
    channels: BTreeMap<u8, f64>,
}

impl Connectivity {
    /// Returns a network in which nobody hears anybody.
    pub const fn new() -> Self {
        Self { links: BTreeMap::new() }
    }

    /// Sets the share of frames from one node that arrive at another, on all channels that have no quality of their own.
    #[must_use]
    pub fn link(mut self, from: u16, to: u16, delivery: f64) -> Self {
        self.set(from, to, None, delivery);
        self
    }

    /// Sets the share of frames that arrive both ways between two nodes.
    #[must_use]
    pub fn both_ways(self, first: u16, second: u16, delivery: f64) -> Self {
        self.link(first, second, delivery).link(second, first, delivery)
    }

    /// Sets the share of frames that arrive, on one `channel` (11 to 26) or on all.
    pub fn set(&mut self, from: u16, to: u16, channel: Option<u8>, delivery: f64) {
        let quality = self.links.entry((from, to)).or_default();
        match channel {
            Some(channel) => drop(quality.channels.insert(channel, delivery)),
            None => quality.delivery = delivery,
        }
    }

    /// Returns the share of frames from one node that arrive at another on this channel.
    pub fn delivery(&self, from: u16, to: u16, channel: u8) -> f64 {
        let Some(quality) = self.links.get(&(from, to)) else { return 0.0 };
        quality.channels.get(&channel).copied().unwrap_or(quality.delivery)
    }

    /// Whether a node hears another one at all on this channel.
    pub fn hears(&self, from: u16, to: u16, channel: u8) -> bool {
        self.delivery(from, to, channel) > 0.0
    }

    /// Returns all links with their quality where no channel has another one: sender, receiver, share of frames.
    pub fn links(&self) -> impl Iterator<Item = (u16, u16, f64)> {
        self.links.iter().map(|((from, to), quality)| (*from, *to, quality.delivery))
    }
}

#[cfg(test)]
mod tests;
