//! The key agreement of TLS 1.3 on a client: the key share that it offers, and the shared secret (RFC 9846, 4.3.8 and
//! 7.1). Authentication is negotiated independently.

use alloc::boxed::Box;

use crate::config::Common;
use crate::crypto::{Group, KeyExchange, Rng, SharedSecret};
use crate::error::{ApiMisuse, Error, PeerMisbehaved};
use crate::wire::{
    EncodeError, Extensions, ExtensionsBuilder, KeyShareClientHello, KeyShareEntry, KeyShareServerHello, List,
    NamedGroup, ProtocolVersion,
};

/// This side's half of a key exchange.
pub(super) struct OfferedAgreement {
    group: NamedGroup,
    key_exchange: Box<dyn KeyExchange>,
}

/// The result of a key agreement.
pub(super) struct Agreed {
    pub(super) shared_secret: SharedSecret,
    pub(super) group: NamedGroup,
}

impl OfferedAgreement {
    /// Makes a share of the first group. Returns `None` if TLS 1.3 is not enabled.
    pub(super) fn start(common: &Common, rng: &mut dyn Rng) -> Result<Option<Self>, Error> {
        if !common.enables(ProtocolVersion::TLS_1_3) {
            return Ok(None);
        }
        let mut groups = common.groups.iter().filter_map(|name| common.provider.group(*name));
        let group = groups.next().ok_or(ApiMisuse::EmptyConfiguration("group"))?;
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

    /// Adds the extension `key_share` of the ClientHello.
    pub(super) fn offer(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let share = KeyShareEntry { group: self.group, key_exchange: self.key_exchange.key_share() };
        extensions.push(&KeyShareClientHello(List::Items(&[share])))
    }
}

impl Agreed {
    /// Completes the key agreement with the extensions of a ServerHello. Returns `None` if they have no share.
    pub(super) fn read(offered: Option<OfferedAgreement>, extensions: Extensions<'_>) -> Result<Option<Self>, Error> {
        let Some(KeyShareServerHello(share)) = extensions.get()? else { return Ok(None) };
        let offered = offered.filter(|offered| offered.group == share.group).ok_or(PeerMisbehaved::IllegalKeyShare)?;
        Ok(Some(Self { shared_secret: offered.key_exchange.complete(share.key_exchange)?, group: share.group }))
    }
}
