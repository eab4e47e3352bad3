//! One connection runs from its first packet to its last.
//!
//! What must always hold: it counts only if it was what the setting says, both messages arrived and both sides came to their
//! end (over datagrams the goodbye may be lost).

use core::cell::RefCell;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;

use smoltcp::wire::{IPV4_HEADER_LEN, IPV6_HEADER_LEN, UDP_HEADER_LEN};
use terse_tls::summary::{EarlyDataStatus, Traffic, Transport};
use terse_tls::{Datagrams, FallbackReason, Summary};

use super::capture::{Captured, Keys};
use super::failed::Failed;
use super::parties::Pair;
use super::row::{Bytes, Messages, Sides, Times};
use super::setting::{IpVersion, Setting};
use super::sums::LayerSums;
use crate::capture::View;
use crate::computing::{Counts, Operation};
use crate::engine::{Clock, Processor, Program, Role, Watcher};
use crate::host::Host;
use crate::network::Network;
use crate::probe::{Party, Probe};
use crate::{Exchange, Random, Time};

/// A connection that came to its end.
pub(super) struct FinishedConnection {
    pub(super) client: Summary,
    pub(super) server: Summary,
    pub(super) bytes: Bytes,
    pub(super) packets: usize,
    pub(super) pure_acks: usize,
    pub(super) retransmissions: usize,
    pub(super) lost: usize,
    pub(super) times: Times,
    /// The virtual time that the connection took, rounded up.
    pub(super) seconds: u64,
    /// The bytes that the caches hold after the connection.
    pub(super) cached: Sides<usize>,
    pub(super) capture: Captured,
    pub(super) computed: Sides<Counts>,
    /// How long that took.
    pub(super) computing: Sides<Duration>,
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
    let processor = |party| {
        let device = setting.devices.as_ref().map(|devices| devices.of(party).clone());
        Processor::new(party, &watcher, device)
    };
    let processors = Sides { client: processor(Party::Client), server: processor(Party::Server) };
    let exchanges = Sides { client: setting.exchange, server: setting.exchange };
    let tcp = Sides { client: tcp.clone(), server: tcp };
    let start = Start { server: server_address, exchanges, tcp, seed, clock };
    let Sides { client, server } = pair.programs(start, processors);
    let mut network = Network::new(seed);
    let server_node = network.add(Host::new(server_address, server, Random::new(seed, CHANCE + 1)));
    let client_node = network.add(Host::new(client_address, client, Random::new(seed, CHANCE + 3)));
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
    let sent = [&client.sent, &replies, &server.sent];
    let bytes = bytes(setting, sent, &sums, LayerSums::of(&before_request).layers.sum());
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

/// How a connection begins.
pub(crate) struct Start {
    /// The address of the server.
    pub(crate) server: IpAddr,
    /// What both sides have to say.
    pub(crate) exchanges: Sides<Exchange>,
    /// The configuration of TCP; `None` over UDP.
    pub(crate) tcp: Sides<Option<crate::tcp::Config>>,
    /// What all randomness of the programs follows from.
    pub(crate) seed: u64,
    /// The clock of both sides.
    pub(crate) clock: Clock,
}

impl Pair {
    /// Returns the programs of both sides for a connection, with what they compute on.
    pub(crate) fn programs<'w, 'a>(
        &self,
        start: Start,
        processors: Sides<Processor<'w, 'a>>,
    ) -> Sides<Program<'w, 'a>> {
        let Start { server, exchanges, tcp, seed, clock } = start;
        let remote = SocketAddr::new(server, self.address.port);
        let client = Role::Client { config: self.client.clone(), server: self.address.clone(), remote, port: 0 };
        let server = Role::Server { config: self.server.clone(), limits: self.limits, port: self.address.port };
        let random = |stream| Random::new(seed, stream);
        let (of_client, of_server) = (processors.client, processors.server);
        Sides {
            client: Program::new(client, exchanges.client, tcp.client, random(CHANCE + 2), clock, of_client),
            server: Program::new(server, exchanges.server, tcp.server, random(CHANCE), clock, of_server),
        }
    }
}

/// Returns the bytes of a connection, by what the client, the server without a connection, and the server sent in their
/// handshakes, and by the frames on the link.
fn bytes(setting: &Setting, sent: [&Traffic; 3], sums: &LayerSums, until_request: usize) -> Bytes {
    let records: u64 = sent.iter().map(|sent| sent.record_bytes - sent.early_data_bytes).sum();
    // A link that gives up a fragment does not send the rest of its packet, which the engine counted. Both messages of the
    // application arrived, so their bytes were on the link, and were not of the handshake.
    let messages_of_application = setting.exchange.request + setting.exchange.reply;
    let most = sums.layers.application.saturating_sub(messages_of_application);
    let tls = usize::try_from(records).unwrap_or(usize::MAX).min(most);
    let [client, replies, server] = sent;
    Bytes {
        messages: messages(sent),
        sent: Sides { client: messages([client]), server: messages([replies, server]) },
        tls,
        application: sums.layers.application - tls,
        transport: sums.layers.transport,
        network: sums.layers.network,
        link: sums.layers.link,
        total: sums.layers.sum(),
        until_request,
    }
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
    pub(super) fn max_datagram(&self) -> Option<usize> {
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

/// How long a connection may take: a day.
const PATIENCE: Duration = Duration::from_secs(86_400);

/// The first random stream that is not the network's.
const CHANCE: u64 = 1 << 32;
