//! Rows are prepared and run: the network is built, the peers connect over it, and what they cost is counted.
//!
//! What must always hold: a run is a function of its scenario, the parties and the seed; it counts the frames of all packets
//! that were sent until both sides were connected, and goes on until every one of them is accounted for.

use core::cell::RefCell;
use core::fmt;
use core::time::Duration;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use terse_tls::summary::Transport;
use terse_tls::{ApiMisuse, ClientConfig, Datagrams};

use super::energy::Batteries;
use super::fleet;
use super::network::{Built, Ends};
use super::options::{DtlsOptions, NO_DEVICE, PeerKind, Protocol, RadioModel, Scenario};
use super::outcome::Outcome;
use super::peer::Peer;
use crate::compare::{self, Captured, Comparison, Failed, IpVersion, Keys, Pair, Parties, Setting, Sides, Start};
use crate::computing::{Device, Devices};
use crate::edhoc::{self, Identity};
use crate::engine::{Clock, Processor, Watcher};
use crate::link::Link;
use crate::paper::Peers;
use crate::probe::{Party, Probe, Unwatched};
use crate::radio::{Connectivity, NoPlace, RadioChange, Trace};
use crate::script::{self, Timers};
use crate::tsch::ConfigError;
use crate::{Exchange, Random, tcp};

/// Makes the two sides of the engine: certificates and keys are not the simulator's.
pub trait MakesParties {
    /// Returns both sides for these options, made with [counting providers](crate::computing::counting). The text of an
    /// error says what to change.
    fn parties(&self, options: &super::EngineOptions) -> Result<Parties, String>;

    /// Returns when connections begin, in UNIX seconds: certificates must be valid then.
    fn begins(&self) -> u64;

    /// Returns the text of a connectivity trace that a scenario names. The text of an error says what to change.
    fn trace(&self, name: &str) -> Result<String, String> {
        Err(format!("there are no traces here to find {name} among"))
    }
}

/// Why a row cannot be run at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CannotRun {
    /// The parties cannot be made.
    Parties(String),
    /// The engine cannot do what the row asks for.
    Engine(Failed),
    /// The mesh cannot be built.
    Mesh(ConfigError),
    /// No places are found for the motes.
    Places(NoPlace),
    /// The trace cannot be had, or is none.
    Trace(String),
    /// The simulator lost count of frames or packets.
    Conservation(String),
}

impl fmt::Display for CannotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parties(cause) => f.write_str(cause),
            Self::Engine(cause) => cause.fmt(f),
            Self::Mesh(cause) => cause.fmt(f),
            Self::Places(cause) => write!(f, "{cause}: try a smaller radio.side_m, or a lower forming.least_rssi_dbm"),
            Self::Trace(cause) => f.write_str(cause),
            Self::Conservation(balance) => write!(f, "the simulator lost count: {balance}"),
        }
    }
}

impl core::error::Error for CannotRun {}

/// A row that is ready to be run.
#[derive(Clone, Debug)]
pub struct Prepared {
    scenario: Scenario,
    engine: Option<Engine>,
    batteries: Option<Batteries>,
    /// The trace that the radio follows, if it does.
    trace: Option<Arc<Trace>>,
}

/// What the engine's runs have in common.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    comparison: Comparison,
    setting: Setting,
    datagrams: Sides<Datagrams>,
    devices: Sides<Option<Arc<Device>>>,
}

impl Prepared {
    /// Prepares a scenario.
    pub fn new(scenario: &Scenario, maker: &dyn MakesParties) -> Result<Self, CannotRun> {
        let engine = match scenario.peers {
            PeerKind::Engine => Some(Engine::new(scenario, maker)?),
            _ => None,
        };
        let trace = match scenario.radio.model {
            RadioModel::Trace => Some(Arc::new(trace(scenario, maker)?)),
            _ => None,
        };
        Ok(Self { scenario: scenario.clone(), engine, batteries: Batteries::new(scenario), trace })
    }

    /// Returns how often the scenario is to be run.
    pub const fn repetitions(&self) -> u32 {
        self.scenario.repetitions.count
    }

    /// Runs the scenario for the time numbered `number`.
    pub fn run(&self, number: u32) -> Result<Outcome, CannotRun> {
        Ok(self.run_with(number, None, None)?.0)
    }

    /// Runs the scenario, and keeps its frames, or those of one mote, and the secrets that decrypt them. The label is a part of the
    /// server's address, so that connections of several captures that become one file are told apart; it changes nothing else.
    /// Motes must keep their addresses, from which their cells and their timers follow.
    pub fn capture(&self, number: u32, label: u16, mote: Option<u16>) -> Result<(Outcome, Captured), CannotRun> {
        self.run_with(number, Some(label), mote)
    }

    fn run_with(&self, number: u32, label: Option<u16>, mote: Option<u16>) -> Result<(Outcome, Captured), CannotRun> {
        let captures = label.is_some();
        let scenario = &self.labelled(label.unwrap_or(0));
        let seed = self.scenario.repetitions.seed_of(number);
        let mut unwatched = Unwatched;
        let probe: &mut dyn Probe = &mut unwatched;
        let watcher: Watcher<'_> = RefCell::new(probe);
        let keys = Arc::new(Keys::default());
        if let Some(engine) = self.engine.as_ref().filter(|_| scenario.is_whole()) {
            let (radio, batteries) = (self.radio(seed)?, self.batteries.as_ref());
            let captures = label.map(|_| (mote, keys));
            return fleet::run(scenario, fleet::Setup { engine, batteries, radio, seed, captures }, &watcher);
        }
        let peers = match &self.engine {
            Some(engine) => engine.peers(scenario, seed, &watcher, label.map(|label| (label, keys.clone())))?,
            None if self.scenario.peers == PeerKind::Edhoc => Self::edhoc(scenario, seed)?,
            None => Self::scripts(scenario),
        };
        let built = Built::new(scenario, self.radio(seed)?, seed, peers);
        let mut built = built.map_err(CannotRun::Mesh)?;
        if captures {
            built.capture(mote);
        }
        let formed = match self.scenario.forming.is_on() {
            true => built.form(&self.scenario.forming, self.batteries.as_ref()),
            false => Ok(()),
        };
        if formed.is_ok() {
            let standing = if self.scenario.forming.is_on() { self.scenario.forming.standing } else { UP };
            built.run([standing, self.delay(seed)], self.scenario.repetitions.limit, self.scenario.settling());
        }
        if !built.conservation().holds() {
            return Err(CannotRun::Conservation(built.conservation().to_string()));
        }
        let outcome = Outcome { seed, ..built.outcome(self.batteries.as_ref(), self.scenario.mbedtls.computing) };
        let outcome = Outcome { failure: formed.err().or(outcome.failure), ..outcome };
        if let Some(engine) = &self.engine
            && outcome.is_connected()
        {
            engine.verify(&mut built)?;
        }
        let captured = match captures {
            true => Captured { capture: built.captured(), key_log: keys.lines() },
            false => Captured::default(),
        };
        Ok((outcome, captured))
    }

    /// Returns how long the client waits until it is switched on, after the network has been up for a while: any time of the
    /// slotframe.
    fn delay(&self, seed: u64) -> Duration {
        let slotframe = self.scenario.schedule.slot.duration() * u32::from(self.scenario.slots());
        let nanoseconds = u64::try_from(slotframe.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mut random = Random::new(seed, START);
        let draw = u64::from(random.next_u32()) << 32 | u64::from(random.next_u32());
        Duration::from_nanos(draw % nanoseconds)
    }

    /// Returns who hears whom, and how that changes, if a model or a trace says so.
    fn radio(&self, seed: u64) -> Result<Option<(Connectivity, Vec<RadioChange>)>, CannotRun> {
        let Scenario { radio, .. } = &self.scenario;
        match radio.model {
            RadioModel::Matrix => Ok(None),
            RadioModel::PisterHack => {
                let connectivity = self.scenario.connectivity_of_places(seed).map_err(CannotRun::Places)?;
                Ok(connectivity.map(|connectivity| (connectivity, Vec::new())))
            }
            RadioModel::Trace => {
                let of = |trace: &Arc<Trace>| (trace.connectivity(radio.trace_start), trace.changes(radio.trace_start));
                Ok(self.trace.as_ref().map(of))
            }
        }
    }

    /// Returns the scenario with a server whose address has a label.
    fn labelled(&self, label: u16) -> Scenario {
        let mut scenario = self.scenario.clone();
        let server = &mut scenario.internet.server;
        // The last two bytes are what people write.
        *server = Ipv6Addr::from_bits(server.to_bits() ^ u128::from(label) << 16);
        scenario
    }

    /// Returns the scripted peers.
    fn scripts<'w, 'a>(scenario: &Scenario) -> Ends<Peer<'w, 'a>> {
        let Scenario { mbedtls, tcp, dtls, internet, .. } = scenario;
        let peers = Peers::of_paper();
        let handshake = match (mbedtls.protocol, mbedtls.max_fragment_length) {
            (Protocol::Tls12, _) => &peers.tls,
            (Protocol::Dtls12, 512) => &peers.dtls_mfl_512,
            (Protocol::Dtls12, _) => &peers.dtls_mfl_1024,
        };
        let handshake = handshake.clone().with_computing(Party::Client, mbedtls.computing);
        let timers = |initial| Timers { initial, maximum: dtls.longest_timeout };
        let (client, server) = (timers(dtls.client_timeout), timers(dtls.server_timeout));
        let remote = SocketAddr::new(IpAddr::V6(internet.server), PORT);
        Ends {
            client: Peer::Script(Box::new(script::Peer::client(&handshake, remote, &tcp.client.config, client))),
            server: Peer::Script(Box::new(script::Peer::server(&handshake, PORT, &tcp.server.config, server))),
        }
    }
}

impl Prepared {
    /// Returns both sides of EDHOC, with new keys.
    fn edhoc<'w, 'a>(scenario: &Scenario, seed: u64) -> Result<Ends<Peer<'w, 'a>>, CannotRun> {
        let Scenario { edhoc: options, internet, .. } = scenario;
        let random = |stream| Random::new(seed, EDHOC + stream);
        let identity = |subject, kid: u8| {
            let identity = Identity::generate(subject, &[kid], random(kid.into()));
            identity.map_err(|_| CannotRun::Parties("a credential of EDHOC is too long".into()))
        };
        let (client, server) = (identity("42-50-31-FF-EF-37-32-39", 0x2b)?, identity("broker.plant.example", 0x32)?);
        let remote = SocketAddr::new(IpAddr::V6(internet.server), PORT);
        let transfer = options.credentials;
        let [of_client, of_server] = [&options.client_device, &options.server_device].map(|name| device(name));
        let responder = edhoc::Server::new(server.clone(), [&client], transfer, PORT, random(0), of_server);
        let initiator = edhoc::Client::new(client, &server, transfer, remote, random(1), of_client);
        Ok(Ends {
            client: Peer::Edhoc(edhoc::Peer::Client(Box::new(initiator))),
            server: Peer::Edhoc(edhoc::Peer::Server(Box::new(responder))),
        })
    }
}

/// Reads the trace that a scenario names.
fn trace(scenario: &Scenario, maker: &dyn MakesParties) -> Result<Trace, CannotRun> {
    let name = &scenario.radio.trace;
    let text = maker.trace(name).map_err(CannotRun::Trace)?;
    let trace = Trace::parse(&text).map_err(|error| CannotRun::Trace(format!("{name}: {error}")))?;
    let (motes, has) = (scenario.topology.motes() + 1, trace.header.node_count);
    if motes > has.into() {
        let text = format!("{name}: the trace has {has} nodes, and topology.motes wants {motes}, the root included");
        return Err(CannotRun::Trace(text));
    }
    Ok(trace)
}

/// Returns the device of a name that was checked.
fn device(name: &str) -> Option<Arc<Device>> {
    if name == NO_DEVICE { None } else { Devices::built_in().find(name).cloned() }
}

impl Engine {
    fn new(scenario: &Scenario, maker: &dyn MakesParties) -> Result<Self, CannotRun> {
        let options = &scenario.engine;
        let parties = maker.parties(options).map_err(CannotRun::Parties)?;
        let devices = Sides { client: device(&options.client_device), server: device(&options.server_device) };
        if (devices.client.is_some() || devices.server.is_some()) && !parties.are_counted() {
            return Err(CannotRun::Engine(Failed::NotCounted));
        }
        let DtlsOptions { client_timeout, server_timeout, longest_timeout, datagram } = scenario.dtls;
        let timers = |first: Duration| {
            let [first, longest] = [first, longest_timeout].map(|time| time.as_millis() as u64);
            // What was measured of the round trip says nothing of the time that the peer computes.
            let datagrams = parties.datagrams.max_datagram(datagram.into()).initial_timeout(first);
            datagrams.min_timeout(first).max_timeout(longest)
        };
        let datagrams = Sides { client: timers(client_timeout), server: timers(server_timeout) };
        let setting = Setting {
            version: options.version,
            mode: options.mode,
            // Only an earlier connection uses this link and these segments.
            link: Link { mtu: 1_280, ..Link::lossless() },
            ip: IpVersion::V6,
            tcp: tcp::Config::linux(),
            limits_segments: false,
            client: 17,
            exchange: Exchange::default(),
            devices: None,
        };
        let comparison = Comparison {
            parties,
            certificates: options.certificates.clone(),
            begins: maker.begins(),
            runs: 1,
            seed: scenario.repetitions.seed,
            captures: false,
        };
        Ok(Self { comparison, setting, datagrams, devices })
    }

    /// Returns both sides, after the earlier connection that the mode needs.
    fn peers<'w, 'a>(
        &self,
        scenario: &Scenario,
        seed: u64,
        watcher: &'w Watcher<'a>,
        captured: Option<(u16, Arc<Keys>)>,
    ) -> Result<Ends<Peer<'w, 'a>>, CannotRun> {
        let mut comparison = self.comparison.clone();
        let (label, keys) = captured.unzip();
        if let Some(keys) = &keys {
            comparison.parties.client.key_log(keys.clone());
        }
        comparison.parties.address.port = PORT;
        let pair = comparison.parties.pair_over(&self.setting, self.datagrams);
        let pair = pair.map_err(|misuse| CannotRun::Engine(Failed::Configuration(misuse)))?;
        let earlier = comparison.earlier(&self.setting, &pair, seed).map_err(CannotRun::Engine)?;
        if let Some(keys) = &keys {
            keys.clear();
        }
        let is_stream = self.setting.version.transport() == Transport::Stream;
        let tcp = |side: &super::TcpSide| is_stream.then(|| side.config.clone());
        let start = Start {
            server: IpAddr::V6(scenario.internet.server),
            exchanges: Sides { client: Exchange::OF_SILENT_CLIENT, server: Exchange::OF_SILENT_SERVER },
            tcp: Sides { client: tcp(&scenario.tcp.client), server: tcp(&scenario.tcp.server) },
            // Secrets are found by the client's random, which two captures must not have in common. It changes no size.
            seed: seed ^ u64::from(label.unwrap_or(0)) << 32,
            clock: comparison.clock().after(earlier),
        };
        let processor = |party| Processor::new(party, watcher, self.devices.of(party).clone());
        let processors = Sides { client: processor(Party::Client), server: processor(Party::Server) };
        let Sides { client, server } = pair.programs(start, processors);
        Ok(Ends { client: Peer::Engine(Box::new(client)), server: Peer::Engine(Box::new(server)) })
    }

    /// Returns so many clients with one server, after the earlier connection of each that the mode needs, and the clock that goes
    /// on from there.
    pub(super) fn fleet(
        &self,
        clients: usize,
        seed: u64,
        keys: Option<&Arc<Keys>>,
    ) -> Result<(Vec<Pair>, Clock), CannotRun> {
        let mut comparison = self.comparison.clone();
        if let Some(keys) = keys {
            comparison.parties.client.key_log(keys.clone());
        }
        comparison.parties.address.port = PORT;
        let pairs = comparison.parties.pairs_over(&self.setting, self.datagrams, clients);
        let pairs = pairs.map_err(|misuse| CannotRun::Engine(Failed::Configuration(misuse)))?;
        let mut latest = Duration::ZERO;
        for (number, pair) in pairs.iter().enumerate() {
            let earlier = comparison.earlier(&self.setting, pair, compare::seed(seed, number));
            latest = latest.max(earlier.map_err(CannotRun::Engine)?);
        }
        if let Some(keys) = keys {
            keys.clear();
        }
        Ok((pairs, comparison.clock().after(latest)))
    }

    /// Returns the clients of some pairs as they are with new certificates, which nobody has cached: nothing is left out.
    pub(super) fn strangers(&self, pairs: &[Pair]) -> Result<Vec<Arc<ClientConfig>>, ApiMisuse> {
        let parties = &self.comparison.parties;
        let clients = parties.pairs_over(&self.setting, self.datagrams, pairs.len())?;
        Ok(clients.into_iter().map(|pair| pair.client).collect())
    }

    /// Returns what both sides compute on.
    pub(super) fn computers(&self) -> Sides<Option<Arc<Device>>> {
        self.devices.clone()
    }

    /// Returns the mode, as connections name it.
    pub(super) fn mode(&self) -> terse_tls::summary::Mode {
        self.setting.mode.summary()
    }

    /// Checks that a connection was of the mode that was asked for.
    fn verify(&self, built: &mut Built<'_, '_>) -> Result<(), CannotRun> {
        let Some(summary) = built.summary() else { return Ok(()) };
        let (was, wanted) = (summary.mode, self.setting.mode.summary());
        if was == wanted {
            return Ok(());
        }
        let because = summary.fallback.map(terse_tls::FallbackReason::text);
        Err(CannotRun::Engine(Failed::OtherMode { was: was.name(), because }))
    }
}

impl Scenario {
    /// Returns how long the network must be silent after the handshake until its last frame has come: an acknowledgement of
    /// TCP waits for half a second at most (RFC 1122, 4.2.3.2), and one packet takes a few slotframes.
    fn settling(&self) -> Duration {
        Duration::from_secs(1) + self.schedule.slot.duration() * u32::from(self.slots()) * 20
    }

    /// Returns the slots of a slotframe.
    fn slots(&self) -> u16 {
        match self.forming.is_on() {
            true => self.forming.slotframe,
            false => self.schedule.lay_out(&self.topology).0,
        }
    }
}

/// How long the network stands before the client may be switched on.
const UP: Duration = Duration::from_secs(1);

/// The first random stream of EDHOC.
const EDHOC: u64 = 1 << 35;

/// The random stream of the client's start.
const START: u64 = 1 << 33;

/// The server's port: one of the sixteen that RFC 6282, 4.3.3, compresses to four bits. The paper's UDP headers have 4 bytes.
pub(super) const PORT: u16 = 0xf0b1;
