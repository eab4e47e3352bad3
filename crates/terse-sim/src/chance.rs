//! Chance by hash: whether something happens is a function of the seed, the purpose, who it happens to and when.
//!
//! Unlike a [stream](crate::Random), such a chance does not depend on what was drawn before, nor on the order in which things
//! are looked at. A simulation that skips the slots in which nothing happens has the same chances as one that steps through
//! all of them.

/// The chances of one seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance(u64);

/// The things that are decided by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Whether a data frame is lost on the air.
    Frame = 1,
    /// Whether an acknowledgement is lost on the air.
    Acknowledgement,
    /// Whether a node loses a fragment that it has acknowledged.
    Fragment,
    /// Whether a packet is lost as a whole.
    Packet,
    /// How long a node backs off.
    BackOff,
    /// Which free cells a node proposes to a neighbour.
    Cells,
    /// How long a node waits before it tries a transaction again.
    Retry,
    /// When in its interval a Trickle timer fires.
    Trickle,
    /// How long a node waits before it sends a DAO.
    Dao,
    /// How long a node without a DODAG waits before it asks for one.
    Solicitation,
    /// Where a node is.
    Position,
    /// How much weaker the signal between two nodes is than in free space.
    PathLoss,
    /// How fast a node's clock is.
    Drift,
    /// Whether a node sends a beacon.
    Beacon,
    /// On which channel a node listens for beacons.
    Scan,
    /// Whether a frame for all is lost on its way to one of them.
    Broadcast,
    /// Whether a link fades.
    Fade,
}

impl Chance {
    /// Returns the chances of `seed`.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns 64 bits for this purpose, node and moment.
    pub(crate) const fn draw(self, purpose: Purpose, node: u64, moment: u64) -> u64 {
        mix(mix(mix(self.0 ^ purpose as u64) ^ node) ^ moment)
    }

    /// Returns a number from 0 up to `bound`, which is never reached. Of a `bound` of 0 it makes 0.
    pub(crate) const fn below(self, bound: u64, purpose: Purpose, node: u64, moment: u64) -> u64 {
        // The upper half of the product: uniform to one part in 2^64 / bound.
        ((self.draw(purpose, node, moment) as u128 * bound as u128) >> 64) as u64
    }

    /// Decides whether something that has this `probability` (0 to 1) happens.
    pub(crate) fn happens(self, probability: f64, purpose: Purpose, node: u64, moment: u64) -> bool {
        // Certainties cost no draw. A float of this size has 53 bits of precision.
        probability > 0.0 && (probability >= 1.0 || self.share(purpose, node, moment) < probability)
    }

    /// Returns a number from 0 up to 1, which is never reached.
    pub(crate) fn share(self, purpose: Purpose, node: u64, moment: u64) -> f64 {
        (self.draw(purpose, node, moment) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Mixes all bits of a word into all others: the finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom
/// Number Generators, 2014), after a step of its sequence.
const fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_a_bound_are_uniform() {
        let chance = Chance::new(3);
        let mut counts = [0; 10];
        (0..100_000).for_each(|moment| counts[chance.below(10, Purpose::Trickle, 1, moment) as usize] += 1);
        assert!(counts.iter().all(|count| (9_700..10_300).contains(count)), "{counts:?}");
        assert_eq!(chance.below(0, Purpose::Trickle, 1, 1), 0);
    }

    #[test]
    fn chances_have_their_probability_and_are_independent() {
        let chance = Chance::new(7);
        for probability in [0.0, 0.05, 0.5, 1.0] {
            let happened = |purpose, node| {
                (0..100_000).filter(|asn| chance.happens(probability, purpose, node, *asn)).count() as f64 / 100_000.0
            };
            let [a, b] = [happened(Purpose::Frame, 1), happened(Purpose::Frame, 2)];
            assert!((a - probability).abs() < 0.004 && (b - probability).abs() < 0.004, "{a} {b} for {probability}");
        }
        // Of two nodes, and of two purposes, both happen as often as independent things do.
        let both = |other: (Purpose, u64)| {
            let happens = |(purpose, node), asn| chance.happens(0.5, purpose, node, asn);
            let count = (0..100_000).filter(|asn| happens((Purpose::Frame, 1), *asn) && happens(other, *asn)).count();
            (count as f64 / 100_000.0 - 0.25).abs()
        };
        assert!(both((Purpose::Frame, 2)) < 0.005);
        assert!(both((Purpose::Acknowledgement, 1)) < 0.005);
        assert_ne!(chance.draw(Purpose::Frame, 1, 1), Chance::new(8).draw(Purpose::Frame, 1, 1));
    }
}
