//! The table `[udp]` of `join-proxy.toml`.

use core::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use terse_brski::join_proxy::{MAX_PREFIXES, OnLink, SHARES};

use super::front::ADDRESS_OF_LINK;
use super::{Mode, UdpLimits};
use crate::discovery::coap::{self, MAX_SOCKETS, Reach};
use crate::discovery::{self, Place};
use crate::join_proxy::MAX_REGISTRARS;

/// What a join proxy does for datagrams.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct UdpConfig {
    /// How answers find their pledge, which decides what the registrar must speak.
    pub mode: Mode,
    /// Where devices send to: an address of the link, and a port. Port 0 picks one.
    pub listen: String,
    /// The registrars, at most [`MAX_REGISTRARS`]: in the stateless mode, the ports where they take JPY. Without any, they are
    /// asked for by CoAP.
    #[serde(default, deserialize_with = "discovery::places")]
    pub registrars: Vec<Place>,
    /// The hosts that are asked where registrars are, at most [`MAX_SOCKETS`], each with its port for CoAP. Without any, all
    /// hosts of links are asked.
    #[serde(default, deserialize_with = "discovery::places")]
    pub ask: Vec<Place>,
    /// The interfaces on whose links registrars are asked for, at most [`MAX_SOCKETS`]. Without any, all are.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// Whether devices that ask for join proxies by CoAP are answered.
    #[serde(default)]
    pub discovery: bool,
    /// The port where devices ask: 5,683, which is that of CoAP, unless it is given. Port 0 picks one.
    #[serde(default = "discovery_port")]
    pub discovery_port: u16,
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
        if self.listen.starts_with("[::]:") || self.listen.starts_with("0.0.0.0:") {
            return Some(format!("{}: {ADDRESS_OF_LINK}", self.listen));
        }
        self.problem_of_registrars()
    }

    fn problem_of_registrars(&self) -> Option<String> {
        let asked = [self.ask.len(), self.interfaces.len()];
        if self.registrars.len() > MAX_REGISTRARS {
            return Some(format!("there are more than {MAX_REGISTRARS} registrars; leave some out"));
        }
        if asked.iter().any(|count| *count > MAX_SOCKETS) {
            return Some(format!("ask and interfaces have more than {MAX_SOCKETS} entries; leave some out"));
        }
        let ways = [self.registrars.len(), self.ask.len(), self.interfaces.len()];
        if ways.iter().filter(|count| **count > 0).count() > 1 {
            return Some(
                "give one of registrars, ask and interfaces: each says where registrars are, in a way of its own"
                    .into(),
            );
        }
        None
    }

    /// Returns whom to ask for registrars, if none is given.
    pub fn reach(&self) -> Option<Reach> {
        match (&*self.registrars, &*self.ask, &*self.interfaces) {
            ([], [], []) => Some(Reach::AllLinks),
            ([], [], interfaces) => Some(Reach::Links(interfaces.to_vec())),
            ([], hosts, _) => Some(Reach::Hosts(hosts.to_vec())),
            _ => None,
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

const fn discovery_port() -> u16 {
    coap::PORT
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
