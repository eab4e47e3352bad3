//! The trust anchors (RFC 5280, 6.1.1 (d)): the names and keys of the CAs that a side trusts.

use alloc::vec::Vec;

use pki_types::{CertificateDer, TrustAnchor};

use super::fields::SEQUENCE;
use super::issuers::Issuer;
use super::path::PathValidation;
use super::sha256::Context;
use crate::error::ApiMisuse;

/// Trust anchors, sorted by key, and their hash.
pub(super) struct Anchors {
    anchors: Vec<TrustAnchor<'static>>,
    /// The index of each anchor in the list of certificates that it comes from.
    indices: Vec<usize>,
    digest: [u8; 32],
}

impl Anchors {
    /// Returns no trust anchors.
    pub(super) const fn none() -> Self {
        Self { anchors: Vec::new(), indices: Vec::new(), digest: EMPTY_DIGEST }
    }

    /// Reads the certificates of CAs.
    pub(super) fn new(certificates: &[CertificateDer<'_>], validation: &dyn PathValidation) -> Result<Self, ApiMisuse> {
        let mut anchors = Self::none();
        for (index, certificate) in certificates.iter().enumerate() {
            anchors.insert(validation.trust_anchor(certificate)?, index);
        }
        Ok(anchors.hashed())
    }

    /// Returns those anchors alone that come from the certificates with these indices.
    pub(super) fn only(&self, indices: &[usize]) -> Self {
        let mut some = Self::none();
        for (anchor, index) in self.anchors.iter().zip(&self.indices).filter(|(_, index)| indices.contains(index)) {
            some.insert(anchor.clone(), *index);
        }
        some.hashed()
    }

    /// Inserts an anchor where it belongs: anchors are few, and the sort of a slice takes kilobytes of stack.
    fn insert(&mut self, anchor: TrustAnchor<'static>, index: usize) {
        let is_before = |other: &TrustAnchor<'_>| *other.subject_public_key_info <= *anchor.subject_public_key_info;
        let place = self.anchors.partition_point(is_before);
        self.anchors.insert(place, anchor);
        self.indices.insert(place, index);
    }

    fn hashed(self) -> Self {
        Self { digest: digest_of(&self.anchors), ..self }
    }

    pub(super) fn as_slice(&self) -> &[TrustAnchor<'static>] {
        &self.anchors
    }

    pub(super) const fn len(&self) -> usize {
        self.anchors.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    /// Returns the hash of the anchors, which identifies them.
    pub(super) const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Returns the index of the certificate that the anchor at `place` in [`Self::as_slice`] comes from.
    pub(super) fn index_of(&self, place: usize) -> Option<usize> {
        self.indices.get(place).copied()
    }

    /// Returns the anchors as issuers, which may sign CRLs.
    pub(super) fn issuers(&self) -> impl Iterator<Item = Issuer> {
        self.anchors.iter().filter_map(anchor_as_issuer)
    }

    /// Returns the names of the anchors, each a DER `Name`.
    pub(super) fn names(&self) -> impl Iterator<Item = Vec<u8>> {
        self.anchors.iter().filter_map(|anchor| sequence_der(&anchor.subject))
    }
}

/// Returns a trust anchor as an issuer, which may sign CRLs: it is a name and a key without restrictions on key usage.
pub(super) fn anchor_as_issuer(anchor: &TrustAnchor<'_>) -> Option<Issuer> {
    let (name, key) = (sequence_der(&anchor.subject)?, sequence_der(&anchor.subject_public_key_info)?);
    Some(Issuer::new(&name, &key, true))
}

/// Returns the DER form of a `Name`, or of another SEQUENCE, of which a trust anchor has the contents: less than 64 kB.
fn sequence_der(contents: &[u8]) -> Option<Vec<u8>> {
    let [high, low] = u16::try_from(contents.len()).ok()?.to_be_bytes();
    let header: &[u8] = match (high, low) {
        (0, 0..0x80) => &[SEQUENCE, low],
        (0, _) => &[SEQUENCE, 0x81, low],
        _ => &[SEQUENCE, 0x82, high, low],
    };
    Some([header, contents].concat())
}

/// The SHA-256 of nothing: a program without trust anchors, whose peers have pre-shared keys, computes none.
const EMPTY_DIGEST: [u8; 32] = [
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae, 0x41,
    0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
];

fn digest_of(anchors: &[TrustAnchor<'_>]) -> [u8; 32] {
    let mut context = Context::new();
    for anchor in anchors {
        let name_constraints = anchor.name_constraints.as_deref().unwrap_or_default();
        for part in [&anchor.subject[..], &anchor.subject_public_key_info, name_constraints] {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
    }
    context.finish()
}

#[cfg(test)]
mod tests;
