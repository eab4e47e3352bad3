//! Where motes stand on a map: at their places, or as a tree around the root.
//!
//! What must always hold: every mote has a place in the unit square, and one only, whatever parents the motes say.

use terse_sim::scenario::fleet::Fleet;

/// Motes in the unit square, and who is whose parent.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The place of each mote, from the root on.
    pub(super) places: Vec<(f64, f64)>,
    /// The parent of each mote, if it leads to the root.
    pub(super) parents: Vec<Option<usize>>,
    /// The metres from one side to the other, if places are in metres.
    pub(super) side: Option<f64>,
}

impl Layout {
    /// Lays out a network at these places in metres, or around its root.
    pub(super) fn new(fleet: &Fleet, places: Option<&[(f64, f64)]>) -> Self {
        let tree = Tree::new(fleet);
        let fits = |places: &&[(f64, f64)]| places.len() >= tree.parents.len();
        let (places, side) = match places.filter(fits) {
            Some(places) => scaled(&places[..tree.parents.len()]),
            None => (tree.around_root(), None),
        };
        Self { places, parents: tree.parents, side }
    }

    /// Returns lines from parents to children that pass every pair once in each direction: few lines, however many motes.
    pub(super) fn walks(&self) -> Vec<Vec<usize>> {
        let children = children(&self.parents);
        let mut walk = vec![0];
        let mut open = vec![(0, 0)];
        while let Some((mote, next)) = open.pop() {
            match children.get(mote).and_then(|children| children.get(next)) {
                Some(child) => {
                    open.extend([(mote, next + 1), (*child, 0)]);
                    walk.push(*child);
                }
                // Back to the parent, from which the next child begins.
                None => walk.extend(open.last().map(|(parent, _)| *parent)),
            }
        }
        // The last way back leads nowhere new.
        let end = walk.iter().rposition(|mote| children.get(*mote).is_some_and(Vec::is_empty)).unwrap_or(0);
        walk.truncate(end + 1);
        vec![walk]
    }
}

/// The parents of a network that lead to the root.
struct Tree {
    parents: Vec<Option<usize>>,
    depths: Vec<Option<usize>>,
}

impl Tree {
    fn new(fleet: &Fleet) -> Self {
        let motes = fleet.devices.iter().map(|device| usize::from(device.mote) + 1).max().unwrap_or(1);
        let mut said: Vec<Option<usize>> = vec![None; motes];
        for device in &fleet.devices {
            said[usize::from(device.mote)] = device.parent.map(usize::from).filter(|parent| *parent < motes);
        }
        said[0] = None;
        let depth = |mote: usize| {
            let way = core::iter::successors(Some(mote), |mote| said[*mote]).take(motes + 1);
            let way: Vec<usize> = way.collect();
            (way.last() == Some(&0)).then(|| way.len() - 1)
        };
        let depths: Vec<Option<usize>> = (0..motes).map(depth).collect();
        let parents = said.iter().zip(&depths).map(|(parent, depth)| parent.filter(|_| depth.is_some())).collect();
        Self { parents, depths }
    }

    /// Returns places around the root: a ring for each hop, and in it as much of the circle for a mote as it has leaves below.
    /// Motes without a way to the root stand in rows at the bottom.
    fn around_root(&self) -> Vec<(f64, f64)> {
        let children = children(&self.parents);
        let mut by_depth: Vec<usize> = (0..self.parents.len()).filter(|mote| self.depths[*mote].is_some()).collect();
        by_depth.sort_by_key(|mote| self.depths[*mote]);
        let mut leaves = vec![0_usize; self.parents.len()];
        for mote in by_depth.iter().rev() {
            leaves[*mote] = leaves[*mote].max(1);
            if let Some(parent) = self.parents[*mote] {
                leaves[parent] += leaves[*mote];
            }
        }
        let rings = self.rings();
        let lost: Vec<usize> = (0..self.parents.len()).filter(|mote| self.depths[*mote].is_none()).collect();
        let rows = lost.len().div_ceil(IN_ROW);
        let below = if rows == 0 { 0.0 } else { (rows as f64 + 1.0) * ROW };
        let radius = (1.0 - below) / 2.0;
        // The part of the circle of each mote: where it begins, and how wide it is.
        let mut parts = vec![(0.0, core::f64::consts::TAU); self.parents.len()];
        let mut places = vec![(0.5, radius); self.parents.len()];
        for mote in by_depth {
            let (mut begins, wide) = parts[mote];
            let angle = begins + wide / 2.0;
            let from_root = radius * self.depths[mote].and_then(|depth| rings.get(depth).copied()).unwrap_or(0.0);
            places[mote] = (0.5 + from_root * angle.sin(), radius - from_root * angle.cos());
            for child in &children[mote] {
                let part = wide * leaves[*child] as f64 / leaves[mote] as f64;
                parts[*child] = (begins, part);
                begins += part;
            }
        }
        for (number, mote) in lost.into_iter().enumerate() {
            let (row, column) = (number / IN_ROW, number % IN_ROW);
            places[mote] = ((column as f64 + 0.5) / IN_ROW as f64, 1.0 - below + (row as f64 + 1.0) * ROW);
        }
        places
    }

    /// Returns the radius of the ring of each number of hops, up to 1. Rings of many motes have more space around them: half of a
    /// radius is by the hops, half by the area that so many motes take.
    fn rings(&self) -> Vec<f64> {
        let most = self.depths.iter().flatten().max().copied().unwrap_or(0).max(1);
        let all = self.depths.iter().flatten().count().max(2) - 1; // without the root
        let radius = |depth: usize| {
            let within = self.depths.iter().flatten().filter(|other| (1..=depth).contains(*other)).count();
            (depth as f64 / most as f64 + (within as f64 / all as f64).sqrt()) / 2.0
        };
        (0..=most).map(radius).collect()
    }
}

/// Returns the children of each mote.
fn children(parents: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut children = vec![Vec::new(); parents.len()];
    for (mote, parent) in parents.iter().enumerate() {
        if let Some(children) = parent.and_then(|parent| children.get_mut(parent)) {
            children.push(mote);
        }
    }
    children
}

/// Returns places in the unit square without changing their proportions, and the metres of its side.
fn scaled(places: &[(f64, f64)]) -> (Vec<(f64, f64)>, Option<f64>) {
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = places.iter().map(of);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)))
    };
    let (x, y) = (range(|place| place.0), range(|place| place.1));
    let side = (x.1 - x.0).max(y.1 - y.0).max(f64::MIN_POSITIVE);
    // The shorter side is in the middle.
    let free = [(side - (x.1 - x.0)) / 2.0, (side - (y.1 - y.0)) / 2.0];
    let place = |(east, north): &(f64, f64)| ((east - x.0 + free[0]) / side, 1.0 - (north - y.0 + free[1]) / side);
    (places.iter().map(place).collect(), Some(side))
}

/// How many motes without a way to the root stand in a row.
const IN_ROW: usize = 60;

/// The height of such a row.
const ROW: f64 = 0.02;
