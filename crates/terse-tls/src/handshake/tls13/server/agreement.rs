//! The key agreement on a server: the group and the client's share of it (RFC 9846, 4.3.7 and 4.3.8), or the client's
//! identity (docs/identity-format.md, 7), to which a group can be added.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Requested;
use super::negotiate::Offer;
use crate::config::ServerConfig;
use crate::crypto::{Group, Rng, SharedSecret, StaticTerms};
use crate::error::{Error, IdentityRefused, PeerIncompatible, PeerMisbehaved};
use crate::handshake::identity::server::{self, IdentityAgreement, IdentityAnswer};
use crate::time::Now;
use crate::wire::{
    EncodeError, ExtensionType, ExtensionsBuilder, KeyShareClientHello, KeyShareEntry, KeyShareServerHello, NamedGroup,
    SupportedGroups,
};

/// The key agreement of a handshake.
pub(super) enum Agreement<'a> {
    KeyShare(GroupAgreement<'a>),
    /// An identity, and the client's share of X25519MLKEM768, if it is to be added.
    Identity(Box<IdentityAgreement>, Option<GroupAgreement<'a>>),
}

/// The group of a key agreement, with the client's share.
pub(super) struct GroupAgreement<'a> {
    group: &'static dyn Group,
    /// The client's share of the group; `None` if a HelloRetryRequest must ask for it.
    key_share: Option<&'a [u8]>,
}

/// The server's half of a key agreement, for the ServerHello.
pub(super) struct ServerShares {
    key_share: Option<(NamedGroup, Vec<u8>)>,
    identity: Option<IdentityAnswer>,
}

impl<'a> Agreement<'a> {
    /// Selects the agreement with the client's identity, if it has one that fits. The inner error says why it has none,
    /// so that the server can fall back to certificates if that is allowed.
    pub(super) fn select_identity(
        config: &ServerConfig,
        offer: &Offer<'a>,
        now: Now,
    ) -> Result<Result<Self, IdentityRefused>, Error> {
        let (Some(identity), Some(share)) = (&config.identity, &offer.identity_share) else {
            return Ok(Err(IdentityRefused::Missing));
        };
        let has_psk = offer.pre_shared_key.is_some();
        let agreement = match server::select(identity, share, offer.server_name, has_psk, now)? {
            Ok(agreement) => agreement,
            Err(refused) => return Ok(Err(refused)),
        };
        let hybrid = match &offer.supported_groups {
            Some(supported) => {
                check_key_shares(config, supported, offer)?;
                GroupAgreement::hybrid(config, offer)
            }
            None if offer.key_share.is_some() => {
                return Err(PeerMisbehaved::MissingExtension(ExtensionType::SUPPORTED_GROUPS).into());
            }
            None => None,
        };
        Ok(Ok(Self::Identity(Box::new(agreement), hybrid)))
    }

    /// Returns the group of the key exchange, if there is one.
    pub(super) fn group(&self) -> Option<NamedGroup> {
        match self {
            Self::KeyShare(agreement) => Some(agreement.group.name()),
            Self::Identity(_, hybrid) => hybrid.as_ref().map(|agreement| agreement.group.name()),
        }
    }

    /// Returns the group of a key exchange without identities.
    pub(super) fn key_share_group(&self) -> Option<NamedGroup> {
        match self {
            Self::KeyShare(agreement) => Some(agreement.group.name()),
            Self::Identity(..) => None,
        }
    }

    /// Returns the agreement with an identity.
    pub(super) fn identity(&self) -> Option<&IdentityAgreement> {
        match self {
            Self::KeyShare(_) => None,
            Self::Identity(agreement, _) => Some(agreement),
        }
    }

    /// Returns the agreement with an identity, to decide on its early data.
    pub(super) fn identity_mut(&mut self) -> Option<&mut IdentityAgreement> {
        match self {
            Self::KeyShare(_) => None,
            Self::Identity(agreement, _) => Some(agreement),
        }
    }

    /// Returns what a HelloRetryRequest must request of the client.
    pub(super) fn retry(&self) -> Option<Requested> {
        match self {
            Self::KeyShare(GroupAgreement { group, key_share: None }) => Some(Requested::KeyShare(group.name())),
            Self::Identity(agreement, _) if agreement.must_retry() => Some(Requested::PublicPart),
            _ => None,
        }
    }

    /// Returns the server's shares and the shared secret. With an identity, the terms that early data has needed are `known`.
    pub(super) fn respond(
        &self,
        rng: &mut dyn Rng,
        known: Option<StaticTerms>,
    ) -> Result<(ServerShares, SharedSecret), Error> {
        match self {
            Self::KeyShare(agreement) => {
                let (key_share, secret) = agreement.respond(rng)?;
                Ok((ServerShares { key_share: Some(key_share), identity: None }, secret))
            }
            Self::Identity(agreement, hybrid) => {
                let hybrid = hybrid.as_ref().map(|hybrid| hybrid.respond(rng)).transpose()?;
                let (key_share, hybrid) = hybrid.unzip();
                let (identity, secret) = agreement.respond(rng, hybrid.as_ref(), known)?;
                Ok((ServerShares { key_share, identity: Some(identity) }, secret))
            }
        }
    }
}

impl<'a> GroupAgreement<'a> {
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

    /// Returns the agreement that is added to an identity, if both sides have enabled it.
    fn hybrid(config: &ServerConfig, offer: &Offer<'a>) -> Option<Self> {
        let common = &config.common;
        let group = common.groups.iter().find(|name| **name == NamedGroup::X25519MLKEM768)?;
        let group = common.provider.group(*group)?;
        let share = offer.key_shares().find(|share| share.group == group.name())?;
        Some(Self { group, key_share: Some(share.key_exchange) })
    }

    fn respond(&self, rng: &mut dyn Rng) -> Result<((NamedGroup, Vec<u8>), SharedSecret), Error> {
        let key_share = self.key_share.ok_or(PeerMisbehaved::IllegalKeyShare)?;
        let (share, secret) = self.group.respond(rng, key_share)?;
        Ok(((self.group.name(), share), secret))
    }
}

impl ServerShares {
    /// Adds the extensions of the ServerHello.
    pub(super) fn push(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        if let Some((group, key_exchange)) = &self.key_share {
            extensions.push(&KeyShareServerHello(KeyShareEntry { group: *group, key_exchange }))?;
        }
        self.identity.as_ref().map_or(Ok(()), |identity| identity.push(extensions))
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
