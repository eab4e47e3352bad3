//! Key agreement of TLS 1.3 on a client: the share that it offers, and the secret (RFC 9846, 4.3.8 and 7.1). What proves
//! who the sides are is chosen apart from it.

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

/// What both sides agreed on.
pub(super) struct Agreed {
    pub(super) shared_secret: SharedSecret,
    pub(super) group: NamedGroup,
}

impl OfferedAgreement {
    /// A share of the first group. `None`: TLS 1.3 is not enabled.
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

    /// A share of the group that a HelloRetryRequest selects: one that was offered, without a share (RFC 9846, 4.3.8).
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

    /// The extension of the ClientHello.
    pub(super) fn offer(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let share = KeyShareEntry { group: self.group, key_exchange: self.key_exchange.key_share() };
        extensions.push(&KeyShareClientHello(List::Items(&[share])))
    }
}

impl Agreed {
    /// What the ServerHello with these extensions makes of the offer. `None`: it has no share.
    pub(super) fn read(offered: Option<OfferedAgreement>, extensions: Extensions<'_>) -> Result<Option<Self>, Error> {
        let Some(KeyShareServerHello(share)) = extensions.get()? else { return Ok(None) };
        let offered = offered.filter(|offered| offered.group == share.group).ok_or(PeerMisbehaved::IllegalKeyShare)?;
        Ok(Some(Self { shared_secret: offered.key_exchange.complete(share.key_exchange)?, group: share.group }))
    }
}
