//! What a peer is called, for people: in reports, logs and messages. No name of one kind prints like one of another kind,
//! whatever a peer had written into its certificate.

use alloc::string::{String, ToString};
use core::fmt::{self, Write as _};
use core::net::{Ipv4Addr, Ipv6Addr};

use sha2::{Digest as _, Sha256};
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::name::Name;

use super::peer::{CertificateIdentity, PeerIdentity};

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

impl PeerName {
    /// What names a raw public key.
    pub(super) fn sha256_of(key: &[u8]) -> [u8; 32] {
        Sha256::digest(key).into()
    }

    fn of_certificate(identity: &CertificateIdentity) -> Self {
        let names =
            SubjectAltName::from_der(&identity.subject_alt_name).map_or_else(|_| Default::default(), |names| names.0);
        let dns_name = names.iter().find_map(|name| match name {
            GeneralName::DnsName(name) if is_host_name(name.as_str()) => Some(Self::DnsName(name.to_string())),
            _ => None,
        });
        let subject = || match Name::from_der(&identity.subject) {
            Ok(subject) if !subject.is_empty() => Some(Self::Subject(subject.to_string())),
            _ => None,
        };
        let uri = || {
            names.iter().find_map(|name| match name {
                GeneralName::UniformResourceIdentifier(uri) => Some(Self::Uri(uri.to_string())),
                _ => None,
            })
        };
        let address = || {
            names.iter().find_map(|name| match name {
                GeneralName::IpAddress(address) => ip_address(address.as_bytes()).map(Self::IpAddress),
                _ => None,
            })
        };
        dns_name.or_else(subject).or_else(uri).or_else(address).unwrap_or(Self::Unnamed)
    }
}

fn is_host_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.*".contains(&byte))
}

fn ip_address(octets: &[u8]) -> Option<core::net::IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).map(|octets| Ipv4Addr::from(octets).into());
    v4.or_else(|_| <[u8; 16]>::try_from(octets).map(|octets| Ipv6Addr::from(octets).into())).ok()
}

impl PeerIdentity {
    /// What the peer is called.
    pub fn name(&self) -> PeerName {
        match self {
            Self::Certificate(identity) => PeerName::of_certificate(identity),
            Self::RawPublicKey(key) => PeerName::RawPublicKey(PeerName::sha256_of(key)),
        }
    }
}

/// The peer's name.
impl fmt::Display for PeerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
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

#[cfg(test)]
mod tests;
