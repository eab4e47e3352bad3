//! What the root knows of the DODAG: each node's parent, as DAOs name it, and the source routes that follow (RFC 6550, 9.7).
//!
//! What must always hold: a route ends; a newer Path Sequence replaces an older one, never the other way round; nothing is
//! used after its lifetime; no more nodes are known than there is room for.
//!
//! DAOs of several nodes come in any order, so that what is known may make a circle for a while. Such a circle gives no route.

use core::time::Duration;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use super::options::Transit;
use super::sequence::Sequence;
use crate::Time;

/// The parents of all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    root: Ipv6Addr,
    /// The most nodes.
    capacity: usize,
    /// The most hops of a route.
    max_hops: usize,
    nodes: BTreeMap<Ipv6Addr, Entry>,
}

/// What is known of a node. There is one parent: a PCS of 0 lets a node name no more (17).
#[derive(Clone, Copy, Debug)]
struct Entry {
    parent: Ipv6Addr,
    path_sequence: Sequence,
    /// `None` if the path has no end.
    until: Option<Time>,
}

/// Why the root does not take what a DAO says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// There is no Transit Information with a parent other than the node.
    Parent,
    /// The Path Sequence is not newer.
    Stale,
    /// There is no room for another node.
    Full,
}

/// Why there is no route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoute {
    /// A node on the way is not known, or no longer.
    Unknown(Ipv6Addr),
    /// The parents lead in a circle.
    Loop,
    /// There are too many hops for a source route.
    TooLong,
}

impl Routes {
    pub(crate) const fn new(root: Ipv6Addr, capacity: usize, max_hops: usize) -> Self {
        Self { root, capacity, max_hops, nodes: BTreeMap::new() }
    }

    /// Takes what a DAO says of a node: the parent with the best Path Control. `lifetime_unit` is the DODAG's, in seconds.
    /// Returns whether the node is reachable thereafter; a No-Path says that it is not.
    pub(crate) fn update(
        &mut self,
        now: Time,
        target: Ipv6Addr,
        transits: &[Transit],
        lifetime_unit: u16,
    ) -> Result<bool, Refused> {
        // Path Control: the highest bit is of the most preferred parent (6.7.8, figure 27). Of equals the first one counts.
        let best = transits.iter().rev().max_by_key(|transit| transit.path_control).ok_or(Refused::Parent)?;
        let parent = best.parent.filter(|parent| *parent != target && target != self.root).ok_or(Refused::Parent)?;
        let path_sequence = Sequence(best.path_sequence);
        let known = self.nodes.get(&target).filter(|entry| entry.is_valid(now));
        if known.is_some_and(|entry| (entry.path_sequence, entry.parent) == (path_sequence, parent)) {
            return Ok(true); // the same again
        }
        if known.is_some_and(|entry| !path_sequence.is_newer_than(entry.path_sequence)) {
            return Err(Refused::Stale);
        }
        if best.path_lifetime == NO_PATH {
            self.nodes.remove(&target);
            return Ok(false);
        }
        if !self.nodes.contains_key(&target) && self.nodes.len() >= self.capacity {
            self.nodes.retain(|_, entry| entry.is_valid(now));
            if self.nodes.len() >= self.capacity {
                return Err(Refused::Full);
            }
        }
        let lifetime = Duration::from_secs(u64::from(best.path_lifetime) * u64::from(lifetime_unit));
        let until = (best.path_lifetime != INFINITE_LIFETIME).then(|| now + lifetime);
        self.nodes.insert(target, Entry { parent, path_sequence, until });
        Ok(true)
    }

    /// Returns the nodes on the way from the root to a node, which is the last one.
    pub(crate) fn route(&self, now: Time, to: Ipv6Addr) -> Result<Vec<Ipv6Addr>, NoRoute> {
        let mut route = Vec::new();
        let mut at = to;
        while at != self.root {
            if route.len() > self.nodes.len() {
                return Err(NoRoute::Loop); // some node is there twice
            }
            let entry = self.nodes.get(&at).filter(|entry| entry.is_valid(now)).ok_or(NoRoute::Unknown(at))?;
            route.push(at);
            at = entry.parent;
        }
        if route.len() > self.max_hops {
            return Err(NoRoute::TooLong);
        }
        route.reverse();
        Ok(route)
    }

    /// Returns the parent of a node, as far as it is known.
    pub(crate) fn parent(&self, now: Time, node: Ipv6Addr) -> Option<Ipv6Addr> {
        self.nodes.get(&node).filter(|entry| entry.is_valid(now)).map(|entry| entry.parent)
    }

    /// Returns how many nodes have entries, those included whose lifetime may be over.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }
}

impl Entry {
    fn is_valid(&self, now: Time) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// Path Lifetime (6.7.8).
pub(super) const NO_PATH: u8 = 0;
const INFINITE_LIFETIME: u8 = 0xFF;

#[cfg(test)]
mod tests;
