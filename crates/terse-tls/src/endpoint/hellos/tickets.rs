//! Whether a client's ticket stands for a cookie: a round trip less for who comes back (`caching`, rule 7).
//!
//! Only the client and the server know a ticket until it is sent. An observer can copy it, and send it first from a
//! forged address: the server then sends at most three times as many bytes there, once.
//!
//! What must always hold: a ticket proves an address once, and only the IP address of the handshake that made it; it is
//! spent before anything is answered; without an immediate answer of the store nothing is proven; few tickets are
//! looked up for a ClientHello.

use core::net::SocketAddr;
use core::task::Poll;

use super::Hellos;
use crate::cache::{AddressId, ServerStore, Ticket, first_tickets};
use crate::config::ServerConfig;
use crate::endpoint::limits::EndpointLimits;
use crate::wire::ClientHello;

/// Checks tickets that replace a cookie.
pub(super) struct Tickets {
    limits: EndpointLimits,
}

impl Tickets {
    pub(super) const fn new(limits: &EndpointLimits) -> Self {
        Self { limits: *limits }
    }

    /// Whether a ticket of the ClientHello proves that its sender is at `address`. If so, the ticket is spent.
    pub(super) fn prove(&self, config: &ServerConfig, hello: &ClientHello<'_>, address: AddressId) -> bool {
        let Some(cache) = config.cache.as_ref().filter(|_| self.limits.tickets_prove_addresses) else { return false };
        // A malformed extension is refused later, once the address is validated.
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
    /// Returns the identifier of an address in the cache.
    pub(in crate::endpoint) fn address_id(&self, address: SocketAddr) -> AddressId {
        AddressId::new(address.ip(), self.hash)
    }
}
