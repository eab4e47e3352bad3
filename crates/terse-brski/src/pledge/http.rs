//! The parts of HTTP that a pledge reads: media types, Retry-After, and Location (RFC 9110, 8.3.1, 10.2.3, 10.2.2).
//!
//! What must always hold: header fields are hostile (RFC 8995, 5.1). A value that is not understood is as good as none, and
//! what is taken from one is bounded and has no character that could end a line of a request.

use alloc::boxed::Box;
use core::fmt;

/// An HTTP response, as far as a pledge reads it; [`coaps::response`](super::coaps::response) makes one of CoAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Response<'a> {
    /// The status code.
    pub status: u16,
    /// The value of Content-Type, if there is exactly one.
    pub content_type: Option<&'a [u8]>,
    /// The value of Retry-After, if there is exactly one.
    pub retry_after: Option<&'a [u8]>,
    /// The value of Location, if there is exactly one.
    pub location: Option<&'a [u8]>,
    /// The content, without the framing of a Transfer-Encoding.
    pub body: &'a [u8],
}

impl<'a> Response<'a> {
    /// Returns a response with this content and without header fields; each is set by itself.
    pub const fn new(status: u16, body: &'a [u8]) -> Self {
        Self { status, content_type: None, retry_after: None, location: None, body }
    }

    /// Whether the content has this media type, with any parameters.
    pub(super) fn has_type(&self, media_type: &str) -> bool {
        let value = self.content_type.unwrap_or_default();
        let essence = value.split(|byte| *byte == b';').next().unwrap_or_default();
        essence.trim_ascii().eq_ignore_ascii_case(media_type.as_bytes())
    }

    /// Returns after how many milliseconds the request may be repeated: at least 1 s, and at most 60 s, so that a registrar
    /// cannot delay a pledge (RFC 8995, 5.6). A date counts as 60 s, since a pledge may have no clock.
    pub(super) fn retry_after_ms(&self) -> u64 {
        let digits = self.retry_after.map(<[u8]>::trim_ascii).and_then(|value| core::str::from_utf8(value).ok());
        let seconds = digits.and_then(|digits| digits.parse::<u64>().ok()).unwrap_or(MAX_RETRY_AFTER_S);
        seconds.clamp(1, MAX_RETRY_AFTER_S) * 1_000
    }

    /// Returns where the response redirects the same request to, or `None` if it is no redirection that a pledge follows: 303
    /// asks for another request, and a Location must be an https URL or an absolute path. `origin` is the one that has
    /// answered, if it is known by name.
    pub(super) fn redirection(&self, origin: Option<&Origin>) -> Option<Redirection> {
        match self.status {
            301 | 302 | 307 | 308 => Redirection::parse(self.location?, origin),
            _ => None,
        }
    }
}

/// A web origin (RFC 6454) of the scheme https.
#[derive(Clone, PartialEq, Eq)]
pub struct Origin {
    host: Box<str>,
    port: u16,
}

impl Origin {
    /// Returns the name or address of the host: in lower case, and an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the TCP port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Reads `host` or `host:port`, without user information.
    fn parse(authority: &str) -> Option<Self> {
        let end_of_host = match authority.starts_with('[') {
            true => authority.find(']')? + 1,
            false => authority.find(':').unwrap_or(authority.len()),
        };
        let (host, port) = authority.split_at_checked(end_of_host)?;
        let port = match port.strip_prefix(':') {
            Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                port.parse().ok().filter(|port| *port != 0)?
            }
            Some(_) => return None,
            None if port.is_empty() => HTTPS_PORT,
            None => return None,
        };
        let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(address) => address.parse::<core::net::Ipv6Addr>().is_ok(),
            None => host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')),
        };
        // RFC 1035, 2.3.4: a name has at most 253 characters.
        let is_host = is_host && (1..=253).contains(&host.len());
        is_host.then(|| Self { host: host.to_ascii_lowercase().into(), port })
    }
}

/// Prints `registrar.example:8443`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origin({self})")
    }
}

/// Where a request is redirected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirection {
    /// To another path of the same origin.
    Path(Box<str>),
    /// To this path of another origin.
    Origin(Origin, Box<str>),
}

impl Redirection {
    fn parse(location: &[u8], same: Option<&Origin>) -> Option<Self> {
        if location.len() > MAX_LOCATION_LEN || !location.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        let location = core::str::from_utf8(location).ok()?;
        let location = location.split('#').next().unwrap_or_default(); // a fragment is not sent (RFC 9110, 7.1)
        if location.starts_with('/') && !location.starts_with("//") {
            return Some(Self::Path(location.into()));
        }
        let (scheme, rest) = location.split_once("://")?;
        if !scheme.eq_ignore_ascii_case("https") {
            return None;
        }
        let (authority, path) = rest.split_at_checked(rest.find(['/', '?']).unwrap_or(rest.len()))?;
        let origin = Origin::parse(authority)?;
        let path = match path.starts_with('/') {
            true => path.into(),
            false => ["/", path].concat().into(),
        };
        Some(if Some(&origin) == same { Self::Path(path) } else { Self::Origin(origin, path) })
    }
}

/// How long a registrar can make a pledge wait at a time, in seconds (RFC 8995, 5.6).
const MAX_RETRY_AFTER_S: u64 = 60;

/// The longest Location that is read, in bytes.
const MAX_LOCATION_LEN: usize = 512;

/// The default port of https (RFC 9110, 4.2.2).
const HTTPS_PORT: u16 = 443;

#[cfg(test)]
mod tests;
