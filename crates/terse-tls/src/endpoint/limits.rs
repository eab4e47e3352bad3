//! How much an endpoint keeps, and whom it believes.

use crate::error::ApiMisuse;

/// The limits of an [`super::Endpoint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

/// Defences that are left out.
#[cfg(terse_testing)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undefended {
    /// Any cookie is good.
    pub cookie: bool,
    /// More may be sent than three times what came.
    pub amplification: bool,
    /// Any record that is handed to a connection moves it, also an old one.
    pub old_records: bool,
    /// The old address is not asked whether the peer is still there.
    pub old_path: bool,
    /// Any answer proves an address.
    pub path_responses: bool,
    /// A ticket proves an address again and again.
    pub spent_tickets: bool,
    /// A ticket proves any address.
    pub ticket_addresses: bool,
    /// A ticket is enough to end another connection from the same address.
    pub replacement: bool,
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
    /// Goes without a defence, for tests that show what it is for.
    #[cfg(terse_testing)]
    #[must_use]
    pub const fn undefended(self, undefended: Undefended) -> Self {
        Self { undefended, ..self }
    }

    /// The same with another [`max_connections`](field@Self::max_connections).
    #[must_use]
    pub const fn max_connections(self, max_connections: usize) -> Self {
        Self { max_connections, ..self }
    }

    /// The same with another [`max_half_open`](field@Self::max_half_open).
    #[must_use]
    pub const fn max_half_open(self, max_half_open: usize) -> Self {
        Self { max_half_open, ..self }
    }

    /// The same with another [`max_first_messages`](field@Self::max_first_messages).
    #[must_use]
    pub const fn max_first_messages(self, max_first_messages: usize) -> Self {
        Self { max_first_messages, ..self }
    }

    /// The same with another [`max_received`](field@Self::max_received).
    #[must_use]
    pub const fn max_received(self, max_received: usize) -> Self {
        Self { max_received, ..self }
    }

    /// The same with another [`require_cookie`](field@Self::require_cookie).
    #[must_use]
    pub const fn require_cookie(self, require_cookie: bool) -> Self {
        Self { require_cookie, ..self }
    }

    /// The same with another [`tickets_prove_addresses`](field@Self::tickets_prove_addresses).
    #[must_use]
    pub const fn tickets_prove_addresses(self, tickets_prove_addresses: bool) -> Self {
        Self { tickets_prove_addresses, ..self }
    }

    /// The same with another [`address_change`](field@Self::address_change).
    #[must_use]
    pub const fn address_change(self, address_change: AddressChange) -> Self {
        Self { address_change, ..self }
    }

    pub(super) fn check(&self) -> Result<(), ApiMisuse> {
        ApiMisuse::check_limit("max_connections", self.max_connections)?;
        ApiMisuse::check_limit("max_half_open", self.max_half_open)?;
        ApiMisuse::check_limit("max_received", self.max_received)
    }

    pub(super) const fn takes_any_cookie(&self) -> bool {
        #[cfg(terse_testing)]
        return self.undefended.cookie;
        #[cfg(not(terse_testing))]
        false
    }

    pub(super) const fn moves_on_any_record(&self) -> bool {
        #[cfg(terse_testing)]
        return self.undefended.old_records;
        #[cfg(not(terse_testing))]
        false
    }

    pub(super) const fn asks_new_address_alone(&self) -> bool {
        #[cfg(terse_testing)]
        return self.undefended.old_path;
        #[cfg(not(terse_testing))]
        false
    }

    pub(super) const fn takes_any_path_response(&self) -> bool {
        #[cfg(terse_testing)]
        return self.undefended.path_responses;
        #[cfg(not(terse_testing))]
        false
    }

    pub(super) const fn takes_spent_tickets(&self) -> bool {
        #[cfg(terse_testing)]
        return self.undefended.spent_tickets;
        #[cfg(not(terse_testing))]
        false
    }

    pub(super) const fn takes_tickets_from_anywhere(&self) -> bool {
        #[cfg(terse_testing)]
        return self.undefended.ticket_addresses;
        #[cfg(not(terse_testing))]
        false
    }

    pub(super) const fn replaces_by_ticket(&self) -> bool {
        #[cfg(terse_testing)]
        return self.undefended.replacement;
        #[cfg(not(terse_testing))]
        false
    }

    pub(super) const fn amplifies(&self) -> bool {
        #[cfg(terse_testing)]
        return self.undefended.amplification;
        #[cfg(not(terse_testing))]
        false
    }
}
