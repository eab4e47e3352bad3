//! Links have names, and each number in them has a source.
//!
//! | name | numbers |
//! |---|---|
//! | `lossless` | no time, no loss: for tests. MTU 1500 |
//! | `ethernet` | MTU 1500 (IEEE 802.3); 1 Gbit/s (1000BASE-T); 100 µs one way, an assumption for a LAN with a switch |
//! | `ethernet-576` | the same with the datagram that every IPv4 host must accept (RFC 791, 3.1), as in BiTHaC |
//! | `ethernet-127` | the same with the size of a frame of IEEE 802.15.4, as in BiTHaC: IPv4 only |
//! | `ieee802154` | see [`Ieee802154`](super::Ieee802154) and its module; MTU 1280 (RFC 4944, 4); half duplex; a queue of 20 packets, as in the firmware of the paper on TLS over 6TiSCH |
//! | `lorawan-sf7` to `lorawan-sf12` | see [`LoraWan`](super::LoraWan) and its module; MTU 1280 (RFC 8200, 5); half duplex; a queue of 20, an assumption |
//! | `nb-iot` | 62.5 kbit/s up, 26.15 kbit/s down: sustained peaks of Cat-NB1, multi-tone (3GPP Release 13); half duplex (HD-FDD); 500 ms one way, an assumption for connected mode at normal coverage; MTU 1358 (3GPP TS 23.060, annex C); bare IP, no bytes of PDCP, RLC and MAC |

use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use std::borrow::Cow;

use super::{Framing, Ieee802154, Link, LoraWan, Path};

/// The names of all profiles.
pub const PROFILES: &[&str] = &[
    "lossless",
    "ethernet",
    "ethernet-576",
    "ethernet-127",
    "ieee802154",
    "lorawan-sf7",
    "lorawan-sf8",
    "lorawan-sf9",
    "lorawan-sf10",
    "lorawan-sf11",
    "lorawan-sf12",
    "nb-iot",
];

/// No link has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLink(pub String);

impl Link {
    /// Returns a link that takes no time and loses nothing.
    pub const fn lossless() -> Self {
        Self {
            name: Cow::Borrowed("lossless"),
            framing: Framing::Ethernet,
            mtu: 1500,
            half_duplex: false,
            up: Path::IDEAL,
            down: Path::IDEAL,
        }
    }

    /// Returns Gigabit Ethernet with this MTU.
    pub fn ethernet(mtu: usize) -> Self {
        let path = Path::new(1_000_000_000, Duration::from_micros(100));
        Self {
            name: if mtu == 1500 { "ethernet".into() } else { format!("ethernet-{mtu}").into() },
            framing: Framing::Ethernet,
            mtu,
            half_duplex: false,
            up: path.clone(),
            down: path,
        }
    }

    /// Returns IEEE 802.15.4 without TSCH, at 2.4 GHz.
    pub fn ieee802154() -> Self {
        let path = Path { queue: 20, ..Path::new(250_000, Duration::ZERO) };
        Self {
            name: "ieee802154".into(),
            framing: Framing::Ieee802154(Ieee802154::DEFAULT),
            mtu: 1280,
            half_duplex: true,
            up: path.clone(),
            down: path,
        }
    }

    /// Returns LoRaWAN in EU868 with this spreading factor, 7 to 12.
    pub fn lorawan(spreading_factor: u8) -> Self {
        let options = LoraWan::eu868(spreading_factor);
        let path = Path { duty_cycle: 0.01, queue: 20, ..Path::IDEAL };
        Self {
            name: format!("lorawan-sf{}", options.spreading_factor).into(),
            framing: Framing::LoraWan(options),
            mtu: 1280,
            half_duplex: true,
            up: path.clone(),
            down: path,
        }
    }

    /// Returns NB-IoT in connected mode.
    pub fn nb_iot() -> Self {
        let delay = Duration::from_millis(500);
        Self {
            name: "nb-iot".into(),
            framing: Framing::Ip,
            mtu: 1358,
            half_duplex: true,
            up: Path::new(62_500, delay),
            down: Path::new(26_150, delay),
        }
    }
}

impl FromStr for Link {
    type Err = UnknownLink;

    fn from_str(name: &str) -> Result<Self, UnknownLink> {
        Ok(match name {
            "lossless" => Self::lossless(),
            "ethernet" => Self::ethernet(1500),
            "ethernet-576" => Self::ethernet(576),
            "ethernet-127" => Self::ethernet(127),
            "ieee802154" => Self::ieee802154(),
            "nb-iot" => Self::nb_iot(),
            _ => match name.strip_prefix("lorawan-sf").and_then(|factor| factor.parse().ok()) {
                Some(factor @ 7..=12) => Self::lorawan(factor),
                _ => return Err(UnknownLink(name.to_owned())),
            },
        })
    }
}

impl fmt::Display for UnknownLink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "no link is called {}; there are {}", self.0, PROFILES.join(", "))
    }
}

impl core::error::Error for UnknownLink {}
