//! Who hears whom, laid out so that a simulation of many slots finds it fast.
//!
//! What must always hold: every answer is that of the [`Connectivity`] it was made from.

use super::connectivity::{Quality, combine};
use super::{Connectivity, RadioChange};

/// The links from each node.
#[derive(Clone, Debug)]
pub(crate) struct Air {
    from: Vec<Links>,
}

/// The links from a node. Interference looks for one for each pair of senders at each receiver, so that looking must be fast.
#[derive(Clone, Debug, Default)]
struct Links {
    /// Those who may hear the node, in order.
    receivers: Vec<u16>,
    /// The quality of the link to each.
    qualities: Vec<Quality>,
    /// The place of each node in both lists, or [`NO_PLACE`]; empty as long as few of all nodes hear this one.
    places: Vec<u16>,
}

impl Air {
    /// Lays out the links among so many nodes.
    pub(crate) fn new(radio: &Connectivity, nodes: usize) -> Self {
        let mut from = vec![Links::default(); nodes];
        for (sender, receiver, quality) in radio.qualities() {
            if let Some(links) = from.get_mut(usize::from(sender)).filter(|_| usize::from(receiver) < nodes) {
                links.receivers.push(receiver);
                links.qualities.push(quality.clone());
            }
        }
        from.iter_mut().for_each(|links| links.note_places(nodes));
        Self { from }
    }

    /// Changes a link.
    pub(crate) fn change(&mut self, change: &RadioChange) {
        let RadioChange { from, to, channel, delivery, rssi, .. } = *change;
        let nodes = self.from.len();
        let Some(links) = self.from.get_mut(usize::from(from)).filter(|_| usize::from(to) < nodes) else { return };
        let index = links.receivers.binary_search(&to).unwrap_or_else(|index| {
            links.receivers.insert(index, to);
            links.qualities.insert(index, Quality::default());
            links.note_places(nodes);
            index
        });
        links.qualities[index].set(channel, (delivery, rssi));
    }

    /// Returns the nodes that may hear a node, in order, with the share of frames that arrive and the strength of the signal.
    pub(crate) fn receivers(&self, from: u16, channel: u8) -> impl Iterator<Item = (u16, f64, Option<f64>)> {
        let links = self.from.get(usize::from(from)).into_iter();
        links.flat_map(|links| links.receivers.iter().zip(&links.qualities)).map(move |(to, quality)| {
            let (delivery, rssi) = quality.on(channel);
            (*to, delivery, rssi)
        })
    }

    /// Returns the share of frames that arrive, as [`Connectivity::delivery`].
    pub(crate) fn delivery(&self, from: u16, to: u16, channel: u8) -> f64 {
        self.quality(from, to, channel).0
    }

    /// Returns the share of frames that arrive while others send, as [`Connectivity::delivery_among`].
    pub(crate) fn delivery_among(&self, from: u16, to: u16, channel: u8, others: impl Iterator<Item = u16>) -> f64 {
        let others = others.filter(|other| *other != from && *other != to);
        combine(self.quality(from, to, channel), others.map(|other| self.quality(other, to, channel)))
    }

    fn quality(&self, from: u16, to: u16, channel: u8) -> (f64, Option<f64>) {
        let Some(links) = self.from.get(usize::from(from)) else { return (0.0, None) };
        links.to(to).map_or((0.0, None), |quality| quality.on(channel))
    }
}

impl Links {
    /// Notes the places of receivers among so many nodes, if there are many.
    fn note_places(&mut self, nodes: usize) {
        self.places.clear();
        if self.receivers.len() * FEW < nodes {
            return;
        }
        self.places.resize(nodes, NO_PLACE);
        for (place, receiver) in (0..).zip(&self.receivers) {
            self.places[usize::from(*receiver)] = place;
        }
    }

    /// Returns the quality of the link to a node.
    fn to(&self, node: u16) -> Option<&Quality> {
        let place = match self.places.get(usize::from(node)) {
            Some(place) => usize::from(*place),
            None => self.receivers.binary_search(&node).ok()?,
        };
        self.qualities.get(place)
    }
}

/// Receivers are few if there are less than one in so many nodes: a list of places would take more memory than the links.
const FEW: usize = 16;
/// The place of a node that is no receiver. No list is so long: there are 65,535 nodes at most, and none hears itself.
const NO_PLACE: u16 = u16::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_that_of_the_connectivity() {
        let mut radio = Connectivity::new().both_ways(0, 1, 0.9).link(2, 1, 0.4).link(1, 2, 1.0);
        radio.set(0, 1, Some(15), 0.1);
        radio.set_with_rssi(3, 1, None, 0.8, Some(-70.0));
        radio.set_with_rssi(4, 1, None, 0.9, Some(-90.0));
        let air = Air::new(&radio, 5);
        for (from, to, channel) in (0..6).flat_map(|from| (0..6).flat_map(move |to| [(from, to, 15), (from, to, 20)])) {
            assert_eq!(air.delivery(from, to, channel), radio.delivery(from, to, channel), "{from} {to} {channel}");
            let known = air.receivers(from, channel).find(|(receiver, ..)| *receiver == to);
            let expected = (radio.delivery(from, to, channel), radio.rssi(from, to, channel));
            assert_eq!(known.map_or((0.0, None), |(_, delivery, rssi)| (delivery, rssi)), expected);
            for others in [&[][..], &[2], &[3, 4], &[0, 1, 2, 3, 4]] {
                let others = || others.iter().copied();
                let expected = radio.delivery_among(from, to, channel, others());
                assert_eq!(air.delivery_among(from, to, channel, others()), expected);
            }
        }
        let receivers = |air: &Air| air.receivers(1, 15).map(|(to, ..)| to).collect::<Vec<_>>();
        assert_eq!(receivers(&air), [0, 2]);
        let mut air = air;
        let after = core::time::Duration::from_secs(1);
        let change = |to, channel, delivery| RadioChange { after, from: 1, to, channel, delivery, rssi: Some(-80.0) };
        [change(2, None, 0.5), change(3, Some(20), 0.25), change(9, None, 1.0)].iter().for_each(|of| air.change(of));
        assert!(air.receivers(1, 15).any(|link| link == (2, 0.5, Some(-80.0))));
        assert_eq!((air.delivery(1, 3, 20), air.delivery(1, 3, 15)), (0.25, 0.0), "a link that was not there");
        assert_eq!(receivers(&air), [0, 2, 3]);
        assert!(air.receivers(7, 15).next().is_none());
    }

    #[test]
    fn links_are_found_among_few_and_among_many() {
        for nodes in [40, 400] {
            let few = Connectivity::new().link(0, 39, 0.5).link(0, 3, 0.25).link(0, 17, 0.75);
            let air = Air::new(&few, nodes);
            assert_eq!(air.from[0].places.is_empty(), nodes == 400);
            let found = (0..=40).filter(|to| air.delivery(0, *to, 11) > 0.0).collect::<Vec<u16>>();
            assert_eq!(found, [3, 17, 39], "of {nodes}");
            assert_eq!([3, 17, 39].map(|to| air.delivery(0, to, 11)), [0.25, 0.75, 0.5]);
        }
    }
}
