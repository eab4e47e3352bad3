//! Verifies certificate chains by path validation (RFC 5280), and raw public keys (RFC 7250).
//!
//! What must always hold: [`Trust::verify`] is the only place that makes a [`VerifiedPeer`] from certificates, and
//! [`Trust::verify_raw_public_key`] from a raw public key.

use alloc::sync::Arc;
use core::time::Duration;

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};

use super::anchors::Anchors;
use super::fields::{self, Fields};
use super::issuers::{Issuer, Link};
use super::ocsp::{Judge, Stapling};
use super::path::{Candidate, Path};
use super::raw_public_keys::unknown;
use super::{CertificateIdentity, Expect, Trust, Validity, VerifiedPeer};
use crate::crypto::CryptoProvider;
use crate::error::{CertificateError, StapleError};
use crate::proof::FinishedProof;
use crate::wire::CertificateType;

/// A chain that [`Trust::check`] has accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedChain {
    /// The holder of the leaf: names, key and validity.
    pub peer: VerifiedPeer,
    /// The index of the trust anchor that the path leads to, in the list of [`Trust::new`].
    pub anchor: usize,
    /// Whether the chain was accepted although the time is not known ([`Trust::accept_without_clock`]).
    pub time_unchecked: bool,
}

impl Trust {
    /// Verifies `chain`, leaf first, outside of a handshake: one that a peer has presented, or that came with a document.
    /// Certificates that are not on the path are ignored, except that with [`Trust::ignoring_not_after`] or without a clock
    /// the chain counts as at the latest notBefore of all. With [`Trust::without_path_building`] a chain must come in order,
    /// and the certificates of a document may not. Signatures of all schemes of `provider` are accepted in it. CRLs
    /// are checked, and staples are not.
    ///
    /// Fails with the [`CertificateError`] that a handshake would fail with; with [`CertificateError::WrongUsage`] also if
    /// the leaf does not name the extended key usage that is expected.
    pub fn check(
        &self,
        provider: &CryptoProvider,
        chain: &[CertificateDer<'_>],
        expect: Expect<'_>,
        time: Option<UnixTime>,
    ) -> Result<CheckedChain, CertificateError> {
        self.verify(chain, expect, provider.signatures.all, time)
    }

    /// Verifies `chain`, leaf first, at `time`, and returns the data to keep.
    pub(crate) fn verify(
        &self,
        chain: &[CertificateDer<'_>],
        expect: Expect<'_>,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
        time: Option<UnixTime>,
    ) -> Result<CheckedChain, CertificateError> {
        let at = match time {
            Some(time) => time,
            None if self.accept_without_clock => latest_not_before(chain)?,
            None => return Err(CertificateError::NoTime),
        };
        match (self.verify_under(&self.anchors, chain, expect, algorithms, at, time), &self.undated) {
            (Err(expired @ CertificateError::Expired { .. }), Some(undated)) => {
                let begun = latest_not_before(chain)?.as_secs().min(at.as_secs());
                let begun = UnixTime::since_unix_epoch(Duration::from_secs(begun));
                let checked = self.verify_under(undated, chain, expect, algorithms, begun, time);
                let mut checked = checked.map_err(|again| match again {
                    CertificateError::UnknownIssuer => expired, // it is under another anchor
                    error => error,
                })?;
                checked.peer.validity.not_after = Validity::UNBOUNDED.not_after;
                Ok(checked)
            }
            (result, _) => result,
        }
    }

    /// Verifies `chain` as if it were the time `at`. CRLs are checked at `time`.
    #[inline(never)]
    fn verify_under(
        &self,
        anchors: &Anchors,
        chain: &[CertificateDer<'_>],
        expect: Expect<'_>,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
        at: UnixTime,
        time: Option<UnixTime>,
    ) -> Result<CheckedChain, CertificateError> {
        if chain.is_empty() {
            return Err(CertificateError::Malformed);
        }
        // Without trust anchors nobody has issued anything.
        let validation = self.validation.ok_or(CertificateError::UnknownIssuer)?;
        let candidate = Candidate {
            anchors: anchors.as_slice(),
            chain,
            algorithms,
            expect,
            at,
            time,
            issuers: self.issuers.as_deref(),
            revocation: self.revocation.as_deref(),
        };
        let Path { leaf, validity, signatures, issued, anchor_place } = validation.validate(&candidate)?;
        let anchor = anchors.index_of(anchor_place).ok_or(CertificateError::Invalid)?; // the path leads to it
        let identity =
            CertificateIdentity { subject: leaf.subject.into(), subject_alt_name: leaf.subject_alt_name.into() };
        let peer = VerifiedPeer::of_chain(leaf.public_key.into(), validity, identity, signatures).issued(issued);
        Ok(CheckedChain { peer, anchor, time_unchecked: time.is_none() })
    }

    /// Verifies a raw public key, in either role and at any time: it must be one of those configured (RFC 7250, 4.3 and
    /// 4.4), and of a kind that `algorithms` verify.
    pub(crate) fn verify_raw_public_key(
        &self,
        key: &[u8],
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Result<VerifiedPeer, CertificateError> {
        self.raw_public_keys.as_ref().ok_or_else(|| unknown(key))?.verify(key, algorithms)
    }

    /// Checks the OCSP response as [`Self::check_staple`] does. Returns whether there is a good one, with which a session of `peer`
    /// ends then, since a handshake that resumes has no other one.
    pub(super) fn check_staple_of(
        &self,
        peer: &mut Arc<VerifiedPeer>,
        response: Option<&[u8]>,
        provider: &CryptoProvider,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
        time: Option<UnixTime>,
    ) -> Result<bool, CertificateError> {
        let end = self.check_staple(peer, response, provider, algorithms, time)?;
        if let Some(end) = end {
            Arc::make_mut(peer).stapled_until(end);
        }
        Ok(end.is_some())
    }

    /// Checks the OCSP response that came with the certificate of `peer`, or that none came. The certificate was
    /// verified, now or before it entered the cache. Returns the last second at which a good response is valid.
    pub(crate) fn check_staple(
        &self,
        peer: &VerifiedPeer,
        response: Option<&[u8]>,
        provider: &CryptoProvider,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
        time: Option<UnixTime>,
    ) -> Result<Option<u64>, CertificateError> {
        let is_needed = self.stapling() == Stapling::Require && peer.certificate_type() == CertificateType::X509;
        let Some(response) = response else {
            return if is_needed { Err(CertificateError::Staple(StapleError::Missing)) } else { Ok(None) };
        };
        let (link, issuer) = self.issuer_of(peer).ok_or(CertificateError::Staple(StapleError::OtherCertificate))?;
        let certificate = issuer.certificates();
        let judge = Judge { provider, algorithms, time };
        judge.check(response, &issuer, |serial| certificate(serial) == link.certificate).map(Some)
    }

    /// Returns the issuer of the leaf, if it is known here.
    fn issuer_of(&self, peer: &VerifiedPeer) -> Option<(Link, Arc<Issuer>)> {
        let link = *peer.links().first()?;
        let just_verified = peer.issuers().first().cloned().map(Arc::new);
        let issuer = just_verified.or_else(|| self.issuers.as_ref()?.find(link.issuer))?;
        Some((link, issuer))
    }

    /// Remembers the issuers of the chain of `peer`, after its Finished was verified.
    pub(crate) fn learn(&self, proof: &FinishedProof, peer: &VerifiedPeer) {
        if let Some(issuers) = &self.issuers {
            issuers.learn(proof, peer.issuers());
        }
    }
}

/// Checks that an RSA key has the length that the algorithms of all providers require. They would report every
/// signature of a shorter key as wrong. `depth` is that of its certificate.
pub(super) fn check_key_size(spki: &[u8], depth: usize) -> Result<(), CertificateError> {
    check_rsa_bits(fields::rsa_bits(spki), depth)
}

/// Checks the length of a key, if it is an RSA key.
pub(super) const fn check_rsa_bits(bits: Option<usize>, depth: usize) -> Result<(), CertificateError> {
    match bits {
        Some(bits @ ..MIN_RSA_BITS) => Err(CertificateError::ShortRsaKey { depth: depth_of(depth), bits: bits as u16 }),
        _ => Ok(()),
    }
}

const MIN_RSA_BITS: usize = 2_048;

/// Returns the depth in an error: chains that are verified are shorter than 255.
pub(super) const fn depth_of(place: usize) -> u8 {
    if place < u8::MAX as usize { place as u8 } else { u8::MAX }
}

/// Returns the latest notBefore of a chain, at which all its certificates can be valid, for a device without a clock.
fn latest_not_before(chain: &[CertificateDer<'_>]) -> Result<UnixTime, CertificateError> {
    let mut latest = 0;
    for certificate in chain {
        latest = latest.max(Fields::read(certificate)?.not_before);
    }
    Ok(UnixTime::since_unix_epoch(Duration::from_secs(latest)))
}

#[cfg(test)]
mod tests;
