//! Scripted peers over plain links: every handshake completes, whatever is lost, and sends what its script says.

mod data;
mod datagrams;
mod streams;

use core::time::Duration;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use smoltcp::wire::{IpProtocol, TcpPacket, UdpPacket};

use super::{Handshake, Party, Peer, Timers};
use crate::host::Host;
use crate::link::Link;
use crate::network::{LinkId, Network, Node, NodeId, Verdict};
use crate::packet::Packet;
use crate::{Random, Time, tcp};

/// What a host sent: when, and how many bytes of records. Segments without data are not in it.
type Sent = Vec<(Time, usize)>;

/// A host whose packets are noted, and of which some are lost or doubled before they leave.
struct Watched {
    host: Host<Peer>,
    sent: Sent,
    /// The numbers of the packets that are lost, and of those that are doubled.
    lost: Vec<usize>,
    doubled: Vec<usize>,
    packets: usize,
    again: Option<(usize, Packet)>,
}

impl Node for Watched {
    fn address(&self) -> Option<IpAddr> {
        self.host.address()
    }

    fn attach(&mut self, interface: usize, mtu: usize) {
        self.host.attach(interface, mtu);
    }

    fn handle_packet(&mut self, now: Time, interface: usize, packet: Packet) -> Verdict {
        self.host.handle_packet(now, interface, packet)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<(usize, Packet)> {
        if let Some(again) = self.again.take() {
            return Some(again);
        }
        loop {
            let (interface, packet) = self.host.poll_transmit(now)?;
            let content = match packet.protocol() {
                IpProtocol::Tcp => TcpPacket::new_checked(packet.payload()).expect("a segment").payload().len(),
                _ => UdpPacket::new_checked(packet.payload()).expect("a datagram").payload().len(),
            };
            if content > 0 {
                self.sent.push((now, content));
            }
            self.packets += 1;
            if self.doubled.contains(&(self.packets - 1)) {
                self.again = Some((interface, packet.clone()));
            }
            if !self.lost.contains(&(self.packets - 1)) {
                return Some((interface, packet));
            }
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.host.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.host.handle_timeout(now);
    }
}

/// A client and a server on a link.
struct World {
    network: Network<Watched>,
    client: NodeId,
    server: NodeId,
    link: LinkId,
}

impl World {
    /// Creates a world in which nobody has started; `configs` are the TCP of client and server.
    fn new(handshake: &Handshake, configs: [tcp::Config; 2], link: Link, seed: u64) -> Self {
        let mut network = Network::new(seed);
        let [client_config, server_config] = configs;
        let remote = SocketAddr::new(address(2), PORT);
        let client = Peer::client(handshake, remote, &client_config, CLIENT);
        let server = Peer::server(handshake, PORT, &server_config, SERVER);
        let mut add = |last, peer, stream| {
            let host = Host::new(address(last), peer, Random::new(seed, stream));
            let (lost, doubled) = (Vec::new(), Vec::new());
            network.add(Watched { host, sent: Vec::new(), lost, doubled, packets: 0, again: None })
        };
        let (client, server) = (add(1, client, 100), add(2, server, 101));
        let link = network.connect(client, server, link);
        Self { network, client, server, link }
    }

    /// Runs until both sides are connected, or one of them has failed.
    fn run(&mut self) {
        let (client, server) = (self.client, self.server);
        self.network.run_while(Time::from_millis(600_000), |network| {
            let is_over = |id| network.node(id).host.application.outcome().is_some_and(super::Outcome::is_over);
            !(is_over(client) && is_over(server))
        });
        assert!(self.network.conservation().holds(), "{}", self.network.conservation());
    }

    fn peer(&self, party: Party) -> &Peer {
        &self.node(party).host.application
    }

    fn node(&self, party: Party) -> &Watched {
        self.network.node(if party == Party::Client { self.client } else { self.server })
    }

    fn sizes(&self, party: Party) -> Vec<usize> {
        self.node(party).sent.iter().map(|(_, len)| *len).collect()
    }

    /// Asserts that both sides are connected, and returns when.
    fn connected(&self, context: &str) -> (Time, Time) {
        for party in [Party::Client, Party::Server] {
            assert_eq!(self.peer(party).failure(), None, "{context}: {party:?}");
        }
        let at = |party| self.peer(party).connected().unwrap_or_else(|| panic!("{context}: {party:?} waits"));
        (at(Party::Client), at(Party::Server))
    }
}

fn address(last: u16) -> IpAddr {
    Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, last).into()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn handshake(toml: &str) -> Handshake {
    toml::from_str(toml).expect("a handshake")
}

/// A link with a delay of 50 ms each way.
fn slow() -> Link {
    Link::lossless().with_paths(|path| path.delay = Duration::from_millis(50))
}

/// A device, and a Linux server that sends no loss probes: they would come because the device's acknowledgement is late.
fn constrained(nagle: tcp::Nagle) -> [tcp::Config; 2] {
    let server = tcp::Config { nagle, loss_probe: false, ..tcp::Config::linux() };
    [tcp::Config { nagle, ..tcp::Config::constrained() }, server]
}

const PORT: u16 = 4433;
const CLIENT: Timers = Timers { initial: Duration::from_secs(3), maximum: Duration::from_secs(60) };
const SERVER: Timers = Timers { initial: Duration::from_secs(4), maximum: Duration::from_secs(60) };

const STREAM: &str = r#"
transport = "stream"
steps = [
    { client = "ClientHello", bytes = 78 },
    { server = "ServerHello", bytes = 92 },
    { server = "Certificate", bytes = 422 },
    { computes = "client", seconds = 0.5 },
    { server = "ServerHelloDone", bytes = 9 },
    { client = "Certificate", bytes = 422 },
    { computes = "client", seconds = 1.0 },
    { client = "ClientKeyExchange", bytes = 59 },
    { client = "ChangeCipherSpec, Finished", bytes = [6, 45] },
    { computes = "server", seconds = 0.25 },
    { server = "ChangeCipherSpec, Finished", bytes = [6, 45] },
]"#;

const DATAGRAMS: &str = r#"
transport = "datagrams"
steps = [
    { client = "ClientHello", bytes = 100 },
    { server = "HelloVerifyRequest", bytes = 60, stateless = true },
    { client = "ClientHello, with the cookie", bytes = 132 },
    { server = "ServerHello to ServerHelloDone", bytes = [525, 318] },
    { computes = "client", seconds = 2.0 },
    { client = "Certificate to Finished", bytes = [525, 173] },
    { server = "ChangeCipherSpec, Finished", bytes = 75 },
]"#;
