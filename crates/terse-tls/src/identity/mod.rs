//! Identities, and the parameters of the private key generator (PKG) that makes their keys (docs/identity-format.md).

mod algorithm;
mod denied;
mod known;
mod name;
mod parameters;

pub use algorithm::IdentityAlgorithm;
pub use denied::DeniedIdentities;
pub use known::KnownPeers;
pub(crate) use known::SecretTicket;
pub use name::{Identity, IdentityError, IdentityType};
pub use parameters::{Authority, IdentityParameters};

#[cfg(test)]
mod tests;
