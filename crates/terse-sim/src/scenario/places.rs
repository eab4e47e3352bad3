//! Where motes stand, and who hears whom because of it.
//!
//! What must always hold: the places that a map shows are those that the radio follows from.

use std::collections::BTreeMap;

use super::options::{RadioModel, Scenario, Shape};
use crate::radio::{Connectivity, NoPlace, PisterHack, Position, RootPlace};

impl Scenario {
    /// Returns where the motes stand in a run with this seed, from the root on, or `None` if their places are not known.
    pub fn places(&self, seed: u64) -> Result<Option<Vec<Position>>, NoPlace> {
        match self.topology.shape {
            Shape::Grid { motes, spacing } => {
                let place = |(column, row)| Position { x: spacing * column as f64, y: spacing * row as f64, draw: 0 };
                Ok(Some(grid_points(motes, self.topology.root).into_iter().map(place).collect()))
            }
            Shape::Field(motes) if self.radio.model == RadioModel::PisterHack => {
                let nodes = motes as u16 + 1; // a scenario has 1,000 at most
                self.pister_hack().place(nodes, self.field_seed(seed)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Returns who hears whom in a run with this seed, as the Pister-hack model has it for motes at their places, or `None` if
    /// their places are not known.
    pub(super) fn connectivity_of_places(&self, seed: u64) -> Result<Option<Connectivity>, NoPlace> {
        let connectivity = |places: Vec<Position>| self.pister_hack().connectivity(&places, self.field_seed(seed));
        Ok(self.places(seed)?.map(connectivity))
    }

    /// Returns the pairs of motes that a matrix has links between: those next to each other in a grid, and otherwise each mote
    /// and its parent.
    pub(super) fn links(&self) -> Vec<(u64, u64)> {
        match self.topology.shape {
            Shape::Grid { motes, .. } => grid_links(&grid_points(motes, self.topology.root)),
            _ => (1..).zip(self.topology.parents()).collect(),
        }
    }

    fn pister_hack(&self) -> PisterHack {
        PisterHack {
            side: self.radio.side,
            // Motes that are placed where nobody is strong enough would never be part of the network.
            least_rssi: self.forming.least_rssi,
            root: self.topology.root,
            ..PisterHack::SIXTISCH_SIMULATOR
        }
    }

    /// Returns the seed that places and losses follow from, in a run with this seed.
    const fn field_seed(&self, seed: u64) -> u64 {
        if self.radio.field_seed == 0 { seed } else { self.radio.field_seed }
    }
}

/// Returns the column and the row of each mote in a grid, from the root on. The grid is as high as it is wide, or lower if it is
/// not full; the motes besides the root fill it row by row.
fn grid_points(motes: u64, root: RootPlace) -> Vec<(u64, u64)> {
    let points = motes + 1;
    let columns = (1..=points).find(|columns| columns * columns >= points).unwrap_or(points);
    let rows = points.div_ceil(columns);
    let root = match root {
        RootPlace::Corner => (0, 0),
        // Of two points in the middle it is the one nearer to the corner: its row is full.
        RootPlace::Centre => ((columns - 1) / 2, (rows - 1) / 2),
    };
    let all = (0..points).map(|point| (point % columns, point / columns));
    core::iter::once(root).chain(all.filter(|point| *point != root)).collect()
}

/// Returns the pairs of motes whose points are next to each other.
fn grid_links(points: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let motes: BTreeMap<(u64, u64), u64> = points.iter().copied().zip(0..).collect();
    let right_and_above = |(&(column, row), &mote): (&(u64, u64), &u64)| {
        let others = [(column + 1, row), (column, row + 1)];
        others.map(|point| motes.get(&point).map(|other| (mote, *other)))
    };
    motes.iter().flat_map(right_and_above).flatten().collect()
}
