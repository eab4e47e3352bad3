//! Points and tables are measured: each point for itself, so that their order does not matter.

use alloc::sync::Arc;
use core::time::Duration;

use super::point::{Figure, Point, setting};
use super::series::{SecurityLevel, Series};
use crate::compare::{Comparison, Failed, Parties, Setting, Sides};
use crate::computing::Device;
use crate::link::Link;

/// Both sides for all curves. The certificates of a level have the key algorithms and the sizes of the paper.
#[derive(Clone, Debug)]
pub struct Contestants {
    /// With RSA certificates, by level.
    pub rsa: ByLevel,
    /// With ECDSA certificates, by level.
    pub ecc: ByLevel,
    /// For all ways to connect without certificates.
    pub others: Parties,
    /// When connections begin, in UNIX seconds: certificates must be valid then.
    pub begins: u64,
    /// The devices on which both sides compute; without them computing takes no time. All sides then need [counting
    /// providers](crate::computing::counting).
    pub devices: Option<Sides<Arc<Device>>>,
}

/// Both sides at each security level.
#[derive(Clone, Debug)]
pub struct ByLevel {
    /// At 112 bits.
    pub bits112: Parties,
    /// At 128 bits.
    pub bits128: Parties,
}

impl ByLevel {
    const fn at(&self, level: SecurityLevel) -> &Parties {
        match level {
            SecurityLevel::Bits112 => &self.bits112,
            SecurityLevel::Bits128 => &self.bits128,
        }
    }
}

/// A measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The mean of all runs, in the unit of [`Figure::unit`].
    pub mean: f64,
    /// The median of all runs: without loss it is the mean.
    pub median: f64,
    /// The standard error of the mean; `None` if one run was enough.
    pub standard_error: Option<f64>,
}

impl Contestants {
    /// Measures a point by means over `runs` where handshakes are lost, and over one where they are all the same. The
    /// result follows from `seed`, if signatures always have the same length.
    pub fn measure(&self, point: &Point, runs: usize, seed: u64) -> Result<Value, Failed> {
        let point = point.measured_as();
        let comparison = self.comparison(point.series, point.level, point.runs(runs), seed);
        let setting = Setting { devices: self.devices.clone(), ..point.setting() };
        if point.figure == Figure::Exchanges {
            let repeated = comparison.repeat(&setting, MINUTE, MOST_EXCHANGES)?;
            return Ok(Value::of(vec![repeated.per_minute()]));
        }
        let times = comparison.each(&setting)?;
        Ok(Value::of(times.iter().map(|single| single.times.server_connected).collect()))
    }

    /// Returns the bytes of records that each side sends in a full handshake.
    pub fn traffic(&self, series: Series, level: SecurityLevel, seed: u64) -> Result<Sides<u64>, Failed> {
        let comparison = self.comparison(series, level, 1, seed);
        let all = comparison.each(&setting(series, Link::lossless(), false))?;
        Ok(all.first().map(|single| single.records).unwrap_or_default())
    }

    fn comparison(&self, series: Series, level: SecurityLevel, runs: usize, seed: u64) -> Comparison {
        let parties = match series {
            Series::Rsa => self.rsa.at(level),
            Series::Ecc | Series::Compact => self.ecc.at(level),
            _ => &self.others,
        };
        Comparison {
            parties: parties.clone(),
            certificates: series.name().into(),
            begins: self.begins,
            runs,
            seed,
            captures: false,
        }
    }
}

impl Value {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let median = values.get((values.len() - 1) / 2).copied().unwrap_or(mean);
        Self { mean, median, standard_error: (values.len() > 1).then(|| (variance / count).sqrt()) }
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// The most exchanges that are simulated for a value of figure 8. Without loss each takes as long as the one before, so
/// that their rate is known long before a minute is over.
const MOST_EXCHANGES: usize = 12;
