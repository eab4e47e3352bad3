//! Bytes on the air by hand, forwarding over several hops, retries, losses, full pools: each with its balance.

use smoltcp::wire::SixlowpanFragPacket;

use super::*;
use crate::capture::View;
use crate::sixlowpan::routing::skip;
use crate::sixlowpan::{Context, decompress};

/// Sends packets, one a minute, and returns the data frames of each.
fn bytes_of(config: &MeshConfig, packets: &[Packet]) -> Vec<usize> {
    let bytes = |packet: &Packet| {
        let (mut network, mesh, nodes) = world(config.clone(), 1);
        let goes_up = packet.destination() == IpAddr::from(server());
        let sender = if goes_up { *nodes.last().unwrap() } else { nodes[0] };
        network.node_mut(sender).to_send.push_back((Time::from_millis(1), packet.clone()));
        network.run_for(Duration::from_secs(60));
        let receiver = if goes_up { nodes[0] } else { *nodes.last().unwrap() };
        let [(_, got)] = &network.node(receiver).got[..] else { panic!("one packet arrives") };
        let mut expected = packet.clone();
        expected.set_hop_limit(64 - (config.motes.len() as u8 - 2));
        assert_eq!(*got, expected, "every router decrements the hop limit");
        assert!(network.conservation().holds(), "{}", network.conservation());
        data(&network, mesh).iter().map(|record| record.layers.sum()).sum()
    };
    packets.iter().map(bytes).collect()
}

/// The paper's DTLS handshake with MFL 1024: 100, 132 and 671 bytes up, 60, 819 and 75 down. A frame has 23 bytes; compressed
/// headers are 22 bytes of IPv6 and 4 of UDP up, 20 and 8 down; fragments have headers of 4 and 5 bytes and carry 96.
#[test]
fn a_hop_costs_what_the_hand_computes() {
    let config = chain(1);
    let up = [100, 132, 671].map(|len| datagram(&config, 1, true, len));
    assert_eq!(bytes_of(&config, &up), [181, 213, 920]);
    let down = [60, 819, 75].map(|len| datagram(&config, 1, false, len));
    assert_eq!(bytes_of(&config, &down), [111, 1098, 158]);
}

/// A hop costs a byte more behind a router, which has decremented the hop limit; down, the source route has 8 bytes for each router
/// that is still to come, and 2 for all of them.
#[test]
fn a_source_route_grows_by_eight_bytes_a_hop() {
    for hops in 1..=4_usize {
        let config = chain(hops as u16);
        let up = bytes_of(&config, &[datagram(&config, hops as u16, true, 30)]);
        assert_eq!(up, [hops * (23 + 22 + 4 + 30) + hops - 1]);
        let down = bytes_of(&config, &[datagram(&config, hops as u16, false, 30)]);
        let route: usize = (1..hops).map(|routers| 2 + 8 * routers).sum();
        assert_eq!(down, [hops * (23 + 1 + 3 + 16 + 8 + 30) + hops - 1 + route], "{hops} hops");
    }
}

/// Fragments of one packet over three hops, in both directions: forwarded as they come, and complete at the end.
#[test]
fn fragments_are_forwarded_as_they_come() {
    let config = chain(3);
    let packets = [datagram(&config, 3, true, 600), datagram(&config, 3, false, 600)];
    bytes_of(&config, &packets);
    let (mut network, mesh, nodes) = world(config, 1);
    network.node_mut(nodes[3]).to_send.push_back((Time::from_millis(1), packets[0].clone()));
    network.run_for(Duration::from_secs(60));
    let first_of = |sender: u16, fragment: u16| {
        let records = data(&network, mesh);
        records.iter().find(|record| record.sender == sender && record.fragment == Some(fragment)).expect("it went").at
    };
    assert!(first_of(1, 0) < first_of(3, 6), "the first fragment is over two hops before the last one has begun");
}

#[test]
fn what_is_not_acknowledged_is_sent_again_sixteen_times() {
    let mut config = chain(1);
    config.radio = Connectivity::new().both_ways(0, 1, 0.0);
    let packet = datagram(&config, 1, true, 300);
    let (mut network, mesh, nodes) = world(config, 1);
    network.node_mut(nodes[1]).to_send.push_back((Time::from_millis(1), packet));
    network.run_for(Duration::from_secs(60));
    let records = data(&network, mesh);
    assert_eq!(records.len(), 16, "the first fragment, and 15 retries");
    assert!(records.iter().all(|record| record.fragment == Some(0) && record.fate == Fate::Dropped(Cause::Lost)));
    assert_eq!(records.iter().map(|record| record.attempt).collect::<Vec<_>>(), (0..16).collect::<Vec<_>>());
    let balance = network.conservation();
    assert!(balance.holds(), "{balance}");
    assert_eq!(balance.packets.dropped_for(Cause::RetriesExhausted), 1);
    let statistics = network.mesh(mesh).unwrap().statistics(1).unwrap();
    assert_eq!((statistics.transmissions, statistics.given_up), (16, 1));
    assert_eq!(network.mesh(mesh).unwrap().motes[1].pool.used(), 0);
}

/// The acknowledgements are lost, the frames are not: each packet arrives once.
#[test]
fn a_frame_whose_acknowledgement_was_lost_is_not_taken_twice() {
    let mut config = chain(1);
    config.radio = Connectivity::new().link(1, 0, 1.0).link(0, 1, 0.3);
    let packets: Vec<Packet> = (10..30).map(|len| datagram(&config, 1, true, len)).collect();
    let (mut network, mesh, nodes) = world(config, 5);
    let to_send =
        packets.iter().enumerate().map(|(index, packet)| (Time::from_millis(400 * index as u64), packet.clone()));
    network.node_mut(nodes[1]).to_send.extend(to_send);
    network.run_for(Duration::from_secs(200));
    let got: Vec<&Packet> = network.node(nodes[0]).got.iter().map(|(_, packet)| packet).collect();
    assert_eq!(got, packets.iter().collect::<Vec<_>>());
    let statistics = network.mesh(mesh).unwrap().statistics(0).unwrap();
    assert_eq!(statistics.received, 20);
    assert!(statistics.repeated > 20, "{statistics:?}");
    assert!(network.conservation().holds());
}

/// Fragments that a node loses after it has acknowledged them are not sent again; the others wait for a minute, in the pool.
#[test]
fn a_lost_fragment_keeps_the_others_in_the_pool() {
    let mut config = chain(1);
    config.loss.frames = 0.15;
    let packet = datagram(&config, 1, false, 600);
    let (mut network, mesh, nodes) = world(config, 3);
    network.node_mut(nodes[0]).to_send.push_back((Time::from_millis(1), packet));
    network.run_for(Duration::from_secs(10));
    let used = network.mesh(mesh).unwrap().motes[1].pool.used();
    assert!((1..7).contains(&used), "some of seven: {used}");
    assert_eq!(network.conservation().packets.queued.number, 1);
    network.run_for(Duration::from_secs(60));
    assert_eq!(network.mesh(mesh).unwrap().motes[1].pool.used(), 0);
    let balance = network.conservation();
    assert!(balance.holds(), "{balance}");
    assert_eq!(balance.packets.dropped_for(Cause::Lost), 1, "that is why it is not complete");
    assert!(network.node(nodes[1]).got.is_empty());
}

/// Upper layers get no frame once 16 are in use; what arrives is refused at 20, and sent again.
#[test]
fn a_pool_has_an_end() {
    let mut config = chain(1);
    config.serial.down = Duration::ZERO;
    let long = datagram(&config, 1, true, 800);
    let down = datagram(&config, 1, false, 1100);
    let (mut network, mesh, nodes) = world(config, 3);
    network.mesh_mut(mesh).unwrap().trace_pool(1);
    network
        .node_mut(nodes[1])
        .to_send
        .extend([(Time::from_millis(1), long.clone()), (Time::from_millis(1), long.clone())]);
    network.node_mut(nodes[0]).to_send.extend([(Time::from_millis(1), down.clone()), (Time::from_millis(2), down)]);
    network.run_for(Duration::from_secs(90));
    let balance = network.conservation();
    assert!(balance.holds(), "{balance}");
    assert_eq!(network.node(nodes[0]).got.len(), 1, "nine frames, and nine more would be eighteen");
    assert!(balance.packets.dropped_for(Cause::QueueFull) >= 1, "{balance}");
    let mesh = network.mesh(mesh).unwrap();
    assert_eq!(mesh.pool_peak(0).unwrap().0, 17, "16 to be sent, and one that arrived");
    assert!(mesh.pool_trace(1).iter().all(|used| *used <= 20));
    assert_eq!(mesh.motes.iter().map(|mote| mote.pool.used()).sum::<u8>(), 0);
}

/// Two nodes that hear each other's receiver send in one cell: both frames are lost, until back-off keeps them apart.
#[test]
fn back_off_keeps_senders_in_a_shared_cell_apart() {
    let mut config = MeshConfig::openwsn(PREFIX);
    config.mac.unicast_in_shared_cells = true;
    for _ in 0..3 {
        let mote = config.add_mote(0);
        config.radio = core::mem::take(&mut config.radio).both_ways(0, mote, 1.0);
    }
    config.add_shared_cell(0, 0, 0);
    let packets: Vec<Packet> = (1..=3).map(|mote| datagram(&config, mote, true, 20)).collect();
    let (mut network, mesh, nodes) = world(config, 3);
    for (node, packet) in nodes[1..].iter().zip(&packets) {
        network.node_mut(*node).to_send.push_back((Time::from_millis(1), packet.clone()));
    }
    network.run_for(Duration::from_secs(60));
    assert_eq!(network.node(nodes[0]).got.len(), 3);
    let records = data(&network, mesh);
    let first = records.iter().filter(|record| record.at == records[0].at).count();
    assert_eq!(first, 3, "all at once");
    assert!(records[..3].iter().all(|record| record.fate == Fate::Dropped(Cause::Lost)));
    assert!(network.conservation().holds());
}

/// A channel on which a link is bad: frames that hop onto it are lost there, and arrive on another.
#[test]
fn hopping_leaves_a_bad_channel() {
    let mut config = chain(1);
    config.radio.set(1, 0, Some(16), 0.0);
    config.mac.max_retries = 1;
    let packet = datagram(&config, 1, true, 20);
    let (mut network, mesh, nodes) = world(config, 3);
    for index in 0..200 {
        network.node_mut(nodes[1]).to_send.push_back((Time::from_millis(200 * index), packet.clone()));
    }
    network.run_for(Duration::from_secs(100));
    assert_eq!(network.node(nodes[0]).got.len(), 200, "two channels one after the other are never the same");
    let lost = data(&network, mesh).iter().filter(|record| record.fate == Fate::Dropped(Cause::Lost)).count();
    assert!((5..25).contains(&lost), "one in sixteen of 200: {lost}");
}

#[test]
fn what_the_mesh_does_not_carry_has_a_cause() {
    let config = chain(1);
    let address = |last| SocketAddr::new(IpAddr::from([10, 0, 0, last]), 9);
    let to_nobody = SocketAddr::new(Ipv6Addr::new(0xBBBB, 0, 0, 0, 0, 0, 0, 99).into(), 9);
    let packets = [
        Packet::udp(address(1), address(2), &[1; 10]).unwrap(),
        Packet::udp(SocketAddr::new(server().into(), 9), to_nobody, &[1; 10]).unwrap(),
        datagram(&config, 1, false, 1300),
    ];
    let (mut network, mesh, nodes) = world(config, 3);
    network.node_mut(nodes[0]).to_send.extend(packets.map(|packet| (Time::from_millis(1), packet)));
    network.run_for(Duration::from_secs(1));
    let balance = network.conservation_of(mesh);
    assert!(balance.holds(), "{balance}");
    assert_eq!(balance.packets.dropped_for(Cause::Misdirected), 2, "neither has a node here");
    assert_eq!(balance.packets.dropped_for(Cause::TooLong), 1);
}

#[test]
fn a_packet_ends_where_its_hop_limit_does() {
    let config = chain(3);
    for (hop_limit, arrives) in [(2, false), (3, true)] {
        let mut packet = datagram(&config, 3, true, 300);
        packet.set_hop_limit(hop_limit);
        let (mut network, mesh, nodes) = world(config.clone(), 3);
        network.node_mut(nodes[3]).to_send.push_back((Time::from_millis(1), packet));
        network.run_for(Duration::from_secs(90));
        assert_eq!(network.node(nodes[0]).got.len(), usize::from(arrives), "{hop_limit}");
        let balance = network.conservation_of(mesh);
        assert!(balance.holds(), "{balance}");
        assert_eq!(balance.packets.dropped_for(Cause::HopLimitExceeded), u64::from(!arrives));
    }
}

/// Reads the frames of one hop as a receiver would that knows nothing but their bytes.
fn read(frames: &[Vec<u8>]) -> Packet {
    let context = Context { from: None, to: None, prefix: Some(PREFIX), compresses_udp: true };
    let mut whole = Vec::new();
    for frame in frames {
        let tap_len = usize::from(u16::from_le_bytes([frame[2], frame[3]]));
        let payload = &frame[tap_len + 21..frame.len() - 2];
        let Ok(fragment) = SixlowpanFragPacket::new_checked(payload).map_err(|_| ()) else {
            return Packet::parse(decompress(skip(payload).unwrap(), None, &context).unwrap()).unwrap();
        };
        let size = usize::from(fragment.datagram_size());
        whole.resize(size, 0);
        let (offset, content) = match fragment.is_first_fragment() {
            true => (0, decompress(skip(fragment.payload()).unwrap(), Some(size), &context).unwrap()),
            false => (8 * usize::from(fragment.datagram_offset()), fragment.payload().to_vec()),
        };
        whole[offset..offset + content.len()].copy_from_slice(&content);
    }
    Packet::parse(whole).unwrap()
}

#[test]
fn the_bytes_of_each_hop_are_the_packet() {
    for hops in 1..=3 {
        for (goes_up, len) in [(true, 40), (true, 600), (false, 40), (false, 600)] {
            let config = chain(hops);
            let packet = datagram(&config, hops, goes_up, len);
            let (mut network, mesh, nodes) = world(config, 3);
            network.capture(mesh, View::Frames);
            let sender = if goes_up { nodes[usize::from(hops)] } else { nodes[0] };
            network.node_mut(sender).to_send.push_back((Time::from_millis(1), packet.clone()));
            network.run_for(Duration::from_secs(30));
            let capture = network.captured();
            let frames = capture.entries().iter().zip(network.ledger(mesh).records());
            for hop in 0..hops {
                let sender = if goes_up { hops - hop } else { hop };
                let of_hop =
                    |(_, record): &(_, &Record)| record.sender == sender && record.kind != Kind::LinkAcknowledgement;
                let frames = frames.clone().filter(of_hop);
                for (entry, record) in frames.clone() {
                    let tap_len = usize::from(entry.bytes[2]);
                    assert_eq!(entry.bytes.len() - tap_len, record.layers.sum(), "the ledger has the lengths");
                }
                let mut expected = packet.clone();
                expected.set_hop_limit(64 - hop as u8);
                let bytes: Vec<_> = frames.map(|(entry, _)| entry.bytes.clone()).collect();
                assert_eq!(read(&bytes), expected, "{hops} hops, hop {hop}, up {goes_up}, {len} B");
            }
        }
    }
}

/// Three captures at a time: all frames, those of one node, and the packets at the gateway.
#[test]
fn a_capture_may_be_of_one_node() {
    let config = chain(2);
    let packets = [datagram(&config, 2, true, 40), datagram(&config, 2, false, 40)];
    let count = |view, node: Option<u16>| {
        let (mut network, mesh, nodes) = world(config.clone(), 3);
        match node {
            None => network.capture(mesh, view),
            Some(node) => network.capture_node(mesh, node),
        }
        network.node_mut(nodes[2]).to_send.push_back((Time::from_millis(1), packets[0].clone()));
        network.node_mut(nodes[0]).to_send.push_back((Time::from_millis(2_000), packets[1].clone()));
        network.run_for(Duration::from_secs(30));
        network.captured().entries().len()
    };
    assert_eq!(count(View::Frames, None), 8, "two packets over two hops, each frame acknowledged");
    assert_eq!(count(View::Frames, Some(1)), 8, "the router sends or receives all of them");
    assert_eq!(count(View::Frames, Some(2)), 4, "one frame each way, and its acknowledgement");
    assert_eq!(count(View::Packets, None), 2);
}
