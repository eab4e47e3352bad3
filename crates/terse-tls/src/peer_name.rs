//! The name of a peer for people: in reports, logs and messages. A name of one kind never prints like one of another
//! kind, whatever the peer's certificate contains.

use alloc::string::String;
use core::fmt::{self, Write as _};

use crate::printable::Printable;

/// The name of a peer. The beginning of its text identifies its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerName {
    /// The first dNSName of the certificate (RFC 5280, 4.2.1.6) that consists of letters, digits, hyphens, underscores,
    /// dots and asterisks. It is printed as it is.
    DnsName(String),
    /// The subject in the format of RFC 4514, if there is no such dNSName. It is printed as `CN=sensor-17,O=Plant`.
    Subject(String),
    /// The first uniformResourceIdentifier (RFC 5280, 4.2.1.6), if there is no subject either. It is printed as
    /// `URI:urn:dev:17`.
    Uri(String),
    /// The first iPAddress (RFC 5280, 4.2.1.6), if there is no uniformResourceIdentifier either. It is printed as
    /// `IP:192.0.2.17`.
    IpAddress(core::net::IpAddr),
    /// The certificate has none of these names. It is printed as `(unnamed)`.
    Unnamed,
    /// The SHA-256 of the raw public key, a DER SubjectPublicKeyInfo. It is printed as `raw public key sha256:` with 64
    /// hexadecimal digits.
    RawPublicKey([u8; 32]),
}

/// Prints the name. Characters that would move the cursor of a terminal, or begin a line of a log, are escaped.
impl fmt::Display for PeerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DnsName(name) | Self::Subject(name) => Printable(f).write_str(name),
            Self::Uri(uri) => write!(Printable(f), "URI:{uri}"),
            Self::IpAddress(address) => write!(f, "IP:{address}"),
            Self::Unnamed => f.write_str("(unnamed)"),
            Self::RawPublicKey(digest) => {
                f.write_str("raw public key sha256:")?;
                digest.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}
