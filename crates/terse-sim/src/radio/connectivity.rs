//! The share of frames that arrive, for each pair of nodes and each channel: a matrix.
//!
//! What must always hold: nodes that are not named hear nothing of each other. A node that hears another one at all is also
//! disturbed by it: two frames on one channel in one slot are both lost to a node that hears both senders. Where the strength
//! of signals is known, the stronger one of them may arrive ([`Connectivity::delivery_among`]).

use core::time::Duration;
use std::collections::BTreeMap;

use super::interference::{Interference, NOISE};

/// The quality of all links between nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connectivity {
    links: BTreeMap<(u16, u16), Quality>,
}

/// A link that becomes another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioChange {
    /// So long after the beginning.
    pub after: Duration,
    /// The sender.
    pub from: u16,
    /// The receiver.
    pub to: u16,
    /// The channel; `None` for all that have no quality of their own.
    pub channel: Option<u8>,
    /// The share of frames that arrive from then on.
    pub delivery: f64,
    /// The strength of the signal in dBm, if it is known.
    pub rssi: Option<f64>,
}

/// The quality of one link, one way.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Quality {
    delivery: f64,
    /// The strength of the signal in dBm, if it is known.
    rssi: Option<f64>,
    /// Channels with another quality: the share of frames, and the strength. Most links have none, and a large network has a million
    /// links.
    channels: Option<Box<Channels>>,
}

/// The share of frames and the strength on each of some channels.
type Channels = BTreeMap<u8, (f64, Option<f64>)>;

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
        self.set_with_rssi(from, to, channel, delivery, None);
    }

    /// Sets the share of frames that arrive, and the strength of the signal in dBm.
    pub fn set_with_rssi(&mut self, from: u16, to: u16, channel: Option<u8>, delivery: f64, rssi: Option<f64>) {
        self.links.entry((from, to)).or_default().set(channel, (delivery, rssi));
    }

    /// Returns the share of frames from one node that arrive at another on this channel.
    pub fn delivery(&self, from: u16, to: u16, channel: u8) -> f64 {
        self.quality(from, to, channel).0
    }

    /// Returns the strength in dBm with which a node hears another one, if it is known.
    pub fn rssi(&self, from: u16, to: u16, channel: u8) -> Option<f64> {
        self.quality(from, to, channel).1
    }

    /// Returns the share of frames that arrive while `others` send on the same channel. If the strength of a signal is not known,
    /// whoever is heard at all makes all others lost.
    pub fn delivery_among(&self, from: u16, to: u16, channel: u8, others: impl IntoIterator<Item = u16>) -> f64 {
        let others = others.into_iter().filter(|other| *other != from && *other != to);
        combine(self.quality(from, to, channel), others.map(|other| self.quality(other, to, channel)))
    }

    /// Whether a node hears another one at all on this channel.
    pub fn hears(&self, from: u16, to: u16, channel: u8) -> bool {
        self.delivery(from, to, channel) > 0.0
    }

    /// Returns all links with their quality where no channel has another one: sender, receiver, share of frames.
    pub fn links(&self) -> impl Iterator<Item = (u16, u16, f64)> {
        self.links.iter().map(|((from, to), quality)| (*from, *to, quality.delivery))
    }

    /// Returns the quality that a link has on a channel by itself, or on all others for `None`: the share of frames, and the strength
    /// of the signal.
    pub(crate) fn own_quality(&self, from: u16, to: u16, channel: Option<u8>) -> Option<(f64, Option<f64>)> {
        let quality = self.links.get(&(from, to))?;
        match channel {
            None => Some((quality.delivery, quality.rssi)),
            Some(channel) => quality.channels.as_ref()?.get(&channel).copied(),
        }
    }

    /// Returns all links with all that is known of them, ordered by sender and receiver.
    pub(super) fn qualities(&self) -> impl Iterator<Item = (u16, u16, &Quality)> {
        self.links.iter().map(|((from, to), quality)| (*from, *to, quality))
    }

    fn quality(&self, from: u16, to: u16, channel: u8) -> (f64, Option<f64>) {
        self.links.get(&(from, to)).map_or((0.0, None), |quality| quality.on(channel))
    }
}

impl Quality {
    /// Sets the share of frames that arrive, and the strength of the signal.
    pub(super) fn set(&mut self, channel: Option<u8>, quality: (f64, Option<f64>)) {
        match channel {
            Some(channel) => drop(self.channels.get_or_insert_default().insert(channel, quality)),
            None => (self.delivery, self.rssi) = quality,
        }
    }

    /// Returns the share of frames that arrive on a channel, and the strength of the signal.
    pub(super) fn on(&self, channel: u8) -> (f64, Option<f64>) {
        let own = self.channels.as_ref().and_then(|channels| channels.get(&channel).copied());
        own.unwrap_or((self.delivery, self.rssi))
    }
}

/// Returns the share of frames that arrive, of the quality of the link, and those of the links from others that send at the
/// same time. If the strength of a signal is not known, whoever is heard at all makes all others lost.
pub(super) fn combine((alone, signal): (f64, Option<f64>), others: impl Iterator<Item = (f64, Option<f64>)>) -> f64 {
    let mut interference: Option<Interference> = None;
    for other in others {
        match (signal, other) {
            (Some(_), (_, Some(strength))) => {
                interference.get_or_insert_with(|| Interference::new(NOISE)).add(strength);
            }
            (_, (share, _)) if share > 0.0 => return 0.0,
            _ => {}
        }
    }
    match (signal, interference) {
        (Some(signal), Some(interference)) => alone * interference.delivery(signal),
        _ => alone,
    }
}

#[cfg(test)]
mod tests;
