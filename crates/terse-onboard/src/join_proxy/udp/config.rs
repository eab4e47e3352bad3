//! The table `[udp]` of `join-proxy.toml`.

use core::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use terse_brski::join_proxy::{MAX_PREFIXES, OnLink, SHARES};

use super::{Mode, UdpLimits};
use crate::discovery::{self, Place};
use crate::join_proxy::MAX_REGISTRARS;

/// What a join proxy does for datagrams.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct UdpConfig {
    /// How answers find their pledge, which decides what the registrar must speak.
    pub mode: Mode,
    /// Where devices send to: a host and a port. Port 0 picks one.
    pub listen: String,
    /// The registrars, at least one and at most [`MAX_REGISTRARS`]: in the stateless mode, the ports where they take JPY.
    #[serde(deserialize_with = "discovery::places")]
    pub registrars: Vec<Place>,
    /// Prefixes whose addresses devices may have, beside link-local ones.
    #[serde(default, deserialize_with = "on_link")]
    pub on_link: OnLink,
    /// The size of the largest IP packet: 1,280 unless it is given.
    #[serde(default = "mtu")]
    pub mtu: u16,
    /// The most ports of one address at a time, in the stateful mode: 2 unless it is given.
    #[serde(default = "per_address")]
    pub per_address: u16,
    /// The most devices of one interface at a time, in the stateful mode: 10 unless it is given.
    #[serde(default = "per_interface")]
    pub per_interface: u16,
    /// The seconds after which a silent device is forgotten, in the stateful mode: 30 unless it is given.
    #[serde(default = "idle_seconds")]
    pub idle_seconds: u32,
    /// The datagrams of an interface that are passed on in a second: 1,000 unless it is given.
    #[serde(default = "datagrams_per_second")]
    pub datagrams_per_second: u32,
}

impl UdpConfig {
    /// Returns what is wrong.
    pub(in crate::join_proxy) fn problem(&self) -> Option<String> {
        let limits = [self.per_address.into(), self.per_interface.into(), self.idle_seconds, self.datagrams_per_second];
        if limits.contains(&0) {
            return Some("a limit is 0, with which no device comes through; give 1 or more".into());
        }
        if self.per_interface > MAX_PER_INTERFACE {
            return Some(format!("per_interface is more than {MAX_PER_INTERFACE}; give less"));
        }
        if self.datagrams_per_second > MAX_DATAGRAMS {
            return Some(format!("datagrams_per_second is more than {MAX_DATAGRAMS}; give less"));
        }
        let (least, why) = match self.mode {
            Mode::Stateful => (self.per_interface.into(), "per_interface, so that a device has less than one"),
            Mode::Stateless => (SHARES as u32, "the number of shares, so that a device has less than one"),
        };
        if self.datagrams_per_second < least {
            return Some(format!("datagrams_per_second is less than {why}; give {least} or more"));
        }
        if self.mtu < MIN_MTU {
            return Some(format!("mtu is less than {MIN_MTU}, in which no handshake fits; give more"));
        }
        match self.registrars.len() {
            1..=MAX_REGISTRARS => None,
            0 => Some("there are no registrars; give one, as multicast DNS finds none for datagrams".into()),
            _ => Some(format!("there are more than {MAX_REGISTRARS} registrars; leave some out")),
        }
    }

    /// Returns the limits.
    pub fn limits(&self) -> UdpLimits {
        UdpLimits {
            per_address: self.per_address.into(),
            per_interface: self.per_interface.into(),
            idle: Duration::from_secs(self.idle_seconds.into()),
            mtu: self.mtu.into(),
            datagrams_per_second: self.datagrams_per_second,
        }
    }
}

fn on_link<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OnLink, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let prefixes = texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect::<Result<_, _>>()?;
    let too_many = || D::Error::custom(format_args!("there are more than {MAX_PREFIXES} prefixes; leave some out"));
    OnLink::new(prefixes).ok_or_else(too_many)
}

const fn mtu() -> u16 {
    1_280
}

const fn per_address() -> u16 {
    2
}

const fn per_interface() -> u16 {
    10
}

const fn idle_seconds() -> u32 {
    30
}

const fn datagrams_per_second() -> u32 {
    1_000
}

/// The most devices of one interface: each has a socket, and 16 interfaces have as many.
const MAX_PER_INTERFACE: u16 = 256;

const MAX_DATAGRAMS: u32 = 1_000_000;

const MIN_MTU: u16 = 256;
