//! The times of slots against the standard, and when a packet arrives.

use super::*;

#[test]
fn slots_are_as_long_as_the_clock_says() {
    let openwsn = Timeslot::OPENWSN_20_MS;
    assert_eq!(openwsn.start(Asn(1)).as_nanos(), 19_989_014, "655 ticks of 32,768 Hz, rounded up");
    assert_eq!(openwsn.start(Asn(32_768)), Time::from_millis(655_000), "nothing adds up");
    assert_eq!(Timeslot::STANDARD_10_MS.length(), Duration::from_millis(10));
    assert_eq!(Timeslot::OPENWSN_15_MS.length().as_micros(), 15_014);
}

proptest! {
    #[test]
    fn the_slot_after_a_time_is_the_first_that_begins_later(nanos in 0_u64..1 << 50) {
        for timeslot in [Timeslot::STANDARD_10_MS, Timeslot::OPENWSN_15_MS, Timeslot::OPENWSN_20_MS] {
            let time = Time::from_nanos(nanos);
            let asn = timeslot.after(time);
            prop_assert!(timeslot.start(asn) > time);
            prop_assert!(asn.0 == 0 || timeslot.start(Asn(asn.0 - 1)) <= time);
            prop_assert_eq!(timeslot.after(timeslot.start(asn)), asn + 1);
        }
    }
}

/// macTsTxOffset 2,120 µs, a frame of 127 bytes with 6 before it at 32 µs a byte (macTsMaxTx 4,256 µs), macTsTxAckDelay 1,000 µs, an
/// acknowledgement of 27 bytes: within 10 ms.
#[test]
fn the_longest_frame_fits_into_the_standard_slot() {
    let timeslot = Timeslot::STANDARD_10_MS;
    assert_eq!(timeslot.frame_end(Asn(0), 127).as_nanos(), (2_120 + 4_256) * 1_000);
    assert_eq!(timeslot.acknowledgement_end(Asn(0), 127, 27).as_nanos(), (2_120 + 4_256 + 1_000 + 33 * 32) * 1_000);
    let mut config = chain(1);
    config.timeslot = Timeslot { length_ticks: 8_000, ..timeslot };
    assert_eq!(config.check(), Err(ConfigError::Timeslot));
}

/// A node has one cell up, in slot 1 of 5, and the gateway 10 ms more to wait.
#[test]
fn a_packet_goes_in_the_next_cell() {
    let config = chain(1);
    let timeslot = config.timeslot;
    let packet = datagram(&config, 1, true, 20);
    for (sent, asn) in [(0, 1), (19, 1), (20, 6), (100, 6), (121, 11)] {
        let (mut network, mesh, nodes) = world(config.clone(), 1);
        network.node_mut(nodes[1]).to_send.push_back((Time::from_millis(sent), packet.clone()));
        network.run_for(Duration::from_secs(1));
        let record = data(&network, mesh)[0];
        assert_eq!(record.at, timeslot.start(Asn(asn)) + timeslot.tx_offset, "sent at {sent} ms");
        let (at, arrived) = &network.node(nodes[0]).got[0];
        assert_eq!(*arrived, packet);
        let end = timeslot.acknowledgement_end(Asn(asn), record.layers.sum(), 27);
        assert_eq!(*at, end + Duration::from_millis(10));
    }
}

/// The gateway sends a fragment every 10 ms, and the root has three cells in five slots.
#[test]
fn fragments_go_down_in_three_cells_of_five() {
    let config = chain(1);
    let packet = datagram(&config, 1, false, 819);
    let (mut network, mesh, nodes) = world(config, 1);
    network.node_mut(nodes[0]).to_send.push_back((Time::from_millis(1), packet.clone()));
    network.run_for(Duration::from_secs(2));
    let sent: Vec<u64> = data(&network, mesh).iter().map(|record| record.at.as_millis() / 20).collect();
    assert_eq!(sent, [2, 3, 4, 7, 8, 9, 12, 13, 14]);
    assert_eq!(network.node(nodes[1]).got.len(), 1);
    assert_eq!(network.node(nodes[1]).got[0].1, packet);
}
