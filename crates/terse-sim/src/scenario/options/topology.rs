//! The motes: a chain, a tree given by the parents, or so many without an order.

use super::Contradiction;
use crate::scenario::visit::{Named, Visitor, choice, field};

/// The motes. The root is mote 0; the others are counted from 1 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Who is whose parent.
    pub shape: Shape,
    /// Who connects.
    pub clients: Clients,
    /// The mote that connects, if it is one.
    pub client: u64,
}

/// Who connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// One mote, again and again.
    One,
    /// All motes of a whole network, which is what happens to it.
    All,
}

impl Named for Clients {
    const NAMES: &'static [(Self, &'static str)] = &[(Self::One, "one"), (Self::All, "all")];
}

/// Who is whose parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A chain of so many motes: each one's parent is the one before it.
    Chain(u64),
    /// The parents of the motes 1, 2, 3 and so on.
    Tree(Vec<u64>),
    /// So many motes without parents, in a network that forms itself.
    Field(u64),
}

impl Default for Topology {
    fn default() -> Self {
        Self { shape: Shape::Chain(1), clients: Clients::One, client: 1 }
    }
}

impl Topology {
    /// Returns the parents of the motes 1, 2, 3 and so on.
    pub fn parents(&self) -> Vec<u64> {
        match &self.shape {
            Shape::Chain(hops) => (0..*hops).collect(),
            Shape::Tree(parents) => parents.clone(),
            Shape::Field(motes) => vec![0; *motes as usize],
        }
    }

    /// Returns the number of motes without the root.
    pub const fn motes(&self) -> u64 {
        match &self.shape {
            Shape::Chain(motes) | Shape::Field(motes) => *motes,
            Shape::Tree(parents) => parents.len() as u64,
        }
    }

    /// Returns the number of hops from a mote to the root.
    pub fn depth(&self, mote: u64) -> u64 {
        let parents = self.parents();
        let mut hops = 0;
        let mut mote = mote;
        while let Some(parent) = mote.checked_sub(1).and_then(|place| parents.get(place as usize)) {
            (mote, hops) = (*parent, hops + 1);
            if hops > parents.len() as u64 {
                break; // a circle, which `check` reports
            }
        }
        hops
    }

    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        let current = match self.shape {
            Shape::Chain(_) => 0,
            Shape::Tree(_) => 1,
            Shape::Field(_) => 2,
        };
        let mut is_set = false;
        for alternative in visitor.alternatives(&["hops", "parents", "motes"], current) {
            match alternative {
                0 => {
                    let mut hops = self.motes();
                    is_set |= visitor.integer(field("hops", "number of hops", "hops"), &mut hops, 1..=MOST_HOPS);
                    self.shape = Shape::Chain(hops);
                }
                2 => {
                    let mut motes = self.motes();
                    is_set |= visitor.integer(field("motes", "number of motes", "motes"), &mut motes, 1..=MOST_MOTES);
                    self.shape = Shape::Field(motes);
                }
                _ => {
                    let mut parents = self.parents();
                    let key = field("parents", "list of parents", "");
                    is_set |= visitor.integers(key, &mut parents, 0..=MOST_MOTES, MOST_MOTES as usize);
                    self.shape = Shape::Tree(parents);
                }
            }
        }
        choice(visitor, field("clients", "choice of clients", ""), &mut self.clients);
        if is_set {
            self.client = self.motes();
        }
        visitor.integer(field("client", "mote", ""), &mut self.client, 1..=MOST_MOTES);
    }

    pub(super) fn check(&self, found: &mut Vec<Contradiction>) {
        let parents = self.parents();
        for (place, parent) in parents.iter().enumerate() {
            if *parent as usize > place {
                let mote = place + 1;
                found.push(("topology.parents", format!("mote {mote} has mote {parent} as its parent: 0 to {place}")));
            }
        }
        if self.client > self.motes() {
            found.push(("topology.client", format!("there is no mote {}: 1 to {}", self.client, self.motes())));
        }
        if found.is_empty() && self.depth(self.client) > MOST_HOPS {
            found.push(("topology.parents", format!("the client is more than {MOST_HOPS} hops away")));
        }
    }
}

/// The most hops of a chain.
const MOST_HOPS: u64 = 16;

/// The most motes.
const MOST_MOTES: u64 = 1_000;
