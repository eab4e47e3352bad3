//! The seeds of the connections of one row, and the spread of their results.

use super::row::Runs;
use crate::Random;

/// Returns the seed of the connection numbered `run`. Seeds next to each other share no connection: a comparison that
/// is repeated with the next seed repeats none.
pub(crate) fn seed(seed: u64, run: usize) -> u64 {
    let mut random = Random::new(seed, run as u64);
    u64::from(random.next_u32()) << 32 | u64::from(random.next_u32())
}

/// Returns the spread of connections, each given by its total of bytes, and by the milliseconds until its client was
/// connected and until its server had the request.
pub(super) fn spread(met: impl Iterator<Item = (usize, f64, f64)>, failed: usize) -> Runs {
    let (mut totals, mut connected, mut requested) = (Vec::new(), Vec::new(), Vec::new());
    for (total, connected_ms, requested_ms) in met {
        totals.push(total);
        connected.push(connected_ms);
        requested.push(requested_ms);
    }
    connected.sort_by(f64::total_cmp);
    requested.sort_by(f64::total_cmp);
    // Nearest rank: the least value that `percent` of the values do not exceed.
    let at = |sorted: &[f64], percent: usize| {
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).copied().unwrap_or(0.0)
    };
    Runs {
        count: totals.len() + failed,
        failed,
        min_total: totals.iter().copied().min().unwrap_or(0),
        max_total: totals.iter().copied().max().unwrap_or(0),
        median_requested_ms: at(&requested, 50),
        p95_requested_ms: at(&requested, 95),
        median_connected_ms: at(&connected, 50),
        p95_connected_ms: at(&connected, 95),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_connection_of_one_seed_is_one_of_another() {
        let all: BTreeSet<u64> = (0..50).flat_map(|first| (0..50).map(move |run| seed(first, run))).collect();
        assert_eq!(all.len(), 2500);
    }

    #[test]
    fn nineteen_of_twenty_are_not_later_than_the_95th_percentile() {
        for (count, median, p95) in [(1, 1.0, 1.0), (2, 1.0, 2.0), (10, 5.0, 10.0), (20, 10.0, 19.0), (100, 50.0, 95.0)]
        {
            let met = (1..=count).rev().map(|number| (1000 + number, number as f64, number as f64 / 2.0));
            let runs = spread(met, 3);
            assert_eq!((runs.median_connected_ms, runs.p95_connected_ms), (median, p95), "{count}");
            assert_eq!((runs.median_requested_ms, runs.p95_requested_ms), (median / 2.0, p95 / 2.0));
            assert_eq!((runs.count, runs.failed), (count + 3, 3));
            assert_eq!((runs.min_total, runs.max_total), (1001, 1000 + count));
        }
        assert_eq!(spread(core::iter::empty(), 2).p95_connected_ms, 0.0);
    }
}
