//! Validation of certification paths from a leaf to a trust anchor (RFC 5280, 6), in one of two ways:
//!
//! - [`building`]: `rustls-webpki` searches the certificates that were sent for a path
//! - [`in_order`]: the certificates that were sent are the path, each certified by the next
//!
//! What must always hold: whatever [`InOrder`] accepts, [`PathBuilding`] accepts as well, except keys of public CAs that
//! `rustls-webpki` distrusts by name. Only the constructors of a
//! [`Trust`](super::Trust) name one or the other, so that a linker drops the one that a program does not name.

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};

use super::expect::Expect;
use super::fields::{Fields, split_public_key};
use super::issuers::{Issued, KnownIssuers};
use super::verify::check_key_size;
use super::{Revocation, Validity};
use crate::error::{ApiMisuse, CertificateError};

mod building;
mod in_order;
mod webpki_error;

pub(super) use building::{Built, PathBuilder, PathBuilding};
pub(super) use in_order::InOrder;

/// A way to validate certification paths.
pub(super) trait PathValidation: Sync {
    /// Reads the certificate of a CA that is trusted: a name, a key, and its name constraints (RFC 5280, 6.1.1 (d)).
    fn trust_anchor(&self, certificate: &CertificateDer<'_>) -> Result<TrustAnchor<'static>, ApiMisuse>;

    /// Returns the path from the leaf of `candidate` to one of its trust anchors. All signatures of the path are verified,
    /// its leaf is what is expected, and none of its certificates is revoked.
    fn validate<'a>(&self, candidate: &Candidate<'a>) -> Result<Path<'a>, CertificateError>;

    /// Returns the contribution to a [`TrustId`](super::TrustId).
    fn id(&self) -> &'static [u8];
}

/// A chain of certificates, and what a path from its leaf must show.
pub(super) struct Candidate<'a> {
    pub(super) anchors: &'a [TrustAnchor<'static>],
    /// The certificates that were sent, leaf first.
    pub(super) chain: &'a [CertificateDer<'a>],
    pub(super) algorithms: &'a [&'a dyn SignatureVerificationAlgorithm],
    pub(super) expect: Expect<'a>,
    /// The time at which all certificates must be valid.
    pub(super) at: UnixTime,
    /// The time of the clock, if there is one: the lists of `revocation` must be valid then.
    pub(super) time: Option<UnixTime>,
    /// The known issuers, if revocation or staples are checked.
    pub(super) issuers: Option<&'a dyn KnownIssuers>,
    pub(super) revocation: Option<&'a Revocation>,
}

/// A verified path.
pub(super) struct Path<'a> {
    pub(super) leaf: Fields<'a>,
    /// When all certificates of the path are valid.
    pub(super) validity: Validity,
    /// How many signatures the path has.
    pub(super) signatures: u8,
    /// The issuers of the path, if revocation or staples are checked.
    pub(super) issued: Option<Issued>,
    /// The place of the trust anchor that the path leads to, in [`Candidate::anchors`].
    pub(super) anchor_place: usize,
}

/// Checks what must hold for the leaf of a path, besides its name: the extended key usage that is required, the key usage
/// (RFC 9846, 4.5.1.1: it must allow digital signatures), and the size of the key.
fn check_leaf(leaf: &Fields<'_>, expect: Expect<'_>) -> Result<(), CertificateError> {
    expect.check_leaf(leaf)?;
    if leaf.key_usage.is_some_and(|usage| !usage.digital_signature()) {
        return Err(CertificateError::WrongUsage);
    }
    split_public_key(leaf.public_key)?;
    check_key_size(leaf.public_key, 0)
}

impl Validity {
    fn narrow(&mut self, fields: &Fields<'_>, depth: u8) {
        if fields.not_before > self.not_before {
            (self.not_before, self.not_before_depth) = (fields.not_before, depth);
        }
        if fields.not_after < self.not_after {
            (self.not_after, self.not_after_depth) = (fields.not_after, depth);
        }
    }
}
