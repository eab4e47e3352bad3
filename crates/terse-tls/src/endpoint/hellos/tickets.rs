//! Whether a client's ticket stands for a cookie: a round trip less for who comes back (docs/caching.md, 4.7).
//!
//! Until it is shown, only the client and the server know a ticket. Whoever sees it on the way may show it as well, and
//! first: it gets what is left of the one time, three times what it sent, to the address that it forged.
//!
//! What must always hold: a ticket proves its address once, and only the IP address of the handshake that made it; it
//! is spent before anything is answered; a store that is not sure says no; few are looked up.

use core::net::SocketAddr;
use core::task::Poll;

use super::Hellos;
use crate::cache::{AddressId, ServerStore, Ticket, first_tickets};
use crate::config::ServerConfig;
use crate::endpoint::limits::EndpointLimits;
use crate::wire::ClientHello;

/// How tickets are judged.
pub(super) struct Tickets {
    limits: EndpointLimits,
}

impl Tickets {
    pub(super) const fn new(limits: &EndpointLimits) -> Self {
        Self { limits: *limits }
    }

    /// Whether a ticket of the ClientHello proves that its sender is at `address`. If so, it is spent.
    pub(super) fn prove(&self, config: &ServerConfig, hello: &ClientHello<'_>, address: AddressId) -> bool {
        let Some(cache) = config.cache.as_ref().filter(|_| self.limits.tickets_prove_addresses) else { return false };
        // What is malformed is refused once its address is known.
        let mut tickets = first_tickets(cache.schemes, hello.extensions, config.common.caching_code_points());
        tickets.any(|ticket| self.spend(&*cache.store, ticket, address))
    }

    fn spend(&self, store: &dyn ServerStore, ticket: Ticket, address: AddressId) -> bool {
        let kept = || match store.find(&ticket) {
            Poll::Ready(row) => row?.address,
            Poll::Pending => None,
        };
        if self.limits.takes_spent_tickets() {
            return kept() == Some(address);
        }
        let address = if self.limits.takes_tickets_from_anywhere() { kept() } else { Some(address) };
        address.is_some_and(|address| store.spend(&ticket, address) == Ok(true))
    }
}

impl Hellos {
    /// What a cache knows an address by.
    pub(in crate::endpoint) fn address_id(&self, address: SocketAddr) -> AddressId {
        AddressId::new(address.ip(), self.hash)
    }
}
