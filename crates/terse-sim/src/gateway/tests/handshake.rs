//! Handshakes of the engine through the gateway, with and without the proxy. `--nocapture` prints what they cost.

use alloc::sync::Arc;
use core::cell::RefCell;
use core::time::Duration;
use std::net::SocketAddr;

use pki_types::ServerName;
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};
use terse_rustcrypto::PROVIDER;
use terse_tls::{
    ClientAuthentication, ClientConfig, Credential, EndpointLimits, NamedGroup, ProtocolVersion, ServerAddress,
    ServerConfig, SignatureScheme, Trust,
};

use super::world::{Member, PORT, gateway, ip};

use crate::direction::Direction;
use crate::engine::{Clock, Exchange, Processor, Program, Role, Watcher};
use crate::gateway::ProxyConfig;
use crate::host::Host;
use crate::ledger::{Kind, Record};
use crate::link::{Framing, Ieee802154, Link};
use crate::network::Network;
use crate::probe::{Party, Unwatched};
use crate::tcp::Config;
use crate::{Random, Time};

type Sides = (Arc<ClientConfig>, Arc<ServerConfig>);

/// Both sides of a mutually authenticated handshake.
fn sides(version: ProtocolVersion) -> Sides {
    let validity = Validity::days(NOW - 3600, 30);
    let options = AuthorityOptions::new("p256x2".parse().expect("a chain"), validity);
    let authority = Authority::new(&options).expect("an authority");
    let credential = |name: &str| {
        let issued = authority.issue(&LeafOptions::new(name, validity)).expect("a certificate");
        let key = PROVIDER.load_key(issued.key()).expect("a key");
        Credential::new(issued.chain().to_vec(), key).expect("they fit")
    };
    let trust = || Trust::new(core::slice::from_ref(authority.root())).expect("a root");
    let mut client = ClientConfig::builder(&PROVIDER);
    client.trust(trust());
    client.credentials(vec![credential("device.example")]);
    let mut server = ServerConfig::builder(&PROVIDER);
    server.credential(credential("server.example"));
    server.client_authentication(ClientAuthentication::Required(trust()));
    for common in [client.common_mut(), server.common_mut()] {
        common.set_versions(vec![version]).set_groups(vec![NamedGroup::SECP256R1]);
        common.set_signature_schemes(vec![SignatureScheme::ECDSA_SECP256R1_SHA256]);
    }
    (Arc::new(client.build().expect("it fits")), Arc::new(server.build().expect("it fits")))
}

/// IEEE 802.15.4 whose link layer repairs nothing: a loss of the paper's kind comes after the acknowledgement. A slow one
/// takes 100 ms for the longest frame, each way by itself, as the paper's slotframe does at a duty cycle of 100 %: a cell of
/// 20 ms in five.
fn mesh(loss: f64, is_slow: bool) -> Link {
    let link = Link::ieee802154().with_paths(|path| {
        path.loss = loss;
        if is_slow {
            path.rate = Some(127 * 8 * 10);
        }
    });
    let context = Some([0xBB, 0xBB, 0, 0, 0, 0, 0, 0]);
    let options = Ieee802154 { retries: None, backs_off: !is_slow, context, ..Ieee802154::DEFAULT };
    Link { framing: Framing::Ieee802154(options), half_duplex: !is_slow, ..link }
}

/// What a handshake cost.
struct Cost {
    /// When the client was connected, in milliseconds.
    connected: u64,
    mesh_bytes: u64,
    /// Segments that were sent again: in the mesh by the device and towards it, on the Internet towards the server and by
    /// it.
    repeated: [u64; 4],
}

fn connect((client, server): &Sides, mesh: Link, proxy: Option<ProxyConfig>, seed: u64) -> Cost {
    let mut unwatched = Unwatched;
    let watcher: Watcher<'_> = RefCell::new(&mut unwatched);
    let program = |role, party, config, stream| {
        let processor = Processor::new(party, &watcher, None);
        let clock = Clock { unix: NOW, monotonic: 0 };
        Program::new(role, Exchange::default(), Some(config), Random::new(seed, stream), clock, processor)
    };
    let name = ServerAddress::new(ServerName::try_from("server.example").expect("a name"), PORT);
    let remote = SocketAddr::new(ip("bbbb::1"), PORT);
    let role = Role::Client { config: client.clone(), server: name, remote, port: 0 };
    // The device's first timeout is the one that the paper's mote has.
    let tcp = Config { rto_initial: Duration::from_secs(3), ..Config::constrained() };
    let client = program(role, Party::Client, tcp, 100);
    let role = Role::Server { config: server.clone(), limits: EndpointLimits::default(), port: PORT };
    let server = program(role, Party::Server, Config { nagle: crate::tcp::Nagle::Off, ..Config::linux() }, 101);

    let mut network = Network::new(seed);
    let host = |address, program, stream| Box::new(Host::new(ip(address), program, Random::new(seed, stream)));
    let client = network.add(Member::Host(host("bbbb::2", client, 103)));
    let gateway = gateway(proxy, seed).with_unchanged_hop_limits();
    let gateway = network.add(Member::Gateway(Box::new(gateway)));
    let server = network.add(Member::Host(host("bbbb::1", server, 104)));
    let mesh = network.connect(client, gateway, mesh);
    let internet = network.connect(gateway, server, Link::ethernet(1500));
    network.run_until(Time::ZERO + Duration::from_secs(600));
    assert!(network.conservation().holds(), "{}", network.conservation());
    let connected = |node| match network.node(node) {
        Member::Host(host) => {
            assert_eq!(host.application.failure, None);
            host.application.connected.expect("the handshake is complete")
        }
        Member::Gateway(_) => unreachable!("it is a host"),
    };
    // What follows the handshake, its close above all, is not counted.
    let end = connected(client).max(connected(server));
    let records = |link| network.ledger(link).records().iter().filter(move |record| record.at <= end);
    let repeated = |link, direction| {
        let counts = |record: &&Record| record.kind == Kind::Retransmission && record.begins_packet();
        records(link).filter(counts).filter(|record| record.direction == direction).count() as u64
    };
    let [device, to_device] = Direction::BOTH.map(|way| repeated(mesh, way));
    let [to_server, by_server] = Direction::BOTH.map(|way| repeated(internet, way));
    Cost {
        connected: connected(client).as_millis(),
        mesh_bytes: records(mesh).map(|record| record.layers.sum() as u64).sum(),
        repeated: [device, to_device, to_server, by_server],
    }
}

#[test]
fn what_the_proxy_saves() {
    println!("                                                    segments repeated");
    println!("         mesh        proxy  connected  bytes in it  by device  to device  by server");
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        let sides = sides(version);
        for (is_slow, loss) in [(false, 0.0), (false, 0.05), (true, 0.0), (true, 0.05)] {
            for has_proxy in [false, true] {
                let proxy = || has_proxy.then(ProxyConfig::default);
                let costs: Vec<_> = (0..RUNS).map(|seed| connect(&sides, mesh(loss, is_slow), proxy(), seed)).collect();
                let mean = |of: &dyn Fn(&Cost) -> u64| costs.iter().map(of).sum::<u64>() as f64 / RUNS as f64;
                let [device, to_device, to_server, by_server] =
                    [0, 1, 2, 3].map(|which| mean(&|cost| cost.repeated[which]));
                println!(
                    "{version:?}  {} {:>2} %  {:5}  {:6.0} ms  {:9.0} B  {device:9.1}  {to_device:9.1}  {by_server:9.1}",
                    if is_slow { "slow" } else { "fast" },
                    loss * 100.0,
                    if has_proxy { "yes" } else { "no" },
                    mean(&|cost| cost.connected),
                    mean(&|cost| cost.mesh_bytes),
                );
                // The Internet loses nothing, so a server repeats only what is lost or slow in the mesh, and with the proxy
                // nothing at all. The proxy repeats nothing that is only slow.
                if has_proxy {
                    assert_eq!(to_server + by_server, 0.0);
                    assert!(loss > 0.0 || to_device == 0.0);
                } else {
                    assert_eq!(by_server > 0.0, loss > 0.0 || is_slow);
                }
            }
        }
    }
}

const NOW: u64 = 1_760_000_000;
/// The number of seeds.
const RUNS: u64 = 10;
