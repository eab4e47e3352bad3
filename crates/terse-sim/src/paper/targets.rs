//! What the paper measured, and what must hold of a reproduction (`targets.toml`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::RowKey;

/// The numbers of the paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Targets {
    /// The rows of tables 2 and 3.
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
    /// What the text says of figures 6 and 7.
    #[serde(rename = "effect")]
    pub effects: Vec<Effect>,
    /// The bounds of a reproduction, by name.
    #[serde(rename = "bound")]
    pub bounds: BTreeMap<String, Bound>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// TLS over TCP, whose first SYN-ACK is dropped.
    Tls,
    /// TLS over TCP, with a proxy in the gateway.
    TlsPep,
    /// DTLS over UDP.
    Dtls,
}

/// A row of a table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The place in the paper.
    pub place: String,
    /// What was measured.
    pub peers: Kind,
    /// The MSS of TCP, or the maximum fragment length of DTLS.
    pub size: u16,
    /// What the paper calls the MTU.
    pub mtu: u16,
    /// Whether TCP has Nagle's algorithm.
    pub nagle: Option<bool>,
    /// Latency.
    pub seconds: Measured,
    /// Bytes on the air.
    pub bytes: Measured,
}

/// A mean and its standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(from = "[f64; 2]")]
pub struct Measured {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

/// A quantity of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantity {
    /// Latency.
    Seconds,
    /// Bytes on the air.
    Bytes,
}

/// What the paper says of loss.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// The place in the paper.
    pub place: String,
    /// What was measured.
    pub peers: Kind,
    /// Whether TCP has Nagle's algorithm.
    pub nagle: Option<bool>,
    /// The quantity that grows.
    pub quantity: Quantity,
    /// By how much it grows, by MSS or maximum fragment length.
    pub percent: BTreeMap<String, f64>,
}

/// The bounds of a quantity.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// The figure or table.
    pub figure: String,
    /// What is bounded.
    pub what: String,
    /// The least value.
    pub least: Option<f64>,
    /// The greatest value.
    pub most: Option<f64>,
    /// What the paper says.
    pub paper: Option<String>,
}

impl Targets {
    /// Returns the numbers of the paper.
    pub fn of_paper() -> &'static Self {
        static TARGETS: LazyLock<Targets> = LazyLock::new(|| {
            // The text is a part of the program, and a test reads it.
            toml::from_str(include_str!("targets.toml")).expect("targets.toml is valid")
        });
        &TARGETS
    }

    /// Returns a row.
    pub fn row(&self, key: RowKey) -> Option<&Row> {
        self.rows.iter().find(|row| row.key() == key)
    }

    /// Returns how much a row grows under loss, as a factor.
    pub fn growth(&self, key: RowKey, quantity: Quantity) -> Option<f64> {
        let RowKey { peers, size, nagle } = key;
        let is_of = |effect: &&Effect| (effect.peers, effect.nagle, effect.quantity) == (peers, nagle, quantity);
        let percent = self.effects.iter().find(is_of)?.percent.get(&size.to_string())?;
        Some(1.0 + percent / 100.0)
    }
}

impl Row {
    /// Returns what the row is of.
    pub const fn key(&self) -> RowKey {
        RowKey { peers: self.peers, size: self.size, nagle: self.nagle }
    }

    /// Returns what was measured.
    pub const fn of(&self, quantity: Quantity) -> Measured {
        match quantity {
            Quantity::Seconds => self.seconds,
            Quantity::Bytes => self.bytes,
        }
    }

    /// Returns the mean of what was measured.
    pub const fn mean(&self, quantity: Quantity) -> f64 {
        self.of(quantity).mean
    }
}

impl Quantity {
    /// Returns its name in sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
        }
    }
}

impl Bound {
    /// Whether `value` is within the bounds.
    pub fn holds(&self, value: f64) -> bool {
        self.least.is_none_or(|least| value >= least) && self.most.is_none_or(|most| value <= most)
    }
}

impl From<[f64; 2]> for Measured {
    fn from([mean, deviation]: [f64; 2]) -> Self {
        Self { mean, deviation }
    }
}
