//! Objective Function Zero (RFC 6552) with the parameters of RFC 8180, 5.1.1 and 6.4: the Rank through a parent from the ETX of
//! the link to it, and which of two parents is better.
//!
//! What must always hold: the Rank through a parent is greater than the parent's by MinHopRankIncrease at least, and below
//! INFINITE_RANK.

use super::messages::INFINITE_RANK;

/// The options of the Objective Function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Of0 {
    /// MinHopRankIncrease.
    pub min_hop_rank_increase: u16,
    /// step_of_rank of a link that is not measured yet: DEFAULT_STEP_OF_RANK (RFC 6552, 6.3).
    pub default_step_of_rank: u16,
    /// So many transmissions measure a link.
    pub sufficient_transmissions: u16,
    /// The greatest ETX of a parent (RFC 8180, figure 3).
    pub greatest_etx: u16,
    /// PARENT_SWITCH_THRESHOLD: by more than this must another parent improve the Rank.
    pub parent_switch_threshold: u16,
}

impl Of0 {
    /// The parameters of RFC 8180. After how many transmissions a link is measured is not in the RFC; ten are the 6TiSCH
    /// Simulator's first choice (NUM_SUFFICIENT_TX).
    pub const RFC_8180: Self = Self {
        min_hop_rank_increase: 256,
        default_step_of_rank: 3,
        sufficient_transmissions: 10,
        greatest_etx: 3,
        parent_switch_threshold: 640,
    };

    /// Returns the Rank through a parent; `None` if the link is too poor, or the Rank infinite.
    pub(crate) fn rank_through(&self, parent: u16, link: &LinkQuality) -> Option<u16> {
        let rank = u32::from(parent).saturating_add(self.rank_increase(link)?);
        u16::try_from(rank).ok().filter(|rank| *rank < INFINITE_RANK)
    }

    /// Returns rank_increase = ((3 * ETX) - 2) * MinHopRankIncrease (RFC 8180, 5.1.1 and 5.1.2): Rf is 1 and Sr 0. The fraction
    /// of a step is kept, as the formula of the example does.
    fn rank_increase(&self, link: &LinkQuality) -> Option<u32> {
        let one = u32::from(self.min_hop_rank_increase);
        if link.transmissions < self.sufficient_transmissions {
            return Some(one * u32::from(self.default_step_of_rank));
        }
        let (transmissions, acknowledged) = (u32::from(link.transmissions), u32::from(link.acknowledged));
        let is_usable = transmissions <= acknowledged * u32::from(self.greatest_etx);
        // At most 3 * 2^10 * 2^16. ETX is at least 1, so that nothing is below zero; with none acknowledged, is_usable is false.
        is_usable.then(|| 3 * transmissions * one / acknowledged.max(1) - 2 * one)
    }

    /// Whether a node leaves a parent that gives it one Rank for another that gives it a lower one (RFC 8180, 6.4).
    pub(crate) const fn is_worth_a_switch(&self, present: u16, other: u16) -> bool {
        present.saturating_sub(other) > self.parent_switch_threshold
    }

    /// Returns DAGRank(rank) (RFC 6550, 3.5.1).
    pub(crate) const fn dag_rank(&self, rank: u16) -> u16 {
        // Nothing makes a MinHopRankIncrease of 0.
        rank / if self.min_hop_rank_increase == 0 { 1 } else { self.min_hop_rank_increase }
    }
}

/// What a node has measured of the link to a neighbour: numTx and numTxAck (RFC 8180, 7.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkQuality {
    transmissions: u16,
    acknowledged: u16,
}

impl LinkQuality {
    /// Counts a frame that was sent, and whether it was acknowledged. Old frames count less and less: both counts are halved
    /// when they have grown to [`WINDOW`].
    pub(crate) const fn count(&mut self, is_acknowledged: bool) {
        if self.transmissions >= WINDOW {
            self.transmissions /= 2;
            self.acknowledged /= 2;
        }
        self.transmissions += 1;
        self.acknowledged += is_acknowledged as u16;
    }

    /// Makes the link one that delivers nothing.
    pub(crate) const fn fail(&mut self) {
        (self.transmissions, self.acknowledged) = (WINDOW, 0);
    }
}

/// With 32 frames a dead parent is noticed after some 40 transmissions in vain, fewer than three frames with 15 retries.
const WINDOW: u16 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const OF0: Of0 = Of0::RFC_8180;

    fn link(transmissions: u16, acknowledged: u16) -> LinkQuality {
        LinkQuality { transmissions, acknowledged }
    }

    #[test]
    fn ranks_are_those_of_the_example() {
        // RFC 8180, figure 4: numTx = 100 and numTxAck = 75 for all links.
        let mut rank = 256;
        for (expected, dag_rank) in [(768, 3), (1_280, 5), (1_792, 7), (2_304, 9), (2_816, 11)] {
            rank = OF0.rank_through(rank, &link(100, 75)).unwrap();
            assert_eq!((rank, OF0.dag_rank(rank)), (expected, dag_rank));
        }
    }

    #[test]
    fn a_step_is_from_one_to_nine() {
        assert_eq!(OF0.rank_through(256, &link(20, 20)), Some(512), "MINIMUM_STEP_OF_RANK");
        assert_eq!(OF0.rank_through(256, &link(30, 10)), Some(256 + 7 * 256), "ETX 3");
        assert_eq!(OF0.rank_through(256, &link(31, 10)), None, "ETX above 3");
        assert_eq!(OF0.rank_through(256, &link(20, 0)), None);
        assert_eq!(OF0.rank_through(256, &link(0, 0)), Some(256 + 3 * 256), "DEFAULT_STEP_OF_RANK");
        assert_eq!(OF0.rank_through(256, &link(9, 0)), Some(256 + 3 * 256), "not measured yet");
        assert_eq!(OF0.rank_through(INFINITE_RANK - 256, &link(20, 20)), None, "infinite");
        assert_eq!(OF0.rank_through(INFINITE_RANK - 257, &link(20, 20)), Some(INFINITE_RANK - 1));
        assert_eq!(OF0.rank_through(INFINITE_RANK, &link(20, 20)), None);
        let coarse = Of0 { min_hop_rank_increase: u16::MAX, ..OF0 };
        assert_eq!(coarse.rank_through(0, &link(30, 10)), None, "no overflow");
    }

    #[test]
    fn a_switch_needs_more_than_the_threshold() {
        assert!(!OF0.is_worth_a_switch(1_280, 640));
        assert!(OF0.is_worth_a_switch(1_281, 640));
        assert!(!OF0.is_worth_a_switch(640, 1_281));
    }

    #[test]
    fn a_link_that_dies_is_noticed_soon() {
        let mut quality = LinkQuality::default();
        (0..1_000).for_each(|_| quality.count(true));
        let mut failures = 0;
        while OF0.rank_through(256, &quality).is_some() {
            quality.count(false);
            failures += 1;
        }
        assert!((20..48).contains(&failures), "{failures}");
        // And one that delivers a half is rated so.
        let mut quality = LinkQuality::default();
        (0..1_000).for_each(|number| quality.count(number % 2 == 0));
        let rank = OF0.rank_through(256, &quality).unwrap();
        assert!((256 + 3 * 256..256 + 5 * 256).contains(&rank), "{rank}");
    }
}
