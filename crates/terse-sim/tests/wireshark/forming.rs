//! Captures of a network that forms itself: beacons, 6P and RPL are named by Wireshark.

use core::time::Duration;
use std::collections::BTreeSet;

use terse_sim::capture::View;
use terse_sim::host::Host;
use terse_sim::network::Network;
use terse_sim::radio::Connectivity;
use terse_sim::tsch::MeshConfig;

use super::engine::Engine;
use super::tshark::{self, File};

/// Forms a chain of five nodes, and lets one of them die and come back.
fn capture(view: View, name: &str) -> File {
    let mut config = MeshConfig::forming([0xBB, 0xBB, 0, 0, 0, 0, 0, 0]);
    config.radio = Connectivity::new();
    for node in 1..5 {
        config.add_node();
        config.radio = core::mem::take(&mut config.radio).both_ways(node - 1, node, 0.95);
    }
    // Without hosts, the network is busy with itself alone.
    let mut network: Network<Host<Engine>> = Network::new(1);
    let mesh = network.connect_mesh(&[], config).expect("a configuration");
    network.capture(mesh, view);
    for _ in 0..2 {
        let deadline = network.now() + Duration::from_secs(3_000);
        let is_formed =
            |network: &Network<Host<Engine>>| network.mesh(mesh).is_some_and(|of| of.is_formed(network.now()));
        network.run_while(deadline, |network| !is_formed(network));
        assert!(is_formed(&network), "{name}");
        network.run_for(Duration::from_secs(300));
        network.switch_off(mesh, 2);
        network.run_for(Duration::from_secs(300));
        network.switch_on(mesh, 2);
    }
    File::new(name, &network.captured().to_pcapng(""))
}

/// Returns the values of a field in the frames that `filter` selects, each once.
fn values(file: &File, filter: &str, field: &str) -> BTreeSet<String> {
    let lines = file.fields(filter, &[field]);
    lines.iter().flat_map(|line| line.split(',')).map(str::to_owned).collect()
}

fn set<const N: usize>(values: [&str; N]) -> BTreeSet<String> {
    values.map(str::to_owned).into()
}

#[test]
fn frames_of_a_forming_network_are_named() {
    if !tshark::is_there() {
        return;
    }
    let file = capture(View::Frames, "forming frames");
    let all = file.count("frame");
    assert_eq!(file.fields("_ws.malformed || frame.cap_len != frame.len", &["frame.number"]), [""; 0]);
    assert_eq!(file.count("_ws.expert.severity > \"Comment\""), 0, "Wireshark has nothing to say against any frame");
    assert_eq!(file.count("wpan.fcs_ok == 1"), all, "every checksum is right");

    // Beacons say the time of the frame, and how far the sender is from the root.
    let beacons = file.fields("wpan.frame_type == 0", &["wpan.tsch.asn", "wpan-tap.asn", "wpan.tsch.join_metric"]);
    assert!(beacons.len() > 100);
    for line in &beacons {
        let [asn, of_frame, metric] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert_eq!(asn, of_frame);
        assert!(metric.parse::<u8>().is_ok(), "{line}");
    }
    let of_root = "wpan.frame_type == 0 && wpan.src64 == 14:15:92:cc:00:00:00:01";
    assert_eq!(values(&file, of_root, "wpan.tsch.join_metric"), set(["0"]));
    for (field, value) in [
        ("wpan.tsch.timeslot.id", "0x00"),
        ("wpan.tsch.hopping_sequence_id", "0x00"),
        ("wpan.tsch.slotframe_num", "1"),
        ("wpan.tsch.slotframe_handle", "0"),
        ("wpan.tsch.slotframe_size", "101"),
        ("wpan.tsch.nb_links", "1"),
        ("wpan.tsch.link_timeslot", "0"),
        ("wpan.tsch.channel_offset", "0"),
        ("wpan.tsch.link_options", "0x0f"),
    ] {
        assert_eq!(values(&file, "wpan.frame_type == 0", field), set([value]), "{field}");
    }

    // 6P: requests to add one cell of five and to clear all, and their answers, for MSF.
    assert_eq!(values(&file, "wpan.6top", "wpan.6top_version"), set(["0"]));
    assert_eq!(values(&file, "wpan.6top", "wpan.6top_sfid"), set(["0x00"]));
    assert!(values(&file, "wpan.6top", "wpan.6top_type").is_superset(&set(["0x00", "0x01"])));
    assert!(values(&file, "wpan.6top_type == 0", "wpan.6top_code").is_superset(&set(["0x01", "0x07"])));
    let add = "wpan.6top_type == 0 && wpan.6top_code == 1";
    for line in file.fields(add, &["wpan.6top_cell_options", "wpan.6top_num_cells", "wpan.6top_cell"]) {
        let [options, number, cells] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert_eq!((options, number, cells.split(',').count()), ("0x01", "1", 5));
    }
    let added = file.fields("wpan.6top_type == 1 && wpan.6top_code == 0 && wpan.6top_cell", &["wpan.6top_cell"]);
    let candidates = values(&file, add, "wpan.6top_cell");
    assert!(!added.is_empty() && added.iter().all(|cell| candidates.contains(cell)), "{added:?} of {candidates:?}");

    // RPL: what is for neighbours goes to the group of all RPL nodes, what is for the root and from it through routers.
    let (dis, dio, dao, ack) = ("icmpv6.code == 0", "icmpv6.code == 1", "icmpv6.code == 2", "icmpv6.code == 3");
    assert_eq!(values(&file, "icmpv6", "icmpv6.type"), set(["155"]));
    assert_eq!(values(&file, "icmpv6", "icmpv6.checksum.status"), set(["1"]), "every checksum is right");
    for message in [dis, dio] {
        assert_eq!(values(&file, message, "ipv6.dst"), set(["ff02::1a"]));
        assert_eq!(values(&file, message, "6lowpan.iphc.dam"), set(["0x0003"]), "one octet in line");
        assert_eq!(values(&file, message, "wpan.dst16"), set(["0xffff"]));
        assert_eq!(values(&file, message, "wpan.ack_request"), set(["0"]));
        assert_eq!(values(&file, message, "ipv6.hlim"), set(["255"]));
    }
    assert!(file.count(dis) > 3, "each node without a parent asks for DIOs");
    let root = "bbbb::1615:92cc:0:1";
    assert_eq!(values(&file, dio, "icmpv6.rpl.dio.dagid"), set([root]));
    assert_eq!(values(&file, dio, "icmpv6.rpl.dio.flag.mop"), set(["0x01"]), "non-storing");
    assert!(values(&file, dio, "icmpv6.rpl.dio.rank").is_superset(&set(["256"])));
    assert_eq!(values(&file, dao, "ipv6.dst"), set([root]));
    let others = ["2", "3", "4", "5"].map(|last| format!("bbbb::1615:92cc:0:{last}"));
    assert_eq!(values(&file, dao, "icmpv6.rpl.opt.target.prefix"), others.clone().into());
    let parents = values(&file, dao, "icmpv6.rpl.opt.transit.parent");
    assert!(parents.is_superset(&set([root])) && parents.len() >= 4, "{parents:?}");
    assert_eq!(
        file.count(dao),
        file.count(&format!("{dao} && 6lowpan.6loRH.bitO == 0")),
        "all have an RPI that goes up"
    );
    assert_eq!(values(&file, ack, "ipv6.dst"), others.into());
    assert_eq!(values(&file, ack, "icmpv6.rpl.daoack.status"), set(["0"]));
    assert!(file.count(&format!("{ack} && 6lowpan.routingheader")) > 4, "source routes");
}

#[test]
fn packets_of_a_forming_network_are_named() {
    if !tshark::is_there() {
        return;
    }
    let file = capture(View::Packets, "forming packets");
    assert_eq!(file.count("_ws.malformed"), 0);
    assert_eq!(values(&file, "frame", "icmpv6.checksum.status"), set(["1"]));
    assert_eq!(values(&file, "frame", "icmpv6.code"), set(["2", "3"]), "DAO and DAO-ACK");
    let lines = file.fields("frame", &["icmpv6.rpl.dao.sequence", "icmpv6.rpl.daoack.sequence", "icmpv6.code"]);
    // The root answers each DAO at once.
    let (pairs, rest) = lines.as_chunks::<2>();
    assert!(pairs.len() > 3 && rest.is_empty(), "{lines:?}");
    for [dao, ack] in pairs {
        let sequence = dao.split('|').next().expect("a DAO");
        assert_eq!(*ack, format!("|{sequence}|3"), "{dao}");
    }
}
