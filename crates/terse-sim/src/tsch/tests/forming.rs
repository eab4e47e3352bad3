//! Networks that form themselves.

use super::*;
use crate::radio::{Connectivity, RadioChange};

/// Nodes on a grid, which hear those beside them and across a corner. The root is in a corner.
pub(super) fn grid(width: u16, height: u16, delivery: f64) -> MeshConfig {
    let mut config = MeshConfig::forming(PREFIX);
    for _ in 1..width * height {
        config.add_node();
    }
    config.radio = Connectivity::new();
    for (a, b) in (0..width * height).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let is_near = (a % width).abs_diff(b % width) <= 1 && (a / width).abs_diff(b / width) <= 1;
        if is_near {
            config.radio = core::mem::take(&mut config.radio).both_ways(a, b, delivery);
        }
    }
    config
}

/// Runs until the network is formed, and returns when that was.
pub(super) fn form(network: &mut Network<Script>, mesh: LinkId, limit: u64) -> Time {
    loop {
        network.run_for(Duration::from_secs(1));
        let (now, of) = (network.now(), network.mesh(mesh).expect("a mesh"));
        if of.is_formed(now) {
            return now;
        }
        let settled = of.settled(now);
        assert!(now.as_nanos() < limit * 1_000_000_000, "{settled} nodes after {now:?}");
    }
}

/// The number of frames of each kind, and their bytes.
fn totals(network: &Network<Script>, mesh: LinkId) -> Vec<(Kind, u64, usize)> {
    let ledger = network.ledger(mesh);
    Kind::OF_NETWORK.map(|kind| (kind, ledger.total_for(kind).frames, ledger.total_for(kind).bytes())).to_vec()
}

#[test]
fn a_network_of_50_nodes_forms_and_carries_packets_both_ways() {
    let (mut network, mesh, nodes) = world(grid(10, 5, 0.9), 1);
    let config = network.mesh(mesh).expect("a mesh").config().clone();
    network.ledger_mut(mesh).keep_records(false);
    let formed = form(&mut network, mesh, 4_000);
    assert!(network.conservation().holds(), "{}", network.conservation());
    let of_mesh = network.mesh(mesh).expect("a mesh");
    let hops: Vec<u8> = (1..50).map(|node| of_mesh.hops(node).expect("a parent")).collect();
    assert!(hops.iter().max() >= Some(&5), "a grid of 10 by 5 is five hops deep or more: {hops:?}");
    // Every node has its minimal cell, its autonomous one, and one to its parent.
    for node in 1..50 {
        let cells = of_mesh.cells(node);
        assert_eq!(cells.iter().filter(|cell| cell.slotframe == 0).count(), 1);
        assert_eq!(cells.iter().filter(|cell| cell.slotframe == 1 && cell.kind == CellKind::Rx).count(), 1);
        let parent = of_mesh.parent(node);
        let to_parent = |cell: &&Cell| cell.slotframe == 2 && cell.kind == CellKind::Tx && cell.peer == parent;
        assert!(cells.iter().filter(to_parent).count() >= 1, "node {node}: {cells:?}");
    }
    assert!(totals(&network, mesh).iter().all(|(_, frames, _)| *frames > 0), "{:?}", totals(&network, mesh));
    // A datagram from each node, and one to each, a while after each other.
    let at = |number: u16| formed + Duration::from_secs(5 + 10 * u64::from(number));
    for node in 1..50 {
        let (up, down) = (datagram(&config, node, true, 60), datagram(&config, node, false, 60));
        network.node_mut(nodes[usize::from(node)]).to_send.push_back((at(node), up));
        network.node_mut(nodes[0]).to_send.push_back((at(node), down));
    }
    network.run_until(at(60));
    assert!(network.conservation().holds(), "{}", network.conservation());
    let up = network.node(nodes[0]).got.len();
    let down = (1..50).filter(|node| network.node(nodes[*node]).got.len() == 1).count();
    // Packets of nodes that change their parents meanwhile may be lost.
    assert!(up >= 45 && down >= 45, "{up} up, {down} down of 49");
}

#[test]
fn a_network_forms_again_when_a_relay_dies_and_when_it_comes_back() {
    // 1 and 2 are both between the root and 3, which hears nobody else; 4 is behind 3.
    let mut config = MeshConfig::forming(PREFIX);
    for _ in 0..4 {
        config.add_node();
    }
    for (a, b) in [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)] {
        config.radio = core::mem::take(&mut config.radio).both_ways(a, b, 1.0);
    }
    let (mut network, mesh, _) = world(config, 3);
    form(&mut network, mesh, 2_000);
    let parent = |network: &Network<Script>, node| network.mesh(mesh).and_then(|mesh| mesh.parent(node));
    let relay = parent(&network, 3).expect("a parent");
    let other = 3 - relay;
    network.switch_off(mesh, relay);
    assert_eq!(parent(&network, relay), None);
    // Keep-alives are not acknowledged any more: node 3 finds another parent, tells the root, and node 4 stays below it.
    let begun = network.now();
    let formed = loop {
        network.run_for(Duration::from_secs(1));
        let (now, of_mesh) = (network.now(), network.mesh(mesh).expect("a mesh"));
        if of_mesh.parent(3) == Some(other) && of_mesh.is_formed(now) {
            break now;
        }
        assert!(now.since(begun) < Duration::from_secs(900), "{:?}", [1, 2, 3, 4].map(|node| of_mesh.parent(node)));
    };
    assert_eq!((parent(&network, 4), network.mesh(mesh).and_then(|mesh| mesh.hops(4))), (Some(3), Some(3)));
    network.switch_on(mesh, relay);
    assert!(!network.mesh(mesh).expect("a mesh").is_formed(formed), "it has to join again");
    form(&mut network, mesh, 6_000);
    assert!(parent(&network, relay).is_some());
    assert!(network.conservation().holds(), "{}", network.conservation());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Everything that is decided by chance is on: losses, interference, clocks that drift, packets both ways, a node that dies and
    /// comes back, marks of congestion, tunnels.
    #[test]
    fn stepping_through_every_slot_gives_the_same_results_while_a_network_forms(
        seed: u64, delivery in prop_oneof![Just(1.0), 0.6..1.0], drift in 0_u16..=40, is_pid: bool, which in 0_usize..3,
        victim in 1_u16..6, has_strengths: bool, sends in proptest::collection::vec((0_u16..6, 100_u64..900, 0_u16..300), 0..20),
    ) {
        let mut config = grid(3, 2, delivery);
        config.timeslot = [Timeslot::STANDARD_10_MS, Timeslot::OPENWSN_15_MS, Timeslot::OPENWSN_20_MS][which];
        config.slotframes = vec![23; 3];
        config.ecn = Some(crate::sixtop::EcnOptions { mark_from_percent: 20 });
        if has_strengths {
            // Signals of all strengths from far too weak on, of which some disturb others, and a link that changes.
            for (from, to) in (0..6).flat_map(|from| (0..6).map(move |to| (from, to))).filter(|(from, to)| from != to) {
                let rssi = -95.0 + f64::from((from * 7 + to * 7) % 23);
                config.radio.set_with_rssi(from, to, None, crate::radio::rssi_to_delivery(rssi), Some(rssi));
            }
            let change = |after, delivery| RadioChange {
                after: Duration::from_millis(after), from: 1, to: 0, channel: Some(15), delivery, rssi: Some(-70.0),
            };
            config.radio_changes = vec![change(250_000, 0.0), change(450_123, 1.0)];
        }
        let formation = config.formation.as_mut().expect("it forms itself");
        formation.greatest_drift_ppm = drift;
        if is_pid {
            formation.function = Function::Pid(crate::sixtop::PidOptions::DEFAULT);
        }
        let run = |config: MeshConfig| {
            let (mut network, mesh, nodes) = world(config.clone(), seed);
            for (node, at, len) in &sends {
                let packet = match node {
                    0 => datagram(&config, 1 + len % 5, false, (*len).into()),
                    node => datagram(&config, *node, true, (*len).into()),
                };
                network.node_mut(nodes[usize::from(*node)]).to_send.push_back((Time::from_millis(at * 1_000), packet));
            }
            for node in &nodes {
                network.node_mut(*node).to_send.make_contiguous().sort_by_key(|(at, _)| *at);
            }
            network.run_until(Time::from_millis(300_000));
            network.open_tunnel(mesh, 5, 2, crate::direction::Direction::Up);
            network.run_until(Time::from_millis(400_000));
            network.switch_off(mesh, victim);
            network.run_until(Time::from_millis(600_000));
            network.switch_on(mesh, victim);
            network.run_until(Time::from_millis(1_000_000));
            let of_mesh = network.mesh(mesh).expect("a mesh");
            let now = network.now();
            let state: Vec<_> =
                (0..6).map(|node| (of_mesh.meter(node, now), of_mesh.parent(node), of_mesh.cells(node).to_vec())).collect();
            let got: Vec<_> = nodes.iter().map(|node| network.node(*node).got.clone()).collect();
            (network.ledger(mesh).records().to_vec(), got, state, network.conservation())
        };
        let skipped = run(config.clone());
        prop_assert!(skipped.3.holds(), "{}", skipped.3);
        let stepped = run(MeshConfig { steps_every_slot: true, ..config });
        for (skipping, stepping) in skipped.0.iter().zip(&stepped.0) {
            prop_assert_eq!(skipping, stepping);
        }
        prop_assert_eq!(skipped, stepped);
    }
}

#[test]
fn a_node_that_is_lost_makes_the_root_begin_another_version() {
    // A ring. 3 hears 1, through which it is near, and 5, which is too far for its lowest Rank.
    let mut config = MeshConfig::forming(PREFIX);
    for _ in 0..5 {
        config.add_node();
    }
    for (a, b) in [(0, 1), (1, 3), (3, 5), (5, 4), (4, 2), (2, 0)] {
        config.radio = core::mem::take(&mut config.radio).both_ways(a, b, 1.0);
    }
    let rpl = &mut config.formation.as_mut().expect("it forms itself").rpl;
    rpl.dodag.max_rank_increase = 256;
    rpl.repair = crate::rpl::Repair::Global { interval: Duration::from_secs(60) };
    // 1 does not hear 3 any more. 3 hears the beacons of 1 all the same, and so does not lose the network.
    let after = Duration::from_secs(2_000);
    let change = RadioChange { after, from: 3, to: 1, channel: None, delivery: 0.0, rssi: None };
    config.radio_changes = vec![change];
    let (mut network, mesh, _) = world(config, 2);
    let formed = form(&mut network, mesh, 2_000);
    let version = |network: &Network<Script>| {
        let root = network.mesh(mesh).and_then(|mesh| mesh.joined(0)).expect("a root");
        root.rpl.dodag().expect("a DODAG").1
    };
    network.run_for(Time::from_nanos(1_990_000_000_000).since(formed));
    let before = version(&network);
    assert_eq!(network.mesh(mesh).and_then(|mesh| mesh.parent(3)), Some(1));
    while network.mesh(mesh).and_then(|mesh| mesh.parent(3)) != Some(5) {
        network.run_for(Duration::from_secs(1));
        assert!(network.now() < Time::from_nanos(4_000_000_000_000), "{:?}", version(&network));
    }
    assert!(version(&network).is_newer_than(before), "a No-Path came to the root");
    assert!(network.conservation().holds(), "{}", network.conservation());
}

#[test]
fn without_retries_or_back_off_a_network_forms_all_the_same() {
    for (max_retries, max_be) in [(0, 5), (3, 0)] {
        let mut config = grid(3, 1, 1.0);
        config.mac = MacOptions { max_retries, min_be: 0, max_be, ..config.mac };
        let (mut network, mesh, _) = world(config, 1);
        form(&mut network, mesh, 2_000);
    }
}

/// The leaves of a star.
const LEAVES: u16 = 30;

#[test]
fn nobody_is_invited_before_there_is_a_cell_to_the_parent() {
    // A star: so many want a cell of the root that some wait long for it, and their Trickle timers go on meanwhile.
    let mut config = MeshConfig::forming(PREFIX);
    for node in 1..=LEAVES {
        config.add_node();
        config.radio = core::mem::take(&mut config.radio).both_ways(0, node, 1.0);
    }
    let (mut network, mesh, _) = world(config, 5);
    let is_settled = |network: &Network<Script>, node: u16| {
        let mesh = network.mesh(mesh).expect("a mesh");
        mesh.joined(node).is_some_and(|joined| joined.is_settled(node, mesh.parent(node)))
    };
    let (mut settled, mut seen) = (std::collections::BTreeSet::new(), 0);
    while !network.mesh(mesh).is_some_and(|mesh| mesh.is_formed(network.now())) {
        network.run_for(Duration::from_millis(10)); // a slot
        for node in (1..=LEAVES).filter(|node| is_settled(&network, *node)) {
            settled.insert(node);
        }
        let records = &network.ledger(mesh).records()[seen..];
        for record in records.iter().filter(|record| matches!(record.kind, Kind::Dio | Kind::Beacon)) {
            assert!(record.sender == 0 || settled.contains(&record.sender), "{record:?}");
        }
        seen += records.len();
        assert!(network.now() < Time::from_nanos(4_000_000_000_000));
    }
    assert!(seen > 0);
}

#[test]
fn a_cell_to_a_child_that_has_begun_anew_is_given_up() {
    let mut config = grid(2, 1, 1.0);
    config.slotframes = vec![23; 3];
    let (mut network, mesh, _) = world(config, 4);
    form(&mut network, mesh, 2_000);
    // The tunnel gives the root cells in which it sends to the node.
    assert!(network.open_tunnel(mesh, 1, 2, crate::direction::Direction::Down));
    network.run_for(Duration::from_secs(30));
    assert_eq!(network.mesh(mesh).map(|mesh| mesh.tunnel_cells(1, crate::direction::Direction::Down)), Some(2));
    // The node is back long before the root's scheduling function forgets it: then nobody listens in them.
    network.switch_off(mesh, 1);
    network.run_for(Duration::from_secs(1));
    network.switch_on(mesh, 1);
    let limit = network.now().since(Time::ZERO).as_secs() + 500;
    form(&mut network, mesh, limit);
}

#[test]
fn a_frame_is_a_repetition_only_as_long_as_somebody_may_repeat_it() {
    let config = MeshConfig::forming(PREFIX);
    let mac = config.mac;
    let mut mote = Mote::new([0; 8], None, Schedule::new(&[], &[101]), config.pool, &mac);
    assert!(!mote.has_heard(1, 7, Asn(100), 50));
    assert!(mote.has_heard(1, 7, Asn(150), 50), "its acknowledgement was lost");
    assert!(!mote.has_heard(1, 7, Asn(201), 50), "256 frames later");
    assert!(!mote.has_heard(2, 7, Asn(201), 50), "another neighbour");
    mote.forget(&mac);
    assert!(!mote.has_heard(1, 7, Asn(202), 50), "it has begun anew");
}
