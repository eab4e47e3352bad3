//! Pairs of datagrams are lost, the second of which may be the first one sent again; and paths are dead for a while.
//!
//! In a handshake of few datagrams all pairs are lost. In a longer one the first is each of 16 that are evenly spread,
//! and the second comes 1, 2, 4, 8 ... after it.

use super::modes::{SCENARIOS, Scenario};

/// The most datagrams of a handshake of which all pairs are lost.
const FEW: usize = 8;

fn pairs(scenario: &Scenario) -> Vec<(usize, usize)> {
    let count = scenario.datagrams.len();
    let (step, is_few) = (count.div_ceil(16), count <= FEW);
    let distances: Vec<_> = (1..2 * count).filter(|distance| is_few || distance.is_power_of_two()).collect();
    (0..count).step_by(step).flat_map(|first| distances.iter().map(move |distance| (first, first + distance))).collect()
}

#[test]
fn pairs_lost() {
    for scenario in &*SCENARIOS {
        for lost in pairs(scenario) {
            scenario.survives(&format!("{lost:?} are lost"), |datagram| {
                match datagram.number == lost.0 || datagram.number == lost.1 {
                    true => Vec::new(),
                    false => datagram.arrives(),
                }
            });
        }
    }
}

/// The path is dead for some time, from when any datagram was sent: for a moment, for two timeouts, for a minute, in which a
/// flight is sent seven times in vain.
#[test]
fn outages() {
    for scenario in &*SCENARIOS {
        let mut times: Vec<_> = scenario.datagrams.iter().map(|datagram| datagram.sent).collect();
        times.dedup();
        for (from, len) in times.into_iter().flat_map(|from| [100, 3_100, 60_000].map(|len| (from, len))) {
            scenario.survives(&format!("nothing arrives for {len} ms from {from} on"), |datagram| {
                match (from..from + len).contains(&datagram.sent) {
                    true => Vec::new(),
                    false => datagram.arrives(),
                }
            });
        }
    }
}
