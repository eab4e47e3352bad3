//! The MASA URL of an IDevID says where the manufacturer signs vouchers (RFC 8995, 2.3.2).
//!
//! What must always hold: a [`MasaUrl`] is printable ASCII without spaces; it is an authority, or an `https` URL without
//! user information, query and fragment.

use core::fmt;
use core::net::Ipv6Addr;
use core::str::FromStr;

use pki_types::ServerName;
use rcgen::CustomExtension;

use crate::Error;
use crate::der::{IA5_STRING, tlv};

/// The authority of a MASA, such as `masa.maker.example:9443`, or its URL, such as `https://masa.maker.example/brski`.
///
/// RFC 8995 recommends the authority alone: it is shorter, and the registrar adds the scheme https and the path
/// /.well-known/brski. A registrar takes what has a `/` for a URL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MasaUrl(String);

impl MasaUrl {
    /// Returns the contents of the extension.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the extension id-pe-masa-url, which is not critical.
    pub(crate) fn extension(&self) -> CustomExtension {
        CustomExtension::from_oid_content(&ID_PE_MASA_URL, tlv(IA5_STRING, &[self.0.as_bytes()]))
    }
}

impl FromStr for MasaUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (scheme, rest) = text.split_at_checked(SCHEME.len()).unwrap_or_default();
        let (authority, path) = match text.contains('/') {
            // RFC 3986, 3.1: the case of a scheme does not count.
            true if scheme.eq_ignore_ascii_case(SCHEME) => rest.split_once('/').unwrap_or((rest, "")),
            true => ("", ""),
            false => (text, ""),
        };
        // RFC 3986, 3.3: what a path consists of.
        let is_path = |c: u8| c.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:@/".contains(&c);
        match text.len() <= MAX_LEN && is_authority(authority) && path.bytes().all(is_path) {
            true => Ok(Self(text.into())),
            false => Err(Error::InvalidMasaUrl(text.into())),
        }
    }
}

impl fmt::Display for MasaUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether this is a host with or without a port (RFC 3986, 3.2): a DNS name, an IPv4 address, or an IPv6 address in
/// brackets.
fn is_authority(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) if address.parse::<Ipv6Addr>().is_ok() => (None, port),
            _ => return false,
        },
        None => {
            let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            (Some(host), port)
        }
    };
    let is_port = |port: &str| port.bytes().all(|c| c.is_ascii_digit()) && port.parse().is_ok_and(|port: u16| port > 0);
    host.is_none_or(|host| !host.ends_with('.') && ServerName::try_from(host).is_ok())
        && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

/// The OID 1.3.6.1.5.5.7.1.32 (RFC 8995, 2.3.2).
const ID_PE_MASA_URL: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 1, 32];

const SCHEME: &str = "https://";

/// The most bytes of a MASA URL.
const MAX_LEN: usize = 512;

#[cfg(test)]
mod tests;
