//! The network of a scenario, and what a run of it came to.

use core::ops::Range;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use terse_tls::summary::Summary;

use super::energy::{Batteries, Reading};
use super::options::{FormingOptions, Scenario};
use super::outcome::{Air, Forming, Outcome, ScheduledCell, Standing, Tunnel};
use super::peer::Peer;
use super::station::Station;
use super::timeline::{MOST_FRAMES, Timeline, TimelineFrame};
use crate::capture::{Capture, View};
use crate::cause::Cause;
use crate::direction::Direction;
use crate::host::Host;
use crate::ledger::{Kind, Ledger, Record};
use crate::network::{Conservation, LinkId, Network, NodeId};
use crate::paper::DropFirstSynAck;
use crate::radio::{Connectivity, RadioChange};
use crate::tsch::{ConfigError, Mesh, NEGOTIATED};
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
    /// When the client was switched on.
    starts_at: Time,
    /// The numbers of the packets that were sent in the mesh from then until both sides were connected, in the order of sending.
    packets: Range<u64>,
    /// When both sides were connected.
    connected_at: Time,
    /// The counts of all motes after the network had formed, when the client was switched on, and when both were connected.
    readings: Vec<Reading>,
    /// The packets that were dropped before the client began, by cause.
    dropped_before: BTreeMap<Cause, u64>,
    forming: Option<Forming>,
    hops: Option<u8>,
    schedule: Vec<ScheduledCell>,
    /// The motes on the client's way to the root when it was switched on, from the client on.
    way: Vec<u16>,
}

impl<'w, 'a> Built<'w, 'a> {
    /// Builds the network, with its client switched off.
    pub(super) fn new(
        scenario: &Scenario,
        radio: Option<(Connectivity, Vec<RadioChange>)>,
        seed: u64,
        peers: Ends<Peer<'w, 'a>>,
    ) -> Result<Self, ConfigError> {
        let random = |stream| Random::new(seed, HOSTS + stream);
        let config = scenario.mesh(radio);
        let mote = scenario.topology.client as u16;
        let address = config.motes.get(usize::from(mote)).ok_or(ConfigError::Motes)?.address;
        let mut network = Network::new(seed);
        let server = Host::new(IpAddr::V6(scenario.internet.server), peers.server, random(0));
        let server = network.add(match scenario.tcp.drop_first_syn_ack {
            true => Station::LosesSynAck(Box::new(DropFirstSynAck::new(server))),
            false => Station::Host(Box::new(server)),
        });
        let gateway = network.add(Station::Gateway(Box::new(scenario.gateway(random(2)))));
        let client = Host::starting_at(IpAddr::V6(address), peers.client, random(1), NEVER);
        let client = client.with_next_port(CLIENT_PORT);
        let client = network.add(Station::Host(Box::new(client)));
        // The gateway's first interface is that of the mesh.
        let mesh = network.connect_mesh(&[(0, gateway), (mote, client)], config)?;
        network.connect(gateway, server, scenario.internet());
        let ends = Ends { client, server };
        let (readings, forming, hops) = (Vec::new(), None, None);
        let (starts_at, connected_at) = (NEVER, NEVER);
        Ok(Self {
            network,
            ends,
            mesh,
            mote,
            starts_at,
            packets: 0..0,
            connected_at,
            readings,
            dropped_before: BTreeMap::new(),
            forming,
            hops,
            schedule: Vec::new(),
            way: Vec::new(),
        })
    }

    /// Keeps all frames, or those of one mote, and all IPv6 packets as the gateway has them: Wireshark does not reassemble
    /// fragments that begin with a 6LoRH.
    pub(super) fn capture(&mut self, mote: Option<u16>) {
        match mote {
            Some(mote) => self.network.capture_node(self.mesh, mote),
            None => self.network.capture(self.mesh, View::Frames),
        }
        self.network.capture(self.mesh, View::Packets);
    }

    /// Lets the network form itself, and opens the tunnel that the client wants. Returns why there is none, if so.
    pub(super) fn form(&mut self, options: &FormingOptions, batteries: Option<&Batteries>) -> Result<(), String> {
        let begun = self.read();
        self.network.ledger_mut(self.mesh).keep_records(false);
        // A mote that was not part of the network is asked first: in most looks it is not yet.
        let mut outside = 0;
        let is_formed = |mesh: &Mesh, now: Time| {
            if !mesh.is_settled(now, outside) {
                return false;
            }
            outside = mesh.unsettled(now).next().unwrap_or(outside);
            mesh.is_settled(now, outside)
        };
        self.wait(options.limit, is_formed).map_err(|(mesh, now)| {
            let motes = mesh.config().motes.len();
            let outside: Vec<u16> = mesh.unsettled(now).collect();
            let names: Vec<String> = outside.iter().take(NAMES_IN_MESSAGES).map(ToString::to_string).collect();
            let more = if outside.len() > NAMES_IN_MESSAGES { ", ..." } else { "" };
            format!(
                "the network was not formed within the limit: {} of {motes} motes, the root included, without {}{more}; try a \
                 longer forming.limit_ms, a lower forming.least_rssi_dbm, a shorter forming.slotframe, more pool.frames, or better \
                 links",
                motes - outside.len(),
                names.join(", "),
            )
        })?;
        let (now, formed) = (self.network.now(), self.read());
        let ledger = self.ledger();
        let of_network = Kind::OF_NETWORK.map(|kind| ledger.total_for(kind));
        self.forming = Some(Forming {
            time: now.since(Time::ZERO),
            frames: of_network.iter().map(|total| total.frames).sum(),
            bytes: of_network.iter().map(|total| total.bytes() as u64).sum(),
            charge: begun.zip(formed).zip(batteries).map(|((begun, formed), of)| of.charge_of_all(&begun, &formed)),
            tunnel: None,
        });
        if options.tunnel_cells > 0 {
            let mote = self.mote;
            let directions = [Direction::Up, Direction::Down];
            let is_asked = directions.map(|way| self.network.open_tunnel(self.mesh, mote, options.tunnel_cells, way));
            let cells = |mesh: &Mesh| directions.map(|way| mesh.tunnel_cells(mote, way)).into_iter().min().unwrap_or(0);
            let is_open = |mesh: &Mesh, _| cells(mesh) > 0;
            if is_asked != [true; 2] || self.wait(TUNNEL, is_open).is_err() {
                return Err(format!(
                    "the tunnel was not open within {} s: try fewer forming.tunnel_cells or a longer forming.slotframe",
                    TUNNEL.as_secs(),
                ));
            }
            if let Some(forming) = &mut self.forming {
                let cells = self.network.mesh(self.mesh).map_or(0, cells);
                forming.tunnel = Some(Tunnel { time: self.network.now().since(now), cells: cells as u8 }); // 8 at most
            }
        }
        Ok(())
    }

    /// Runs until something holds of the mesh, at most so long. It is looked at every tenth of a second.
    fn wait(&mut self, limit: Duration, mut holds: impl FnMut(&Mesh, Time) -> bool) -> Result<(), (&Mesh, Time)> {
        let end = self.network.now() + limit;
        loop {
            let now = self.network.now();
            if self.network.mesh(self.mesh).is_none_or(|mesh| holds(mesh, now)) {
                return Ok(());
            }
            if now >= end {
                break;
            }
            self.network.run_for(LOOK);
        }
        let now = self.network.now();
        match self.network.mesh(self.mesh) {
            Some(mesh) => Err((mesh, now)),
            None => Ok(()),
        }
    }

    /// Lets the network stand for a while, switches the client on after another one, and runs until both sides are connected and
    /// nothing was sent for `settling`, or one failed, or the client's limit is over.
    pub(super) fn run(&mut self, [up, delay]: [Duration; 2], limit: Duration, settling: Duration) {
        let Ends { client, server } = self.ends;
        self.readings.extend(self.read());
        self.network.run_for(up);
        self.network.ledger_mut(self.mesh).keep_records(true);
        self.starts_at = self.network.now() + delay;
        self.network.run_for(delay.saturating_sub(Duration::from_nanos(1)));
        self.readings.extend(self.read());
        let of_mesh = |mesh: &Mesh| (mesh.next_packet(), mesh.hops(self.mote));
        let (first, hops) = self.network.mesh(self.mesh).map_or((0, None), of_mesh);
        self.hops = hops;
        self.way = self.way_of_client();
        self.schedule = self.schedule_of_client();
        if let Station::Host(host) = self.network.node_mut(client) {
            host.start_at(self.starts_at);
        }
        if let Some(mesh) = self.network.mesh_mut(self.mesh) {
            mesh.trace_pool(self.mote);
            self.dropped_before = mesh.dropped().clone();
        }
        let end = self.starts_at + limit;
        self.network.run_while(end, |network| {
            let mut peers = [client, server].into_iter().filter_map(|node| network.node(node).peer());
            let failed = peers.clone().any(|peer| peer.failure().is_some());
            !failed && peers.any(|peer| peer.connected().is_none())
        });
        self.readings.extend(self.read());
        self.packets = first..self.network.mesh(self.mesh).map_or(0, Mesh::next_packet);
        self.connected_at = self.network.now();
        loop {
            let sent = self.frames_of_packets();
            let until = (self.network.now() + settling).min(end);
            self.network.run_until(until);
            if self.frames_of_packets() == sent || until >= end {
                break;
            }
        }
    }

    /// Returns the motes on the client's way to the root.
    fn way_of_client(&self) -> Vec<u16> {
        let Some(mesh) = self.network.mesh(self.mesh) else { return Vec::new() };
        let way = core::iter::successors(Some(self.mote), |mote| mesh.parent(*mote));
        way.take(usize::from(self.hops.unwrap_or(0)) + 1).collect()
    }

    /// Returns the cells of the motes on the client's way to the root, if the network has formed itself.
    fn schedule_of_client(&self) -> Vec<ScheduledCell> {
        let Some(mesh) = self.network.mesh(self.mesh).filter(|_| self.forming.is_some()) else { return Vec::new() };
        let mut cells = Vec::new();
        for mote in self.way.iter().copied() {
            let of_tunnel = mesh.tunnel_slots(mote, self.mote);
            cells.extend(mesh.cells(mote).iter().map(|cell| {
                let is_of_tunnel = cell.slotframe == NEGOTIATED && of_tunnel.contains(&cell.slot);
                ScheduledCell { mote, cell: *cell, is_of_tunnel }
            }));
        }
        cells
    }

    /// Returns the frames for which `is_counted` holds, and those of the network itself that motes on the client's way sent until
    /// both sides were connected.
    fn timeline(&self, is_counted: impl Fn(&&Record) -> bool) -> Timeline {
        let of_network = |record: &Record| {
            record.kind.is_of_network() && record.at < self.connected_at && self.way.contains(&record.sender)
        };
        let is_shown =
            |record: &&Record| record.kind != Kind::LinkAcknowledgement && (of_network(record) || is_counted(record));
        let records = self.ledger().records().iter().filter(is_shown);
        let frames = records.filter_map(|record| TimelineFrame::new(record, self.starts_at)).take(MOST_FRAMES);
        Timeline { motes: self.way.clone(), frames: frames.collect() }
    }

    /// Returns what each mote took of its battery before the client began.
    fn standing(&self, batteries: Option<&Batteries>) -> Vec<Standing> {
        let ([earlier, from, ..], Some(batteries)) = (&self.readings[..], batteries) else { return Vec::new() };
        let hops = |mote| self.network.mesh(self.mesh).and_then(|mesh| mesh.hops(mote));
        let standing = (0..).zip(batteries.standing(earlier, from));
        let of_mote = |(mote, (microamperes, duty_cycle, days))| Standing {
            mote,
            hops: hops(mote),
            microamperes,
            duty_cycle,
            days,
        };
        standing.map(of_mote).collect()
    }

    /// Returns how many frames were sent that do not form the network.
    fn frames_of_packets(&self) -> u64 {
        self.ledger().total_of(|_, kind| !kind.is_of_network() && kind != Kind::LinkAcknowledgement).frames
    }

    /// Reads the counts of all motes.
    fn read(&self) -> Option<Reading> {
        Some(Reading::of(self.network.mesh(self.mesh)?, self.network.now()))
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

    /// Returns what the run came to. Scripts do not count how long they compute: `script` says it of the client.
    pub(super) fn outcome(&mut self, batteries: Option<&Batteries>, script: Duration) -> Outcome {
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
        let latency = connected.map(|at| at.since(self.starts_at));
        let is_of_network = |record: &&Record| record.kind.is_of_network();
        let of_network: BTreeSet<u64> =
            self.ledger().records().iter().filter(is_of_network).map(|record| record.packet).collect();
        let is_counted =
            |record: &&Record| self.packets.contains(&record.packet) && !of_network.contains(&record.packet);
        let records = || self.ledger().records().iter().filter(is_counted);
        let timeline = self.timeline(is_counted);
        let mut air = Air { packets: self.packets.end - self.packets.start, ..Air::default() };
        air.packets -= of_network.iter().filter(|packet| self.packets.contains(packet)).count() as u64;
        for record in self.ledger().records().iter().filter(is_of_network) {
            if (self.starts_at..self.connected_at).contains(&record.at) {
                air.network_bytes += record.layers.sum() as u64;
            }
        }
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
        let dropped = self.network.mesh(self.mesh).map(Mesh::dropped).into_iter().flatten();
        let before = |cause| self.dropped_before.get(cause).copied().unwrap_or(0);
        let drops = dropped.map(|(cause, number)| (*cause, number - before(cause)));
        let drops = drops.filter(|(_, number)| *number > 0).collect();
        let pool = self.network.mesh(self.mesh).map(|mesh| mesh.pool_trace(self.mote).to_vec()).unwrap_or_default();
        let flights: u64 = sides
            .iter()
            .map(|(_, node)| self.network.node_mut(*node).peer_mut().map_or(0, Peer::repeated_flights))
            .sum();
        let client = self.network.node(self.ends.client).peer();
        let computed = client.and_then(Peer::computed).unwrap_or(script);
        let charge = match (&self.readings[..], batteries) {
            ([earlier, from, to], Some(batteries)) => batteries.charge(self.mote, [earlier, from, to], computed),
            _ => None,
        };
        let (forming, hops) = (self.forming, self.hops);
        let marked = self.network.mesh(self.mesh).map_or(0, |mesh| {
            let motes = 0..mesh.config().motes.len() as u16; // a mesh has no more
            motes.filter_map(|mote| mesh.statistics(mote)).map(|statistics| statistics.marked).sum()
        });
        let retransmissions = segments + flights;
        let schedule = core::mem::take(&mut self.schedule);
        let standing = self.standing(batteries);
        Outcome {
            seed: 0,
            latency,
            failure,
            air,
            retransmissions,
            drops,
            marked,
            charge,
            standing,
            forming,
            hops,
            schedule,
            pool,
            timeline,
            fleet: None,
        }
    }
}

/// The time at which a client is switched on that is not to be yet.
const NEVER: Time = Time::from_nanos(u64::MAX);

/// How many motes a message names.
const NAMES_IN_MESSAGES: usize = 8;

/// How often the mesh is looked at while it forms itself.
const LOOK: Duration = Duration::from_millis(100);

/// After so long a tunnel that is not open has failed: eight times what three hops need.
const TUNNEL: Duration = Duration::from_secs(120);

/// The client's port. RFC 6282, 4.3.3, compresses it and the [server's](super::run::PORT) to one byte.
const CLIENT_PORT: u16 = 0xf0b0;

/// The first random stream of hosts.
const HOSTS: u64 = 1 << 34;
