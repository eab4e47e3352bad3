//! What a client that comes back may show in its ClientHello in place of a cookie, to save the round trip. A kind that
//! is added is a file beside `tickets`, and a line in the list.
//!
//! What must always hold: a proof counts once; it is spent before anything is answered; and whoever saw one on the way
//! gets no more for it than three times what it sent.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::tickets::{CacheTickets, IdentityTickets};
use crate::cache::AddressId;
use crate::config::ServerConfig;
use crate::endpoint::limits::EndpointLimits;
use crate::wire::ClientHello;

/// A kind of proof that the sender of a ClientHello is where it says.
pub(super) trait AddressProof: Send + Sync {
    /// Whether the ClientHello has such a proof of `address`. If so, it is spent, and proves nothing again.
    fn spend(&self, hello: &ClientHello<'_>, address: AddressId) -> bool;
}

/// All kinds that a server takes, in the order in which they are tried.
pub(super) fn kinds(config: &ServerConfig, limits: &EndpointLimits) -> Vec<Box<dyn AddressProof>> {
    let kinds = [CacheTickets::new(config, limits).map(boxed), IdentityTickets::new(config, limits).map(boxed)];
    kinds.into_iter().flatten().collect()
}

fn boxed(proof: impl AddressProof + 'static) -> Box<dyn AddressProof> {
    Box::new(proof)
}
