//! Figure 10: the humps of a curve that says how many buffers of the mote are in use, after each call of the allocator.

/// Returns where a curve has humps: local maxima that rise by more than four buffers above the valleys on both sides (their
/// prominence). Before and after the curve the pool is empty; of equal maxima without a valley between
/// them the last one counts.
pub fn humps(taken: &[u8]) -> Vec<usize> {
    // The lowest value on the way to the first that stops it; 0 if none does.
    let valley = |way: &mut dyn Iterator<Item = u8>, value: u8, stops: fn(u8, u8) -> bool| {
        let mut lowest = value;
        for other in way {
            if stops(other, value) {
                return lowest;
            }
            lowest = lowest.min(other);
        }
        0
    };
    let is_hump = |at: &usize| {
        let (before, value, after) = (&taken[..*at], taken[*at], &taken[at + 1..]);
        let left = valley(&mut before.iter().rev().copied(), value, |other, value| other > value);
        let right = valley(&mut after.iter().copied(), value, |other, value| other >= value);
        value - left.max(right) > SMALL
    };
    (0..taken.len()).filter(is_hump).collect()
}

/// The fragments of a full segment with an MSS of 336: what comes and goes with one of them is no hump.
const SMALL: u8 = 4;

#[cfg(test)]
mod tests {
    use super::humps;

    #[test]
    fn humps_of_the_pool_are_counted() {
        // Up to 8 fragments of a segment are reassembled, then the own flight is queued.
        assert_eq!(humps(&[0, 1, 2, 5, 8, 1, 0, 1, 4, 7, 7, 9, 3, 0]), [4, 11]);
        assert_eq!(humps(&[1, 4, 0, 1, 4, 0, 1, 4, 1, 6, 9, 8, 9, 2]), [12], "a segment of 336 bytes is no hump");
        assert_eq!(humps(&[1, 8, 1, 5, 1]), [1], "five buffers rise by four above one");
        // A curve that ends at its maximum, equal maxima with and without a valley between them, and none.
        assert_eq!(humps(&[0, 8]), [1]);
        assert_eq!(humps(&[8, 7, 8, 2, 8]), [2, 4]);
        assert_eq!(humps(&[8, 5, 7, 5, 9]), [4]);
        assert_eq!((humps(&[]), humps(&[4; 20])), (vec![], vec![]));
    }
}
