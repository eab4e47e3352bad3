//! Identity-based handshakes (docs/identity.md): each side has an identity key, and no certificates are sent.
//!
//! ```text
//! ClientHello            -->     identity_share: authority, identity, ephemeral key
//!                        <--     HelloRetryRequest*     a cookie, or the public part of the client's key, or both
//!                        <--     ServerHello            identity_share: ephemeral key
//!                                EncryptedExtensions
//!                                Finished
//! Finished               -->
//! ```
//!
//! What must always hold: the handshake keys need all four terms of the key agreement, and depend on both identities, all
//! public values and the parameters; a peer is believed, and anything about it kept, only after its Finished was
//! verified; nothing is computed in a group before a server knows authority, epoch and name.

use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::Output;
use crate::crypto::{IdentityPeer, IdentityTerms, SharedSecret};
use crate::identity::{Authority, Identity, IdentityAlgorithm, IdentityParameters};
use crate::summary::{AuthenticatedBy, IdentityBasedPeer, Mode};

pub(crate) mod client;
pub(crate) mod early_data;
pub(crate) mod offer;
pub(crate) mod server;

/// The public values of a key agreement.
struct PublicValues<'a> {
    parameters: &'a IdentityParameters,
    client: IdentityPeer<'a>,
    server: IdentityPeer<'a>,
}

impl PublicValues<'_> {
    /// Returns the input of the key schedule in the place of the (EC)DHE shared secret (docs/identity-format.md, 7).
    fn secret(&self, terms: &IdentityTerms, hybrid: Option<&SharedSecret>) -> SharedSecret {
        let tail = self.tail();
        let IdentityTerms { k0, k1, k2, k3 } = terms;
        let parts: [&[u8]; 6] =
            [k3.as_ref(), hybrid.map_or(&[], |secret| secret.as_ref()), k1.as_ref(), k2.as_ref(), k0.as_ref(), &tail];
        // With room for all, nothing is moved, and so no copy stays behind.
        let mut secret = Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| part.len()).sum()));
        parts.iter().for_each(|part| secret.extend_from_slice(part));
        SharedSecret::new(core::mem::take(&mut *secret))
    }

    /// Returns the public values in the encoding that is hashed after the terms.
    fn tail(&self) -> Vec<u8> {
        let Self { parameters, client, server } = self;
        let epoch = parameters.epoch();
        let (id_c, id_s) = (client.identity.hashed(epoch), server.identity.hashed(epoch));
        [
            &parameters.hash()[..],
            &id_c,
            &id_s,
            client.ephemeral,
            server.ephemeral,
            client.public_part,
            server.public_part,
        ]
        .concat()
    }
}

/// Splits the field `key_exchange` into ephemeral key and public part, which may be empty. Returns `None` if its length
/// does not fit the algorithm.
fn split_key_exchange(algorithm: IdentityAlgorithm, key_exchange: &[u8]) -> Option<(&[u8], &[u8])> {
    let (ephemeral, public_part) = key_exchange.split_at_checked(algorithm.ephemeral_len())?;
    let fits = public_part.is_empty() || public_part.len() == algorithm.public_part_len();
    fits.then_some((ephemeral, public_part))
}

/// Reports a peer after its Finished was verified.
fn report(
    authority: Authority,
    identity: &Identity,
    algorithm: IdentityAlgorithm,
    time_unchecked: bool,
    output: &mut Output<'_>,
) {
    output.summary.mode = Mode::Identity;
    output.summary.fallback = None;
    output.summary.identity_algorithm = Some(algorithm);
    let peer = &mut output.summary.peer;
    peer.identity_based = Some(IdentityBasedPeer { authority, identity: identity.clone() });
    peer.authenticated_by = AuthenticatedBy::Identity;
    peer.time_unchecked = time_unchecked;
}

#[cfg(test)]
mod tests;
