//! The points of the figures: what is varied, and the setting of each.

use core::time::Duration;

use super::series::{SecurityLevel, Series};
use crate::compare::{IpVersion, Setting, Version};
use crate::link::Link;
use crate::{Exchange, tcp};

/// A figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Figure {
    /// Figure 4: full handshakes on an ideal network.
    Ideal,
    /// Figure 5: full handshakes, by the delay of each way.
    Delay,
    /// Figure 6: full handshakes, by loss.
    Loss,
    /// Figure 7: full handshakes, by rate.
    Rate,
    /// Figure 8: exchanges in a minute, by the delay of each way.
    Exchanges,
}

/// A point of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The figure.
    pub figure: Figure,
    /// The strength of keys.
    pub level: SecurityLevel,
    /// The largest IP packet, in bytes.
    pub mtu: usize,
    /// The value on the abscissa, in the unit of [`Figure::x_unit`].
    pub x: f64,
    /// The curve.
    pub series: Series,
}

impl Figure {
    /// All figures.
    pub const ALL: [Self; 5] = [Self::Ideal, Self::Delay, Self::Loss, Self::Rate, Self::Exchanges];

    /// Returns the number in the paper.
    pub const fn number(self) -> u8 {
        match self {
            Self::Ideal => 4,
            Self::Delay => 5,
            Self::Loss => 6,
            Self::Rate => 7,
            Self::Exchanges => 8,
        }
    }

    /// Returns the unit of the abscissa.
    pub const fn x_unit(self) -> &'static str {
        match self {
            Self::Ideal | Self::Delay | Self::Exchanges => "ms",
            Self::Loss => "%",
            Self::Rate => "kbit/s",
        }
    }

    /// Returns the unit of the values.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Exchanges => "exchanges/min",
            _ => "ms",
        }
    }

    /// Returns the largest IP packets of the figure, in bytes.
    pub const fn mtus(self) -> &'static [usize] {
        match self {
            Self::Ideal => &[1500],
            _ => &[1500, 127],
        }
    }

    /// Returns the values on the abscissa.
    pub const fn xs(self) -> &'static [f64] {
        match self {
            Self::Ideal => &[0.0],
            Self::Delay => &[0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0],
            Self::Exchanges => &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0],
            Self::Loss => &[0.0, 2.5, 5.0, 7.5, 10.0, 12.5, 15.0, 17.5],
            Self::Rate => &[16.0, 32.0, 64.0, 128.0, 256.0],
        }
    }

    /// Returns the curves, in the order of reports.
    pub const fn series(self) -> &'static [Series] {
        match self {
            Self::Exchanges => &[
                Series::IdentityEarly,
                Series::IdentityBls12381Early,
                Series::Identity,
                Series::ResumedEarly,
                Series::Compact,
                Series::Ecc,
                Series::Rsa,
            ],
            _ => &[Series::Identity, Series::IdentityBls12381, Series::Psk, Series::Compact, Series::Ecc, Series::Rsa],
        }
    }

    /// Returns the curves that stand for iTLS in the paper's figure.
    pub const fn identities(self) -> [Series; 2] {
        match self {
            Self::Exchanges => [Series::IdentityEarly, Series::IdentityBls12381Early],
            _ => [Series::Identity, Series::IdentityBls12381],
        }
    }

    /// Returns all points, at both levels.
    pub fn points(self) -> impl Iterator<Item = Point> {
        let curves = SecurityLevel::ALL.into_iter().flat_map(move |level| {
            self.mtus().iter().flat_map(move |mtu| self.series().iter().map(move |series| (level, *mtu, *series)))
        });
        curves.flat_map(move |(level, mtu, series)| {
            self.xs().iter().map(move |x| Point { figure: self, level, mtu, x: *x, series })
        })
    }
}

impl Point {
    /// Returns the point that is measured for this one: handshakes without certificates are the same at both levels.
    pub fn measured_as(self) -> Self {
        let level = if self.series.has_levels() { self.level } else { SecurityLevel::Bits128 };
        Self { level, ..self }
    }

    /// Returns how often the point is measured if `runs` are wanted: without loss all handshakes take the same time.
    pub fn runs(&self, runs: usize) -> usize {
        if self.figure == Figure::Loss && self.x > 0.0 { runs } else { 1 }
    }

    /// Returns the setting.
    pub fn setting(&self) -> Setting {
        let link = Link { mtu: self.mtu, ..Link::lossless() }.with_paths(|path| match self.figure {
            Figure::Ideal => {}
            Figure::Delay | Figure::Exchanges => path.delay = Duration::from_secs_f64(self.x / 1e3),
            Figure::Loss => path.loss = self.x / 100.0,
            Figure::Rate => path.rate = Some((self.x * 1e3) as u64),
        });
        setting(self.series, link, self.figure == Figure::Exchanges)
    }
}

/// Returns the setting of `series` on `link`: TLS 1.3 over IPv4, as IPv6 needs an MTU of 1280 (RFC 8200, 5), and over a TCP
/// that does not wait with small segments.
pub(super) fn setting(series: Series, link: Link, sends_early: bool) -> Setting {
    Setting {
        version: Version::Tls13,
        mode: series.mode(),
        link,
        ip: IpVersion::V4,
        tcp: tcp::Config { nagle: tcp::Nagle::Off, ..tcp::Config::linux() },
        limits_segments: false,
        client: 17,
        exchange: Exchange { early_data: sends_early && series.has_early_data(), ..EXCHANGE },
        devices: None,
    }
}

/// The messages of the paper's second experiment, in bytes (V-B).
const EXCHANGE: Exchange = Exchange { request: 28, reply: 58, early_data: false };
