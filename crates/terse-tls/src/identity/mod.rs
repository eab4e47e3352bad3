//! Identities, and the parameters of the private key generator (PKG) that makes their keys (docs/identity-format.md).

mod algorithm;
mod denied;
mod first_contact;
mod known;
mod name;
mod parameters;
mod tickets;

pub use algorithm::IdentityAlgorithm;
pub use denied::DeniedIdentities;
pub(crate) use first_contact::FirstContact;
pub use first_contact::FirstContactMemory;
pub use known::KnownPeers;
pub(crate) use known::SecretTicket;
pub use name::{Identity, IdentityError, IdentityType};
pub use parameters::{Authority, IdentityParameters};
pub use tickets::{
    MemorySecretTickets, SecretTicketId, SecretTicketKeys, SecretTicketRecord, SecretTicketStore, SecretTickets,
};
pub(crate) use tickets::{TicketBinding, TicketContext};

#[cfg(test)]
mod tests;
