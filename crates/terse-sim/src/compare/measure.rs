//! Connections are run and counted: a row for each mode and setting.
//!
//! What must always hold: a connection counts only if its handshake was what the row says, both messages arrived and
//! both sides came to their end (over datagrams the goodbye may be lost); and the bytes of a row are those of the frames on the link, no more and no less.

use alloc::sync::Arc;
use core::cell::RefCell;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;

use smoltcp::wire::{IPV4_HEADER_LEN, IPV6_HEADER_LEN, UDP_HEADER_LEN};
use terse_tls::summary::{EarlyDataStatus, Traffic, Transport};
use terse_tls::{ApiMisuse, Datagrams, FallbackReason, Summary};

use super::capture::{Captured, Keys};
use super::parties::{Pair, Parties};
use super::row::{Bytes, Messages, Row, Runs, Sides, Times};
use super::runs;
use super::setting::{IpVersion, Setting};
use super::sums::LayerSums;
use crate::capture::View;
use crate::computing::{Counts, NoTime, Operation};
use crate::engine::{Clock, Processor, Program, Role, Watcher};
use crate::host::Host;
use crate::network::Network;
use crate::probe::{Party, Probe, Unwatched};
use crate::{Random, Time};

/// A comparison: both sides, and how often they connect.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Both sides.
    pub parties: Parties,
    /// The name of the certificates in rows.
    pub certificates: String,
    /// When connections begin, in UNIX seconds: certificates must be valid then.
    pub begins: u64,
    /// Connections for each row.
    pub runs: usize,
    /// The seed of all randomness.
    pub seed: u64,
    /// Whether [`Measured::capture`] is wanted. If so, the packets of each connection are kept until the last one has
    /// ended.
    pub captures: bool,
}

/// A row, and the packets of the connection that it describes.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The row.
    pub row: Row,
    /// The packets, if [`Comparison::captures`] asked for them.
    pub capture: Captured,
    /// What the sides computed from the first packet to the last of the close, if they did so on
    /// [devices](Setting::devices).
    pub computed: Sides<Counts>,
}

/// One connection of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Single {
    /// Its times.
    pub times: Times,
    /// The bytes that each side sent in records until its handshake was complete, without tickets.
    pub records: Sides<u64>,
}

/// Why a row could not be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// No connection came to its end. The text is the cause at each side of the first connection.
    Connection(String),
    /// The handshake was of another mode than was asked for.
    OtherMode {
        /// The mode of the handshake.
        was: &'static str,
        /// The reason, if the engine gives one.
        because: Option<&'static str>,
    },
    /// Early data was asked for, and the server accepted none. The text is what became of it: `none` or `rejected`.
    NoEarlyData(&'static str),
    /// An IP packet of the link's MTU has no room for a datagram that DTLS can use.
    MtuTooSmall,
    /// The configurations of the parties cannot be used in this setting.
    Configuration(ApiMisuse),
    /// A device has no time for an operation that the connection needs.
    NoTime(NoTime),
    /// The parties compute on devices, but with a provider or a key whose operations are
    /// [not counted](crate::computing::counting).
    NotCounted,
}

/// A connection that came to its end.
pub(super) struct FinishedConnection {
    client: Summary,
    server: Summary,
    bytes: Bytes,
    packets: usize,
    pure_acks: usize,
    retransmissions: usize,
    lost: usize,
    pub(super) times: Times,
    /// The virtual time that the connection took, rounded up.
    seconds: u64,
    /// The bytes that the caches hold after the connection.
    cached: Sides<usize>,
    capture: Captured,
    computed: Sides<Counts>,
    /// How long that took.
    computing: Sides<Duration>,
}

impl Comparison {
    /// Measures a row.
    pub fn measure(&self, setting: &Setting, probe: &mut dyn Probe) -> Result<Measured, Failed> {
        let (mut met, failed) = self.connections(setting, probe)?;
        let runs =
            runs::spread(met.iter().map(|met| (met.bytes.total, met.times.connected, met.times.requested)), failed);
        // The median is taken by bytes; runs with as many bytes are ordered by time.
        met.sort_by(|a, b| {
            let by_time = || a.times.connected.total_cmp(&b.times.connected);
            a.bytes.total.cmp(&b.bytes.total).then_with(by_time)
        });
        let median = met.swap_remove((met.len() - 1) / 2);
        Ok(Measured { row: self.row(setting, &median, runs), capture: median.capture, computed: median.computed })
    }

    /// Measures each connection for itself, in the order of the runs. Connections that did not come to their end are left
    /// out.
    pub fn each(&self, setting: &Setting) -> Result<Vec<Single>, Failed> {
        let (met, _) = self.connections(setting, &mut Unwatched)?;
        let records = |met: &FinishedConnection| Sides {
            client: met.client.sent.record_bytes,
            server: met.server.sent.record_bytes,
        };
        Ok(met.iter().map(|met| Single { times: met.times, records: records(met) }).collect())
    }

    /// Runs all connections of a row. Returns those that came to their end, one at least, and how many did not.
    fn connections(
        &self,
        setting: &Setting,
        probe: &mut dyn Probe,
    ) -> Result<(Vec<FinishedConnection>, usize), Failed> {
        let mut parties = self.parties.clone();
        let keys = Arc::new(Keys::default());
        if self.captures {
            parties.client.key_log(keys.clone());
        }
        let keyed = Self { parties, ..self.clone() };
        let mut met = Vec::new();
        let (mut failed, mut first_failure) = (0, None);
        for run in 0..self.runs {
            // Each run has its own stores, so that none profits from the one before.
            let pair = keyed.pair(setting)?;
            match self.one(setting, &pair, run, &keys, probe) {
                Ok(connection) => met.push(connection),
                Err(failure @ Failed::Connection(_)) => {
                    failed += 1;
                    first_failure.get_or_insert(failure);
                }
                Err(other) => return Err(other),
            }
        }
        if met.is_empty() {
            return Err(first_failure.unwrap_or(Failed::Connection("no connection was asked for".into())));
        }
        Ok((met, failed))
    }

    /// Returns the two sides of a setting, which have not met.
    pub(super) fn pair(&self, setting: &Setting) -> Result<Pair, Failed> {
        let max_datagram = setting.max_datagram().ok_or(Failed::MtuTooSmall)?;
        if setting.devices.is_some() && !self.parties.are_counted() {
            return Err(Failed::NotCounted);
        }
        self.parties.pair(setting, max_datagram).map_err(Failed::Configuration)
    }

    /// One connection that counts, after one that does not where the mode needs it.
    fn one(
        &self,
        setting: &Setting,
        pair: &Pair,
        run: usize,
        keys: &Keys,
        probe: &mut dyn Probe,
    ) -> Result<FinishedConnection, Failed> {
        let seed = runs::seed(self.seed, run);
        let later = self.clock().after(self.earlier(setting, pair, seed)?);
        probe.begin();
        let met = connect(setting, pair, seed, later, self.captures.then_some(keys), probe)?;
        probe.end();
        met.verified(setting, pair)
    }

    /// Has the earlier connection that the mode of `setting` needs, if it needs one. Returns after which time the
    /// connection that counts begins.
    pub(super) fn earlier(&self, setting: &Setting, pair: &Pair, seed: u64) -> Result<Duration, Failed> {
        if !setting.mode.needs_earlier() {
            return Ok(LATER);
        }
        // The earlier connection uses a link of the same kind without loss: a loss would only repeat this run. It is not
        // measured, and computes in no time: devices need times for what is measured only.
        let link = setting.link.clone().with_paths(|path| path.loss = 0.0);
        let calm = Setting { link, devices: None, ..setting.clone() };
        let earlier = connect(&calm, pair, !seed, self.clock(), None, &mut Unwatched)?;
        Ok(LATER + Duration::from_secs(earlier.seconds))
    }

    /// Returns the clock at the beginning of the first connection of a pair.
    pub(super) const fn clock(&self) -> Clock {
        Clock { unix: self.begins, monotonic: 0 }
    }

    fn row(&self, setting: &Setting, met: &FinishedConnection, runs: Runs) -> Row {
        let Setting { version, mode, link, .. } = setting;
        Row {
            mode: *mode,
            version: *version,
            transport: version.transport(),
            certificates: self.certificates.clone(),
            link: link.name.to_string(),
            mtu: link.mtu,
            bytes: met.bytes.clone(),
            packets: met.packets,
            pure_acks: met.pure_acks,
            retransmissions: met.retransmissions,
            lost: met.lost,
            round_trips: met.client.round_trips,
            transport_round_trips: u32::from(version.transport() == Transport::Stream),
            device: setting.devices.clone().map(|devices| devices.map(|device| device.name.clone())),
            computing_ms: setting.devices.is_some().then(|| met.computing.map(|time| time.as_secs_f64() * 1e3)),
            time_ms: met.times,
            early_data: setting.exchange.early_data,
            signatures_verified: Sides {
                client: met.client.signatures_verified,
                server: met.server.signatures_verified,
            },
            signatures_saved: Sides { client: met.client.signatures_saved, server: met.server.signatures_saved },
            cache_entry_bytes: met.cached,
            cpu: None,
            peak_heap: None,
            runs,
        }
    }
}

impl FinishedConnection {
    /// Returns this connection if it was what `setting` says, with the sizes of what `pair` keeps after it.
    pub(super) fn verified(mut self, setting: &Setting, pair: &Pair) -> Result<Self, Failed> {
        if setting.devices.is_some() && !signatures_are_counted(&self) {
            return Err(Failed::NotCounted);
        }
        let (was, wanted) = (self.client.mode, setting.mode.summary());
        if was != wanted {
            return Err(Failed::OtherMode { was: was.name(), because: self.client.fallback.map(FallbackReason::text) });
        }
        if setting.exchange.early_data && self.client.early_data != EarlyDataStatus::Accepted {
            return Err(Failed::NoEarlyData(self.client.early_data.name()));
        }
        let (client, server) = pair.cached_bytes();
        self.cached = Sides { client, server };
        Ok(self)
    }
}

/// Runs one connection from the first packet to the last, and keeps its packets if `keys` collect its secrets.
pub(super) fn connect(
    setting: &Setting,
    pair: &Pair,
    seed: u64,
    clock: Clock,
    captured: Option<&Keys>,
    probe: &mut dyn Probe,
) -> Result<FinishedConnection, Failed> {
    let watcher: Watcher<'_> = RefCell::new(probe);
    let (client_address, server_address) = setting.ip.addresses(setting.client);
    let tcp = (setting.version.transport() == Transport::Stream).then(|| setting.tcp_config());
    let random = |stream| Random::new(seed, stream);
    let client = Role::Client {
        config: pair.client.clone(),
        server: pair.address.clone(),
        remote: SocketAddr::new(server_address, pair.address.port),
    };
    let server = Role::Server { config: pair.server.clone(), limits: pair.limits, port: pair.address.port };
    let program = |role, party, stream| {
        let device = setting.devices.as_ref().map(|devices| devices.of(party).clone());
        let processor = Processor::new(party, &watcher, device);
        Program::new(role, setting.exchange, tcp.clone(), random(stream), clock, processor)
    };
    let mut network = Network::new(seed);
    let server = program(server, Party::Server, CHANCE);
    let server_node = network.add(Host::new(server_address, server, random(CHANCE + 1)));
    let client = program(client, Party::Client, CHANCE + 2);
    let client_node = network.add(Host::new(client_address, client, random(CHANCE + 3)));
    let link = network.connect(client_node, server_node, setting.link.clone());
    if let Some(keys) = captured {
        keys.clear();
        network.capture(link, View::Frames);
    }
    let end = Time::ZERO + PATIENCE;
    network.run_until(end);
    let conservation = network.conservation();
    if !conservation.holds() {
        return Err(Failed::Connection(format!("the simulator lost count: {conservation}")));
    }

    let programs = [client_node, server_node].map(|node| &network.node(node).application);
    let sums = LayerSums::of(network.ledger(link).records());
    let times = times(programs, sums.closed)?;
    let requested = programs[1].requested;
    let records = network.ledger(link).records().iter();
    let before_request: Vec<_> = records.filter(|record| Some(record.at) <= requested).copied().collect();
    let [client, server] = programs.map(|program| program.processor.computed.clone());
    let computed = Sides { client, server };
    let [client, server] = programs.map(|program| program.processor.time);
    let computing = Sides { client, server };
    let capture = captured.map(|keys| Captured { capture: network.captured(), key_log: keys.lines() });

    let mut summary = |node| {
        let program = &mut network.node_mut(node).application;
        program.connection().map(|connection| connection.summary().clone()).unwrap_or_default()
    };
    let (client, server) = (summary(client_node), summary(server_node));
    let replies = network.node(server_node).application.sent_without_connection();
    let handshake = [&client.sent, &replies, &server.sent];
    let records: u64 = handshake.iter().map(|sent| sent.record_bytes - sent.early_data_bytes).sum();
    // A link that gives up a fragment does not send the rest of its packet, which the engine counted. Both messages of the
    // application arrived, so their bytes were on the link, and were not of the handshake.
    let messages_of_application = setting.exchange.request + setting.exchange.reply;
    let most = sums.layers.application.saturating_sub(messages_of_application);
    let tls = usize::try_from(records).unwrap_or(usize::MAX).min(most);
    let bytes = Bytes {
        messages: messages(handshake),
        sent: Sides { client: messages([&client.sent]), server: messages([&replies, &server.sent]) },
        tls,
        application: sums.layers.application - tls,
        transport: sums.layers.transport,
        network: sums.layers.network,
        link: sums.layers.link,
        total: sums.layers.sum(),
        until_request: LayerSums::of(&before_request).layers.sum(),
    };
    Ok(FinishedConnection {
        packets: sums.frames,
        pure_acks: sums.pure_acks,
        retransmissions: sums.resent + (client.retransmissions + server.retransmissions) as usize,
        lost: sums.lost,
        seconds: (times.closed / 1e3).ceil() as u64,
        cached: Sides::default(),
        capture: capture.unwrap_or_default(),
        client,
        server,
        bytes,
        times,
        computed,
        computing,
    })
}

/// Returns the times of a connection, or the cause for which it did not come to its end.
fn times(programs: [&Program<'_, '_>; 2], closed: Time) -> Result<Times, Failed> {
    if let Some(no_time) = programs.iter().find_map(|program| program.processor.no_time.clone()) {
        return Err(Failed::NoTime(no_time));
    }
    let sides = [("client", programs[0]), ("server", programs[1])];
    let failures = sides.iter().filter_map(|(name, side)| Some(format!("{name}: {}", side.failure.as_ref()?)));
    let failures: Vec<String> = failures.collect();
    if !failures.is_empty() {
        return Err(Failed::Connection(failures.join("; ")));
    }
    if let Some((name, _)) = sides.iter().find(|(_, side)| !side.is_over()) {
        return Err(Failed::Connection(format!("{name}: it did not come to its end")));
    }
    let [client, server] = programs;
    let (Some(connected), Some(replied)) = (client.connected, client.answered) else {
        return Err(Failed::Connection("client: the connection ended before the reply".into()));
    };
    let (Some(heard), Some(server_connected)) = (server.heard, server.connected) else {
        return Err(Failed::Connection("server: the connection ended before the handshake was complete".into()));
    };
    let Some(requested) = server.requested else {
        return Err(Failed::Connection("server: the connection ended before the request".into()));
    };
    Ok(Times {
        connected: milliseconds(connected),
        replied: milliseconds(replied),
        closed: milliseconds(closed),
        requested: milliseconds(requested),
        server_connected: server_connected.since(heard).as_secs_f64() * 1e3,
    })
}

/// Whether the signatures of both sides were counted, of which each side's summary tells the other's.
fn signatures_are_counted(connection: &FinishedConnection) -> bool {
    let is_counted = |peer: &Summary, computed: &Counts| {
        let mut signatures = computed.iter().filter(|(operation, _)| matches!(operation, Operation::Sign(_)));
        peer.peer.signature_scheme.is_none() || signatures.next().is_some()
    };
    let FinishedConnection { client, server, computed, .. } = connection;
    is_counted(client, &computed.server) && is_counted(server, &computed.client)
}

fn messages<'s>(sent: impl IntoIterator<Item = &'s Traffic>) -> Messages {
    let mut all = Messages::default();
    for (message, bytes) in sent.into_iter().flat_map(|sent| &sent.messages) {
        all.add(*message, u64::from(*bytes));
    }
    all
}

fn milliseconds(time: Time) -> f64 {
    time.since(Time::ZERO).as_secs_f64() * 1e3
}

impl Setting {
    /// Returns the longest datagram that fits, or `None` if it is too short for DTLS.
    fn max_datagram(&self) -> Option<usize> {
        let fits = self.link.mtu.checked_sub(self.ip.header_len() + UDP_HEADER_LEN)?;
        (fits >= Datagrams::LEAST_DATAGRAM).then_some(fits.min(Datagrams::LARGEST_DATAGRAM))
    }

    /// Returns the configuration of TCP, with segments that fit the MTU.
    fn tcp_config(&self) -> crate::tcp::Config {
        let largest = self.tcp.maximum_segment_size;
        let ip = self.ip.header_len() as u16;
        let fitting = self.tcp.clone().for_mtu(u16::try_from(self.link.mtu).unwrap_or(u16::MAX), ip);
        match self.limits_segments {
            true => crate::tcp::Config { maximum_segment_size: fitting.maximum_segment_size.min(largest), ..fitting },
            false => fitting,
        }
    }
}

impl IpVersion {
    const fn header_len(self) -> usize {
        match self {
            Self::V4 => IPV4_HEADER_LEN,
            Self::V6 => IPV6_HEADER_LEN,
        }
    }

    /// Returns the client's and the server's address, from the blocks for documentation (RFC 5737, RFC 3849).
    const fn addresses(self, client: u8) -> (IpAddr, IpAddr) {
        match self {
            Self::V4 => (IpAddr::V4(Ipv4Addr::new(192, 0, 2, client)), IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1))),
            Self::V6 => (
                IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, client as u16)),
                IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1)),
            ),
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(cause) => write!(out, "no connection came to its end: {cause}"),
            Self::OtherMode { was, because } => {
                write!(out, "the handshake was {was}")?;
                because.map_or(Ok(()), |because| write!(out, ": {because}"))
            }
            Self::NoEarlyData(status) => write!(out, "no early data was accepted: its status was {status}"),
            Self::MtuTooSmall => out.write_str("the MTU leaves no room for DTLS; take a larger one"),
            Self::Configuration(error) => error.fmt(out),
            Self::NoTime(error) => error.fmt(out),
            Self::NotCounted => out.write_str(
                "the sides compute on devices, but not all of their operations are counted: make their configurations and \
                 keys with a counting provider",
            ),
        }
    }
}

impl core::error::Error for Failed {}

/// The time between the end of a connection and the next one of the same pair.
const LATER: Duration = Duration::from_secs(600);

/// How long a connection may take: a day.
const PATIENCE: Duration = Duration::from_secs(86_400);

/// The first random stream that is not the network's.
const CHANCE: u64 = 1 << 32;
