//! Tests of percentiles, and of the repeatability of a simulated handshake.

use super::*;
use crate::stacks;

#[test]
fn percentiles_are_nearest_ranks() {
    assert_eq!(Spread::of(Vec::new()), Spread { median: 0, percentile_95: 0 });
    assert_eq!(Spread::of(vec![7]), Spread { median: 7, percentile_95: 7 });
    assert_eq!(Spread::of((1..=200).rev().collect()), Spread { median: 100, percentile_95: 190 });
    assert_eq!(Spread::of((1..=10).collect()), Spread { median: 5, percentile_95: 10 });
}

/// Without losses the time follows from the path alone; with losses it is longer, and the same each time.
#[test]
fn a_handshake_takes_the_time_of_its_packets_and_the_same_again_with_the_same_seed() {
    let all = stacks::all();
    let ours = all.iter().find(|stack| stack.name() == "terse-aws-lc").expect("ours").as_ref();
    let fast = Path { mtu: 1_280, loss: 0, delay: 50, rate: 1_000_000 };
    let taken = |path, seed| watch(ours, Version::Dtls12, Profile::Rsa3, path, seed, |_, _, _, _| {});
    // There are six flights with the cookie, 50 ms each, and the bytes take almost no time.
    let well = taken(fast, 0).expect("a handshake");
    assert!((300_000..301_000).contains(&well.time), "{well:?}");
    let slow = taken(Path { rate: 50, ..fast }, 0).expect("a handshake");
    assert!(slow.time > well.time + 8_000 * well.bytes / 50, "{slow:?}");
    let lossy = Path { mtu: 127, loss: 10, delay: 50, rate: 50 };
    for seed in 0..4 {
        let first = taken(lossy, seed).expect("a handshake");
        assert_eq!(taken(lossy, seed), Ok(first), "seed {seed}");
        assert!(first.packets == first.datagrams && first.time > slow.time, "{first:?}");
    }
}
