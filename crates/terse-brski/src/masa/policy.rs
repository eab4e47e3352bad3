//! What a manufacturer decides about its vouchers (RFC 8995, 5.5; 7.2 to 7.4). The values can be stored as they are.

use serde::{Deserialize, Serialize};

/// The policy of a MASA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Policy {
    /// Which domain may have a device. The default is [`Claims::FirstCome`].
    pub claims: Claims,
    /// Whether a device counts that has no record, but whose request is signed with an IDevID of the manufacturer.
    /// The default is `false`.
    pub devices_without_record: bool,
    /// What a voucher without proximity needs. The default is [`Proximity::NotContradicted`].
    pub proximity: Proximity,
    /// Whether a request must have the pledge's with it (RFC 8995, 5.5.5), except one without a nonce. The default is
    /// `true`: without it nothing says that the device is in this domain.
    pub pledge_request_is_required: bool,
    /// What a voucher with a nonce pins, unless [`Device::raw_public_keys_only`](super::Device::raw_public_keys_only) decides it.
    /// The default is [`PinChoice::LowestCa`].
    pub pin: PinChoice,
    /// Vouchers without a nonce, for domains that are offline later. The default is `None`: there are none.
    pub nonceless: Option<Nonceless>,
    /// The age, in seconds, after which a registrar's request is stale. The default is a day; `None` takes any age, and
    /// requests without created-on.
    pub max_age: Option<u64>,
    /// The age, in seconds, after which a pledge's request is stale that says when it was made. The default is five days: a pledge
    /// repeats a request for four (RFC 8995, 5.6). One without a date, or with a date in the future, is taken at any age, but says
    /// nothing about proximity, since it may have been kept. `None` takes any age, and believes it.
    pub pledge_max_age: Option<u64>,
    /// How many seconds the clock of a registrar or a pledge may be ahead. The default is 300.
    pub clock_skew: u64,
    /// Whether a voucher is issued although the revocation of the registrar's certificates could not be looked up, where
    /// they say how (RFC 8995, 5.5.3). The default is `false`.
    pub unknown_revocation_is_accepted: bool,
    /// Whether no two devices have the same serial number, of all whose vouchers this MASA issues. Otherwise vouchers
    /// carry idevid-issuer. The default is `false`.
    pub serial_numbers_are_unique: bool,
    /// The most events of an audit log that are sent; longer ones are abridged (RFC 8995, 5.8.1). The default is 256,
    /// and 1,024 are the most.
    pub max_events: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            claims: Claims::FirstCome,
            devices_without_record: false,
            proximity: Proximity::NotContradicted,
            pledge_request_is_required: true,
            pin: PinChoice::LowestCa,
            nonceless: None,
            max_age: Some(86_400),
            pledge_max_age: Some(5 * 86_400),
            clock_skew: 300,
            unknown_revocation_is_accepted: false,
            serial_numbers_are_unique: false,
            max_events: 256,
        }
    }
}

/// Which domain may have a voucher for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Claims {
    /// The first domain that asks, until its owner is removed from the record of the device.
    FirstCome,
    /// The domains and customers that the record of the device names.
    SalesList,
    /// Every domain. The audit log tells the others (RFC 8995, 7.3).
    Always,
}

/// What becomes of a request whose pledge did not see a certificate of the registrar's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Proximity {
    /// A request with a nonce is refused unless the pledge saw the registrar.
    Required,
    /// A request is refused if the pledge saw another registrar. If it does not say what it saw, the assertion is a lesser
    /// one.
    NotContradicted,
    /// The assertion is a lesser one, also if the pledge saw another registrar.
    Optional,
}

/// Which of the certificates that came with a request is pinned (RFC 8995, 5.5.2), or which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PinChoice {
    /// The registrar's own.
    Registrar,
    /// The public key of the registrar's own certificate, and no certificate (draft-ietf-anima-constrained-voucher-31). The pin is the
    /// SHA-256 of the key if the pledge has named its registrar so, and else the key. A registrar that takes another key is
    /// another one; one that has a new certificate for the same key is not. Devices that know RFC 8366 alone do not accept it.
    RegistrarKey,
    /// That of the CA which issued the registrar's, or the registrar's own if no CA came along.
    LowestCa,
    /// The highest one.
    Highest,
}

/// Vouchers without a nonce. Only a registrar that is known can have one (RFC 8995, 5.5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nonceless {
    /// After how many seconds such a voucher expires, or earlier with its certificates.
    pub lifetime: u64,
    /// What it pins, unless [`Device::raw_public_keys_only`](super::Device::raw_public_keys_only) decides it: [`PinChoice::Highest`]
    /// lets any later registrar of the domain use it.
    pub pin: PinChoice,
}

#[cfg(test)]
mod tests;
