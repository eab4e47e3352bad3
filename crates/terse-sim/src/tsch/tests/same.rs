//! Passing over slots in which nothing can happen, and stepping through all of them, is the same; and a seed gives one result.

use super::*;

/// A network with everything that is decided by chance: several hops, losses on the air and behind it, shared cells, two slotframes.
fn config(hops: u16, loss: f64, delivery: f64, shared: bool, timeslot: Timeslot) -> MeshConfig {
    let mut config = chain(hops);
    config.timeslot = timeslot;
    config.loss = LossOptions { frames: loss, packets: loss / 2.0 };
    config.mac.unicast_in_shared_cells = shared;
    config.slotframes.push(17);
    let leaf = config.add_mote(1);
    config.add_cell(1, 3, 4, leaf, 1);
    config.add_cell(1, 9, 5, 1, leaf);
    config.radio = core::mem::take(&mut config.radio).both_ways(1, leaf, 1.0);
    let links: Vec<(u16, u16, f64)> = config.radio.links().collect();
    for (from, to, _) in links {
        config.radio.set(from, to, None, delivery);
    }
    // The leaf disturbs the root.
    config.radio.set(leaf, 0, None, 0.5);
    config
}

type Result = (Vec<Record>, Vec<Vec<(Time, Packet)>>, crate::network::Conservation);

fn run(config: MeshConfig, seed: u64, sends: &[(u8, u16, u16)], holds_always: bool) -> Result {
    let packets: Vec<(usize, Time, Packet)> = sends
        .iter()
        .map(|(node, at, len)| {
            let node = u16::from(*node) % config.motes.len() as u16;
            let (at, len) = (Time::from_millis((*at).into()), usize::from(*len % 900));
            match node {
                0 => (0, at, datagram(&config, 1 + len as u16 % (config.motes.len() as u16 - 1), false, len)),
                _ => (node.into(), at, datagram(&config, node, true, len)),
            }
        })
        .collect();
    let (mut network, mesh, nodes) = world(config, seed);
    for (node, id) in nodes.iter().enumerate() {
        let mut own: Vec<_> =
            packets.iter().filter(|(at, ..)| *at == node).map(|(_, at, packet)| (*at, packet.clone())).collect();
        own.sort_by_key(|(at, _)| *at);
        network.node_mut(*id).to_send.extend(own);
    }
    let end = Time::from_millis(90_000);
    while network.next_time().is_some_and(|next| next <= end) {
        network.step();
        assert!(!holds_always || network.conservation().holds(), "{}", network.conservation());
    }
    let got = nodes.iter().map(|node| network.node(*node).got.clone()).collect();
    (network.ledger(mesh).records().to_vec(), got, network.conservation())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn stepping_through_every_slot_gives_the_same_results(
        hops in 1_u16..4, loss in prop_oneof![Just(0.0), 0.0..0.2], delivery in prop_oneof![Just(1.0), 0.4..1.0], shared: bool,
        which in 0_usize..3, seed: u64, sends in proptest::collection::vec((0_u8..5, 0_u16..20_000, 0_u16..900), 1..25),
    ) {
        let timeslot = [Timeslot::STANDARD_10_MS, Timeslot::OPENWSN_15_MS, Timeslot::OPENWSN_20_MS][which];
        let config = config(hops, loss, delivery, shared, timeslot);
        let stepping = MeshConfig { steps_every_slot: true, ..config.clone() };
        let [first, again] = [0; 2].map(|_: u8| run(config.clone(), seed, &sends, true));
        prop_assert_eq!(&first, &again);
        let stepped = run(stepping, seed, &sends, false);
        prop_assert_eq!(first.0.len(), stepped.0.len());
        for (skipping, stepping) in first.0.iter().zip(&stepped.0) {
            prop_assert_eq!(skipping, stepping);
        }
        prop_assert_eq!(first, stepped);
    }
}
