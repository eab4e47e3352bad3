//! Captures of a mesh: frames with IEEE 802.15.4 TAP headers, down to the fragments, and the packets at the gateway, decrypted.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use terse_sim::capture::View;
use terse_sim::host::Host;
use terse_sim::network::Network;
use terse_sim::radio::Connectivity;
use terse_sim::tsch::MeshConfig;
use terse_sim::{Random, Time};

use super::engine::{Engine, Keys, LINE, Side};
use super::tshark::{self, File};
use super::{TLS12, setup};

/// Two hops: a shared cell, and for each hop one cell up and three down.
fn mesh() -> MeshConfig {
    let mut config = MeshConfig::openwsn([0xBB, 0xBB, 0, 0, 0, 0, 0, 0]);
    config.slotframes = vec![9];
    config.radio = Connectivity::new().both_ways(0, 1, 0.9).both_ways(1, 2, 0.9);
    for (mote, parent) in [(1, 0), (2, 1)] {
        config.add_mote(parent);
        let first = 1 + 4 * (mote - 1);
        config.add_cell(0, first, 1, mote, parent);
        (first + 1..first + 4).for_each(|slot| config.add_cell(0, slot, 2, parent, mote));
    }
    config
}

/// Runs a DTLS handshake of the node that is two hops away with a server at the gateway.
fn capture(view: View, name: &str) -> File {
    let keys = Arc::new(Keys::default());
    let mut setup = setup(TLS12, Some(1024));
    setup.client.key_log(keys.clone());
    let config = mesh();
    let address: IpAddr = Ipv6Addr::new(0xBBBB, 0, 0, 0, 0, 0, 0, 1).into();
    let server = SocketAddr::new(address, 4433);
    let client = Engine::new(Side::Client(Arc::new(setup.client.build().unwrap()), server), None, Random::new(1, 10));
    let server = Engine::new(Side::Server(Arc::new(setup.server.build().unwrap())), None, Random::new(1, 11));
    let mut network = Network::new(1);
    let server = network.add(Host::new(address, server, Random::new(1, 13)));
    let client = network.add(Host::new(config.motes[2].address.into(), client, Random::new(1, 12)));
    let mesh = network.connect_mesh(&[(0, server), (2, client)], config).expect("a configuration");
    network.capture(mesh, view);
    network.run_until(Time::from_millis(600_000));
    for node in [client, server] {
        assert_eq!(network.node(node).application.heard, LINE, "{name}");
    }
    let keys = keys.0.lock().expect("nobody panicked");
    File::new(name, &network.captured().to_pcapng(&keys))
}

#[test]
fn frames_of_a_mesh_are_read_down_to_their_fragments() {
    if !tshark::is_there() {
        return;
    }
    let file = capture(View::Frames, "mesh frames");
    let all = file.count("frame");
    assert!(all > 60, "{all}");
    assert_eq!(file.fields("_ws.malformed || frame.cap_len != frame.len", &["frame.number"]), [""; 0]);
    assert_eq!(file.count("wpan.fcs_ok == 1"), all, "every checksum is right");
    // The slot says the channel, and both stand in the header of the capture.
    let slots = file.fields("wpan.frame_type == 1", &["wpan-tap.asn", "wpan-tap.ch_num"]);
    let hopping = mesh().hopping;
    for line in &slots {
        let (asn, channel) = line.split_once('|').expect("two fields");
        let asn: u64 = asn.parse().expect("a number");
        let offset = if (asn % 9 - 1).is_multiple_of(4) { 1 } else { 2 };
        assert_eq!(channel.parse::<u8>(), Ok(hopping[((asn + offset) % 16) as usize]), "slot {asn}");
    }
    // Each frame that arrived has its acknowledgement, with a time correction.
    assert_eq!(
        file.count("wpan.frame_type == 2 && wpan.header_ie.time_correction"),
        file.count("wpan.frame_type == 2")
    );
    let lost = file.count("frame.comment == \"lost\"");
    assert!(lost > 3 && lost < all / 4, "{lost} of {all}");
    // 6LoWPAN: routing headers in both directions, and fragments.
    assert!(file.count("6lowpan.frag.tag") > 20, "fragments");
    assert!(file.count("6lowpan.6loRH.bitK == 1") > 4, "RPI");
    assert!(file.count("6lowpan.routingheader") > 4, "source routes");
}

#[test]
fn packets_at_the_gateway_are_decrypted() {
    if !tshark::is_there() {
        return;
    }
    let file = capture(View::Packets, "mesh packets");
    assert_eq!(file.count("_ws.malformed"), 0);
    assert_eq!(file.count("udp.checksum.status == 1"), file.count("udp"));
    assert!(file.count("dtls.handshake.type == 20") >= 2, "Finished of both sides");
    let line: String = LINE.iter().map(|byte| format!("{byte:02x}")).collect();
    let data = file.fields("dtls.app_data || data.data", &["data.data"]);
    assert!(data.iter().filter(|value| value.contains(&line)).count() >= 2, "{data:?}");
}
