//! What a client's handshake does with an identity.
//!
//! The handshake reaches it by vtables, which only [`ClientIdentity`](crate::ClientIdentity) names: a firmware without an identity
//! key has none of the code.

use alloc::boxed::Box;

use crate::config::{ClientConfig, Common, ServerAddress};
use crate::crypto::{Rng, SharedSecret};
use crate::error::Error;
use crate::handshake::client::OfferedEarlyData;
use crate::handshake::{Output, Tickets};
use crate::proof::FinishedProof;
use crate::time::Now;
use crate::wire::{EncodeError, ExtensionsBuilder, IdentityShareServerHello, Random};

/// Returns the identity to offer to a server; `None` if the client falls back to certificates at once.
pub(crate) type Begin =
    fn(&ClientConfig, &ServerAddress, Now, &mut dyn Rng) -> Result<Option<Box<dyn OfferedIdentity>>, Error>;

/// The identity that a client offers, and the one that it expects.
pub(crate) trait OfferedIdentity: Send + Sync {
    /// Returns the early data that is offered.
    fn early_data(&self) -> Option<&OfferedEarlyData>;

    /// Installs the keys of early data, if any is offered, after the first ClientHello.
    fn begin_early_data(
        &mut self,
        client: (&Common, &Random),
        client_hello: &[u8],
        output: &mut Output<'_>,
    ) -> Result<(), Error>;

    /// Handles a HelloRetryRequest, after which there is no early data. Returns whether there was any.
    fn abandon_early_data(&mut self) -> bool;

    /// Returns whether a key share of the preferred group is sent beside the identity.
    fn has_hedge(&self) -> bool;

    /// Returns whether X25519MLKEM768 is offered beside the identity.
    fn is_hybrid(&self) -> bool;

    /// Adds the extension `identity_share` of the ClientHello.
    fn offer(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError>;

    /// Handles a HelloRetryRequest that asks for the public part of the client's key. Returns whether it was not sent.
    fn retry(&mut self) -> bool;

    /// Completes the key agreement with the server's answer.
    fn complete(
        self: Box<Self>,
        answer: &IdentityShareServerHello<'_>,
        hybrid: Option<&SharedSecret>,
    ) -> Result<(SharedSecret, Box<dyn AgreedIdentity>), Error>;

    /// Returns what is to be kept if the server uses certificates.
    fn declined(self: Box<Self>) -> Box<dyn DeclinedIdentity>;
}

/// The result of a key agreement. The server has not proven yet that it has the key of its identity.
pub(crate) trait AgreedIdentity: Send + Sync {
    /// Returns the early data once that was offered and that no HelloRetryRequest has ended.
    fn take_early_data(&mut self) -> Option<OfferedEarlyData>;

    /// Reports the server, and keeps the public part of its key, after its Finished was verified.
    fn prove(&self, proof: &FinishedProof, output: &mut Output<'_>);

    /// Returns what keeps the server's ephemeral secret tickets, if they are wanted.
    fn tickets(&self, output: &mut Output<'_>) -> Option<Box<dyn Tickets>>;
}

/// A server that uses certificates although the client has offered an identity.
pub(crate) trait DeclinedIdentity: Send + Sync {
    /// Notes that the server uses certificates, after its Finished was verified: for a day the client offers it no
    /// identity, but handshake caching and resumption.
    fn used_certificates(&self, proof: &FinishedProof, now: Now);
}
