//! When a node sends beacons: in a minimal cell with a probability (OpenWSN: 1 in EB_PORTION), which may change with the number of
//! neighbours.
//!
//! Whether it sends in a cell is a hash of the node and the cell's number, compared with the probability of that time. The number
//! of cells until the next beacon is then drawn from a geometric distribution, by looking for the first such cell; nothing has to be
//! remembered between beacons, and what was drawn before a change of the probability is simply drawn anew.
//!
//! What must always hold: a simulation that asks for the next cell has the same beacons as one that asks in each cell.

use crate::chance::{Chance, Purpose};

/// The beacons of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeaconChance {
    chance: Chance,
    node: u64,
    /// A beacon is sent in one of so many cells; 0 if in none.
    one_in: u16,
}

impl BeaconChance {
    /// OpenWSN's EB_PORTION.
    pub(crate) const OPENWSN: u16 = 10;

    pub(crate) const fn new(chance: Chance, node: u64, one_in: u16) -> Self {
        Self { chance, node, one_in }
    }

    /// Changes the probability, from the next cell on that is asked for.
    pub(crate) const fn set(&mut self, one_in: u16) {
        self.one_in = one_in;
    }

    /// Whether the node sends a beacon in the minimal cell of this number: the ASN divided by the length of the slotframe.
    pub(crate) const fn sends(&self, cell: u64) -> bool {
        self.one_in > 0 && self.chance.below(self.one_in as u64, Purpose::Beacon, self.node, cell) == 0
    }

    /// Returns the first cell from `cell` on in which the node sends a beacon; `None` if in none.
    pub(crate) fn next(&self, cell: u64) -> Option<u64> {
        if self.one_in == 0 {
            return None;
        }
        // As many hashes as `one_in` on average: ten with EB_PORTION.
        (cell..=u64::MAX).find(|cell| self.sends(*cell))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beacons(node: u64, one_in: u16) -> BeaconChance {
        BeaconChance::new(Chance::new(1), node, one_in)
    }

    #[test]
    fn skipping_and_stepping_have_the_same_beacons_whatever_the_probability_does() {
        // The probability of a time; what was drawn for later is drawn anew when it changes.
        let one_in = |cell: u64| [10, 0, 3, 40, 1][usize::try_from(cell / 2_000).unwrap() % 5];
        for node in 0..20 {
            let mut beacons = beacons(node, 10);
            let stepped: Vec<u64> = (0..30_000)
                .filter(|cell| {
                    beacons.set(one_in(*cell));
                    beacons.sends(*cell)
                })
                .collect();
            let (mut skipped, mut cell) = (Vec::new(), 0);
            while cell < 30_000 {
                beacons.set(one_in(cell));
                let change = (cell / 2_000 + 1) * 2_000;
                match beacons.next(cell).filter(|next| *next < change) {
                    Some(next) => {
                        skipped.push(next);
                        cell = next + 1;
                    }
                    None => cell = change,
                }
            }
            assert_eq!(skipped, stepped, "node {node}");
        }
    }

    #[test]
    fn the_cells_until_the_next_beacon_are_geometric() {
        let mut counts = [0; 31];
        for node in 0..20_000 {
            let gap = beacons(node, BeaconChance::OPENWSN).next(7).unwrap() - 7;
            counts[usize::try_from(gap.min(30)).unwrap()] += 1;
        }
        // P(gap = g) = p (1 - p)^g; five standard deviations.
        for (gap, count) in counts[..30].iter().enumerate() {
            let expected = 20_000.0 * 0.1 * 0.9_f64.powi(i32::try_from(gap).unwrap());
            assert!((f64::from(*count) - expected).abs() < 5.0 * expected.sqrt(), "{count} of {expected} with {gap}");
        }
        assert!((700..1_000).contains(&counts[30]), "0.9^30 = 4.2 %: {}", counts[30]);
    }

    #[test]
    fn gaps_in_time_are_as_those_among_nodes_and_nodes_are_independent() {
        let sent = |node| (0..100_000).filter(|cell| beacons(node, 10).sends(*cell)).count();
        assert!((9_500..10_500).contains(&sent(1)));
        let both = (0..100_000).filter(|cell| beacons(1, 10).sends(*cell) && beacons(2, 10).sends(*cell)).count();
        assert!((850..1_150).contains(&both), "{both}");
        assert_eq!((beacons(1, 0).next(0), beacons(1, 1).next(5)), (None, Some(5)));
    }
}
