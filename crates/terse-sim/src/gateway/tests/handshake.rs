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

/// IEEE 802.15.4 whose link layer repairs nothing: a loss of the paper's kind comes after the acknowledgement. Frames take
/// `delay`.
fn mesh(loss: f64, delay: u64) -> Link {
    let link = Link::ieee802154().with_paths(|path| {
        path.loss = loss;
        path.delay = Duration::from_millis(delay);
    });
    let context = Some([0xBB, 0xBB, 0, 0, 0, 0, 0, 0]);
    Link { framing: Framing::Ieee802154(Ieee802154 { retries: None, context, ..Ieee802154::DEFAULT }), ..link }
}

/// What a handshake cost.
struct Cost {
    /// When the client was connected, in milliseconds.
    connected: u64,
    mesh_bytes: u64,
    /// Segments that were sent again: in the mesh, on the Internet, and of the latter by the server.
    repeated: [u64; 3],
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
    let role = Role::Client { config: client.clone(), server: name, remote: SocketAddr::new(ip("bbbb::1"), PORT) };
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
    let repeated = |link, from_server: bool| {
        let counts = |record: &&Record| record.kind == Kind::Retransmission && record.begins_packet();
        records(link).filter(counts).filter(|record| !from_server || record.direction == Direction::Down).count() as u64
    };
    Cost {
        connected: connected(client).as_millis(),
        mesh_bytes: records(mesh).map(|record| record.layers.sum() as u64).sum(),
        repeated: [repeated(mesh, false), repeated(internet, false), repeated(internet, true)],
    }
}

#[test]
fn what_the_proxy_saves() {
    println!("version   mesh            proxy  connected ms  mesh B  repeated: mesh  Internet  by the server");
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        let sides = sides(version);
        for (loss, delay) in [(0.0, 0), (0.05, 0), (0.0, 600), (0.05, 600)] {
            for has_proxy in [false, true] {
                let proxy = || has_proxy.then(ProxyConfig::default);
                let costs: Vec<_> = (0..RUNS).map(|seed| connect(&sides, mesh(loss, delay), proxy(), seed)).collect();
                let mean = |of: &dyn Fn(&Cost) -> u64| costs.iter().map(of).sum::<u64>() as f64 / RUNS as f64;
                let repeated = [0, 1, 2].map(|which| mean(&|cost| cost.repeated[which]));
                println!(
                    "{version:?}  {:>2} %, {delay:>3} ms  {:5}  {:12.0}  {:6.0}  {:14.2}  {:8.2}  {:13.2}",
                    loss * 100.0,
                    if has_proxy { "yes" } else { "no" },
                    mean(&|cost| cost.connected),
                    mean(&|cost| cost.mesh_bytes),
                    repeated[0],
                    repeated[1],
                    repeated[2],
                );
                // The Internet loses nothing: a server repeats only what is slow or lost in the mesh, and with the proxy
                // nothing at all.
                if has_proxy {
                    assert_eq!(repeated[1], 0.0);
                } else if loss > 0.0 || delay > 0 {
                    assert!(repeated[2] > 0.0);
                }
            }
        }
    }
}

const NOW: u64 = 1_760_000_000;
/// The number of seeds.
const RUNS: u64 = 10;
