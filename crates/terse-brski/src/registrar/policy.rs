//! What a domain decides about devices (RFC 8995, 5.3, 5.4 and 5.8.3), by manufacturer. The values can be stored as they
//! are.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use pki_types::UnixTime;
use serde::{Deserialize, Serialize};
use terse_tls::ApiMisuse;

use crate::Malformed;
use crate::certificate::SerialNumberField;
use crate::stored;

/// The policy of a registrar.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Policy {
    /// The manufacturers whose devices may join. Others are refused.
    pub manufacturers: Vec<Manufacturer>,
    /// The DNS names and addresses of the registrar itself, to which no MASA URL of a certificate may lead.
    pub own_names: Vec<String>,
}

/// What counts for the devices of one manufacturer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Manufacturer {
    /// The name, for people.
    pub name: String,
    /// The certificates of the CAs to which its IDevIDs lead, DER.
    pub anchors: Vec<Vec<u8>>,
    /// Where its IDevIDs have the serial number.
    #[serde(default, with = "stored::SerialNumberFieldName")]
    pub serial_number_field: SerialNumberField,
    /// Whether an IDevID counts after its notAfter (RFC 8995, 2.6.2).
    #[serde(default)]
    pub ignores_not_after: bool,
    /// Which of its devices may join.
    pub devices: Devices,
    /// The MASA, in place of the one that IDevIDs name: an authority or an https URL. It may be anywhere, also in the own
    /// network.
    #[serde(default)]
    pub masa_url: Option<String>,
    /// The certificates of those that sign its vouchers, or of CAs that issue only these, DER. One with the key of an anchor of IDevIDs
    /// is no such CA. With none, the signer of a voucher is not checked: the pledge does that (RFC 8995, 5.6).
    #[serde(default)]
    pub voucher_anchors: Vec<Vec<u8>>,
    /// Whether a voucher of a type that is not understood here goes to a pledge whose Accept names the type.
    #[serde(default)]
    pub opaque_vouchers: bool,
    /// What its audit logs may have.
    #[serde(default)]
    pub audit: AuditPolicy,
}

impl Manufacturer {
    /// Takes all devices of a manufacturer, with defaults for everything else.
    pub fn new(name: &str, anchors: Vec<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            anchors,
            serial_number_field: SerialNumberField::default(),
            ignores_not_after: false,
            devices: Devices::All,
            masa_url: None,
            voucher_anchors: Vec::new(),
            opaque_vouchers: false,
            audit: AuditPolicy::default(),
        }
    }
}

/// Which devices of a manufacturer may join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Devices {
    /// All.
    All,
    /// Those with these serial numbers.
    Listed(Vec<String>),
    /// Those with these serial numbers, and others that an operator allows.
    ListedOrAsked(Vec<String>),
}

/// What an audit log may have (RFC 8995, 5.8.3). By default nobody else has ever had the device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AuditPolicy {
    /// Whether the log is ignored. RFC 8995 recommends that only where the device is attested in another way.
    pub is_ignored: bool,
    /// The domainIDs of others who may have had the device: a seller, or another registrar of the own domain.
    pub known_domains: Vec<Vec<u8>>,
    /// Whether any domain may have had it, as for devices that were bought used.
    pub accepts_unknown_domains: bool,
    /// Events before this time do not count, such as those before it was bought.
    #[serde(with = "stored::optional_seconds")]
    pub since: Option<UnixTime>,
    /// Whose vouchers may have no nonce. Such a voucher can be used again.
    pub nonceless: NoncelessEvents,
    /// Whether a log counts from which events were removed that no later one of their domain stands for.
    pub accepts_arbitrary_truncation: bool,
    /// Whether a log of a later version counts as one of version 1.
    pub accepts_later_versions: bool,
}

/// Whose vouchers may have no nonce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NoncelessEvents {
    /// Those of the own domain. If it keeps a history, they are those that it has requested itself
    /// ([`History::nonceless`](super::History::nonceless)), also with the other values.
    #[default]
    Own,
    /// Those of the own domain and of [`AuditPolicy::known_domains`].
    Known,
    /// All.
    All,
}

/// Why a policy cannot be used. Each names the manufacturer by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misconfigured {
    /// There is no manufacturer.
    NoManufacturer,
    /// A manufacturer has no anchors, or they are no certificates.
    Anchors(usize, ApiMisuse),
    /// An anchor is that of an earlier manufacturer too: whose devices are they?
    SharedAnchor(usize),
    /// The MASA URL is malformed.
    MasaUrl(usize, Malformed),
    /// The registrar's own certificate is missing or malformed.
    OwnCertificate,
}

impl fmt::Display for Misconfigured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |index: &usize| index.saturating_add(1);
        match self {
            Self::NoManufacturer => f.write_str("no manufacturer is trusted; add one with the CA of its devices"),
            Self::Anchors(index, misuse) => write!(f, "the anchors of manufacturer {}: {misuse}", number(index)),
            Self::SharedAnchor(index) => {
                write!(f, "an anchor of manufacturer {} is also that of one before; leave it to one", number(index))
            }
            Self::MasaUrl(index, malformed) => write!(f, "the MASA URL of manufacturer {}: {malformed}", number(index)),
            Self::OwnCertificate => f.write_str("the registrar's own certificate is missing or malformed"),
        }
    }
}

impl core::error::Error for Misconfigured {}

#[cfg(test)]
mod tests;
