//! The name of a peer, from its certificate or raw public key.

use alloc::string::ToString;
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::name::Name;

use super::peer::{CertificateIdentity, PeerIdentity};
use super::sha256::sha256;
use crate::peer_name::PeerName;

/// Returns the hash that names a raw public key.
pub(super) fn sha256_of(key: &[u8]) -> [u8; 32] {
    sha256(&[key])
}

fn of_certificate(identity: &CertificateIdentity) -> PeerName {
    let names =
        SubjectAltName::from_der(&identity.subject_alt_name).map_or_else(|_| Default::default(), |names| names.0);
    let dns_name = names.iter().find_map(|name| match name {
        GeneralName::DnsName(name) if is_host_name(name.as_str()) => Some(PeerName::DnsName(name.to_string())),
        _ => None,
    });
    let subject = || match Name::from_der(&identity.subject) {
        Ok(subject) if !subject.is_empty() => Some(PeerName::Subject(subject.to_string())),
        _ => None,
    };
    let uri = || {
        names.iter().find_map(|name| match name {
            GeneralName::UniformResourceIdentifier(uri) => Some(PeerName::Uri(uri.to_string())),
            _ => None,
        })
    };
    let address = || {
        names.iter().find_map(|name| match name {
            GeneralName::IpAddress(address) => ip_address(address.as_bytes()).map(PeerName::IpAddress),
            _ => None,
        })
    };
    dns_name.or_else(subject).or_else(uri).or_else(address).unwrap_or(PeerName::Unnamed)
}

fn is_host_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.*".contains(&byte))
}

fn ip_address(octets: &[u8]) -> Option<core::net::IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).map(|octets| Ipv4Addr::from(octets).into());
    v4.or_else(|_| <[u8; 16]>::try_from(octets).map(|octets| Ipv6Addr::from(octets).into())).ok()
}

impl PeerIdentity {
    /// Returns the name of the peer.
    pub fn name(&self) -> PeerName {
        match self {
            Self::Certificate(identity) => of_certificate(identity),
            Self::RawPublicKey(key) => PeerName::RawPublicKey(sha256_of(key)),
        }
    }
}

/// Prints the name of the peer.
impl fmt::Display for PeerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
}

#[cfg(test)]
mod tests;
