//! What a leaf certificate says: names, usage, validity (RFC 5280, 4.2.1).

use core::net::IpAddr;

use pki_types::DnsName;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyUsagePurpose, SanType};

use crate::authority::params;
use crate::{Error, KeyAlgorithm, Validity};

/// What a leaf may authenticate (RFC 5280, 4.2.1.12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Usage {
    /// A server.
    Server,
    /// A client.
    Client,
    /// Either.
    #[default]
    Both,
    /// Nobody: it signs OCSP responses for its CA (RFC 6960, 4.2.2.2).
    OcspSigning,
}

/// What a leaf certificate is issued with.
#[derive(Clone, Debug)]
pub struct LeafOptions {
    /// DNS names and IP addresses; the first one is the common name too.
    pub names: Vec<String>,
    /// What it may authenticate.
    pub usage: Usage,
    /// From when until when.
    pub validity: Validity,
    /// Of its key; that of the CA unless given.
    pub algorithm: Option<KeyAlgorithm>,
    /// Four random bytes unless given.
    pub serial: Option<u64>,
}

impl LeafOptions {
    /// A leaf with one name, for server and client, with a key like the CA's.
    pub fn new(name: &str, validity: Validity) -> Self {
        Self { names: vec![name.into()], usage: Usage::Both, validity, algorithm: None, serial: None }
    }

    pub(crate) fn params(&self) -> Result<CertificateParams, Error> {
        let first = self.names.first().ok_or(Error::NoName)?;
        // RFC 5280, A.1: ub-common-name is 64. A longer name stands in the subjectAltName alone, which is then critical.
        let common_name = (first.len() <= 64).then(|| first.clone());
        let mut params = params(common_name, self.validity, self.serial)?;
        params.subject_alt_names = self.names.iter().map(|name| general_name(name)).collect::<Result<_, _>>()?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = match self.usage {
            Usage::Server => vec![ExtendedKeyUsagePurpose::ServerAuth],
            Usage::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
            Usage::OcspSigning => vec![ExtendedKeyUsagePurpose::OcspSigning],
            Usage::Both => vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth],
        };
        Ok(params)
    }
}

fn general_name(name: &str) -> Result<SanType, Error> {
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    let invalid = || Error::InvalidName(name.into());
    // RFC 9525, 6.3: a wildcard is the whole left-most label, and stands for one.
    let dns_name = name.strip_prefix("*.").unwrap_or(name);
    if dns_name.ends_with('.') || DnsName::try_from(dns_name).is_err() {
        return Err(invalid());
    }
    name.try_into().map(SanType::DnsName).map_err(|_| invalid())
}
