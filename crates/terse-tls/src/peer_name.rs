//! What a peer is called, for people: in reports, logs and messages. No name of one kind prints like one of another kind,
//! whatever a peer had written into its certificate.

use alloc::string::String;
use core::fmt::{self, Write as _};

/// What a peer is called. As text, each kind is told apart from all others by how it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerName {
    /// The first dNSName of its certificate (RFC 5280, 4.2.1.6) of letters, digits, hyphens, underscores, dots and
    /// asterisks. Printed as it is.
    DnsName(String),
    /// Without such a dNSName: the subject, as RFC 4514 writes it. Printed as `CN=sensor-17,O=Plant`.
    Subject(String),
    /// Without a subject either: the first uniformResourceIdentifier (RFC 5280, 4.2.1.6). Printed as `URI:urn:dev:17`.
    Uri(String),
    /// Without one: the first iPAddress (RFC 5280, 4.2.1.6). Printed as `IP:192.0.2.17`.
    IpAddress(core::net::IpAddr),
    /// Its certificate has none of these. Printed as `(unnamed)`.
    Unnamed,
    /// The SHA-256 of its raw public key, a DER SubjectPublicKeyInfo. Printed as `raw public key sha256:` with 64
    /// hexadecimal digits.
    RawPublicKey([u8; 32]),
}

/// What would move the cursor of a terminal or begin a line of a log is escaped.
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

/// Escapes what a terminal or a log would obey: a peer chose its names.
struct Printable<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Printable<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|character| match character {
            '\'' | '"' | '\\' => self.0.write_char(character),
            _ => write!(self.0, "{}", character.escape_debug()),
        })
    }
}
