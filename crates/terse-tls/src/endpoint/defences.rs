//! What an endpoint does against those who can send it datagrams from any address, or see and copy those of others: one
//! function for each defence, which says what holds with it. A test leaves one out, to show what it is for; nothing else
//! asks for that.
//!
//! What must always hold: without `--cfg terse_testing` nobody can leave one out.

use super::limits::EndpointLimits;
use super::path_validation::Outcome;
use crate::cache::{AddressId, ServerStore, Ticket};

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

/// So many times what came may be sent to an address that is not proven (RFC 9147, 5.1).
const AMPLIFICATION: usize = 3;

impl EndpointLimits {
    /// How many bytes may be sent to an address that is not proven, for so many that came from there.
    pub(super) const fn allowance(&self, received: usize) -> usize {
        #[cfg(terse_testing)]
        if self.undefended.amplification {
            return usize::MAX;
        }
        received.saturating_mul(AMPLIFICATION)
    }

    /// Whether a cookie proves an address, which was made for that and the ClientHello, or was not.
    pub(super) const fn take_cookie(&self, is_good: bool) -> bool {
        #[cfg(terse_testing)]
        if self.undefended.cookie {
            return true;
        }
        is_good
    }

    /// Whether a proof that was maybe seen on the way may be spent, which then `ends_connection` of its address, or does
    /// not (RFC 9147, 5.11).
    pub(super) const fn may_spend_proof(&self, ends_connection: bool) -> bool {
        #[cfg(terse_testing)]
        if self.undefended.replacement {
            return true;
        }
        !ends_connection
    }

    /// Whether a ticket proves this address: once, and only if it was made there. If so, it is spent.
    pub(super) fn spend_ticket(&self, store: &dyn ServerStore, ticket: &Ticket, address: AddressId) -> bool {
        #[cfg(terse_testing)]
        if self.undefended.spent_tickets {
            return address_of(store, ticket) == Some(address);
        }
        #[cfg(terse_testing)]
        let address = match address_of(store, ticket) {
            Some(kept) if self.undefended.ticket_addresses => kept,
            _ => address,
        };
        store.spend(ticket, address) == Ok(true)
    }

    /// Whether a record may move a connection to where it came from, which `is_newest` of all that are authentic, or is
    /// not (RFC 9146, 6).
    pub(super) const fn may_move_connection(&self, is_newest: bool) -> bool {
        #[cfg(terse_testing)]
        if self.undefended.old_records {
            return true;
        }
        is_newest
    }

    /// Whether the old address is asked whether the peer is still there, which `may_be` so, or cannot be.
    pub(super) const fn ask_old_address(&self, may_be: bool) -> bool {
        #[cfg(terse_testing)]
        if self.undefended.old_path {
            return false;
        }
        may_be
    }

    /// What comes of a check, of which an answer has this outcome.
    pub(super) const fn take_path_response(&self, outcome: Outcome) -> Outcome {
        #[cfg(terse_testing)]
        if self.undefended.path_responses {
            return Outcome::Moved;
        }
        outcome
    }
}

/// The address that a ticket was made at.
#[cfg(terse_testing)]
fn address_of(store: &dyn ServerStore, ticket: &Ticket) -> Option<AddressId> {
    match store.find(ticket) {
        core::task::Poll::Ready(row) => row?.address,
        core::task::Poll::Pending => None,
    }
}
