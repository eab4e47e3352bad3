//! What the paper on iTLS says in numbers (`itls.toml`).
//!
//! What must always hold: a number has one place in the paper, and is there once.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::series::{SecurityLevel, Series};

/// The numbers of the paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Tables I and II.
    pub traffic: Vec<Traffic>,
    /// Values of figures 5 to 7.
    pub latency: Vec<Latency>,
    /// Ratios of figures 4 and 8.
    pub ratio: Vec<Ratio>,
}

/// A table: bytes of the records of a full handshake.
#[derive(Debug, Deserialize)]
pub struct Traffic {
    /// The place in the paper.
    pub source: String,
    /// The number of the table.
    pub table: u8,
    /// The security level.
    #[serde(rename = "security_bits")]
    pub level: SecurityLevel,
    /// The bytes that client and server sent, by the paper's name.
    #[serde(flatten)]
    pub bytes: BTreeMap<String, [u64; 2]>,
}

/// A value of each curve of a figure.
#[derive(Debug, Deserialize)]
pub struct Latency {
    /// The place in the paper.
    pub source: String,
    /// The number of the figure.
    pub figure: u8,
    /// The security level.
    #[serde(rename = "security_bits")]
    pub level: SecurityLevel,
    /// The largest IP packet, in bytes.
    pub mtu: usize,
    /// The value on the abscissa, in the unit of [`super::Figure::x_unit`].
    pub x: f64,
    /// Mean milliseconds, by the paper's name.
    #[serde(flatten)]
    pub milliseconds: BTreeMap<String, f64>,
}

/// What the paper says of iTLS as a multiple of another mode: of times in figure 4, of exchanges in a minute in figure 8.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// The place in the paper.
    pub source: String,
    /// The number of the figure.
    pub figure: u8,
    /// The security level; `None` if the sentence is about both.
    #[serde(rename = "security_bits")]
    pub level: Option<SecurityLevel>,
    /// The largest IP packet, in bytes.
    pub mtu: usize,
    /// The paper's name of the mode that iTLS is compared with.
    pub to: String,
    /// The least value.
    pub least: Option<f64>,
    /// The greatest value.
    pub most: Option<f64>,
}

impl Paper {
    /// Returns the numbers.
    pub fn get() -> &'static Self {
        static PAPER: LazyLock<Paper> = LazyLock::new(|| {
            // The text is a part of the program, and a test reads it.
            toml::from_str(include_str!("itls.toml")).expect("itls.toml is valid")
        });
        &PAPER
    }

    /// Returns the bytes that client and server sent in a full handshake.
    pub fn bytes(&self, level: SecurityLevel, series: Series) -> Option<[u64; 2]> {
        let table = self.traffic.iter().find(|table| table.level == level)?;
        table.bytes.get(series.name_in_paper()?).copied()
    }

    /// Returns the milliseconds of a full handshake.
    pub fn milliseconds(&self, figure: u8, level: SecurityLevel, mtu: usize, x: f64, series: Series) -> Option<f64> {
        let wanted = |value: &&Latency| (value.figure, value.level, value.mtu, value.x) == (figure, level, mtu, x);
        self.latency.iter().find(wanted)?.milliseconds.get(series.name_in_paper()?).copied()
    }
}

#[cfg(test)]
mod tests;
