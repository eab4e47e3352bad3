//! The motes: a chain, a tree, a grid, or so many without an order.
//!
//! What must always hold: in a topology without contradictions each mote's parent has a lower number than the mote.

use super::Contradiction;
use super::radio::RadioModel;
use crate::radio::RootPlace;
use crate::scenario::visit::{Named, Visitor, choice, field};

/// The motes. The root is mote 0; the others are counted from 1 on.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Who is whose parent, or where motes stand.
    pub shape: Shape,
    /// Where the root stands, of motes that have places.
    pub root: RootPlace,
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

/// Who is whose parent, or where motes stand.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A chain of so many motes: each one's parent is the one before it.
    Chain(u64),
    /// The parents of the motes 1, 2, 3 and so on.
    Tree(Vec<u64>),
    /// So many motes without parents, in a network that forms itself.
    Field(u64),
    /// A tree that is filled level by level.
    CompleteTree {
        /// The number of motes without the root.
        motes: u64,
        /// The number of children of each mote, as long as there are motes left.
        branching: u64,
    },
    /// Motes on the points of a square grid, without parents, in a network that forms itself.
    Grid {
        /// The number of motes without the root.
        motes: u64,
        /// The distance between points that are next to each other, in metres.
        spacing: f64,
    },
}

impl Named for RootPlace {
    const NAMES: &'static [(Self, &'static str)] = &[(Self::Corner, "corner"), (Self::Centre, "centre")];
}

impl Default for Topology {
    fn default() -> Self {
        Self { shape: Shape::Chain(1), root: RootPlace::Corner, clients: Clients::One, client: 1 }
    }
}

impl Topology {
    /// Returns the parents of the motes 1, 2, 3 and so on.
    pub fn parents(&self) -> Vec<u64> {
        (1..=self.motes()).filter_map(|mote| self.parent(mote)).collect()
    }

    /// Returns the parent of a mote. The root has none, and motes without an order have the root.
    pub fn parent(&self, mote: u64) -> Option<u64> {
        let place = mote.checked_sub(1).filter(|place| *place < self.motes())?;
        match &self.shape {
            Shape::Chain(_) => Some(place),
            Shape::Tree(parents) => parents.get(place as usize).copied(),
            // Motes 1 to `branching` are the root's children, as many after them are those of mote 1, and so on.
            Shape::CompleteTree { branching, .. } => Some(place / branching.max(&1)),
            Shape::Field(_) | Shape::Grid { .. } => Some(0),
        }
    }

    /// Returns the number of motes without the root.
    pub const fn motes(&self) -> u64 {
        match &self.shape {
            Shape::Chain(motes) | Shape::Field(motes) => *motes,
            Shape::CompleteTree { motes, .. } | Shape::Grid { motes, .. } => *motes,
            Shape::Tree(parents) => parents.len() as u64,
        }
    }

    /// Returns the number of hops from a mote to the root.
    pub fn depth(&self, mote: u64) -> u64 {
        let mut hops = 0;
        let mut mote = mote;
        while let Some(parent) = self.parent(mote) {
            (mote, hops) = (parent, hops + 1);
            if hops > self.motes() {
                break; // a circle, which `check` reports
            }
        }
        hops
    }

    /// Whether motes have no parents, so that the network must form itself.
    const fn is_without_parents(&self) -> bool {
        matches!(self.shape, Shape::Field(_) | Shape::Grid { .. })
    }

    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        let mut is_set = false;
        for number in visitor.alternatives(&["hops", "parents", "motes", "tree", "grid"], self.shape.number()) {
            is_set |= self.visit_shape(number, visitor);
        }
        match &mut self.shape {
            Shape::CompleteTree { branching, .. } => {
                let key = field("branching", "number of children", "children");
                visitor.integer(key, branching, 1..=MOST_CHILDREN);
                visitor.without_meaning(&["spacing_m"]);
            }
            Shape::Grid { spacing, .. } => {
                visitor.without_meaning(&["branching"]);
                visitor.number(field("spacing_m", "distance", "metres"), spacing, 1.0..=1e5);
            }
            _ => visitor.without_meaning(&["branching", "spacing_m"]),
        }
        choice(visitor, field("root", "place of the root", ""), &mut self.root);
        choice(visitor, field("clients", "choice of clients", ""), &mut self.clients);
        if is_set {
            self.client = self.motes();
        }
        visitor.integer(field("client", "mote", ""), &mut self.client, 1..=MOST_MOTES);
    }

    /// Visits the key of the shape that has this number. Returns whether it was set.
    fn visit_shape(&mut self, number: usize, visitor: &mut dyn Visitor) -> bool {
        let (mut motes, mut parents) = (self.motes(), Vec::new());
        let is_set = match number {
            0 => visitor.integer(field("hops", "number of hops", "hops"), &mut motes, 1..=MOST_HOPS),
            1 => {
                parents = self.parents();
                let key = field("parents", "list of parents", "");
                visitor.integers(key, &mut parents, 0..=MOST_MOTES, MOST_MOTES as usize)
            }
            2 => visitor.integer(field("motes", "number of motes", "motes"), &mut motes, 1..=MOST_MOTES),
            3 => visitor.integer(field("tree", "number of motes", "motes"), &mut motes, 1..=MOST_MOTES),
            _ => visitor.integer(field("grid", "number of motes", "motes"), &mut motes, 1..=MOST_MOTES),
        };
        self.shape = match (number, &self.shape) {
            (0, _) => Shape::Chain(motes),
            (1, _) => Shape::Tree(parents),
            (2, _) => Shape::Field(motes),
            (3, Shape::CompleteTree { branching, .. }) => Shape::CompleteTree { motes, branching: *branching },
            (3, _) => Shape::CompleteTree { motes, branching: 4 },
            (_, Shape::Grid { spacing, .. }) => Shape::Grid { motes, spacing: *spacing },
            (..) => Shape::Grid { motes, spacing: 50.0 },
        };
        is_set
    }

    pub(super) fn check(&self, found: &mut Vec<Contradiction>) {
        for (place, parent) in self.parents().iter().enumerate() {
            if *parent as usize > place {
                let mote = place + 1;
                found.push(("topology.parents", format!("mote {mote} has mote {parent} as its parent: 0 to {place}")));
            }
        }
        if self.client > self.motes() {
            found.push(("topology.client", format!("there is no mote {}: 1 to {}", self.client, self.motes())));
        }
        let depth = if found.is_empty() { self.depth(self.client) } else { 0 };
        if depth > MOST_HOPS {
            let text = format!("the client is {depth} hops away: {MOST_HOPS} at most, by another client or tree");
            found.push((self.shape.path(), text));
        }
        if self.root == RootPlace::Centre && !self.is_without_parents() {
            let text = "only topology.motes and topology.grid have a centre: \"corner\"".into();
            found.push(("topology.root", text));
        }
    }

    /// Checks that a network that forms itself, or does not, over this model of the radio can have this topology.
    pub(super) fn check_radio(&self, model: RadioModel, forms: bool, found: &mut Vec<Contradiction>) {
        if self.is_without_parents() && !forms {
            let text = "without parents the network must form itself: forming.function = \"msf\" or \"pid\"".into();
            found.push((self.shape.path(), text));
        }
        let right = match (&self.shape, model) {
            (Shape::Field(_), RadioModel::Matrix) => "motes without an order have no links: \"pister-hack\" or \"k7\"",
            (Shape::Grid { .. }, RadioModel::Trace) => "a trace knows nothing of a grid: \"matrix\" or \"pister-hack\"",
            (Shape::Field(_) | Shape::Grid { .. }, _) | (_, RadioModel::Matrix) => "",
            _ => "models of the radio are for topology.motes or grid: \"matrix\", of the links to parents",
        };
        if !right.is_empty() {
            found.push(("radio.model", right.into()));
        }
        if self.root == RootPlace::Centre && model == RadioModel::Trace {
            found.push(("topology.root", "a trace has a root of its own: \"corner\"".into()));
        }
    }
}

impl Shape {
    /// Returns the number of the key among those of all shapes.
    const fn number(&self) -> usize {
        match self {
            Self::Chain(_) => 0,
            Self::Tree(_) => 1,
            Self::Field(_) => 2,
            Self::CompleteTree { .. } => 3,
            Self::Grid { .. } => 4,
        }
    }

    /// Returns the path of the key.
    const fn path(&self) -> &'static str {
        match self {
            Self::Chain(_) => "topology.hops",
            Self::Tree(_) => "topology.parents",
            Self::Field(_) => "topology.motes",
            Self::CompleteTree { .. } => "topology.tree",
            Self::Grid { .. } => "topology.grid",
        }
    }
}

/// The most hops of a chain, and of the client.
const MOST_HOPS: u64 = 16;

/// The most motes.
const MOST_MOTES: u64 = 1_000;

/// The most children of a mote in a complete tree.
const MOST_CHILDREN: u64 = 100;
