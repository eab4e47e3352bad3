//! Joining: a node that is not synchronised listens for beacons, and chooses its first time source among their senders (RFC 8180,
//! 6.2; IEEE 802.15.4-2020, 6.3.6).
//!
//! What must always hold: on which channel the node listens is a hash of the node and the time, so that whether it hears a beacon
//! can be decided when one is sent; no more beacons are remembered than are waited for.

use core::time::Duration;

use super::beacon::EnhancedBeacon;
use crate::Time;
use crate::chance::{Chance, Purpose};

/// The options of joining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinOptions {
    /// NUM_NEIGHBOURS_TO_WAIT: from so many neighbours the node hears a beacon before it chooses.
    pub neighbours: usize,
    /// MAX_EB_DELAY: after the first beacon it waits no longer than this.
    pub delay: Duration,
    /// For so many slots it stays on a channel.
    pub dwell: u64,
}

impl JoinOptions {
    /// The recommendations of RFC 8180, 7.3. How long to stay on a channel is not in it: one slot, as in the 6TiSCH Simulator
    /// (SimEngine/Mote/tsch.py: `_action_listeningForEB_cell`).
    pub const RFC_8180: Self = Self { neighbours: 2, delay: Duration::from_secs(180), dwell: 1 };
}

/// A node that listens for beacons.
#[derive(Clone, Debug)]
pub(crate) struct Joining {
    options: JoinOptions,
    chance: Chance,
    node: u64,
    heard: Vec<EnhancedBeacon>,
    /// When to choose at the latest.
    until: Option<Time>,
}

impl Joining {
    pub(crate) const fn new(options: JoinOptions, chance: Chance, node: u64) -> Self {
        Self { options, chance, node, heard: Vec::new(), until: None }
    }

    /// Returns the channel on which the node listens in a slot, if there is any.
    pub(crate) fn channel(&self, asn: u64, channels: &[u8]) -> Option<u8> {
        let turn = asn / self.options.dwell.max(1);
        let index = self.chance.below(channels.len() as u64, Purpose::Scan, self.node, turn);
        channels.get(usize::try_from(index).ok()?).copied()
    }

    /// Handles a beacon. Returns the one whose sender becomes the time source, as soon as that is decided.
    pub(crate) fn handle_beacon(&mut self, now: Time, beacon: EnhancedBeacon) -> Option<EnhancedBeacon> {
        self.until.get_or_insert(now + self.options.delay);
        match self.heard.iter_mut().find(|heard| heard.source == beacon.source) {
            Some(heard) => *heard = beacon,
            None => self.heard.push(beacon),
        }
        if self.heard.len() >= self.options.neighbours { self.choose() } else { None }
    }

    /// Returns when the node chooses at the latest.
    pub(crate) const fn next_time(&self) -> Option<Time> {
        self.until
    }

    /// Returns the beacon whose sender becomes the time source, if the node waits no longer.
    pub(crate) fn handle_timeout(&mut self, now: Time) -> Option<EnhancedBeacon> {
        if self.until.is_some_and(|until| until <= now) { self.choose() } else { None }
    }

    /// Chooses the lowest Join Metric; of equal ones, the one that was heard first.
    fn choose(&mut self) -> Option<EnhancedBeacon> {
        self.until = None;
        core::mem::take(&mut self.heard).into_iter().min_by_key(|beacon| beacon.join_metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beacon(source: u8, join_metric: u8) -> EnhancedBeacon {
        EnhancedBeacon::minimal(1, [0, 0, 0, 0, 0, 0, 0, source], 5, join_metric, 101)
    }

    fn node() -> Joining {
        Joining::new(JoinOptions::RFC_8180, Chance::new(1), 7)
    }

    #[test]
    fn of_two_neighbours_the_one_closer_to_the_root_is_chosen() {
        let mut node = node();
        assert_eq!(node.handle_beacon(Time::from_millis(1), beacon(1, 4)), None);
        assert_eq!(node.handle_beacon(Time::from_millis(2), beacon(1, 5)), None, "the same neighbour");
        assert_eq!(node.handle_beacon(Time::from_millis(3), beacon(2, 3)), Some(beacon(2, 3)));
        // A second life.
        assert_eq!((node.next_time(), node.handle_beacon(Time::from_millis(4), beacon(3, 9))), (None, None));
        assert_eq!(
            node.handle_beacon(Time::from_millis(5), beacon(4, 9)),
            Some(beacon(3, 9)),
            "the first of equal ones"
        );
    }

    #[test]
    fn a_node_waits_no_longer_than_it_should() {
        let mut node = node();
        assert_eq!((node.next_time(), node.handle_timeout(Time::from_millis(1_000_000))), (None, None));
        node.handle_beacon(Time::from_millis(1_000), beacon(1, 4));
        node.handle_beacon(Time::from_millis(90_000), beacon(1, 6));
        assert_eq!(node.next_time(), Some(Time::from_millis(181_000)));
        assert_eq!(node.handle_timeout(Time::from_millis(180_999)), None);
        assert_eq!(node.handle_timeout(Time::from_millis(181_000)), Some(beacon(1, 6)), "its last beacon");
    }

    #[test]
    fn all_channels_are_listened_to_alike() {
        let channels: Vec<u8> = (11..=26).collect();
        let node = node();
        let mut counts = [0; 27];
        (0..16_000).for_each(|asn| counts[usize::from(node.channel(asn, &channels).unwrap())] += 1);
        assert!(counts[11..].iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
        assert_eq!(node.channel(5, &[]), None);
        let slow = Joining { options: JoinOptions { dwell: 100, ..JoinOptions::RFC_8180 }, ..node };
        assert!((100..200).all(|asn| slow.channel(asn, &channels) == slow.channel(100, &channels)));
    }
}
