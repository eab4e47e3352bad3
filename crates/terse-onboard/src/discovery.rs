//! The discovery of join proxies and registrars (RFC 8995, 4.1, 4.3 and Appendix B).
//!
//! A pledge looks for [`Service::Proxy`], and a join proxy for [`Service::Registrar`]. What they use is a [`Discovery`]: places
//! that somebody has configured ([`Fixed`]), announcements by DNS-SD over multicast DNS ([`mdns`]), or, for constrained BRSKI,
//! answers to questions by CoAP ([`coap`]).
//!
//! What must always hold: discovery is hostile input, and says only where to try. Whoever answers there is authenticated by
//! the voucher.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::str::FromStr;

use serde::{Deserialize as _, Deserializer};

pub mod coap;
pub mod mdns;

/// A service of onboarding, as DNS-SD names it (RFC 8995, Appendix B).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// A join proxy, or a registrar for the pledges of its own links.
    Proxy,
    /// A join proxy for datagrams, or a registrar of constrained BRSKI for the pledges of its own links.
    DatagramProxy,
    /// A registrar, for join proxies.
    Registrar,
}

impl Service {
    /// Returns the service type with the domain of multicast DNS.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Proxy => "_brski-proxy._tcp.local.",
            Self::DatagramProxy => "_brski-proxy._udp.local.",
            Self::Registrar => "_brski-registrar._tcp.local.",
        }
    }
}

/// Where a join proxy or a registrar listens: a host and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    host: String,
    port: u16,
}

impl Place {
    /// Creates a place. The host is a name or an address; an IPv6 address has no brackets, and a link-local one can have a zone
    /// (`fe80::1%eth0`).
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    /// Returns the host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns what stands in the Host field of a request (RFC 9110, 7.2): without a zone, which is of no meaning elsewhere.
    pub(crate) fn authority(&self) -> String {
        let host = self.host.split('%').next().unwrap_or_default();
        let port = self.port;
        match host.parse::<Ipv6Addr>() {
            Ok(address) => format!("[{address}]:{port}"),
            Err(_) => format!("{host}:{port}"),
        }
    }
}

/// Reads `registrar.example:8443`, `192.0.2.1:8443` or `[fe80::1%eth0]:8443`.
impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write HOST:PORT, as in registrar.plant.example:8443 or [::1]:8443".to_owned();
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(wrong)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_address = |host: &str| host.split('%').next().is_some_and(|host| host.parse::<IpAddr>().is_ok());
        let is_name = |host: &str| !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic());
        match bare {
            Some(host) if is_address(host) => Ok(Self::new(host, port)),
            None if is_name(host) && !host.contains([':', '[', ']', '/', '@']) => Ok(Self::new(host, port)),
            _ => Err(wrong()),
        }
    }
}

/// The place at an address: with its scope, if it has one.
impl From<SocketAddr> for Place {
    fn from(address: SocketAddr) -> Self {
        let host = match address {
            SocketAddr::V6(address) if address.scope_id() != 0 => format!("{}%{}", address.ip(), address.scope_id()),
            address => address.ip().to_string(),
        };
        Self::new(host, address.port())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// What discovery has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Somebody offers the service at this place.
    Found(Place),
    /// The offer has expired, or was withdrawn.
    Gone(Place),
}

/// A way to find a service.
pub trait Discovery: Send {
    /// Waits for the next change. If the future is dropped, no change is lost.
    fn next(&mut self) -> impl Future<Output = Change> + Send;

    /// Takes the news that an attempt at a place has failed, so that others can have its turn.
    fn failed(&mut self, _place: &Place) {}
}

/// Two ways to find places at once. A place that both have found is gone when both have lost it.
#[derive(Debug)]
pub struct Together<A, B> {
    one: A,
    other: B,
    /// The places that both have found, which are as many as either knows.
    by_both: Vec<Place>,
    found: Vec<Place>,
}

impl<A: Discovery, B: Discovery> Together<A, B> {
    /// Finds what one of these finds.
    pub const fn new(one: A, other: B) -> Self {
        Self { one, other, by_both: Vec::new(), found: Vec::new() }
    }

    /// Returns what a change of one of them means for both.
    fn change(&mut self, change: Change) -> Option<Change> {
        match &change {
            Change::Found(place) if self.found.contains(place) => {
                self.by_both.push(place.clone());
                None
            }
            Change::Found(place) => {
                self.found.push(place.clone());
                Some(change)
            }
            Change::Gone(place) => match self.by_both.iter().position(|known| known == place) {
                Some(known) => {
                    self.by_both.remove(known);
                    None
                }
                None => {
                    self.found.retain(|known| known != place);
                    Some(change)
                }
            },
        }
    }
}

impl<A: Discovery, B: Discovery> Discovery for Together<A, B> {
    async fn next(&mut self) -> Change {
        loop {
            let change = tokio::select! {
                change = self.one.next() => change,
                change = self.other.next() => change,
            };
            if let Some(change) = self.change(change) {
                return change;
            }
        }
    }

    fn failed(&mut self, place: &Place) {
        self.one.failed(place);
        self.other.failed(place);
    }
}

/// Places that are known without a search.
#[derive(Clone, Debug)]
pub struct Fixed(alloc::collections::VecDeque<Place>);

impl Fixed {
    /// Creates the discovery that finds these places at once, and no others.
    pub fn new(places: impl IntoIterator<Item = Place>) -> Self {
        Self(places.into_iter().collect())
    }
}

impl Discovery for Fixed {
    async fn next(&mut self) -> Change {
        match self.0.pop_front() {
            Some(place) => Change::Found(place),
            None => core::future::pending().await,
        }
    }
}

/// Reads the places of a configuration.
pub(crate) fn places<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Place>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| text.parse().map_err(serde::de::Error::custom)).collect()
}

#[cfg(test)]
mod tests;
