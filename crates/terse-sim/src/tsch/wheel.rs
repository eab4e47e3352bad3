//! The wheel of opportunities: for each node the next slot in which it can send something.
//!
//! Slots that are near have a place each on a ring, with a bit that says whether anybody is there; slots that are far wait in an
//! ordered set. What must always hold: a node is at one place at most, and no place is before the last slot that was taken.

use std::collections::BTreeSet;

use crate::asn::Asn;

/// The next opportunity of each node.
#[derive(Debug)]
pub(super) struct Wheel {
    /// The slot of each node.
    at: Vec<Option<Asn>>,
    /// The first node at each place of the ring.
    heads: Box<[u16; PLACES]>,
    /// The neighbours of each node in the list of its place: before and after.
    list: Vec<[u16; 2]>,
    occupied: [u64; PLACES / 64],
    far: BTreeSet<(Asn, u16)>,
    /// The first slot that was not taken yet.
    from: Asn,
}

impl Wheel {
    /// Creates the wheel of so many nodes.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            at: vec![None; nodes],
            heads: Box::new([NOBODY; PLACES]),
            list: vec![[NOBODY; 2]; nodes],
            occupied: [0; PLACES / 64],
            far: BTreeSet::new(),
            from: Asn(0),
        }
    }

    /// Sets the next opportunity of a node.
    pub(super) fn set(&mut self, node: u16, asn: Option<Asn>) {
        let index = usize::from(node);
        if self.at[index] == asn {
            return;
        }
        self.leave(node);
        self.at[index] = asn;
        match asn {
            Some(asn) if self.is_near(asn) => self.join(node, asn),
            Some(asn) => drop(self.far.insert((asn, node))),
            None => {}
        }
    }

    /// Returns the first slot in which a node can send something.
    pub(super) fn first(&self) -> Option<Asn> {
        let far = self.far.first().map(|(asn, _)| *asn);
        self.first_near().into_iter().chain(far).min()
    }

    /// Takes the nodes that can send in this slot, which must not be after [`Self::first`], in the order of their numbers.
    pub(super) fn take(&mut self, asn: Asn, nodes: &mut Vec<u16>) {
        nodes.clear();
        let mut node = self.heads[place(asn)];
        while node != NOBODY {
            nodes.push(node);
            node = self.list[usize::from(node)][1];
        }
        nodes.extend(self.far.iter().take_while(|(at, _)| *at == asn).map(|(_, node)| *node));
        nodes.retain(|node| self.at[usize::from(*node)] == Some(asn));
        nodes.sort_unstable();
        for node in nodes.iter() {
            self.leave(*node);
            self.at[usize::from(*node)] = None;
        }
        self.from = self.from.max(asn + 1);
    }

    /// Notes that all slots before `asn` are over. No node may have an opportunity there.
    pub(super) fn pass(&mut self, asn: Asn) {
        self.from = self.from.max(asn);
    }

    fn first_near(&self) -> Option<Asn> {
        let start = place(self.from);
        // The word of the first place counts twice: its later bits first, its earlier ones last.
        for step in 0..=self.occupied.len() {
            let word = (start / 64 + step) % self.occupied.len();
            let bits = self.occupied[word]
                & match step {
                    0 => u64::MAX << (start % 64),
                    _ if step == self.occupied.len() => !(u64::MAX << (start % 64)),
                    _ => u64::MAX,
                };
            if bits != 0 {
                let found = word * 64 + bits.trailing_zeros() as usize;
                return Some(self.from + ((found + PLACES - start) % PLACES) as u64);
            }
        }
        None
    }

    const fn is_near(&self, asn: Asn) -> bool {
        asn.0 < self.from.0 + PLACES as u64
    }

    fn join(&mut self, node: u16, asn: Asn) {
        let place = place(asn);
        let next = self.heads[place];
        self.list[usize::from(node)] = [NOBODY, next];
        if next != NOBODY {
            self.list[usize::from(next)][0] = node;
        }
        self.heads[place] = node;
        self.occupied[place / 64] |= 1 << (place % 64);
    }

    fn leave(&mut self, node: u16) {
        let Some(asn) = self.at[usize::from(node)] else { return };
        if !self.far.is_empty() && self.far.remove(&(asn, node)) {
            return;
        }
        let place = place(asn);
        let [before, after] = self.list[usize::from(node)];
        if after != NOBODY {
            self.list[usize::from(after)][0] = before;
        }
        if before != NOBODY {
            self.list[usize::from(before)][1] = after;
        } else {
            self.heads[place] = after;
            if after == NOBODY {
                self.occupied[place / 64] &= !(1 << (place % 64));
            }
        }
    }
}

const fn place(asn: Asn) -> usize {
    (asn.0 % PLACES as u64) as usize
}

/// The slots that are near: more than the slotframes that are usual (101 slots).
const PLACES: usize = 1024;
/// The end of a list. No node has this number: there are 65,535 at most.
const NOBODY: u16 = u16::MAX;

#[cfg(test)]
mod tests;
