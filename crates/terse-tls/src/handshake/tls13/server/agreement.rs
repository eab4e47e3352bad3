//! The key agreement on a server: the group, and the client's share of it (RFC 9846, 4.3.7 and 4.3.8). Authentication
//! is negotiated independently.

use alloc::vec::Vec;

use super::negotiate::Offer;
use crate::config::ServerConfig;
use crate::crypto::{Group, Rng, SharedSecret};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::wire::{ExtensionType, KeyShareClientHello, NamedGroup, SupportedGroups};

/// The group of the key agreement, with the client's share.
pub(super) struct Agreement<'a> {
    group: &'static dyn Group,
    /// The client's share of the group; `None` if a HelloRetryRequest must ask for it.
    key_share: Option<&'a [u8]>,
}

impl<'a> Agreement<'a> {
    /// Selects the server's preferred group among those for which the client has sent a share. Only if there is none,
    /// it selects a group that needs a HelloRetryRequest, which costs a round trip and half a kilobyte.
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

    /// Returns the group of the key exchange.
    pub(super) fn group(&self) -> NamedGroup {
        self.group.name()
    }

    /// Returns the group for which a HelloRetryRequest must request a share.
    pub(super) fn retry_group(&self) -> Option<NamedGroup> {
        self.key_share.is_none().then(|| self.group())
    }

    /// Returns the server's share and the shared secret.
    pub(super) fn respond(&self, rng: &mut dyn Rng) -> Result<(Vec<u8>, SharedSecret), Error> {
        let key_share = self.key_share.ok_or(PeerMisbehaved::IllegalKeyShare)?;
        Ok(self.group.respond(rng, key_share)?)
    }
}

/// Checks that the client's shares are of groups that it supports, at most one of each (RFC 9846, 4.3.8). Groups that
/// the provider does not have are ignored.
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
