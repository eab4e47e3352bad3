//! Identities on a client.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{PublicValues, report, split_key_exchange};
use crate::config::{ClientConfig, ClientIdentity, ServerAddress, check_epoch};
use crate::crypto::{EphemeralKey, IdentityPeer, IdentityRole, Rng, SharedSecret};
use crate::error::{Error, IdentityRefused};
use crate::handshake::Output;
use crate::identity::{Authority, Identity, KnownPeers};
use crate::proof::FinishedProof;
use crate::time::Now;
use crate::wire::{EncodeError, ExtensionsBuilder, IdentityShareClientHello, IdentityShareServerHello};

/// The identity that a client offers, and the one that it expects.
pub(crate) struct OfferedIdentity {
    config: ClientIdentity,
    server: Identity,
    ephemeral: EphemeralKey,
    /// The public part of the server's key, if the client holds it.
    held: Option<Vec<u8>>,
    /// Whether the ClientHello has the public part of the client's key.
    sends_own: bool,
    time_unchecked: bool,
}

/// The result of a key agreement. The server has not proven yet that it has the key of its identity.
pub(crate) struct AgreedIdentity {
    config: ClientIdentity,
    server: Identity,
    /// The public part of the server's key.
    public_part: Vec<u8>,
    time_unchecked: bool,
}

/// A server that uses certificates although the client has offered an identity.
pub(crate) struct DeclinedIdentity {
    known_peers: Arc<KnownPeers>,
    authority: Authority,
    server: Identity,
}

impl OfferedIdentity {
    /// Returns the identity to offer to the server at `address`; `None` if the client has none, or falls back to
    /// certificates at once.
    #[inline(never)]
    pub(crate) fn start(
        config: &ClientConfig,
        address: &ServerAddress,
        now: Now,
        rng: &mut dyn Rng,
    ) -> Result<Option<Self>, Error> {
        let Some(identity) = &config.identity else { return Ok(None) };
        let (parameters, server) = (identity.key.parameters(), identity.expected(address)?);
        if identity.denied.as_ref().is_some_and(|denied| denied.contains(&server)) {
            return Err(IdentityRefused::Denied.into());
        }
        if server == *identity.key.identity() {
            return Err(IdentityRefused::OwnIdentity.into());
        }
        let (authority, algorithm) = (parameters.authority(), parameters.algorithm());
        let seconds = now.unix.map_or(0, |time| time.as_secs());
        if config.trusts_certificates() && identity.known_peers.uses_certificates(authority, &server, seconds) {
            return Ok(None);
        }
        let time_unchecked = match check_epoch(parameters, now, identity.without_clock) {
            Ok(unchecked) => unchecked,
            Err(_) if config.trusts_certificates() => return Ok(None),
            Err(refused) => return Err(refused.into()),
        };
        let (held, sends_own) = if algorithm.public_part_len() == 0 {
            (None, false)
        } else {
            {
                let known = identity.known_peers.begin(authority, &server, identity.key.public_part());
                (known.public_part, known.sends_own)
            }
        };
        let ephemeral = identity.key.ephemeral(rng)?;
        Ok(Some(Self { config: identity.clone(), server, ephemeral, held, sends_own, time_unchecked }))
    }

    /// Returns whether a key share of the preferred group is sent beside the identity.
    pub(crate) const fn has_hedge(&self) -> bool {
        self.config.hedge
    }

    /// Returns whether X25519MLKEM768 is offered beside the identity.
    pub(crate) const fn is_hybrid(&self) -> bool {
        self.config.hybrid
    }

    /// Adds the extension `identity_share` of the ClientHello.
    pub(crate) fn offer(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let key = &self.config.key;
        let parameters = key.parameters();
        let flags = if self.held.is_some() { IdentityShareClientHello::HOLDS_PUBLIC_PART } else { 0 };
        let mut key_exchange = Vec::from(self.ephemeral.public());
        if self.sends_own {
            key_exchange.extend_from_slice(key.public_part());
        }
        extensions.push(&IdentityShareClientHello {
            algorithm: parameters.algorithm().code() | flags,
            authority: parameters.authority(),
            identity: key.identity().encoded(),
            key_exchange: &key_exchange,
            ticket: &[],
        })
    }

    /// Handles a HelloRetryRequest that asks for the public part of the client's key. Returns whether it was not sent.
    pub(crate) fn retry(&mut self) -> bool {
        let has_public_part = !self.config.key.public_part().is_empty();
        has_public_part && !core::mem::replace(&mut self.sends_own, true)
    }

    /// Completes the key agreement with the server's answer.
    pub(crate) fn complete(
        self,
        answer: &IdentityShareServerHello<'_>,
        hybrid: Option<&SharedSecret>,
    ) -> Result<(SharedSecret, AgreedIdentity), Error> {
        let Self { config, server, ephemeral, held, time_unchecked, .. } = self;
        if !answer.identity.is_empty() && answer.identity != server.encoded() {
            return Err(IdentityRefused::OtherIdentity.into());
        }
        let key = &config.key;
        let algorithm = key.parameters().algorithm();
        let (server_ephemeral, sent) =
            split_key_exchange(algorithm, answer.key_exchange).ok_or(IdentityRefused::IllegalLength)?;
        let public_part = match held {
            _ if !sent.is_empty() => sent.into(),
            Some(held) => held,
            None if algorithm.public_part_len() > 0 => return Err(IdentityRefused::IllegalLength.into()),
            None => Vec::new(),
        };
        let peer = IdentityPeer { identity: &server, public_part: &public_part, ephemeral: server_ephemeral };
        let terms = key.terms(IdentityRole::Client, &ephemeral, peer)?;
        let own =
            IdentityPeer { identity: key.identity(), public_part: key.public_part(), ephemeral: ephemeral.public() };
        let values = PublicValues { parameters: key.parameters(), client: own, server: peer };
        let secret = values.secret(&terms, hybrid);
        Ok((secret, AgreedIdentity { config, server, public_part, time_unchecked }))
    }

    /// Returns what is to be kept if the server uses certificates.
    pub(crate) fn declined(self) -> DeclinedIdentity {
        let authority = self.config.key.parameters().authority();
        DeclinedIdentity { known_peers: self.config.known_peers, authority, server: self.server }
    }
}

impl AgreedIdentity {
    /// Reports the server, and keeps the public part of its key, after its Finished was verified.
    pub(crate) fn prove(&self, proof: &FinishedProof, output: &mut Output<'_>) {
        let Self { config, server, public_part, time_unchecked } = self;
        let parameters = config.key.parameters();
        let authority = parameters.authority();
        config.known_peers.confirm(proof, authority, server, public_part, config.key.public_part());
        report(authority, server, parameters.algorithm(), *time_unchecked, output);
    }
}

impl DeclinedIdentity {
    /// Notes that the server uses certificates, after its Finished was verified: for a day the client offers it no
    /// identity, but handshake caching and resumption.
    pub(crate) fn used_certificates(&self, proof: &FinishedProof, now: Now) {
        if let Some(now) = now.unix {
            self.known_peers.used_certificates(proof, self.authority, &self.server, now.as_secs());
        }
    }
}
