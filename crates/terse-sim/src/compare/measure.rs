//! Runs connections and counts: a row for each mode and setting.
//!
//! What must always hold: a connection counts only if its handshake was what the row says, both messages arrived and
//! both sides closed; and the bytes of a row are those of the frames on the link, no more and no less.

use alloc::sync::Arc;
use core::cell::RefCell;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;

use terse_tls::Summary;
use terse_tls::summary::Transport;

use super::capture::{Captured, Keys};
use super::parties::{Pair, Parties};
use super::probe::{Probe, Unwatched};
use super::row::{Bytes, Messages, Row, Runs, Sides, Times};
use super::setting::{IpVersion, Setting};
use crate::capture::View;
use crate::engine::{Clock, Program, Role, Watcher};
use crate::host::Host;
use crate::ledger::{Fate, Kind};
use crate::network::Network;
use crate::{Random, Time};

/// A comparison: both sides, and how often they meet.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Both sides.
    pub parties: Parties,
    /// What rows call their certificates.
    pub certificates: String,
    /// When connections begin, in UNIX seconds: certificates must be valid then.
    pub begins: u64,
    /// Connections for each row.
    pub runs: usize,
    /// What all chance follows from.
    pub seed: u64,
}

/// A row, and the packets of the connection that it describes.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The row.
    pub row: Row,
    /// The packets.
    pub capture: Captured,
}

/// Why a row could not be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// No connection came to its end; the first one's cause.
    Connection(String),
    /// The handshake was not what was asked for.
    OtherMode {
        /// What it was.
        was: &'static str,
        /// Why, if the engine says so.
        because: Option<&'static str>,
    },
    /// An IP packet of the link's MTU has no room for a datagram that DTLS can use.
    MtuTooSmall,
}

/// A connection that came to its end.
struct Met {
    client: Summary,
    server: Summary,
    bytes: Bytes,
    packets: usize,
    pure_acks: usize,
    retransmissions: usize,
    lost: usize,
    times: Times,
    /// How long it took, rounded up.
    seconds: u64,
    capture: Captured,
}

impl Comparison {
    /// Measures a row.
    pub fn measure(&self, setting: &Setting, probe: &mut dyn Probe) -> Result<Measured, Failed> {
        let mut parties = self.parties.clone();
        let keys = Arc::new(Keys::default());
        parties.client.common.key_log = Some(keys.clone());
        let max_datagram = setting.max_datagram().ok_or(Failed::MtuTooSmall)?;
        let mut met = Vec::new();
        let (mut failed, mut first_failure) = (0, None);
        let mut cached = Sides::default();
        for run in 0..self.runs {
            // Each with stores of its own, so that no run profits from the one before.
            let pair = parties.pair(setting.version, setting.mode, max_datagram);
            match self.one(setting, &pair, run, &keys, probe) {
                Ok(connection) => {
                    let (client, server) = pair.cached_bytes();
                    cached = Sides { client, server };
                    met.push(connection);
                }
                Err(failure @ Failed::Connection(_)) => {
                    failed += 1;
                    first_failure.get_or_insert(failure);
                }
                Err(other) => return Err(other),
            }
        }
        let runs = runs(&met, failed);
        met.sort_by_key(|connection| connection.bytes.total);
        let middle = met.len() / 2;
        if met.is_empty() {
            return Err(first_failure.unwrap_or(Failed::Connection("no connection was asked for".into())));
        }
        let median = met.swap_remove(middle);
        Ok(Measured { row: self.row(setting, &median, cached, runs), capture: median.capture })
    }

    /// One connection that counts, after one that does not where the mode needs it.
    fn one(
        &self,
        setting: &Setting,
        pair: &Pair,
        run: usize,
        keys: &Keys,
        probe: &mut dyn Probe,
    ) -> Result<Met, Failed> {
        let seed = self.seed.wrapping_add(run as u64);
        let clock = Clock { unix: self.begins, monotonic: 0 };
        let mut after = LATER;
        if setting.mode.needs_earlier() {
            // Over a link of the same kind that loses nothing: what is lost here would only make the same run again.
            let link = setting.link.clone().with_paths(|path| path.loss = 0.0);
            let calm = Setting { link, ..setting.clone() };
            after += connect(&calm, pair, !seed, clock, keys, &mut Unwatched)?.seconds;
        }
        let later = Clock { unix: self.begins + after, monotonic: after * 1000 };
        probe.begin();
        let met = connect(setting, pair, seed, later, keys, probe)?;
        probe.end();
        let (was, wanted) = (met.client.mode, setting.mode.summary());
        if was != wanted {
            return Err(Failed::OtherMode { was: was.name(), because: met.client.fallback });
        }
        Ok(met)
    }

    fn row(&self, setting: &Setting, met: &Met, cached: Sides<usize>, runs: Runs) -> Row {
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
            time_ms: met.times,
            signatures_verified: Sides {
                client: met.client.signatures_verified,
                server: met.server.signatures_verified,
            },
            signatures_saved: Sides { client: met.client.signatures_saved, server: met.server.signatures_saved },
            cache_entry_bytes: cached,
            cpu: None,
            peak_heap: None,
            runs,
        }
    }
}

/// One connection from the first packet to the last.
fn connect(
    setting: &Setting,
    pair: &Pair,
    seed: u64,
    clock: Clock,
    keys: &Keys,
    probe: &mut dyn Probe,
) -> Result<Met, Failed> {
    keys.clear();
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
    let program = |role, stream| Program::new(role, setting.exchange, tcp.clone(), random(stream), clock, &watcher);
    let mut network = Network::new(seed);
    let server = network.add(Host::new(server_address, program(server, CHANCE), random(CHANCE + 1)));
    let client = network.add(Host::new(client_address, program(client, CHANCE + 2), random(CHANCE + 3)));
    let link = network.connect(client, server, setting.link.clone());
    network.capture(link, View::Frames);
    let end = Time::ZERO + PATIENCE;
    network.run_until(end);
    let conservation = network.conservation();
    if !conservation.holds() {
        return Err(Failed::Connection(format!("the simulator lost count: {conservation}")));
    }

    let failure = [("client", client), ("server", server)].into_iter().find_map(|(name, node)| {
        let program = &network.node(node).application;
        let over = program.is_over();
        program
            .failure
            .clone()
            .or_else(|| (!over).then(|| "it did not come to its end".into()))
            .map(|cause| format!("{name}: {cause}"))
    });
    if let Some(failure) = failure {
        return Err(Failed::Connection(failure));
    }
    let program = &network.node(client).application;
    let [connected, replied] = [program.connected, program.answered].map(|time| time.map_or(0.0, milliseconds));
    let records = network.ledger(link).records();
    let closed = records.last().map_or(0.0, |record| milliseconds(record.at));
    let packets = records.len();
    let pure_acks = records.iter().filter(|record| record.kind == Kind::Acknowledgement).count();
    let lost = records.iter().filter(|record| matches!(record.fate, Fate::Dropped(_))).count();
    let repeated = |by_link: bool| -> usize {
        let again = records.iter().filter(|record| {
            if by_link { record.attempt > 0 } else { record.attempt == 0 && record.kind == Kind::Retransmission }
        });
        again.map(|record| record.layers.application).sum()
    };
    let (by_tcp, by_link) = (repeated(false), repeated(true));
    let resent = records.iter().filter(|record| record.kind == Kind::Retransmission && record.attempt == 0).count();
    let layers = network.ledger(link).total().layers;
    let total = layers.sum();
    let capture = Captured { capture: network.captured(), key_log: keys.lines() };

    let mut summary = |node| {
        let program = &mut network.node_mut(node).application;
        program.connection().map(|connection| connection.summary().clone()).unwrap_or_default()
    };
    let (client, server) = (summary(client), summary(server));
    let records = usize::try_from(client.sent.record_bytes + server.sent.record_bytes).unwrap_or(usize::MAX);
    let once = layers.application.saturating_sub(by_tcp + by_link);
    let tls = records.min(once);
    let bytes = Bytes {
        messages: messages([&client, &server]),
        sent: Sides { client: messages([&client]), server: messages([&server]) },
        tls,
        application: once - tls,
        transport: layers.transport + by_tcp,
        network: layers.network,
        link: layers.link + by_link,
        total,
    };
    let retransmissions = resent + (client.retransmissions + server.retransmissions) as usize;
    let times = Times { connected, replied, closed };
    let seconds = (closed / 1e3).ceil() as u64;
    Ok(Met { client, server, bytes, packets, pure_acks, retransmissions, lost, times, seconds, capture })
}

fn messages<'s>(of: impl IntoIterator<Item = &'s Summary>) -> Messages {
    let mut all = Messages::default();
    for (message, bytes) in of.into_iter().flat_map(|summary| &summary.sent.messages) {
        all.add(*message, u64::from(*bytes));
    }
    all
}

fn milliseconds(time: Time) -> f64 {
    time.since(Time::ZERO).as_secs_f64() * 1e3
}

fn runs(met: &[Met], failed: usize) -> Runs {
    let mut connected: Vec<f64> = met.iter().map(|connection| connection.times.connected).collect();
    connected.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let last = connected.len().saturating_sub(1);
        connected.get(((last as f64) * share).ceil() as usize).copied().unwrap_or(0.0)
    };
    let totals = || met.iter().map(|connection| connection.bytes.total);
    Runs {
        count: met.len() + failed,
        failed,
        min_total: totals().min().unwrap_or(0),
        max_total: totals().max().unwrap_or(0),
        median_connected_ms: at(0.5),
        p95_connected_ms: at(0.95),
    }
}

impl Setting {
    /// The longest datagram that fits, if any that DTLS could use does.
    fn max_datagram(&self) -> Option<usize> {
        const UDP: usize = 8;
        const LEAST: usize = 50; // Datagrams::max_datagram
        let fits = self.link.mtu.checked_sub(self.ip.header_len() + UDP)?;
        (fits >= LEAST).then_some(fits.min(65_507))
    }

    /// TCP with segments that fit.
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
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }

    /// The client's and the server's: of blocks for documentation (RFC 5737, RFC 3849).
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
            Self::MtuTooSmall => out.write_str("the MTU leaves no room for DTLS; take a larger one"),
        }
    }
}

impl core::error::Error for Failed {}

/// Later connections of a pair begin so long after the end of the one before, in seconds.
const LATER: u64 = 600;

/// How long a connection may take: a day.
const PATIENCE: Duration = Duration::from_secs(86_400);

/// The first of the streams of chance that are not the network's.
const CHANCE: u64 = 1 << 32;
