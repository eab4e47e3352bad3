//! Certification paths from a leaf to a trust anchor (RFC 5280, 6). `rustls-webpki` builds a path, which is then
//! checked for revocation.
//!
//! What must always hold: revocation lists are only searched for a path whose certificate signatures were verified, so
//! that a peer with a forged chain causes no work that grows with the lists; and each list's signature is verified
//! once.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use webpki::{
    CertRevocationList, EndEntityCert, ExpirationPolicy, RevocationCheckDepth, RevocationOptions,
    RevocationOptionsBuilder, UnknownStatusPolicy, VerifiedPath,
};

use super::anchors::anchor_as_issuer;
use super::crls::{Crls, Findings};
use super::expect::Purpose;
use super::fields::Fields;
use super::issuers::{Issued, Issuer, IssuerTable};
use super::signatures::Signatures;
use super::verify::check_key_size;
use super::webpki_error::named_error;
use super::{Revocation, Validity};
use crate::error::CertificateError;

/// The inputs of path building.
pub(super) struct PathBuilder<'a> {
    pub(super) anchors: &'a [TrustAnchor<'static>],
    pub(super) chain: &'a [CertificateDer<'a>],
    pub(super) algorithms: &'a [&'a dyn SignatureVerificationAlgorithm],
    pub(super) at: UnixTime,
    pub(super) purpose: Purpose,
    /// The known issuers, if revocation or staples are checked.
    pub(super) issuers: Option<&'a IssuerTable>,
}

/// A verified path.
pub(super) struct Path<'a> {
    /// When all certificates of the path are valid.
    pub(super) validity: Validity,
    /// How many signatures the path has.
    pub(super) signatures: u8,
    /// The issuers of the path, if revocation or staples are checked.
    pub(super) issued: Option<Issued>,
    /// The place of the trust anchor that the path leads to, in [`PathBuilder::anchors`].
    pub(super) anchor_place: usize,
    /// The certificates of the path, leaf first.
    certificates: Vec<CertificateDer<'a>>,
    anchor: Option<Issuer>,
}

impl<'a> PathBuilder<'a> {
    /// Builds a path whose signatures are all verified, and none of whose certificates is revoked. `time` is that of
    /// the clock, if there is one.
    pub(super) fn verify(
        &self,
        end_entity: &EndEntityCert<'a>,
        revocation: Option<&Revocation>,
        time: Option<UnixTime>,
    ) -> Result<Path<'a>, CertificateError> {
        let signatures = Signatures::of(self.chain);
        let path = signatures.verify(self.algorithms, |algorithms| self.build(end_entity, algorithms));
        let path = path.map_err(|error| self.explain(error))?;
        if let Some(revocation) = revocation {
            revocation.check_path(self, end_entity, &path, &signatures, time)?;
        }
        Ok(path)
    }

    #[inline(never)]
    fn build(
        &self,
        end_entity: &EndEntityCert<'a>,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Result<Path<'a>, CertificateError> {
        let intermediates = self.chain.get(1..).unwrap_or_default();
        let path = end_entity
            .verify_for_usage(
                algorithms,
                self.anchors,
                intermediates,
                self.at,
                self.purpose,
                None,
                Some(&all_may_issue),
            )
            .map_err(|error| named_error(&error, self.chain))?;
        let place = |der: &[u8]| self.chain.iter().position(|certificate| certificate.as_ptr() == der.as_ptr());
        let places = path.intermediate_certificates().map(|issuer| place(&issuer.der())).collect::<Option<Vec<_>>>();
        let places = [0].into_iter().chain(places.ok_or(CertificateError::Invalid)?); // all are of the chain
        let certificates: Vec<_> = places.map(|place| CertificateDer::from(self.chain[place].as_ref())).collect();
        let anchor_place = self.anchors.iter().position(|anchor| anchor == path.anchor());
        let anchor_place = anchor_place.ok_or(CertificateError::Invalid)?; // it is one of them
        let mut validity = Validity::UNBOUNDED;
        let mut signatures = 0_u8;
        let fields = certificates.iter().map(|der| Fields::read(der)).collect::<Result<Vec<_>, _>>()?;
        for fields in &fields {
            validity.narrow(fields, signatures);
            signatures = signatures.saturating_add(1);
        }
        let (mut issued, mut anchor) = (None, None);
        if self.issuers.is_some() {
            let issuer = anchor_as_issuer(path.anchor()).ok_or(CertificateError::Malformed)?;
            issued = Some(Issued::new(&fields, issuer.clone()));
            anchor = Some(issuer);
        }
        Ok(Path { validity, signatures, issued, anchor_place, certificates, anchor })
    }

    /// Replaces the error about a bad signature, if a key of the chain is too short: webpki reports that in the same
    /// way.
    fn explain(&self, error: CertificateError) -> CertificateError {
        if error != CertificateError::BadSignature {
            return error;
        }
        let fields: Vec<_> = self.chain.iter().filter_map(|der| Fields::read(der).ok()).collect();
        let of_chain =
            fields.iter().enumerate().skip(1).map(|(depth, fields)| check_key_size(fields.public_key, depth));
        let anchors = self.anchors.iter().filter_map(anchor_as_issuer);
        let anchors = anchors.filter(|anchor| fields.iter().any(|fields| fields.issuer == anchor.name()));
        let of_anchors = anchors.map(|anchor| check_key_size(anchor.public_key(), fields.len()));
        of_chain.chain(of_anchors).find_map(Result::err).unwrap_or(error)
    }

    /// Checks that no certificate of `path` is revoked. A current list must cover the leaf; the certificates above it
    /// are looked up if their issuer has a list. Cached handshakes are checked against the same [`Findings`].
    #[inline(never)] // its options and lists would take stack while the path is built
    pub(super) fn check_revocation(
        &self,
        end_entity: &EndEntityCert<'a>,
        path: &Path<'a>,
        signatures: &Signatures<'a>,
        crls: &Crls,
        time: Option<UnixTime>,
    ) -> Result<(), CertificateError> {
        let unknown = CertificateError::UnknownRevocationStatus;
        let (Some(issued), Some(anchor), Some(_)) = (&path.issued, &path.anchor, self.issuers) else {
            return Err(unknown); // who has revocation has these
        };
        let mut in_force: Vec<Arc<Findings>> = Vec::new();
        let mut are_signed = true;
        for (link, issuer) in issued.links.as_slice().iter().zip(issued.issuers.iter().chain([anchor])) {
            let Some(findings) = crls.of(link.issuer, issuer, self.algorithms) else { continue };
            if findings.revokes(link) {
                return Err(CertificateError::Revoked);
            }
            are_signed &= findings.are_signed();
            in_force.push(findings);
        }
        if !are_signed {
            return Err(unknown);
        }
        // webpki decides about scopes, and which list covers which certificate.
        let lists: Vec<_> = in_force.iter().flat_map(|findings| crls.newest(findings)).collect();
        let parsed: Vec<_> = lists.iter().map(|list| list.parsed()).collect();
        let leaf_covered = revocation(&parsed, RevocationCheckDepth::EndEntity, UnknownStatusPolicy::Deny, time);
        let whole_path = revocation(&parsed, RevocationCheckDepth::Chain, UnknownStatusPolicy::Allow, time);
        let known = signatures.known(self.algorithms, &lists);
        let known: Vec<_> = known.iter().map(|known| known as &dyn SignatureVerificationAlgorithm).collect();
        let intermediates = path.certificates.get(1..).unwrap_or_default();
        for options in [leaf_covered.ok_or(unknown)?, whole_path.ok_or(unknown)?] {
            end_entity
                .verify_for_usage(&known, self.anchors, intermediates, self.at, self.purpose, Some(options), None)
                .map_err(|error| named_error(&error, &path.certificates))?;
        }
        Ok(())
    }
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

/// Checks the keyUsage of intermediate certificates (RFC 5280, 6.1.4 (n)), which webpki leaves to its callers.
fn all_may_issue(path: &VerifiedPath<'_>) -> Result<(), webpki::Error> {
    for certificate in path.intermediate_certificates() {
        let der = certificate.der();
        let fields = Fields::read(&der).map_err(|_| webpki::Error::BadDer)?;
        if fields.key_usage.is_some_and(|usage| !usage.key_cert_sign()) {
            return Err(webpki::Error::EndEntityUsedAsCa);
        }
    }
    Ok(())
}

fn revocation<'a>(
    crls: &'a [&'a CertRevocationList<'static>],
    depth: RevocationCheckDepth,
    unknown: UnknownStatusPolicy,
    time: Option<UnixTime>,
) -> Option<RevocationOptions<'a>> {
    let expiration = if time.is_some() { ExpirationPolicy::Enforce } else { ExpirationPolicy::Ignore };
    let options = RevocationOptionsBuilder::new(crls).ok()?; // fails without a list
    Some(options.with_depth(depth).with_status_policy(unknown).with_expiration_policy(expiration).build())
}
