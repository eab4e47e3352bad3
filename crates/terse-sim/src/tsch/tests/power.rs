//! What radios do, slot by slot, and the charge of a schedule of two nodes, by hand.

use super::*;
use crate::energy::{Battery, Models, Processor, SlotKind};

fn slots(meter: &Meter) -> [u64; 6] {
    SlotKind::ALL.map(|kind| meter.slots(kind))
}

/// The node listens in the shared cell and in three others of five slots, and sends in one; the root listens in the shared cell and in
/// that one.
#[test]
fn the_charge_of_two_nodes_is_as_computed_by_hand() {
    let config = chain(1);
    let packet = datagram(&config, 1, true, 30);
    let slot = config.timeslot.length();
    let (mut network, mesh, nodes) = world(config, 1);
    network.node_mut(nodes[1]).to_send.push_back((Time::from_millis(1_000), packet));
    // 1,000 slots have begun: the last one begins at 999 * 19.989 ms.
    let now = Time::ZERO + slot * 999 + Duration::from_millis(1);
    network.run_until(now);
    let of_mesh = network.mesh(mesh).expect("a mesh");
    assert_eq!(of_mesh.slots(now), 1_000);
    let [root, node] = [0, 1].map(|node| of_mesh.meter(node, now).expect("a node"));
    // Idle, TxData, TxDataRxAck, RxData, RxDataTxAck, Scan. The slot with the frame is none of the root's idle ones.
    assert_eq!(slots(&node), [800, 0, 1, 0, 0, 0]);
    assert_eq!(slots(&root), [399, 0, 0, 0, 1, 0]);

    // Page 1 and RPI 4, IPHC 2 and two identifiers of 8, UDP 4, 30 of data, behind 21 of the MAC: 77 bytes, without the FCS.
    let models = Models::built_in();
    let (radio, none) = (models.radio("cc2650").expect("a radio"), Processor::NONE);
    let energy = [&root, &node].map(|meter| meter.energy(radio, &none, 1_000, slot));
    let idle = 21.816_774_572;
    let sends = 36.546_091_480_1 + 77.0 * 0.345_405_572_975;
    let receives = 38.344_072_102_4 + 77.0 * 0.244_439_144_648;
    // A radio sleeps in all other time: 10 ms are measured of each slot that it does not.
    let sleeps = |awake: f64| (1_000.0 * slot.as_secs_f64() - awake * 0.010) * 0.016 * 1_000.0;
    let by_hand = [399.0 * idle + receives + sleeps(400.0), 800.0 * idle + sends + sleeps(801.0)];
    for (energy, by_hand) in energy.iter().zip(by_hand) {
        assert!((energy.charge() - by_hand).abs() < 1e-6, "{} {by_hand}", energy.charge());
    }
    // The radio is on for 2.2 ms in an idle slot: 800 of them in 20 s, and one of 1,256 us with 32 us a byte.
    let on = 800.0 * 0.002_2 + (1_256.0 + 77.0 * 32.0) / 1e6;
    assert!((energy[1].duty_cycle - on / (1_000.0 * slot.as_secs_f64())).abs() < 1e-9);
    let days = Battery::AA.milliampere_hours * 3.6e6 / (by_hand[1] / (1_000.0 * slot.as_secs_f64())) / 86_400.0;
    assert!((energy[1].days(&Battery::AA) / days - 1.0).abs() < 1e-9, "{}", energy[1].days(&Battery::AA));
}

#[test]
fn a_node_scans_until_it_is_synchronised_and_listens_in_two_cells_from_then_on() {
    let mut config = MeshConfig::forming(PREFIX);
    config.add_node();
    config.radio = Connectivity::new().both_ways(0, 1, 1.0);
    let (mut network, mesh, _) = world(config, 2);
    let formed = forming::form(&mut network, mesh, 2_000);
    let of_mesh = network.mesh(mesh).expect("a mesh");
    let joined = of_mesh.statistics(1).and_then(|of| of.joined_at).expect("it has joined");
    let joined = of_mesh.config().timeslot.after(joined).0; // the first slot after the one with the beacon
    let meter = of_mesh.meter(1, formed).expect("a node");
    assert_eq!(meter.slots(SlotKind::Scan), joined);
    // From then on: two cells in each slotframe of 101 slots, less what was sent and received in them. Cells for sending that were
    // negotiated are asleep without a frame, and those in which something was sent are no listening ones.
    let all = meter.active() - meter.slots(SlotKind::Scan);
    let slotframes = (of_mesh.slots(formed) - joined) / 101;
    let sent = meter.slots(SlotKind::TxDataRxAck) + meter.slots(SlotKind::TxData);
    assert!((2 * slotframes..=2 * slotframes + 2 + sent).contains(&all), "{all} {slotframes} {sent}");
    assert!(meter.slots(SlotKind::RxData) > 0 && meter.slots(SlotKind::RxDataTxAck) > 0 && sent > 0);
}
