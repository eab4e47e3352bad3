//! An onboarding in a chain of motes, from when the pledge begins to its last packet.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::cell::RefCell;
use std::rc::Rc;

use terse_brski::join_proxy::HEADER_LEN;
use terse_brski::pledge::Coaps;
use terse_tls::Datagrams;

use super::count::{Batteries, Frames, Reading, steps};
use super::proxy::{JOIN_PORT, JoinProxy, REGISTRAR_PORT};
use super::{Outcome, Setting, topology};
use crate::gateway::{Gateway, INTERNET};
use crate::host::{Application, Host};
use crate::network::{Cause, LinkId, Network, Node};
use crate::onboarding::clock::Clock;
use crate::onboarding::coaps::{CoapsLink, CoapsOptions, CoapsRegistrar, LONGEST_DATAGRAM, Port};
use crate::onboarding::journal::Shared;
use crate::onboarding::run::{RANDOM, failed, is_over, pledge};
use crate::onboarding::services::Services;
use crate::onboarding::{Failed, Parties, Protocol};
use crate::route::Prefix;
use crate::tsch::{ConfigError, Mesh, MeshConfig};
use crate::{Random, Time};

/// Runs an onboarding.
pub fn run(setting: &Setting, parties: &Parties) -> Result<Outcome, Failed> {
    if setting.hops < 2 {
        return Err(Failed::Mesh(ConfigError::Motes));
    }
    let journal = Shared::default();
    let mut world = World::new(setting, parties, &journal)?;
    let earlier = world.readings()?;
    world.network.run_until(BEGINS);
    let from = world.readings()?;
    let end = BEGINS + setting.limit;
    while world.network.next_time().is_some_and(|next| next <= end) && !is_over(&journal.borrow()) {
        world.network.step();
    }
    let now = journal.borrow();
    let (enrolled, is_reported) = match (&now.broken, now.enrolled) {
        (Some(cause), _) => return Err(Failed::Parties(cause.clone())),
        (None, Some(enrolled)) => enrolled,
        (None, None) => return Err(Failed::NotEnrolled(now.failures.join("; "))),
    };
    drop(now);
    let to = world.readings()?;
    world.network.run_for(SETTLING); // the last packets, which count as well
    let conservation = world.network.conservation();
    if !conservation.holds() {
        return Err(Failed::Conservation(conservation.to_string()));
    }
    let journal = journal.borrow();
    let [network, last_hop] = [world.mesh, world.last_hop].map(|id| world.counted(id));
    let steps = steps(&network, &last_hop, &journal, [BEGINS, enrolled]);
    let [of_network, of_last_hop] = world.charges([&earlier, &from, &to]);
    let add = |sums: [f64; 2], charges: &[f64; 2]| [sums[0] + charges[0], sums[1] + charges[1]];
    let charge = |charges: &[[f64; 2]], mote: u16| charges.get(usize::from(mote)).copied().unwrap_or_default();
    let proxy = setting.hops - 1;
    Ok(Outcome {
        steps,
        enrolled: enrolled.since(BEGINS),
        is_reported,
        failures: journal.failures.len(),
        lost: (conservation.frames.dropped_for(Cause::Lost) + conservation.packets.dropped_for(Cause::Lost)) as usize,
        pledge: charge(&of_last_hop, 1),
        proxy: add(charge(&of_network, proxy), &charge(&of_last_hop, 0)),
        others: of_network.iter().take(usize::from(proxy)).fold([0.0; 2], add),
    })
}

/// The network of a run.
struct World {
    network: Network<Box<dyn Node>>,
    mesh: LinkId,
    last_hop: LinkId,
}

impl World {
    fn new(setting: &Setting, parties: &Parties, journal: &Shared) -> Result<Self, Failed> {
        let random = |stream| Random::new(setting.seed, RANDOM + stream);
        let (mesh, last_hop) =
            (topology::network(setting.hops, setting.loss), topology::last_hop(setting.hops, setting.loss));
        let [proxy_address, proxy_link_local, pledge_address] =
            [address(&mesh, setting.hops - 1)?, address(&last_hop, 0)?, address(&last_hop, 1)?];
        let registrar = SocketAddr::new(IpAddr::V6(REGISTRAR), REGISTRAR_PORT);
        let (pledge, service) = programs(setting, parties, SocketAddr::new(proxy_link_local, JOIN_PORT), journal)?;
        let proxy = JoinProxy::new(registrar, LONGEST_CONTENT, random(5), journal.clone()).map_err(failed)?;
        let mut network: Network<Box<dyn Node>> = Network::new(setting.seed);
        let service = network.add(Box::new(Host::new(registrar.ip(), service, random(0))));
        let gateway = network.add(Box::new(gateway()));
        let proxy = Host::new(proxy_address, proxy, random(6)).with_address(1, proxy_link_local, 64);
        let proxy = network.add(Box::new(proxy));
        let pledge = network.add(Box::new(Host::starting_at(pledge_address, pledge, random(1), BEGINS)));
        let hosts = [(0, gateway), (setting.hops - 1, proxy)];
        let mesh = network.connect_mesh(&hosts, mesh).map_err(Failed::Mesh)?;
        let last_hop = network.connect_mesh(&[(0, proxy), (1, pledge)], last_hop).map_err(Failed::Mesh)?;
        network.connect(gateway, service, topology::internet());
        Ok(Self { network, mesh, last_hop })
    }

    /// Returns the frames of a mesh, and whether each packet of it has some.
    fn counted(&self, id: LinkId) -> Frames<'_> {
        let dropped = self.network.mesh(id).and_then(|mesh| mesh.dropped().get(&Cause::QueueFull));
        Frames { ledger: self.network.ledger(id), is_whole: dropped.is_none() }
    }

    /// Reads the counts of all motes: of the network, and of the pledge's hop.
    fn readings(&self) -> Result<[Reading; 2], Failed> {
        let now = self.network.now();
        let read =
            |id| self.network.mesh(id).map(|mesh| Reading::of(mesh, now)).ok_or(Failed::Mesh(ConfigError::Motes));
        Ok([read(self.mesh)?, read(self.last_hop)?])
    }

    /// Returns the charges of all motes, of the network and of the pledge's hop.
    fn charges(&self, readings: [&[Reading; 2]; 3]) -> [Vec<[f64; 2]>; 2] {
        let slot = self.network.mesh(self.mesh).map(Mesh::config).map(|config| config.timeslot.length());
        let Some(batteries) = slot.and_then(Batteries::new) else { return [Vec::new(), Vec::new()] };
        [0, 1].map(|mesh| batteries.charges(readings.map(|reading| &reading[mesh])))
    }
}

/// Returns the programs of pledge and registrar. The pledge connects to this join proxy.
fn programs(
    setting: &Setting,
    parties: &Parties,
    remote: SocketAddr,
    journal: &Shared,
) -> Result<(Box<dyn Application>, CoapsRegistrar), Failed> {
    let clock = Clock { begins: parties.begins };
    let random = |stream| Random::new(setting.seed, RANDOM + 2 + stream);
    let protocol = setting.protocol();
    let Protocol::Coaps { dtls, path_form, proximity, transmission, datagrams } = protocol.clone() else {
        return Err(failed("a join proxy is for datagrams"));
    };
    let datagrams: Datagrams = datagrams.max_datagram(LONGEST_CONTENT);
    let options = CoapsOptions { dtls, path_form, transmission, datagrams, remote };
    let services = Rc::new(RefCell::new(Services::new(parties, random(0)).map_err(Failed::Parties)?));
    let config = parties.server(&protocol, Some(datagrams)).map_err(failed)?;
    let port = Port::Jpy(REGISTRAR_PORT);
    let registrar = CoapsRegistrar::new(options.clone(), (config, port), services, clock, random(1), journal.clone());
    let carrier = CoapsLink::new(options, (parties.clone(), protocol), clock, random(2), journal.clone());
    let pledge = pledge(Coaps::default().with_proximity(proximity), carrier, parties, random(3), journal)?;
    Ok((pledge, registrar.map_err(failed)?))
}

fn gateway() -> Gateway {
    let [prefix, last] = [topology::PREFIX, GATEWAY];
    let address = [prefix, last].concat().try_into().map_or(Ipv6Addr::UNSPECIFIED, |octets: [u8; 16]| octets.into());
    Gateway::new(IpAddr::V6(address), Prefix::new(IpAddr::V6(address), 64))
        .with_route(Prefix::new(IpAddr::V6(REGISTRAR), 128), INTERNET)
        .with_unchanged_hop_limits()
}

/// Returns the address of a mote.
fn address(mesh: &MeshConfig, mote: u16) -> Result<IpAddr, Failed> {
    let mote = mesh.motes.get(usize::from(mote)).ok_or(Failed::Mesh(ConfigError::Motes))?;
    Ok(IpAddr::V6(mote.address))
}

/// The longest datagram of pledge and registrar, which fits into a JPY message with its header and six bytes of framing.
const LONGEST_CONTENT: usize = LONGEST_DATAGRAM - HEADER_LEN - 6;

/// The registrar, which lies within the prefix of the network, as the server of the paper does.
const REGISTRAR: Ipv6Addr = Ipv6Addr::new(0xbbbb, 0, 0, 0, 0, 0, 0, 1);

/// The interface identifier of the gateway. Nobody sends to it.
const GATEWAY: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe];

/// The pledge begins after the motes have stood for a minute.
const BEGINS: Time = Time::from_millis(60_000);

/// How long the network is watched after the pledge is enrolled.
const SETTLING: Duration = Duration::from_secs(60);
