//! Key agreement on a server: which group, and the client's part of it (RFC 9846, 4.3.7 and 4.3.8). What proves who the
//! sides are is chosen apart from it.

use alloc::vec::Vec;

use super::negotiate::Offer;
use crate::config::ServerConfig;
use crate::crypto::{Group, Rng, SharedSecret};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::wire::{ExtensionType, KeyShareClientHello, NamedGroup, SupportedGroups};

/// What the server agrees on keys by.
pub(super) struct Agreement<'a> {
    group: &'static dyn Group,
    /// The client's share of that group.
    key_share: Option<&'a [u8]>,
}

impl<'a> Agreement<'a> {
    /// The server's preference, among groups with a share; without one, among those that need a HelloRetryRequest, which
    /// costs a round trip and half a kilobyte.
    pub(super) fn select(config: &ServerConfig, offer: &Offer<'a>) -> Result<Self, Error> {
        let missing = |extension| Error::from(PeerMisbehaved::MissingExtension(extension));
        let supported = offer.supported_groups.as_ref().ok_or(missing(ExtensionType::SUPPORTED_GROUPS))?;
        let KeyShareClientHello(shares) = offer.key_share.as_ref().ok_or(missing(ExtensionType::KEY_SHARE))?;
        check_key_shares(config, supported, offer)?;
        let common = &config.common;
        let groups = common.groups.iter().filter_map(|name| common.provider.group(*name));
        for group in groups.clone() {
            if let Some(share) = shares.iter().find(|share| share.group == group.name()) {
                return Ok(Self { group, key_share: Some(share.key_exchange) });
            }
        }
        let is_supported = |group: &&dyn Group| supported.0.iter().any(|name| name == group.name());
        let group = groups.clone().find(is_supported).ok_or(PeerIncompatible::NoCommonGroup)?;
        Ok(Self { group, key_share: None })
    }

    /// The group of the key exchange.
    pub(super) fn group(&self) -> NamedGroup {
        self.group.name()
    }

    /// The group of which a HelloRetryRequest has to ask a share.
    pub(super) fn retry_group(&self) -> Option<NamedGroup> {
        self.key_share.is_none().then(|| self.group())
    }

    /// The server's share, and the secret.
    pub(super) fn respond(&self, rng: &mut dyn Rng) -> Result<(Vec<u8>, SharedSecret), Error> {
        let key_share = self.key_share.ok_or(PeerMisbehaved::IllegalKeyShare)?;
        Ok(self.group.respond(rng, key_share)?)
    }
}

/// RFC 9846, 4.3.8: shares are for groups that the client supports, one for each. Groups that are not known here are
/// not looked at.
fn check_key_shares(config: &ServerConfig, supported: &SupportedGroups<'_>, offer: &Offer<'_>) -> Result<(), Error> {
    for group in config.common.provider.groups {
        let shares = offer.key_shares().filter(|share| share.group == group.name()).count();
        let is_supported = supported.0.iter().any(|name| name == group.name());
        if shares > 1 || (shares == 1 && !is_supported) {
            return Err(PeerMisbehaved::IllegalKeyShare.into());
        }
    }
    Ok(())
}
