//! Where a MASA is, as the MASA URL of an IDevID says (RFC 8995, 2.3.2).
//!
//! The manufacturer is not trusted yet when a registrar reads this. What must always hold: what is returned is an https URL
//! of a host, without user information, query and fragment, so that nothing in it can move a request elsewhere.

use alloc::string::String;
use core::net::Ipv6Addr;

use pki_types::ServerName;

use crate::Malformed;

/// Returns the base URL of a MASA, always https: `https://masa.example:9443/.well-known/brski`. The name of
/// a request comes after it and a `/`.
///
/// A MASA URL without `/` is an authority. A URL with a path is taken as it is, but for a `/` at its end. One without a path,
/// or with `/` alone, gets the path of BRSKI as an authority does: BRSKI has nothing at the root of a server.
pub fn masa_base_url(masa_url: &str) -> Result<String, Malformed> {
    base_url(masa_url, BRSKI)
}

/// Returns the base URL of an EST server, always https, as [`masa_base_url`] does that of a MASA. An authority, or a URL
/// without a path, gets the path of EST (RFC 7030, 3.2.2). A CA label stands at the end of a whole path:
/// `https://est.example/.well-known/est/plant`.
#[cfg(feature = "services")]
pub fn est_base_url(url: &str) -> Result<String, Malformed> {
    base_url(url, EST).map_err(|_| Malformed::Invalid("EST URL"))
}

fn base_url(url: &str, well_known: &str) -> Result<String, Malformed> {
    let text = visible(url.as_bytes())?;
    let (authority, path) = match text.contains('/') {
        true => {
            let rest = without_scheme(text)?;
            rest.split_once('/').unwrap_or((rest, ""))
        }
        false => (text, ""),
    };
    let path = path.strip_suffix('/').unwrap_or(path);
    if !is_authority(authority) || !is_path(path) {
        return Err(INVALID);
    }
    let path = if path.is_empty() { well_known } else { path };
    Ok([SCHEME, authority, "/", path].concat())
}

/// Checks that a MASA URL has 1 to 512 bytes, all of them visible ASCII characters.
pub(super) fn visible(masa_url: &[u8]) -> Result<&str, Malformed> {
    let fits = (1..=MAX_URL_LEN).contains(&masa_url.len()) && masa_url.iter().all(u8::is_ascii_graphic);
    core::str::from_utf8(masa_url).ok().filter(|_| fits).ok_or(INVALID)
}

fn without_scheme(url: &str) -> Result<&str, Malformed> {
    let (scheme, rest) = url.split_at_checked(SCHEME.len()).ok_or(INVALID)?;
    // RFC 3986, 3.1: the case of a scheme does not count.
    if scheme.eq_ignore_ascii_case(SCHEME) { Ok(rest) } else { Err(INVALID) }
}

/// Whether this is a host with or without a port (RFC 3986, 3.2): a DNS name, an IPv4 address, or an IPv6 address in
/// brackets. There is no user information.
fn is_authority(text: &str) -> bool {
    let (is_host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => (address.parse::<Ipv6Addr>().is_ok(), port),
        None => {
            let (host, port) = text.split_at_checked(text.find(':').unwrap_or(text.len())).unwrap_or((text, ""));
            (!host.ends_with('.') && ServerName::try_from(host).is_ok(), port)
        }
    };
    let is_port = |port: &str| port.bytes().all(|c| c.is_ascii_digit()) && port.parse().is_ok_and(|port: u16| port > 0);
    is_host && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

/// Whether this is a path (RFC 3986, 3.3).
fn is_path(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(c) = bytes.next() {
        let is_allowed = match c {
            b'%' => (0..2).all(|_| bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
            _ => c.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&c),
        };
        if !is_allowed {
            return false;
        }
    }
    true
}

const INVALID: Malformed = Malformed::Invalid("MASA URL");

const SCHEME: &str = "https://";

/// The path of BRSKI's requests, without the `/` before it (RFC 8995, 2.3.2).
const BRSKI: &str = ".well-known/brski";

/// The path of EST's requests (RFC 7030, 3.2.2).
#[cfg(feature = "services")]
const EST: &str = ".well-known/est";

/// The most bytes of a MASA URL.
const MAX_URL_LEN: usize = 512;

#[cfg(test)]
mod tests;
