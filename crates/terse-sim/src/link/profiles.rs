//! Links by name, and where their numbers come from.
//!
//! | name | numbers |
//! |---|---|
//! | `lossless` | no time, no loss: for tests. MTU 1500 |
//! | `ethernet` | MTU 1500 (IEEE 802.3); 1 Gbit/s (1000BASE-T); 100 µs one way, an assumption for a LAN with a switch |
//! | `ethernet-576` | the same with the datagram that every IPv4 host must accept (RFC 791, 3.1), as in paper 000 |
//! | `ethernet-127` | the same with the size of a frame of IEEE 802.15.4, as in paper 000: IPv4 only |

use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use std::borrow::Cow;

use super::{Framing, Link, Path};

/// The names of all profiles.
pub const PROFILES: &[&str] = &["lossless", "ethernet", "ethernet-576", "ethernet-127"];

/// There is no link of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLink(pub String);

impl Link {
    /// Takes no time and loses nothing.
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

    /// Gigabit Ethernet with this MTU.
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
}

impl FromStr for Link {
    type Err = UnknownLink;

    fn from_str(name: &str) -> Result<Self, UnknownLink> {
        Ok(match name {
            "lossless" => Self::lossless(),
            "ethernet" => Self::ethernet(1500),
            "ethernet-576" => Self::ethernet(576),
            "ethernet-127" => Self::ethernet(127),
            _ => return Err(UnknownLink(name.to_owned())),
        })
    }
}

impl fmt::Display for UnknownLink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "no link is called {}; there are {}", self.0, PROFILES.join(", "))
    }
}

impl core::error::Error for UnknownLink {}
