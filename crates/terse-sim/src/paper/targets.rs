//! What the paper measured, and what must hold of a reproduction (`targets.toml`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
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

    /// Returns the row of these peers.
    pub fn row(&self, peers: Kind, size: u16, nagle: Option<bool>) -> Option<&Row> {
        self.rows.iter().find(|row| (row.peers, row.size, row.nagle) == (peers, size, nagle))
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
