//! What the model of TCP makes of the paper's records, with the paper's computing times, over a link that is as slow each way
//! as the paper's network is with a small packet.

use core::time::Duration;
use std::net::{Ipv6Addr, SocketAddr};

use smoltcp::wire::TcpPacket;

use crate::host::Host;
use crate::link::Link;
use crate::network::{Network, Node, Verdict};
use crate::packet::Packet;
use crate::paper::Peers;
use crate::script::{Handshake, Outcome, Party, Peer};
use crate::tcp::{Config, Nagle};
use crate::{Random, Time};

/// A host whose segments with data are noted.
struct Noted(Host<Peer>, Vec<usize>);

impl Node for Noted {
    fn address(&self) -> Option<std::net::IpAddr> {
        self.0.address()
    }

    fn attach(&mut self, interface: usize, mtu: usize) {
        self.0.attach(interface, mtu);
    }

    fn handle_packet(&mut self, now: Time, interface: usize, packet: Packet) -> Verdict {
        self.0.handle_packet(now, interface, packet)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<(usize, Packet)> {
        let (interface, packet) = self.0.poll_transmit(now)?;
        let len = TcpPacket::new_checked(packet.payload()).expect("a segment").payload().len();
        self.1.extend((len > 0).then_some(len));
        Some((interface, packet))
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.0.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.0.handle_timeout(now);
    }
}

/// Returns the segments with data of client and server.
fn run(mss: u16, nagle: Nagle, server_nagle: Nagle) -> [Vec<usize>; 2] {
    run_script(&Peers::of_paper().tls, mss, nagle, server_nagle)
}

fn run_script(tls: &Handshake, mss: u16, nagle: Nagle, server_nagle: Nagle) -> [Vec<usize>; 2] {
    let peers = Peers::of_paper();
    let address = |last| Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, last);
    let remote = SocketAddr::new(address(2).into(), 4433);
    let client = Config { nagle, maximum_segment_size: mss, ..Config::constrained() };
    // The probe at the end of a flight would come before the mote's late acknowledgement.
    let server = Config { nagle: server_nagle, loss_probe: false, timestamps: false, ..Config::linux() };
    let client = Peer::client(tls, remote, &client, peers.dtls_client);
    let server = Peer::server(tls, 4433, &server, peers.dtls_server);
    let mut network = Network::new(1);
    let client = network.add(Noted(Host::new(address(1).into(), client, Random::new(1, 1)), Vec::new()));
    let server = network.add(Noted(Host::new(address(2).into(), server, Random::new(1, 2)), Vec::new()));
    network.connect(client, server, Link::lossless().with_paths(|path| path.delay = Duration::from_millis(60)));
    let is_over = |noted: &Noted| noted.0.application.outcome().is_some_and(Outcome::is_over);
    network.run_while(Time::from_millis(60_000), |network| !is_over(network.node(client)));
    assert_eq!(network.node(client).0.application.failure(), None);
    [client, server].map(|id| network.node(id).1.clone())
}

#[test]
fn without_nagle_each_record_is_a_segment() {
    let [client, server] = run(844, Nagle::Off, Nagle::Off);
    assert_eq!(client, [78, 422, 59, 67, 6, 45]);
    assert_eq!(server, [92, 422, 120, 90, 9, 6, 45]);
    let [client, server] = run(336, Nagle::Off, Nagle::Off);
    assert_eq!(client, [78, 336, 86, 59, 67, 6, 45]);
    assert_eq!(server, [92, 336, 86, 120, 90, 9, 6, 45]);
}

/// Nagle's algorithm and Minshall's variation, which Linux has, make the same segments of the server's flight.
///
/// The mote's records are apart in time: ClientKeyExchange is made long after its Certificate was acknowledged, and
/// CertificateVerify after ClientKeyExchange was, because its stack goes on while it computes. So there are two segments more
/// than in the computation by hand, which has everything after Certificate joined.
#[test]
fn with_nagle_the_server_joins_its_records() {
    for server_nagle in [Nagle::On, Nagle::Minshall] {
        let [client, server] = run(844, Nagle::On, server_nagle);
        assert_eq!(server, [92, 641, 6, 45], "{server_nagle:?}");
        assert_eq!(client, [78, 422, 59, 67, 51], "{server_nagle:?}");
        let [client, server] = run(336, Nagle::On, server_nagle);
        assert_eq!(server, [92, 336, 305, 6, 45], "{server_nagle:?}");
        assert_eq!(client, [78, 336, 86, 59, 67, 51], "{server_nagle:?}");
    }
}

/// If computing took no time, the segments would be those of the computation by hand.
#[test]
fn without_computing_the_client_joins_its_records() {
    let quick = Peers::of_paper().tls.clone().with_computing(Party::Client, Duration::ZERO);
    let [client, server] = run_script(&quick, 844, Nagle::On, Nagle::On);
    assert_eq!((client, server), (vec![78, 422, 177], vec![92, 641, 6, 45]));
    let [client, server] = run_script(&quick, 336, Nagle::On, Nagle::On);
    assert_eq!((client, server), (vec![78, 336, 263], vec![92, 336, 305, 6, 45]));
}
