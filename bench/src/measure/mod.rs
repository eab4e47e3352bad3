//! Each measurement has a file, and gives [`Sample`]s.
//!
//! What must always hold: a connection counts only if its mode was the expected one; the connection that is measured is
//! never the first one of its world, so that what a library does once is not included.

use serde::Serialize;

use crate::pair::{Cost, Pair};
use crate::probe::{Probe, Unwatched};
use crate::stack::{Mode, Profile, Setting, Stack, Version, World};

pub mod bulk;
pub mod bytes;
pub mod heap;
pub mod instructions;
pub mod rates;
pub mod stack;

/// The result of a measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// The stack.
    pub stack: String,
    /// The version.
    pub version: Version,
    /// The certificates.
    pub profile: Profile,
    /// The quantity that was measured.
    pub metric: Metric,
    /// The number, or the median of all rounds.
    pub value: f64,
    /// The least and the most of all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<(f64, f64)>,
}

/// The quantity that a number measures. The order is that of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // `label` says it
pub enum Metric {
    BytesFull,
    BytesResumed,
    BytesResumedTickets,
    BytesKept,
    BytesKeptTickets,
    BytesRfc7924,
    BytesBithac,
    BytesCompact,
    BytesFullNoCookie,
    BytesResumedNoCookie,
    BytesRfc7924NoCookie,
    BytesBithacNoCookie,
    BytesCompactNoCookie,
    ClientHeapPeak,
    ClientHeapIdle,
    ServerHeapPeak,
    ServerHeapIdle,
    ServerHeapHalfOpen,
    ServerHeapEstablished,
    ClientStack,
    ServerStack,
    ClientInstructions,
    RateFull,
    RateResumed,
    RateKept,
    RateRfc7924,
    RateBithac,
    RateCompact,
    BulkLargeWrites,
    BulkDatagrams,
    BulkMediumWrites,
    BulkSmallWrites,
}

impl Metric {
    /// Returns the label in the table.
    pub const fn label(self) -> &'static str {
        match self {
            Self::BytesFull => "record bytes, full",
            Self::BytesResumed => "record bytes, resumed",
            Self::BytesResumedTickets => "  and tickets after it",
            Self::BytesKept => "record bytes, resumed by name",
            Self::BytesKeptTickets => "  and tickets after it",
            Self::BytesRfc7924 => "record bytes, rfc7924",
            Self::BytesBithac => "record bytes, bithac",
            Self::BytesCompact => "record bytes, compact",
            Self::BytesFullNoCookie => "record bytes, full, no cookie",
            Self::BytesResumedNoCookie => "record bytes, resumed, no cookie",
            Self::BytesRfc7924NoCookie => "record bytes, rfc7924, no cookie",
            Self::BytesBithacNoCookie => "record bytes, bithac, no cookie",
            Self::BytesCompactNoCookie => "record bytes, compact, no cookie",
            Self::ClientHeapPeak => "client heap, peak, bytes",
            Self::ClientHeapIdle => "client heap, idle, bytes",
            Self::ServerHeapPeak => "server heap, peak, bytes",
            Self::ServerHeapIdle => "server heap, idle, bytes",
            Self::ServerHeapHalfOpen => "server heap, each half-open, bytes",
            Self::ServerHeapEstablished => "server heap, each established, bytes",
            Self::ClientStack => "client stack, bytes",
            Self::ServerStack => "server stack, bytes",
            Self::ClientInstructions => "client instructions, thousand",
            Self::RateFull => "handshakes/CPU s, full",
            Self::RateResumed => "handshakes/CPU s, resumed",
            Self::RateKept => "handshakes/CPU s, resumed by name",
            Self::RateRfc7924 => "handshakes/CPU s, rfc7924",
            Self::RateBithac => "handshakes/CPU s, bithac",
            Self::RateCompact => "handshakes/CPU s, compact",
            Self::BulkLargeWrites => "MB/CPU s, writes of 16 kB",
            Self::BulkDatagrams => "MB/CPU s, datagrams of 1,200 B",
            Self::BulkMediumWrites => "MB/CPU s, writes of 1 kB",
            Self::BulkSmallWrites => "MB/CPU s, writes of 128 B",
        }
    }

    /// Whether a higher number is better.
    pub const fn is_a_rate(self) -> bool {
        matches!(
            self,
            Self::RateFull
                | Self::RateResumed
                | Self::RateKept
                | Self::RateRfc7924
                | Self::RateBithac
                | Self::RateCompact
                | Self::BulkLargeWrites
                | Self::BulkDatagrams
                | Self::BulkMediumWrites
                | Self::BulkSmallWrites
        )
    }
}

/// The amount of measuring.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The number of rounds over all stacks, for measurements of time.
    pub rounds: usize,
    /// The CPU milliseconds of a stack in a round.
    pub slice_ms: u64,
}

/// A version and a profile, for which there is a table.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The version.
    pub version: Version,
    /// The certificates.
    pub profile: Profile,
}

impl Field {
    /// Returns the setting for `mode`.
    pub const fn with(self, mode: Mode) -> Setting {
        Setting::new(self.version, self.profile, mode)
    }

    fn sample(self, stack: &dyn Stack, metric: Metric, value: f64) -> Sample {
        let (version, profile) = (self.version, self.profile);
        Sample { stack: stack.name().into(), version, profile, metric, value, spread: None }
    }

    /// Returns the median and the spread of `values`.
    fn median(self, stack: &dyn Stack, metric: Metric, mut values: Vec<f64>) -> Option<Sample> {
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let middle = (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
        Some(Sample { spread: Some((least, most)), ..self.sample(stack, metric, middle) })
    }
}

/// A world that has had its first connections, and a wire.
pub struct Warm {
    world: Box<dyn World>,
    pair: Pair,
    mode: Mode,
}

impl Warm {
    /// Creates the world, and makes the connections on which later ones depend.
    pub fn new(stack: &dyn Stack, setting: Setting) -> Result<Self, String> {
        Self::of(stack.world(setting)?, setting)
    }

    /// Makes in `world` the connections on which later ones depend.
    pub fn of(world: Box<dyn World>, setting: Setting) -> Result<Self, String> {
        let mut warm = Self { world, pair: Pair::new(setting.version.is_datagram()), mode: setting.mode };
        warm.pair.connect(warm.world.as_ref(), &mut Unwatched)?;
        let first = warm.pair.mode();
        warm.end(&mut Unwatched)?;
        if first != Some(setting.mode.first()) {
            return Err(format!("the first handshake was {first:?}"));
        }
        warm.handshake(&mut Unwatched)?;
        Ok(warm)
    }

    /// Makes a connection, and leaves it open. Fails if its mode was not the expected one.
    pub fn open(&mut self, probe: &mut dyn Probe) -> Result<Cost, String> {
        let cost = self.pair.connect(self.world.as_ref(), probe)?;
        match self.pair.mode() {
            Some(mode) if mode == self.mode.seen() => Ok(cost),
            mode => Err(format!("the handshake was {mode:?}, not {:?}", self.mode.seen())),
        }
    }

    /// Ends the connection. What later connections need is kept.
    pub fn end(&mut self, probe: &mut dyn Probe) -> Result<(), String> {
        if self.mode != Mode::Full {
            self.pair.confirm(probe)?;
        }
        self.pair.end(probe);
        Ok(())
    }

    /// Makes a connection and ends it.
    pub fn handshake(&mut self, probe: &mut dyn Probe) -> Result<(), String> {
        self.open(probe)?;
        self.end(probe)
    }

    /// Makes a connection and ends it. Returns its cost, with tickets that the server sends together with its first
    /// data (Mbed TLS).
    pub fn cost(&mut self) -> Result<Cost, String> {
        let mut cost = self.open(&mut Unwatched)?;
        let first = self.pair.confirm(&mut Unwatched)?;
        cost.tickets += first - self.pair.confirm(&mut Unwatched)?;
        self.end(&mut Unwatched)?;
        Ok(cost)
    }

    /// Returns the world.
    pub fn world(&self) -> &dyn World {
        self.world.as_ref()
    }

    /// Returns the open connection.
    pub const fn pair(&mut self) -> &mut Pair {
        &mut self.pair
    }
}

/// Returns the CPU seconds of this thread.
pub(crate) fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
