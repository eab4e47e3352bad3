//! Whether a client's ticket stands for a cookie: a round trip less for who comes back (docs/caching.md, 4.7).
//!
//! Only the client and the server know a ticket until it is sent. An observer can copy it, and send it first from a
//! forged address: the server then sends at most three times as many bytes there, once.
//!
//! What must always hold: a ticket proves an address once, and only the IP address of the handshake that made it; it is
//! spent before anything is answered; without an immediate answer of the store nothing is proven; few tickets are
//! looked up for a ClientHello.

use super::proof::AddressProof;
use crate::cache::{AddressId, CodePoints, ServerCache, first_tickets};
use crate::config::ServerConfig;
use crate::endpoint::limits::EndpointLimits;
use crate::identity_early_data::SecretTickets;
use crate::wire::{ClientHello, EarlyData, IdentityShareClientHello};

/// The tickets of a server's cache.
pub(super) struct CacheTickets {
    cache: ServerCache,
    code_points: CodePoints,
    limits: EndpointLimits,
}

impl CacheTickets {
    /// `None`: there is no cache, or its tickets prove nothing here.
    pub(super) fn new(config: &ServerConfig, limits: &EndpointLimits) -> Option<Self> {
        let cache = config.cache.clone().filter(|_| limits.tickets_prove_addresses)?;
        Some(Self { cache, code_points: config.common.caching_code_points(), limits: *limits })
    }
}

impl AddressProof for CacheTickets {
    fn spend(&self, hello: &ClientHello<'_>, address: AddressId) -> bool {
        // What is malformed is refused once its address is known.
        let mut tickets = first_tickets(self.cache.schemes, hello.extensions, self.code_points);
        tickets.any(|ticket| self.limits.spend_ticket(&*self.cache.store, &ticket, address))
    }
}

/// The ephemeral secret tickets of a server with identities (docs/identity-format.md, 8).
pub(super) struct IdentityTickets(SecretTickets);

impl IdentityTickets {
    /// Returns `None` if there are none, or they prove nothing here.
    pub(super) fn new(config: &ServerConfig, limits: &EndpointLimits) -> Option<Self> {
        let tickets = config.identity.as_ref()?.tickets.clone();
        tickets.filter(|_| limits.tickets_prove_addresses).map(Self)
    }
}

impl AddressProof for IdentityTickets {
    fn spend(&self, hello: &ClientHello<'_>, address: AddressId) -> bool {
        // What is malformed is refused once its address is known.
        let share = hello.extensions.get::<IdentityShareClientHello<'_>>();
        let has_early_data = matches!(hello.extensions.get::<EarlyData>(), Ok(Some(_)));
        let Ok(Some(share)) = share else { return false };
        share.secret_ticket().filter(|_| has_early_data).is_some_and(|ticket| self.0.spend(ticket, address))
    }
}
