//! The key agreement of TLS 1.3 on a client: the key share and the identity that it offers, and the shared secret (RFC
//! 9846, 4.3.8 and 7.1; docs/identity-format.md, 7).

use alloc::boxed::Box;

use crate::config::Common;
use crate::crypto::{Group, KeyExchange, Rng, SharedSecret};
use crate::error::{ApiMisuse, Error, PeerMisbehaved, Setting};
use crate::handshake::identity::offer::{AgreedIdentity, OfferedIdentity};
use crate::wire::{
    EncodeError, ExtensionType, Extensions, ExtensionsBuilder, IdentityShareServerHello, KeyShareClientHello,
    KeyShareEntry, KeyShareServerHello, List, NamedGroup, ProtocolVersion,
};

/// This side's half of a key exchange.
pub(super) struct OfferedAgreement {
    group: NamedGroup,
    key_exchange: Box<dyn KeyExchange>,
}

/// The result of a key agreement.
pub(super) struct Agreed {
    pub(super) shared_secret: SharedSecret,
    pub(super) group: Option<NamedGroup>,
    pub(super) identity: Option<Box<dyn AgreedIdentity>>,
}

impl OfferedAgreement {
    /// Makes a share of the first group. Returns `None` if TLS 1.3 is not enabled, or if an identity stands in its place.
    pub(super) fn start(
        common: &Common,
        identity: Option<&dyn OfferedIdentity>,
        trusts_certificates: bool,
        rng: &mut dyn Rng,
    ) -> Result<Option<Self>, Error> {
        if !common.enables(ProtocolVersion::TLS_1_3) {
            return Ok(None);
        }
        match identity {
            Some(identity) if identity.is_hybrid() => {
                let hybrid = common.provider.group(HYBRID).ok_or(ApiMisuse::Unsupported(Setting::HybridGroup))?;
                return Self::of(hybrid, rng).map(Some);
            }
            // A hedge is for a server with certificates.
            Some(identity) if !(identity.has_hedge() && trusts_certificates) => return Ok(None),
            _ => {}
        }
        let mut groups = common.groups.iter().filter_map(|name| common.provider.group(*name));
        let group = groups.next().ok_or(ApiMisuse::EmptyConfiguration(Setting::Group))?;
        Self::of(group, rng).map(Some)
    }

    fn of(group: &'static dyn Group, rng: &mut dyn Rng) -> Result<Self, Error> {
        Ok(Self { group: group.name(), key_exchange: group.start(rng)? })
    }

    /// Makes a share of the group that a HelloRetryRequest selects, which must be offered and have no share yet (RFC
    /// 9846, 4.3.8).
    pub(super) fn retry(
        offered: Option<&Self>,
        selected: NamedGroup,
        common: &Common,
        rng: &mut dyn Rng,
    ) -> Result<Self, Error> {
        let group = common.groups.contains(&selected).then(|| common.provider.group(selected)).flatten();
        let is_new = offered.is_none_or(|offered| offered.group != selected);
        Self::of(group.filter(|_| is_new).ok_or(PeerMisbehaved::IllegalHelloRetryRequest)?, rng)
    }

    /// Adds the extension `key_share` of the ClientHello; without a share it is empty, and the server selects a group.
    pub(super) fn offer(offered: Option<&Self>, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let shares = offered
            .map(|offered| KeyShareEntry { group: offered.group, key_exchange: offered.key_exchange.key_share() });
        extensions.push(&KeyShareClientHello(List::Items(shares.as_slice())))
    }
}

impl Agreed {
    /// Completes the key agreement with the extensions of a ServerHello. Returns `None` if they have neither a share nor
    /// an identity.
    pub(super) fn read(
        offered: Option<OfferedAgreement>,
        identity: &mut Option<Box<dyn OfferedIdentity>>,
        extensions: Extensions<'_>,
    ) -> Result<Option<Self>, Error> {
        let answer: Option<IdentityShareServerHello<'_>> = extensions.get()?;
        let share = extensions.get()?;
        let group = share.as_ref().map(|KeyShareServerHello(share)| share.group);
        let secret = share.map(|KeyShareServerHello(share)| {
            let offered = offered.filter(|offered| offered.group == share.group);
            let offered = offered.ok_or(Error::from(PeerMisbehaved::IllegalKeyShare))?;
            Ok::<_, Error>(offered.key_exchange.complete(share.key_exchange)?)
        });
        let secret = secret.transpose()?;
        let Some(answer) = answer else {
            return Ok(secret.map(|shared_secret| Self { shared_secret, group, identity: None }));
        };
        if group.is_some_and(|group| group != HYBRID) {
            return Err(PeerMisbehaved::IllegalKeyShare.into());
        }
        let unsolicited = Error::from(PeerMisbehaved::UnsolicitedExtension(ExtensionType::IDENTITY_SHARE));
        let identity = identity.take().ok_or(unsolicited)?;
        let (shared_secret, identity) = identity.complete(&answer, secret.as_ref())?;
        Ok(Some(Self { shared_secret, group, identity: Some(identity) }))
    }
}

/// The group whose secret can be added to that of an identity.
pub(crate) const HYBRID: NamedGroup = NamedGroup::X25519MLKEM768;
