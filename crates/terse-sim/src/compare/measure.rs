//! Connections are run and counted: a row for each mode and setting.
//!
//! What must always hold: the bytes of a row are those of the frames on the link, no more and no less.

use alloc::sync::Arc;
use core::time::Duration;

use terse_tls::summary::Transport;

use super::capture::{Captured, Keys};
use super::connect::{FinishedConnection, connect};
use super::failed::Failed;
use super::parties::{Pair, Parties};
use super::row::{Row, Runs, Sides, Times};
use super::runs;
use super::setting::Setting;
use crate::computing::Counts;
use crate::engine::Clock;
use crate::probe::{Probe, Unwatched};

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
    pub(crate) fn pair(&self, setting: &Setting) -> Result<Pair, Failed> {
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
    pub(crate) fn earlier(&self, setting: &Setting, pair: &Pair, seed: u64) -> Result<Duration, Failed> {
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
    pub(crate) const fn clock(&self) -> Clock {
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

/// The time between the end of a connection and the next one of the same pair.
const LATER: Duration = Duration::from_secs(600);
