//! The network of a scenario: the client's host, the medium, and the server's host.

use core::time::Duration;
use std::net::{IpAddr, Ipv6Addr};

use terse_tls::summary::Summary;

use super::options::Scenario;
use super::outcome::{Air, Outcome};
use super::peer::Peer;
use crate::capture::{Capture, View};
use crate::host::Host;
use crate::ledger::Kind;
use crate::link::Link;
use crate::network::{Conservation, LinkId, Network, Node, NodeId, Verdict};
use crate::packet::Packet;
use crate::paper::DropFirstSynAck;
use crate::{Random, Time};

/// A value of each end.
pub(super) struct Ends<T> {
    pub(super) client: T,
    pub(super) server: T,
}

/// The network of a run.
pub(super) struct Built<'w, 'a> {
    network: Network<Station<'w, 'a>>,
    ends: Ends<NodeId>,
    mesh: LinkId,
}

/// A node of the network.
enum Station<'w, 'a> {
    Host(Box<Host<Peer<'w, 'a>>>),
    LosesSynAck(Box<DropFirstSynAck<Host<Peer<'w, 'a>>>>),
}

impl<'w, 'a> Station<'w, 'a> {
    fn host(&self) -> &Host<Peer<'w, 'a>> {
        match self {
            Self::Host(host) => host,
            Self::LosesSynAck(node) => &node.node,
        }
    }

    fn host_mut(&mut self) -> &mut Host<Peer<'w, 'a>> {
        match self {
            Self::Host(host) => host,
            Self::LosesSynAck(node) => &mut node.node,
        }
    }

    fn node(&self) -> &dyn Node {
        match self {
            Self::Host(host) => &**host,
            Self::LosesSynAck(node) => &**node,
        }
    }

    fn node_mut(&mut self) -> &mut dyn Node {
        match self {
            Self::Host(host) => &mut **host,
            Self::LosesSynAck(node) => &mut **node,
        }
    }
}

impl Node for Station<'_, '_> {
    fn address(&self) -> Option<IpAddr> {
        self.node().address()
    }

    fn attach(&mut self, interface: usize, mtu: usize) {
        self.node_mut().attach(interface, mtu);
    }

    fn handle_packet(&mut self, now: Time, interface: usize, packet: Packet) -> Verdict {
        self.node_mut().handle_packet(now, interface, packet)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<(usize, Packet)> {
        self.node_mut().poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.node().poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.node_mut().handle_timeout(now);
    }
}

impl<'w, 'a> Built<'w, 'a> {
    /// Builds the network. The client is switched on at `starts_at`.
    pub(super) fn new(scenario: &Scenario, seed: u64, starts_at: Time, peers: Ends<Peer<'w, 'a>>) -> Self {
        let random = |stream| Random::new(seed, HOSTS + stream);
        let mut network = Network::new(seed);
        let server = Host::new(IpAddr::V6(scenario.internet.server), peers.server, random(0));
        let server = match scenario.tcp.drop_first_syn_ack {
            true => Station::LosesSynAck(Box::new(DropFirstSynAck::new(server))),
            false => Station::Host(Box::new(server)),
        };
        let server = network.add(server);
        let address = mote_address(scenario.sixlowpan.prefix, scenario.topology.client);
        let client = Host::starting_at(IpAddr::V6(address), peers.client, random(1), starts_at);
        let client = network.add(Station::Host(Box::new(client)));
        let mesh = network.connect(client, server, "ieee802154".parse().unwrap_or_else(|_| Link::lossless()));
        Self { network, ends: Ends { client, server }, mesh }
    }

    /// Keeps all frames.
    pub(super) fn capture(&mut self) {
        self.network.capture(self.mesh, View::Frames);
    }

    /// Runs until both sides are connected and nothing was sent for `settling`, or one failed, or `end` is over.
    pub(super) fn run(&mut self, end: Time, settling: Duration) {
        let Ends { client, server } = self.ends;
        let is_open = |network: &Network<Station<'_, '_>>| {
            let peers = [client, server].map(|node| &network.node(node).host().application);
            peers.iter().any(|peer| peer.connected().is_none()) && peers.iter().all(|peer| peer.failure().is_none())
        };
        self.network.run_while(end, is_open);
        loop {
            let (now, sent) = (self.network.now(), self.frames_sent());
            let until = (now + settling).min(end);
            self.network.run_until(until);
            if self.frames_sent() == sent || until >= end {
                break;
            }
        }
    }

    fn frames_sent(&self) -> u64 {
        self.network.ledger(self.mesh).total().frames
    }

    /// Returns the balances of the network.
    pub(super) fn conservation(&self) -> Conservation {
        self.network.conservation()
    }

    /// Returns the frames that were kept.
    pub(super) fn captured(&self) -> Capture {
        self.network.captured()
    }

    /// Returns what an engine says of the client's connection.
    pub(super) fn summary(&mut self) -> Option<Summary> {
        match &mut self.network.node_mut(self.ends.client).host_mut().application {
            Peer::Engine(program) => program.connection().map(|connection| connection.summary().clone()),
            Peer::Script(_) => None,
        }
    }

    /// Returns what the run came to; the client was switched on at `starts_at`.
    pub(super) fn outcome(&mut self, starts_at: Time) -> Outcome {
        let peer = |node| &self.network.node(node).host().application;
        let (client, server) = (peer(self.ends.client), peer(self.ends.server));
        let named = |name: &str, peer: &Peer<'_, '_>| peer.failure().map(|cause| format!("{name}: {cause}"));
        let failure = named("client", client).or(named("server", server));
        let latency = client.connected().map(|at| at.since(starts_at));
        let ledger = self.network.ledger(self.mesh);
        let acknowledgements = ledger.total_for(Kind::LinkAcknowledgement);
        let total = ledger.total();
        let air = Air {
            bytes: (total.bytes() - acknowledgements.bytes()) as u64,
            acknowledgement_bytes: acknowledgements.bytes() as u64,
            frames: total.frames - acknowledgements.frames,
            packets: total.packets,
        };
        let again = ledger.total_for(Kind::Retransmission).packets;
        let conservation = self.network.conservation_of(self.mesh);
        let dropped = conservation.packets.dropped.iter().map(|(cause, count)| (*cause, count.number));
        let drops = dropped.collect();
        let ends = [self.ends.client, self.ends.server];
        let flights: u64 =
            ends.map(|node| self.network.node_mut(node).host_mut().application.repeated_flights()).iter().sum();
        Outcome { seed: 0, latency, failure, air, retransmissions: again + flights, drops, pool: Vec::new() }
    }
}

/// Returns the address of a mote: its EUI-64 is in the block of OpenMote (14:15:92), and the rest is its number.
fn mote_address(prefix: Ipv6Addr, mote: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits(prefix.to_bits() | u128::from(0x1615_9200_0000_0000 | mote))
}

/// The first random stream of hosts.
const HOSTS: u64 = 1 << 34;
