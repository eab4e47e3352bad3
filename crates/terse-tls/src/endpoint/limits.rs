//! How much an endpoint keeps, and whom it believes.

#[cfg(terse_testing)]
use super::defences::Undefended;
use crate::error::ApiMisuse;

/// The limits of an [`super::Endpoint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointLimits {
    /// Connections at once, complete or not; at least 1.
    pub max_connections: usize,
    /// Of them, those whose handshake is not complete, at least 1; the oldest makes room for a new one.
    pub max_half_open: usize,
    /// Clients whose first message came in fragments that are not all there; 0 serves none of those.
    pub max_first_messages: usize,
    /// Bytes of application data that wait for [`super::Endpoint::poll_event`], at least 1; what exceeds them is dropped.
    pub max_received: usize,
    /// Make clients show that they are where they say, with a cookie, before anything is kept for them (RFC 6347,
    /// 4.2.1). Without, a handshake takes a round trip less, and until a client answers it gets at most three times
    /// what it sent.
    pub require_cookie: bool,
    /// Where a cookie is required, take a ticket of the cache ([`crate::cache`]) for one, of a client that comes back
    /// from the IP address that the ticket was made at: once, and not if the client would end another connection. It
    /// saves a round trip and some bytes. Until the client answers it gets at most three times what it sent.
    pub tickets_prove_addresses: bool,
    /// What happens when a connection's records come from another address.
    pub address_change: AddressChange,
    /// Leave out defences, for tests that show what this would allow.
    #[cfg(terse_testing)]
    pub undefended: Undefended,
}

/// What happens when authentic records of a connection with a connection ID come from another address (RFC 9146, 6). An
/// attacker on the way can make them come from anywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressChange {
    /// Nothing: what is sent goes to the old one.
    Refuse,
    /// What is sent goes to the new one, at most three times as much as came from there, until the application knows
    /// that the peer is there ([`super::Endpoint::confirm_address`]).
    Limited,
    /// The same, but the peer is asked whether it is there (RFC 9853), and [`super::EndpointEvent::AddressChanged`] is
    /// reported once it has answered, and did not answer at the old address: that takes as long as a flight is waited
    /// for. If it does not answer, the connection goes back to the old address. Peers that do not take part are treated
    /// as with [`Self::Limited`].
    #[default]
    Check,
    /// What is sent goes to the new one.
    Follow,
}

impl Default for EndpointLimits {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            max_half_open: 1_000,
            max_first_messages: 256,
            max_received: 0x10_0000,
            require_cookie: true,
            tickets_prove_addresses: true,
            address_change: AddressChange::default(),
            #[cfg(terse_testing)]
            undefended: Undefended::default(),
        }
    }
}

impl EndpointLimits {
    pub(super) fn check(&self) -> Result<(), ApiMisuse> {
        ApiMisuse::check_limit("max_connections", self.max_connections)?;
        ApiMisuse::check_limit("max_half_open", self.max_half_open)?;
        ApiMisuse::check_limit("max_received", self.max_received)
    }
}
