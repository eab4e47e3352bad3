//! Identities on a server.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{PublicValues, report, split_key_exchange};
use crate::config::{ServerConfig, ServerIdentity, check_epoch};
use crate::crypto::{IdentityKey, IdentityPeer, IdentityRole, Rng, SharedSecret};
use crate::error::{Error, IdentityRefused};
use crate::handshake::Output;
use crate::identity::{Identity, IdentityType};
use crate::proof::FinishedProof;
use crate::time::Now;
use crate::wire::{EncodeError, ExtensionsBuilder, IdentityShareClientHello, IdentityShareServerHello};

/// A client's identity, and the key of the server that belongs to the same authority and epoch.
pub(crate) struct IdentityAgreement {
    key: Arc<dyn IdentityKey>,
    client: Identity,
    ephemeral: Vec<u8>,
    /// The public part of the client's key; `None` if a HelloRetryRequest must ask for it.
    public_part: Option<Vec<u8>>,
    /// Whether the server names itself, since the client may expect another one.
    is_named: bool,
    /// Whether the client needs the public part of the server's key.
    sends_own: bool,
    time_unchecked: bool,
}

/// The server's answer to an `identity_share`.
pub(crate) struct IdentityAnswer {
    identity: Vec<u8>,
    key_exchange: Vec<u8>,
}

/// The identity that a client claims until its Finished proves it.
pub(crate) struct ClaimedIdentity {
    key: Arc<dyn IdentityKey>,
    client: Identity,
    public_part: Vec<u8>,
    time_unchecked: bool,
}

/// Returns the agreement with a client that offers `share`. The inner error is a reason to fall back to certificates, if
/// that is allowed.
pub(crate) fn select(
    identity: &ServerIdentity,
    share: &IdentityShareClientHello<'_>,
    server_name: Option<&str>,
    has_psk: bool,
    now: Now,
) -> Result<Result<IdentityAgreement, IdentityRefused>, Error> {
    if has_psk {
        return Err(IdentityRefused::WithPreSharedKey.into());
    }
    let client = Identity::decode(share.identity).map_err(|_| IdentityRefused::IllegalLength)?;
    if identity.denied.as_ref().is_some_and(|denied| denied.contains(&client)) {
        return Err(IdentityRefused::Denied.into());
    }
    let fits = |key: &&Arc<dyn IdentityKey>| {
        let parameters = key.parameters();
        parameters.algorithm().code() == share.code() && parameters.authority() == share.authority
    };
    let keys = || identity.keys.iter().filter(fits);
    let Some(first) = keys().next() else { return Ok(Err(IdentityRefused::UnknownAuthority)) };
    let asked = server_name.and_then(|name| keys().find(|key| has_name(key.identity(), name)));
    let key = asked.unwrap_or(first);
    let time_unchecked = match check_epoch(key.parameters(), now, identity.without_clock) {
        Ok(unchecked) => unchecked,
        Err(refused) => return Ok(Err(refused)),
    };
    if client == *key.identity() {
        return Err(IdentityRefused::OwnIdentity.into());
    }
    let algorithm = key.parameters().algorithm();
    let (ephemeral, sent) = split_key_exchange(algorithm, share.key_exchange).ok_or(IdentityRefused::IllegalLength)?;
    let public_part = match sent {
        [] if algorithm.public_part_len() > 0 => identity.known_peers.find(share.authority, &client),
        sent => Some(sent.into()),
    };
    // A client without a server name expects the only identity, if there is only one.
    let is_only = keys().count() == 1;
    let is_other_name = server_name.is_some() && key.identity().kind() == IdentityType::DNS_NAME;
    Ok(Ok(IdentityAgreement {
        key: key.clone(),
        client,
        ephemeral: ephemeral.into(),
        public_part,
        is_named: asked.is_none() && (!is_only || is_other_name),
        sends_own: !share.holds_public_part(),
        time_unchecked,
    }))
}

fn has_name(identity: &Identity, name: &str) -> bool {
    identity.kind() == IdentityType::DNS_NAME && identity.bytes().eq_ignore_ascii_case(name.as_bytes())
}

impl IdentityAgreement {
    /// Returns whether a HelloRetryRequest must ask for the public part of the client's key.
    pub(crate) const fn must_retry(&self) -> bool {
        self.public_part.is_none()
    }

    /// Returns the server's answer, the shared secret, and the identity that the client must prove.
    #[inline(never)]
    pub(crate) fn respond(
        &self,
        rng: &mut dyn Rng,
        hybrid: Option<&SharedSecret>,
    ) -> Result<(IdentityAnswer, SharedSecret), Error> {
        let Self { key, client, ephemeral, public_part, .. } = self;
        let public_part = public_part.as_deref().ok_or(IdentityRefused::IllegalLength)?;
        let client = IdentityPeer { identity: client, public_part, ephemeral };
        let own_ephemeral = key.ephemeral(rng)?;
        let terms = key.terms(IdentityRole::Server, &own_ephemeral, client)?;
        let server = IdentityPeer {
            identity: key.identity(),
            public_part: key.public_part(),
            ephemeral: own_ephemeral.public(),
        };
        let secret = PublicValues { parameters: key.parameters(), client, server }.secret(&terms, hybrid);
        let own_part = if self.sends_own { key.public_part() } else { &[] };
        let identity = if self.is_named { key.identity().encoded() } else { &[] };
        let answer =
            IdentityAnswer { identity: identity.into(), key_exchange: [own_ephemeral.public(), own_part].concat() };
        Ok((answer, secret))
    }

    /// Returns the identity that the client must prove.
    pub(crate) fn claimed(&self) -> ClaimedIdentity {
        ClaimedIdentity {
            key: self.key.clone(),
            client: self.client.clone(),
            public_part: self.public_part.clone().unwrap_or_default(),
            time_unchecked: self.time_unchecked,
        }
    }
}

impl IdentityAnswer {
    /// Adds the extension `identity_share` of the ServerHello.
    pub(crate) fn push(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let Self { identity, key_exchange } = self;
        extensions.push(&IdentityShareServerHello { identity, key_exchange })
    }
}

impl ClaimedIdentity {
    /// Reports the client, and keeps the public part of its key, after its Finished was verified.
    pub(crate) fn prove(&self, proof: &FinishedProof, config: &ServerConfig, output: &mut Output<'_>) {
        let Self { key, client, public_part, time_unchecked } = self;
        let parameters = key.parameters();
        let authority = parameters.authority();
        if let Some(identity) = config.identity.as_ref().filter(|_| !public_part.is_empty()) {
            identity.known_peers.keep(proof, authority, client, public_part);
        }
        report(authority, client, parameters.algorithm(), *time_unchecked, output);
    }
}
