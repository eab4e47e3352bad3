//! Where a MASA URL may lead (RFC 8995, 2.3.2, 5.4 and 11.4): a trusted manufacturer's certificate is still no reason to
//! connect to the own network.
//!
//! What must always hold: a URL that came in a certificate leads neither to the registrar itself nor to an address that is
//! not public, whether it says so or a resolver does. One that an operator has configured may lead anywhere.

use alloc::string::String;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Malformed;
use crate::address::is_public;
use crate::certificate::masa_base_url;

/// The base URL of a MASA, to which the names of requests are appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MasaUrl {
    base: String,
    is_configured: bool,
}

impl MasaUrl {
    /// Takes the URL that an operator has configured.
    pub(super) fn configured(masa_url: &str) -> Result<Self, Malformed> {
        Ok(Self { base: masa_base_url(masa_url)?, is_configured: true })
    }

    /// Takes the URL of an IDevID.
    pub(super) fn of_idevid(masa_url: &str, own_names: &[String]) -> Result<Self, DestinationRefused> {
        let base = masa_base_url(masa_url).map_err(DestinationRefused::Malformed)?;
        let host = host_of(&base).ok_or(DestinationRefused::Malformed(Malformed::Invalid("MASA URL")))?;
        check_host(host, own_names)?;
        Ok(Self { base, is_configured: false })
    }

    /// Returns the base URL: `https://masa.example:9443/.well-known/brski`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether an operator has configured the URL.
    pub const fn is_configured(&self) -> bool {
        self.is_configured
    }

    /// Whether a connection may go to this address, to which the host of the URL resolved.
    pub(super) fn permits(&self, address: IpAddr, own_names: &[String]) -> bool {
        self.is_configured || (is_public(address) && !is_own_address(address, own_names))
    }
}

/// Why a MASA URL is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DestinationRefused {
    /// It is malformed.
    Malformed(Malformed),
    /// It leads to the registrar itself.
    Own,
    /// It leads to an address that is not public.
    Address,
    /// Its host has a name of the own network: one label, or a domain for local use.
    LocalName,
}

impl fmt::Display for DestinationRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::Own => f.write_str("it leads to this registrar"),
            Self::Address => f.write_str("it leads to an address that is not public"),
            Self::LocalName => f.write_str("it leads to a name of the local network"),
        }
    }
}

impl core::error::Error for DestinationRefused {}

/// Returns the host of a base URL: a name, an address, or an address in brackets.
fn host_of(base: &str) -> Option<&str> {
    let authority = base.strip_prefix("https://")?.split('/').next()?;
    match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(address, _)| address),
        None => authority.split(':').next(),
    }
}

fn check_host(host: &str, own_names: &[String]) -> Result<(), DestinationRefused> {
    if own_names.iter().any(|own| without_dot(own).eq_ignore_ascii_case(without_dot(host))) {
        return Err(DestinationRefused::Own);
    }
    let v6 = host.parse::<Ipv6Addr>().map(IpAddr::V6);
    if let Ok(address) = v6.or_else(|_| host.parse::<Ipv4Addr>().map(IpAddr::V4)) {
        return match address {
            address if is_own_address(address, own_names) => Err(DestinationRefused::Own),
            address if is_public(address) => Ok(()),
            _ => Err(DestinationRefused::Address),
        };
    }
    let name = without_dot(host);
    let Some((_, last)) = name.rsplit_once('.') else { return Err(DestinationRefused::LocalName) };
    // Resolvers take 127.1 and 0x7f.0.0.1 for addresses, and no top-level domain begins with a digit.
    if last.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(DestinationRefused::Address);
    }
    let is_below = |domain: &str| {
        let rest = name.len().checked_sub(domain.len()).and_then(|at| name.get(at..));
        rest.is_some_and(|rest| rest.eq_ignore_ascii_case(domain))
    };
    if LOCAL_DOMAINS.into_iter().any(is_below) { Err(DestinationRefused::LocalName) } else { Ok(()) }
}

fn is_own_address(address: IpAddr, own_names: &[String]) -> bool {
    let address = address.to_canonical();
    own_names.iter().any(|own| own.parse::<IpAddr>().is_ok_and(|own| own.to_canonical() == address))
}

fn without_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// Domains for local use (RFC 6761, 6.3; RFC 6762, 3; RFC 8375, 3), and the one that ICANN has set aside for it.
const LOCAL_DOMAINS: [&str; 5] = [".localhost", ".local", ".home.arpa", ".internal", ".localdomain"];

#[cfg(test)]
mod tests;
