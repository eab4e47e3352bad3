//! What a pledge reads of certificates: which belong together, which of them are roots, and its own among those that it gets
//! (RFC 7030, 4.1.3 and 4.2.3).
//!
//! What must always hold: an LDevID has the key of the request, and a path to the trust anchors of the domain.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};
use terse_tls::crypto::{CryptoProvider, SigningKey};
use terse_tls::{ApiMisuse, CertificateError, Credential, Date, Expect, Trust};

use super::config::Paths;
use super::failure::EnrollmentFailed;
use crate::certificate::{issuer, public_key, subject, validity};

/// The CA certificates of the domain.
pub(super) struct CaCertificates {
    /// The root certificates, or those of the highest CAs that are known.
    pub(super) anchors: Vec<CertificateDer<'static>>,
    /// The certificates of the other CAs, of which paths are made.
    pub(super) others: Vec<CertificateDer<'static>>,
}

impl CaCertificates {
    /// Sorts the certificates that a registrar gives. If none of them is a root, the pinned certificate remains the anchor
    /// (RFC 8995, 5.6.2).
    pub(super) fn new(
        certificates: Vec<CertificateDer<'static>>,
        pinned: Option<&CertificateDer<'static>>,
    ) -> Result<Self, EnrollmentFailed> {
        Self::sort(certificates, pinned, false)
    }

    /// Returns the same for certificates that end below the root: one whose issuer is not among them is an anchor, too
    /// (draft-ietf-anima-constrained-voucher-31, "Multipart Content-Format for CA certificates").
    pub(super) fn maybe_without_root(
        certificates: Vec<CertificateDer<'static>>,
        pinned: Option<&CertificateDer<'static>>,
    ) -> Result<Self, EnrollmentFailed> {
        Self::sort(certificates, pinned, true)
    }

    fn sort(
        certificates: Vec<CertificateDer<'static>>,
        pinned: Option<&CertificateDer<'static>>,
        is_highest_anchor: bool,
    ) -> Result<Self, EnrollmentFailed> {
        // RFC 7030, 4.1.3: the certificates of a root whose key changes are all self-issued, and not all self-signed. An
        // anchor is a name and a key, so each of them counts.
        let is_highest = |of: &CertificateDer<'_>| !certificates.iter().any(|above| is_issued_by(of, above));
        let is_anchor = |of: &CertificateDer<'_>| is_issued_by(of, of) || (is_highest_anchor && is_highest(of));
        let (mut anchors, others): (Vec<_>, Vec<_>) = certificates.iter().cloned().partition(|it| is_anchor(it));
        if anchors.is_empty() {
            anchors.push(pinned.ok_or(EnrollmentFailed::NoAnchor)?.clone());
        }
        Ok(Self { anchors, others })
    }

    pub(super) fn trust(&self, paths: Paths) -> Result<Trust, EnrollmentFailed> {
        domain_trust(&self.anchors, paths, 1 + self.others.len()).map_err(EnrollmentFailed::Chain)
    }

    /// Returns the credential of `key` from the certificates that came as the answer to its request.
    pub(super) fn credential(
        &self,
        provider: &CryptoProvider,
        trust: &Trust,
        certificates: Vec<CertificateDer<'static>>,
        key: Arc<dyn SigningKey>,
        time: Option<UnixTime>,
    ) -> Result<Credential, EnrollmentFailed> {
        let (mut own, mut above): (Vec<_>, Vec<_>) = certificates
            .into_iter()
            .partition(|certificate| public_key(certificate).is_ok_and(|own| own == &*key.public_key()));
        let mut chain = Vec::from([own.pop().ok_or(EnrollmentFailed::OtherKey)?]);
        above.extend(self.others.iter().cloned());
        // Peers need the certificates between LDevID and root, in order. Each is used once, so this ends.
        while let Some(place) = place_of_issuer(&chain, &above) {
            let next = above.swap_remove(place);
            if !self.is_anchor(&next) {
                chain.push(next);
            }
        }
        trust.check(provider, &chain, Expect::Client, time).map_err(EnrollmentFailed::Chain)?;
        Credential::new(chain, key).map_err(|_| EnrollmentFailed::Chain(CertificateError::Malformed))
    }

    fn is_anchor(&self, certificate: &CertificateDer<'_>) -> bool {
        self.anchors.iter().any(|anchor| anchor == certificate)
    }
}

/// Whether `certificate` names the subject of `above` as its issuer. Whether that has signed it, path validation finds out.
fn is_issued_by(certificate: &CertificateDer<'_>, above: &CertificateDer<'_>) -> bool {
    matches!((issuer(certificate), subject(above)), (Ok(issuer), Ok(subject)) if issuer == subject)
}

/// Returns where among `others` one is that the last certificate of `chain` names as its issuer.
fn place_of_issuer(chain: &[CertificateDer<'_>], others: &[CertificateDer<'_>]) -> Option<usize> {
    let last = chain.last()?;
    others.iter().position(|other| is_issued_by(last, other))
}

/// Returns the trust in a domain with these anchors, which are above a chain of `chain_len` certificates.
pub(super) fn domain_trust(
    anchors: &[CertificateDer<'_>],
    paths: Paths,
    chain_len: usize,
) -> Result<Trust, CertificateError> {
    match paths(anchors) {
        Ok(trust) => Ok(trust.accept_without_clock()),
        Err(ApiMisuse::ConstrainedTrustAnchor) => {
            Err(CertificateError::NameConstraints { depth: u8::try_from(chain_len).unwrap_or(u8::MAX) })
        }
        Err(_) => Err(CertificateError::Malformed),
    }
}

/// The most certificates of a path that is looked for: a leaf and seven above it, which is more than any validation takes.
const MAX_PATH: usize = 8;

/// Puts a chain in order, whose leaf comes first: each certificate before that of its issuer, as far as there is one, up to
/// [`MAX_PATH`], so that a stranger's chain costs no more than its length. All others come last.
pub(super) fn in_order<'c>(chain: &'c [CertificateDer<'_>]) -> Vec<CertificateDer<'c>> {
    let mut rest: Vec<CertificateDer<'c>> = chain.iter().map(|certificate| certificate.as_ref().into()).collect();
    let mut ordered: Vec<_> = rest.drain(..rest.len().min(1)).collect();
    while ordered.len() < MAX_PATH
        && let Some(place) = place_of_issuer(&ordered, &rest)
    {
        ordered.push(rest.remove(place));
    }
    ordered.append(&mut rest);
    ordered
}

/// Checks the dates of a certificate by itself, if there is a clock.
pub(super) fn is_valid_at(certificate: &CertificateDer<'_>, time: Option<UnixTime>) -> Result<(), CertificateError> {
    let Some(time) = time else { return Ok(()) };
    let (not_before, not_after) = validity(certificate).map_err(|_| CertificateError::Malformed)?;
    if time < not_before {
        return Err(CertificateError::NotYetValid { depth: 0, not_before: Date::of(not_before) });
    }
    if time > not_after {
        return Err(CertificateError::Expired { depth: 0, not_after: Date::of(not_after) });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
