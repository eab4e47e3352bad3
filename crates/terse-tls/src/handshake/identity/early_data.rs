//! Early data of identity-based handshakes (docs/identity-format.md, 8): under an ephemeral secret ticket, or at first
//! contact.
//!
//! What must always hold: early data never changes the keys of the handshake; a server promises to take a ticket, and does
//! so when the first record under its keys was authenticated; if somebody else was faster, the connection ends.

use alloc::sync::Arc;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::PublicValues;
use crate::crypto::{IdentityTerms, SharedSecret, StaticTerms, Tls13Suite};
use crate::error::{Error, IdentityRefused};
use crate::identity_early_data::{FirstContact, FirstContactMemory, SecretTickets};
use crate::schedule::tls13::EarlySecret;
use crate::summary::EarlyDataProtection;
use crate::wire::Transport;

/// The terms that protect early data.
pub(super) enum EarlyTerms<'a> {
    /// All terms, with the ephemeral key of a ticket in the place of the server's.
    Ticket(&'a IdentityTerms),
    /// The terms that need no ephemeral key of the server.
    FirstContact(&'a StaticTerms),
}

impl PublicValues<'_> {
    /// Returns the Early Secret of early data. The values have the ticket's ephemeral key in the place of the server's, and
    /// none at first contact.
    pub(super) fn early_secret(
        &self,
        terms: &EarlyTerms<'_>,
        suite: &'static Tls13Suite,
        transport: Transport,
    ) -> EarlySecret {
        let (label, terms): (&[u8], &[&SharedSecret]) = match terms {
            EarlyTerms::Ticket(IdentityTerms { k0, k1, k2, k3 }) => (b"ticket", &[k1, k2, k3, k0]),
            EarlyTerms::FirstContact(StaticTerms { k0, k1 }) => (b"first", &[k1, k0]),
        };
        let tail = self.tail();
        let mut input = Zeroizing::new(Vec::with_capacity(
            label.len() + terms.iter().map(|term| term.as_ref().len()).sum::<usize>() + tail.len(),
        ));
        input.extend_from_slice(label);
        terms.iter().for_each(|term| input.extend_from_slice(term.as_ref()));
        input.extend_from_slice(&tail);
        EarlySecret::new(suite.hash, transport.label_prefix(), Some(&input))
    }
}

/// What a server takes when the first record of early data was authenticated, so that it is delivered once.
pub(crate) enum EarlyDataClaim {
    Ticket { tickets: SecretTickets, ticket: Vec<u8>, expires: u64, now: u64 },
    FirstContact { memory: Arc<FirstContactMemory>, contact: FirstContact, now: u64 },
}

impl EarlyDataClaim {
    /// Takes the ticket, or records the ClientHello. Fails if another connection has done so since this one has looked.
    pub(crate) fn take(&self) -> Result<(), Error> {
        let is_taken = match self {
            Self::Ticket { tickets, ticket, expires, now } => tickets.take(ticket, *expires, *now),
            Self::FirstContact { memory, contact, now } => memory.take(contact, *now),
        };
        if is_taken { Ok(()) } else { Err(IdentityRefused::EarlyDataTaken.into()) }
    }

    /// Returns how the early data is protected.
    pub(crate) const fn protection(&self) -> EarlyDataProtection {
        match self {
            Self::Ticket { .. } => EarlyDataProtection::Ticket,
            Self::FirstContact { .. } => EarlyDataProtection::FirstContact,
        }
    }
}
