//! Certificates and raw public keys: the trust policy, the credentials of a side, and what is kept of a verified peer.

mod credential;
mod crls;
mod fields;
mod fingerprint;
mod ids;
mod issuers;
mod name;
mod ocsp;
mod packed_key;
mod path;
mod peer;
mod raw_public_keys;
mod revocation;
mod sha256;
mod signatures;
mod suitable;
mod trust;
mod webpki_error;

#[cfg(test)]
pub(crate) mod tests;

pub use credential::Credential;
pub(crate) use fields::split_public_key;
pub(crate) use ids::first;
pub use ids::{Fingerprint, TrustId};
pub use issuers::LearnedIssuers;
pub(crate) use issuers::Links;
pub use ocsp::Stapling;
#[cfg(terse_testing)]
pub(crate) use ocsp::can_staple;
pub use peer::{CertificateIdentity, PeerIdentity, Validity, VerifiedPeer};
pub use revocation::Revocation;
pub(crate) use revocation::{RevocationCheck, Unchecked};
pub(crate) use suitable::SuitableCredentials;
pub(crate) use trust::PeerRole;
pub use trust::Trust;
