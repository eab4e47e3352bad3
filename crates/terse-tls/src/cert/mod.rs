//! Certificates and raw public keys: the trust policy, the credentials of a side, and what is kept of a verified peer.

mod anchors;
mod credential;
mod crls;
mod expect;
mod fields;
mod fingerprint;
mod ids;
mod issuers;
mod name;
mod ocsp;
mod packed_key;
mod path;
mod peer;
mod presented;
mod raw_public_keys;
mod revocation;
mod sha256;
mod signatures;
mod suitable;
mod trust;
mod verify;

#[cfg(test)]
pub(crate) mod tests;

pub use credential::Credential;
pub use expect::{Expect, KeyPurposeId};
pub(crate) use fields::split_public_key;
pub(crate) use ids::first;
pub use ids::{Fingerprint, TrustId};
pub use issuers::LearnedIssuers;
pub(crate) use issuers::Links;
pub use ocsp::Stapling;
#[cfg(terse_testing)]
pub(crate) use ocsp::can_staple;
pub use peer::{CertificateIdentity, PeerIdentity, Validity, VerifiedPeer};
pub use presented::PresentedPeer;
pub use revocation::Revocation;
pub(crate) use revocation::{RevocationCheck, Unchecked};
pub(crate) use suitable::SuitableCredentials;
pub use trust::Trust;
pub use verify::CheckedChain;
