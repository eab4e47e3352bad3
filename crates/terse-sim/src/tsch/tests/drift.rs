//! Clocks that drift: up to 40 ppm a network stays synchronised by keep-alives; without them, it falls apart when the guard time is over.

use super::*;

/// A chain of three hops whose clocks differ by up to so many parts per million.
fn drifting(drift: u16, period: u64, timeout: u64) -> MeshConfig {
    let mut config = MeshConfig::forming(PREFIX);
    for _ in 0..3 {
        config.add_node();
    }
    config.radio = (0..3).fold(Connectivity::new(), |radio, node| radio.both_ways(node, node + 1, 1.0));
    let formation = config.formation.as_mut().expect("it forms itself");
    formation.greatest_drift_ppm = drift;
    (formation.keep_alive.period, formation.keep_alive.timeout) = (period, timeout);
    config
}

/// Gives a network an hour to form itself, and returns how often in another one nodes were not joined when it was looked at, once
/// a second.
fn lost_in_an_hour(config: MeshConfig, seed: u64) -> u32 {
    let (mut network, mesh, _) = world(config, seed);
    network.ledger_mut(mesh).keep_records(false);
    network.run_for(Duration::from_secs(3_600));
    let mut lost = 0;
    for _ in 0..3_600 {
        network.run_for(Duration::from_secs(1));
        let of_mesh = network.mesh(mesh).expect("a mesh");
        let is_lost = |node: &u16| of_mesh.statistics(*node).is_some_and(|of| of.joined_at.is_none());
        lost += (1..4).filter(is_lost).count() as u32;
    }
    lost
}

#[test]
fn up_to_40_ppm_a_network_stays_together() {
    // Two clocks differ by 80 ppm at most: 1,100 us of guard time are 13.75 s, and a keep-alive is sent after 8.
    for (drift, seed) in [(0, 1), (10, 2), (20, 3), (40, 4), (40, 5), (40, 6)] {
        assert_eq!(lost_in_an_hour(drifting(drift, 800, 1_375), seed), 0, "{drift} ppm, seed {seed}");
    }
}

#[test]
fn without_keep_alives_in_time_clocks_drift_apart() {
    // The first keep-alive is due after 200 s, when the clocks of some nodes are up to 16 ms apart.
    let lost: u32 = (1..6).map(|seed| lost_in_an_hour(drifting(40, 20_000, 30_000), seed)).sum();
    assert!(lost > 0, "nodes do not hear each other any more");
    // Without drift nothing is lost, however long nodes are silent.
    assert_eq!(lost_in_an_hour(drifting(0, 20_000, 30_000), 1), 0);
}
