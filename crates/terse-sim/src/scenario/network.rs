//! The network of a scenario, and what a run of it came to.

use core::time::Duration;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};

use terse_tls::summary::Summary;

use super::options::Scenario;
use super::outcome::{Air, Outcome};
use super::peer::Peer;
use super::station::Station;
use crate::capture::{Capture, View};
use crate::host::Host;
use crate::ledger::{Kind, Ledger};
use crate::network::{Conservation, LinkId, Network, NodeId};
use crate::paper::DropFirstSynAck;
use crate::tsch::{ConfigError, Mesh};
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
    /// The mote that connects.
    mote: u16,
    /// How many packets had been sent in the mesh when both sides were connected. Packets are numbered in this order.
    packets: u64,
}

impl<'w, 'a> Built<'w, 'a> {
    /// Builds the network. The client is switched on at `starts_at`, and `label` is a part of its address.
    pub(super) fn new(
        scenario: &Scenario,
        seed: u64,
        starts_at: Time,
        label: u16,
        peers: Ends<Peer<'w, 'a>>,
    ) -> Result<Self, ConfigError> {
        let random = |stream| Random::new(seed, HOSTS + stream);
        let mut config = scenario.mesh();
        let mote = scenario.topology.client as u16;
        let address = &mut config.motes.get_mut(usize::from(mote)).ok_or(ConfigError::Motes)?.address;
        // Numbers of motes have the last two bytes.
        *address = Ipv6Addr::from_bits(address.to_bits() | u128::from(label) << 16);
        let address = *address;
        let mut network = Network::new(seed);
        let server = Host::new(IpAddr::V6(scenario.internet.server), peers.server, random(0));
        let server = network.add(match scenario.tcp.drop_first_syn_ack {
            true => Station::LosesSynAck(Box::new(DropFirstSynAck::new(server))),
            false => Station::Host(Box::new(server)),
        });
        let gateway = network.add(Station::Gateway(Box::new(scenario.gateway(random(2)))));
        let client = Host::starting_at(IpAddr::V6(address), peers.client, random(1), starts_at);
        let client = client.with_next_port(CLIENT_PORT);
        let client = network.add(Station::Host(Box::new(client)));
        // The gateway's first interface is that of the mesh.
        let mesh = network.connect_mesh(&[(0, gateway), (mote, client)], config)?;
        network.connect(gateway, server, scenario.internet());
        if let Some(mesh) = network.mesh_mut(mesh) {
            mesh.trace_pool(mote);
        }
        Ok(Self { network, ends: Ends { client, server }, mesh, mote, packets: 0 })
    }

    /// Keeps all frames, and all IPv6 packets as the gateway has them: Wireshark does not reassemble fragments that begin
    /// with a 6LoRH.
    pub(super) fn capture(&mut self) {
        self.network.capture(self.mesh, View::Frames);
        self.network.capture(self.mesh, View::Packets);
    }

    /// Runs until both sides are connected and nothing was sent for `settling`, or one failed, or `end` is over.
    pub(super) fn run(&mut self, end: Time, settling: Duration) {
        let Ends { client, server } = self.ends;
        self.network.run_while(end, |network| {
            let mut peers = [client, server].into_iter().filter_map(|node| network.node(node).peer());
            let failed = peers.clone().any(|peer| peer.failure().is_some());
            !failed && peers.any(|peer| peer.connected().is_none())
        });
        self.packets = self.network.mesh(self.mesh).map_or(0, Mesh::next_packet);
        loop {
            let sent = self.ledger().total().frames;
            let until = (self.network.now() + settling).min(end);
            self.network.run_until(until);
            if self.ledger().total().frames == sent || until >= end {
                break;
            }
        }
    }

    fn ledger(&self) -> &Ledger {
        self.network.ledger(self.mesh)
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
        match self.network.node_mut(self.ends.client).peer_mut()? {
            Peer::Engine(program) => program.connection().map(|connection| connection.summary().clone()),
            Peer::Script(_) | Peer::Edhoc(_) => None,
        }
    }

    /// Returns what the run came to; the client was switched on at `starts_at`.
    pub(super) fn outcome(&mut self, starts_at: Time) -> Outcome {
        let sides = [("client", self.ends.client), ("server", self.ends.server)];
        let failure_of = |(name, node): &(&str, NodeId)| {
            let peer = self.network.node(*node).peer()?;
            let never = || peer.connected().is_none().then(|| "it was not connected within the limit".to_owned());
            Some(format!("{name}: {}", peer.failure().or_else(never)?))
        };
        // The side that failed says more than the one that waits for it.
        let has_failed =
            |(_, node): &&(&str, NodeId)| self.network.node(*node).peer().is_some_and(|peer| peer.failure().is_some());
        let failure = sides.iter().find(has_failed).and_then(failure_of).or_else(|| sides.iter().find_map(failure_of));
        let connected = self.network.node(self.ends.client).peer().and_then(Peer::connected);
        let latency = connected.map(|at| at.since(starts_at));
        let records = || self.ledger().records().iter().filter(|record| record.packet < self.packets);
        let mut air = Air { packets: self.packets, ..Air::default() };
        for record in records() {
            let bytes = record.layers.sum() as u64;
            if record.kind == Kind::LinkAcknowledgement {
                air.acknowledgement_bytes += bytes;
            } else {
                air.bytes += bytes;
                air.frames += 1;
            }
        }
        // Every hop has records of a packet.
        let repeated = records().filter(|record| record.kind == Kind::Retransmission).map(|record| record.packet);
        let segments = repeated.collect::<BTreeSet<u64>>().len() as u64;
        let dropped = self.network.conservation_of(self.mesh);
        let drops = dropped.packets.dropped.iter().map(|(cause, count)| (*cause, count.number)).collect();
        let pool = self.network.mesh(self.mesh).map(|mesh| mesh.pool_trace(self.mote).to_vec()).unwrap_or_default();
        let flights: u64 = sides
            .iter()
            .map(|(_, node)| self.network.node_mut(*node).peer_mut().map_or(0, Peer::repeated_flights))
            .sum();
        Outcome { seed: 0, latency, failure, air, retransmissions: segments + flights, drops, pool }
    }
}

/// The client's port. RFC 6282, 4.3.3, compresses it and the [server's](super::run::PORT) to one byte.
const CLIENT_PORT: u16 = 0xf0b0;

/// The first random stream of hosts.
const HOSTS: u64 = 1 << 34;
