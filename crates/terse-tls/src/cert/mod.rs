//! Certificates: what is trusted, what a side proves its identity with, and what is kept of a verified chain.

mod credential;
mod fields;
mod fingerprint;
mod peer;
mod trust;

#[cfg(test)]
mod tests;

pub use credential::Credential;
pub(crate) use fields::split_public_key;
pub use peer::{PeerIdentity, Validity, VerifiedPeer};
pub(crate) use trust::PeerRole;
pub use trust::Trust;
