//! The candidate neighbours of a node: what their last DIOs said, and how good the links to them are (RFC 6550, 8.2.1).

use core::time::Duration;
use std::net::Ipv6Addr;

use crate::Time;
use crate::rpl::messages::{Dio, INFINITE_RANK};
use crate::rpl::of0::LinkQuality;
use crate::rpl::sequence::Sequence;

/// The candidate neighbours, at most so many.
#[derive(Debug)]
pub(super) struct Neighbours {
    most: usize,
    all: Vec<Neighbour>,
}

/// A candidate neighbour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbour {
    /// The link-local address.
    pub(super) address: Ipv6Addr,
    pub(super) version: Sequence,
    pub(super) rank: u16,
    pub(super) dtsn: Sequence,
    pub(super) link: LinkQuality,
    /// When what was measured of a poor link is forgotten.
    pub(super) poor_until: Option<Time>,
}

impl Neighbours {
    pub(super) const fn new(most: usize) -> Self {
        Self { most, all: Vec::new() }
    }

    /// Notes a DIO. Returns `false` if there is no room for its sender: then the one with the greatest Rank is none of worse
    /// Rank, and the parent stays in any case.
    pub(super) fn hear(&mut self, address: Ipv6Addr, dio: &Dio, parent: Option<Ipv6Addr>) -> bool {
        if let Some(known) = self.all.iter_mut().find(|neighbour| neighbour.address == address) {
            (known.version, known.rank) = (dio.version, dio.rank);
            return true;
        }
        if self.all.len() >= self.most {
            let others = self.all.iter().enumerate().filter(|(_, neighbour)| Some(neighbour.address) != parent);
            let worst = others.max_by_key(|(_, neighbour)| neighbour.rank).filter(|(_, worst)| worst.rank > dio.rank);
            let Some((index, _)) = worst else { return false };
            self.all.remove(index);
        }
        let (version, rank, dtsn) = (dio.version, dio.rank, dio.dtsn);
        self.all.push(Neighbour { address, version, rank, dtsn, link: LinkQuality::default(), poor_until: None });
        true
    }

    /// Notes that a neighbour has no parent. Returns whether that is news.
    pub(super) fn lose(&mut self, address: Ipv6Addr) -> bool {
        let known = self.all.iter_mut().find(|neighbour| neighbour.address == address);
        known.is_some_and(|neighbour| core::mem::replace(&mut neighbour.rank, INFINITE_RANK) != INFINITE_RANK)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Neighbour> {
        self.all.iter()
    }

    pub(super) fn find(&self, address: Ipv6Addr) -> Option<&Neighbour> {
        self.all.iter().find(|neighbour| neighbour.address == address)
    }

    /// Notes the DTSN of a neighbour, and returns the one before.
    pub(super) fn note_dtsn(&mut self, address: Ipv6Addr, dtsn: Sequence) -> Option<Sequence> {
        let neighbour = self.all.iter_mut().find(|neighbour| neighbour.address == address)?;
        Some(core::mem::replace(&mut neighbour.dtsn, dtsn))
    }

    /// Counts a frame to a neighbour. Returns what was known of the link before, and what is now.
    pub(super) fn count(&mut self, address: Ipv6Addr, is_acknowledged: bool) -> Option<(LinkQuality, LinkQuality)> {
        let neighbour = self.all.iter_mut().find(|neighbour| neighbour.address == address)?;
        let before = neighbour.link;
        neighbour.link.count(is_acknowledged);
        Some((before, neighbour.link))
    }

    /// Notes that a neighbour cannot be reached.
    pub(super) fn fail(&mut self, address: Ipv6Addr) {
        if let Some(neighbour) = self.all.iter_mut().find(|neighbour| neighbour.address == address) {
            neighbour.link.fail();
        }
    }

    /// Begins to count the time of links that have become poor.
    pub(super) fn mark_poor(&mut self, now: Time, forget_after: Duration, is_poor: impl Fn(&LinkQuality) -> bool) {
        for neighbour in &mut self.all {
            neighbour.poor_until = is_poor(&neighbour.link).then(|| neighbour.poor_until.unwrap_or(now + forget_after));
        }
    }

    /// Returns when something is to be forgotten next.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.all.iter().filter_map(|neighbour| neighbour.poor_until).min()
    }

    /// Removes neighbours whose link was poor for long: they come back with their next DIO. Returns whether there were any.
    pub(super) fn forget(&mut self, now: Time) -> bool {
        let before = self.all.len();
        self.all.retain(|neighbour| neighbour.poor_until.is_none_or(|until| now < until));
        self.all.len() != before
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
    }
}
