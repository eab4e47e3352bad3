//! The limits of an endpoint, and how it validates addresses.

#[cfg(terse_testing)]
use super::defences::Undefended;
use crate::error::{ApiMisuse, Setting};

/// The limits of an [`super::Endpoint`].
///
/// All of them count clients in total, and none counts those at one address. The address of one join proxy stands for
/// any number of pledges, which must not take places from each other by a share of their own; and who means harm has any
/// number of ports, of IPv6 addresses and of headers. A client has its places by its path ([`super::Path`]): one for the
/// fragments of its first message, and one connection, besides those with a connection ID. A relay bounds how much each
/// of its clients may send through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointLimits {
    /// The most connections at once, complete or not; at least 1.
    pub max_connections: usize,
    /// The most connections whose handshake is not complete; at least 1. The oldest one makes room for a new one.
    pub max_half_open: usize,
    /// The most clients with an incomplete, fragmented ClientHello; with 0, fragmented ClientHellos are not accepted.
    pub max_first_messages: usize,
    /// The most bytes of application data that wait for [`super::Endpoint::poll_event`]; at least 1. Further data is
    /// dropped.
    pub max_received: usize,
    /// Whether clients must prove their address with a cookie before any state is kept for them (RFC 6347, 4.2.1).
    /// Otherwise a handshake takes a round trip less, and a client that has not answered yet is sent at most three
    /// times as many bytes as it has sent.
    pub require_cookie: bool,
    /// Whether a ticket of the cache ([`crate::cache`]), or an ephemeral secret ticket
    /// ([`crate::identity_early_data::SecretTickets::Stateful`]), replaces a required cookie, if the client returns from the IP
    /// address, and with the header ([`super::Path`]), that the ticket was made at. A ticket does so once, and not if the client would end another connection.
    /// It saves a round trip and some bytes. A client that has not answered yet is sent at most three times as many
    /// bytes as it has sent.
    pub tickets_prove_addresses: bool,
    /// How many ClientHellos with early data at first contact
    /// ([`crate::ServerIdentity::first_contact`]) are answered without a required cookie in each second; others get a
    /// cookie, which rejects their early data. Each costs the key agreement of an identity-based handshake, also if
    /// somebody has made it up, so this should be a small part of what the machine can do.
    pub first_contacts_per_second: u32,
    /// What happens when a connection's records come from another address.
    pub address_change: AddressChange,
    /// The defences that are left out, for tests that show their need.
    #[cfg(terse_testing)]
    pub undefended: Undefended,
}

/// What happens when authentic records of a connection with a connection ID come on another path (RFC 9146, 6): from another
/// address, or with another header. An attacker on the path can make them come from any address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressChange {
    /// The address does not change.
    Refuse,
    /// Datagrams are sent to the new address, at most three times as many bytes as came from there, until the
    /// application confirms it ([`super::Endpoint::confirm_address`]).
    Limited,
    /// Datagrams are sent to the new address with the limit of [`Self::Limited`], and both addresses get a path
    /// challenge (RFC 9853). [`super::EndpointEvent::AddressChanged`] is reported once the peer has answered at the new
    /// address, and not at the old one within the retransmission timeout. If it does not answer, the connection returns
    /// to the old address. A peer without return routability checks is treated as with [`Self::Limited`].
    #[default]
    Check,
    /// Datagrams are sent to the new address without a limit.
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
            first_contacts_per_second: 0,
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

    /// Returns these settings with another [`max_connections`](field@Self::max_connections).
    #[must_use]
    pub const fn max_connections(self, max_connections: usize) -> Self {
        Self { max_connections, ..self }
    }

    /// Returns these settings with another [`max_half_open`](field@Self::max_half_open).
    #[must_use]
    pub const fn max_half_open(self, max_half_open: usize) -> Self {
        Self { max_half_open, ..self }
    }

    /// Returns these settings with another [`max_first_messages`](field@Self::max_first_messages).
    #[must_use]
    pub const fn max_first_messages(self, max_first_messages: usize) -> Self {
        Self { max_first_messages, ..self }
    }

    /// Returns these settings with another [`max_received`](field@Self::max_received).
    #[must_use]
    pub const fn max_received(self, max_received: usize) -> Self {
        Self { max_received, ..self }
    }

    /// Returns these settings with another [`require_cookie`](field@Self::require_cookie).
    #[must_use]
    pub const fn require_cookie(self, require_cookie: bool) -> Self {
        Self { require_cookie, ..self }
    }

    /// Returns these settings with another [`tickets_prove_addresses`](field@Self::tickets_prove_addresses).
    #[must_use]
    pub const fn tickets_prove_addresses(self, tickets_prove_addresses: bool) -> Self {
        Self { tickets_prove_addresses, ..self }
    }

    /// Returns these settings with another [`first_contacts_per_second`](field@Self::first_contacts_per_second).
    #[must_use]
    pub const fn first_contacts_per_second(self, first_contacts_per_second: u32) -> Self {
        Self { first_contacts_per_second, ..self }
    }

    /// Returns these settings with another [`address_change`](field@Self::address_change).
    #[must_use]
    pub const fn address_change(self, address_change: AddressChange) -> Self {
        Self { address_change, ..self }
    }

    pub(super) fn check(&self) -> Result<(), ApiMisuse> {
        ApiMisuse::check_limit(Setting::MaxConnections, self.max_connections)?;
        ApiMisuse::check_limit(Setting::MaxHalfOpen, self.max_half_open)?;
        ApiMisuse::check_limit(Setting::MaxReceived, self.max_received)
    }
}
