//! A leaf certificate has names, usage and validity (RFC 5280, 4.2.1).

use core::net::IpAddr;

use pki_types::DnsName;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyUsagePurpose, SanType};

use crate::authority::{Template, params};
use crate::{Error, KeyAlgorithm, Validity};

/// The purposes of a leaf certificate (RFC 5280, 4.2.1.12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Usage {
    /// It authenticates a server.
    Server,
    /// It authenticates a client.
    Client,
    /// It authenticates a server or a client.
    #[default]
    Both,
    /// It authenticates nobody, but signs OCSP responses for its CA (RFC 6960, 4.2.2.2).
    OcspSigning,
}

/// The options of a new leaf certificate.
#[derive(Clone, Debug)]
pub struct LeafOptions {
    /// DNS names and IP addresses; the first one is the common name too.
    pub names: Vec<String>,
    /// The purpose of the certificate.
    pub usage: Usage,
    /// The first and the last second of validity.
    pub validity: Validity,
    /// The algorithm of its key; by default that of the CA.
    pub algorithm: Option<KeyAlgorithm>,
    /// The serial number; by default it is random.
    pub serial: Option<u64>,
    /// The exact length of the certificate in bytes of DER; by default it is as short as it can be.
    pub length: Option<usize>,
}

impl LeafOptions {
    /// Returns the options of a leaf with one name, for server and client, with a key like the CA's.
    pub fn new(name: &str, validity: Validity) -> Self {
        Self { names: vec![name.into()], usage: Usage::Both, validity, algorithm: None, serial: None, length: None }
    }

    pub(crate) fn template(&self) -> Result<Template, Error> {
        let mut params = named(&self.names, self.validity, self.serial)?;
        params.extended_key_usages = match self.usage {
            Usage::Server => vec![ExtendedKeyUsagePurpose::ServerAuth],
            Usage::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
            Usage::OcspSigning => vec![ExtendedKeyUsagePurpose::OcspSigning],
            Usage::Both => vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth],
        };
        Ok(Template { length: self.length, ..Template::new(params) })
    }
}

/// Returns the parameters of a certificate with these DNS names and IP addresses, whose key signs.
pub(crate) fn named(names: &[String], validity: Validity, serial: Option<u64>) -> Result<CertificateParams, Error> {
    let first = names.first().ok_or(Error::NoName)?;
    // RFC 5280, A.1: ub-common-name is 64. A longer name is in the subjectAltName alone, which is then critical.
    let common_name = (first.len() <= 64).then(|| first.clone());
    let mut params = params(common_name, validity, serial)?;
    params.subject_alt_names = names.iter().map(|name| general_name(name)).collect::<Result<_, _>>()?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    Ok(params)
}

/// Reads an iPAddress of a subjectAltName (RFC 5280, 4.2.1.6).
pub(crate) fn address(octets: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from)).ok()
}

/// Parses a DNS name or an IP address.
pub(crate) fn general_name(name: &str) -> Result<SanType, Error> {
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    let invalid = || Error::InvalidName(name.into());
    // RFC 9525, 6.3: a wildcard is the whole left-most label, and matches one label.
    let dns_name = name.strip_prefix("*.").unwrap_or(name);
    if dns_name.ends_with('.') || DnsName::try_from(dns_name).is_err() {
        return Err(invalid());
    }
    name.try_into().map(SanType::DnsName).map_err(|_| invalid())
}
