//! The network of a run: a device on every mote, the gateway, and a server.

use alloc::sync::Arc;
use core::time::Duration;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use terse_tls::ClientConfig;

use super::super::options::Scenario;
use super::super::run::PORT;
use super::station::Station;
use crate::capture::{Capture, View};
use crate::compare::{Pair, Sides};
use crate::computing;
use crate::engine::device::{Device, Plan};
use crate::engine::many::Server;
use crate::engine::{Clock, Processor, Watcher};
use crate::host::Host;
use crate::network::{Conservation, LinkId, Network, NodeId};
use crate::probe::Party;
use crate::radio::{Connectivity, RadioChange};
use crate::tsch::{ConfigError, Mesh};
use crate::{Random, Time};

/// The network of a run.
pub(super) struct Built<'w, 'a> {
    pub(super) network: Network<Station<'w, 'a>>,
    mesh: LinkId,
    server: NodeId,
    /// The nodes of the motes from 1 on, and their addresses.
    devices: Vec<(NodeId, Ipv6Addr)>,
}

/// What devices and the server run.
pub(super) struct Peers<'w, 'a> {
    /// Each device's configuration, with the server's.
    pub(super) pairs: Vec<Pair>,
    pub(super) clock: Clock,
    pub(super) watcher: &'w Watcher<'a>,
    pub(super) computers: Sides<Option<Arc<computing::Device>>>,
}

impl<'w, 'a> Built<'w, 'a> {
    /// Builds the network, with all devices switched off.
    pub(super) fn new(
        scenario: &Scenario,
        radio: Option<(Connectivity, Vec<RadioChange>)>,
        seed: u64,
        peers: Peers<'w, 'a>,
    ) -> Result<Self, ConfigError> {
        let Peers { pairs, clock, watcher, computers } = peers;
        let random = |stream| Random::new(seed, STREAMS + stream);
        let config = scenario.mesh(radio);
        let first = pairs.first().ok_or(ConfigError::Motes)?;
        let (server_config, address) = (first.server.clone(), first.address.clone());
        let limits = first.limits.max_half_open(pairs.len().max(first.limits.max_half_open));
        let is_stream = scenario.uses_tcp();
        let tcp = |side: &super::super::TcpSide| is_stream.then(|| side.config.clone());
        let mut network = Network::new(seed);
        let processor = Processor::new(Party::Server, watcher, computers.server);
        let of_server = (server_config, limits, PORT);
        let server = Server::new(of_server, tcp(&scenario.tcp.server), clock, random(0), processor);
        let server = Host::new(IpAddr::V6(scenario.internet.server), server, random(1));
        let server = network.add(Station::Server(Box::new(server)));
        let gateway = network.add(Station::Gateway(Box::new(scenario.gateway(random(2)))));
        let plan = Arc::new(Plan {
            server: address,
            remote: SocketAddr::new(IpAddr::V6(scenario.internet.server), PORT),
            port: CLIENT_PORT,
            tcp: tcp(&scenario.tcp.client),
            clock,
            computer: computers.client,
            period: scenario.traffic.period,
            report: (scenario.traffic.request, scenario.traffic.reply),
            enrolment: blocks(scenario.event.enrol_request, scenario.event.enrol_reply),
            timeout: scenario.traffic.timeout,
            retries: scenario.traffic.retries,
            spread: scenario.reconnect.spread,
            wait: scenario.reconnect.wait,
            longest_wait: scenario.reconnect.longest_wait,
        });
        let mut hosts = vec![(0, gateway)];
        let mut devices = Vec::new();
        for ((number, mote), pair) in (1..).zip(config.motes.iter().skip(1)).zip(&pairs) {
            let stream = FIRST_DEVICE + 2 * u64::from(number);
            let device = Device::new(plan.clone(), pair.client.clone(), watcher, random(stream));
            let host = Host::starting_at(IpAddr::V6(mote.address), device, random(stream + 1), NEVER);
            let node = network.add(Station::Device(Box::new(host.with_next_port(CLIENT_PORT))));
            hosts.push((number, node));
            devices.push((node, mote.address));
        }
        let mesh = network.connect_mesh(&hosts, config)?;
        // The records of a thousand motes would take gigabytes.
        network.ledger_mut(mesh).keep_records(false);
        network.connect(gateway, server, scenario.internet());
        Ok(Self { network, mesh, server, devices })
    }

    /// Keeps all frames, or those of one mote, and all IPv6 packets as the gateway has them.
    pub(super) fn capture(&mut self, mote: Option<u16>) {
        match mote {
            Some(mote) => self.network.capture_node(self.mesh, mote),
            None => self.network.capture(self.mesh, View::Frames),
        }
        self.network.capture(self.mesh, View::Packets);
    }

    pub(super) fn captured(&self) -> Capture {
        self.network.captured()
    }

    pub(super) fn conservation(&self) -> Conservation {
        self.network.conservation()
    }

    /// Returns the motes with devices.
    pub(super) fn motes(&self) -> core::ops::RangeInclusive<u16> {
        1..=self.devices.len() as u16 // a scenario has 1,000 at most
    }

    pub(super) fn mesh(&self) -> Option<&Mesh> {
        self.network.mesh(self.mesh)
    }

    pub(super) fn ledger(&self) -> &crate::ledger::Ledger {
        self.network.ledger(self.mesh)
    }

    /// Changes links now.
    pub(super) fn change_radio(&mut self, changes: &[RadioChange]) {
        self.network.change_radio(self.mesh, changes);
    }

    /// Switches the device of a mote on.
    pub(super) fn start(&mut self, mote: u16) {
        let now = self.network.now();
        let Some((node, _)) = self.devices.get(usize::from(mote) - 1).copied() else { return };
        if let Station::Device(host) = self.network.node_mut(node) {
            host.start_at(now);
        }
    }

    /// Returns the device of a mote, and its address.
    pub(super) fn device(&self, mote: u16) -> Option<(&Device<'w, 'a>, IpAddr)> {
        let (node, address) = self.devices.get(usize::from(mote).checked_sub(1)?)?;
        match self.network.node(*node) {
            Station::Device(host) => Some((&host.application, IpAddr::V6(*address))),
            _ => None,
        }
    }

    /// Returns the device of a mote for changes.
    pub(super) fn device_mut(&mut self, mote: u16) -> Option<&mut Device<'w, 'a>> {
        let (node, _) = self.devices.get(usize::from(mote).checked_sub(1)?).copied()?;
        match self.network.node_mut(node) {
            Station::Device(host) => Some(&mut host.application),
            _ => None,
        }
    }

    /// Lets the device of a mote enrol again.
    pub(super) fn renew_at(&mut self, mote: u16, at: Time, config: Arc<ClientConfig>) {
        if let Some(device) = self.device_mut(mote) {
            device.renew_at(at, config);
        }
    }

    pub(super) fn server(&self) -> Option<&Server<'w, 'a>> {
        match self.network.node(self.server) {
            Station::Server(host) => Some(&host.application),
            _ => None,
        }
    }

    pub(super) fn server_mut(&mut self) -> Option<&mut Server<'w, 'a>> {
        match self.network.node_mut(self.server) {
            Station::Server(host) => Some(&mut host.application),
            _ => None,
        }
    }

    pub(super) fn run_for(&mut self, time: Duration) {
        self.network.run_for(time);
    }
}

/// Cuts a request and its answer into blocks, as CoAP does (RFC 7959): one after the other is sent up, and then down.
fn blocks(request: u16, reply: u16) -> Vec<(u16, u16)> {
    let lengths = |len: u16| (0..len).step_by(BLOCK.into()).map(move |from| (len - from).min(BLOCK));
    // What goes the other way beside a block are the headers of CoAP and of what is simulated here.
    let up = lengths(request).map(|len| (len.max(LEAST), LEAST));
    let down = lengths(reply).map(|len| (LEAST, len.max(LEAST)));
    up.chain(down).collect()
}

/// The time at which a device is switched on that is not to be yet.
const NEVER: Time = Time::from_nanos(u64::MAX);

/// The devices' port. RFC 6282, 4.3.3, compresses it and the server's to one byte.
const CLIENT_PORT: u16 = 0xf0b0;

/// The bytes of a block.
const BLOCK: u16 = 256;

/// The least bytes of a message.
const LEAST: u16 = 16;

/// The first random stream of hosts, and of devices among them.
const STREAMS: u64 = 1 << 34;
const FIRST_DEVICE: u64 = 16;
