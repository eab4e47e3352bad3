//! Paths that `rustls-webpki` builds of the certificates that were sent, in whatever order, and that are then checked for
//! revocation.
//!
//! What must always hold: revocation lists are only searched for a path whose certificate signatures were verified, so
//! that a peer with a forged chain causes no work that grows with the lists; and each list's signature is verified
//! once.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use webpki::{
    CertRevocationList, EndEntityCert, ExpirationPolicy, ExtendedKeyUsageValidator, KeyPurposeIdIter, KeyUsage,
    RequiredEkuNotFoundContext, RevocationCheckDepth, RevocationOptions, RevocationOptionsBuilder, UnknownStatusPolicy,
    VerifiedPath,
};

use super::webpki_error::named_error;
use super::{Candidate, Path, PathValidation, check_leaf};
use crate::cert::Validity;
use crate::cert::anchors::anchor_as_issuer;
use crate::cert::crls::{Crls, Findings};
use crate::cert::expect::{Expect, KeyPurposeId, Purpose};
use crate::cert::fields::Fields;
use crate::cert::issuers::{Issued, Issuer};
use crate::cert::signatures::Signatures;
use crate::cert::verify::check_key_size;
use crate::error::{ApiMisuse, CertificateError};

/// Path building (RFC 4158) by `rustls-webpki`.
pub(in crate::cert) struct PathBuilding;

impl PathValidation for PathBuilding {
    fn trust_anchor(&self, certificate: &CertificateDer<'_>) -> Result<TrustAnchor<'static>, ApiMisuse> {
        let anchor = webpki::anchor_from_trusted_cert(certificate).map_err(|_| ApiMisuse::MalformedCertificate)?;
        Ok(anchor.to_owned())
    }

    fn validate<'a>(&self, candidate: &Candidate<'a>) -> Result<Path<'a>, CertificateError> {
        let leaf = candidate.chain.first().ok_or(CertificateError::Malformed)?;
        let end_entity = EndEntityCert::try_from(leaf).map_err(|error| named_error(&error, candidate.chain))?;
        let built = PathBuilder(candidate).verify(&end_entity)?;
        if let Expect::Server(name) = candidate.expect {
            let valid = end_entity.verify_is_valid_for_subject_name(name);
            valid.map_err(|error| named_error(&error, candidate.chain))?;
        }
        let leaf = Fields::read(leaf)?;
        check_leaf(&leaf, candidate.expect)?;
        let Built { validity, signatures, issued, anchor_place, .. } = built;
        Ok(Path { leaf, validity, signatures, issued, anchor_place })
    }

    fn id(&self) -> &'static [u8] {
        b""
    }
}

/// Builds a path.
pub(in crate::cert) struct PathBuilder<'c, 'a>(&'c Candidate<'a>);

/// A path that was built.
pub(in crate::cert) struct Built<'a> {
    validity: Validity,
    signatures: u8,
    issued: Option<Issued>,
    anchor_place: usize,
    /// The certificates of the path, leaf first.
    certificates: Vec<CertificateDer<'a>>,
    /// The trust anchor, if revocation or staples are checked.
    anchor: Option<Issuer>,
}

impl<'a> PathBuilder<'_, 'a> {
    /// Builds a path whose signatures are all verified, and none of whose certificates is revoked.
    fn verify(&self, end_entity: &EndEntityCert<'a>) -> Result<Built<'a>, CertificateError> {
        let Candidate { chain, algorithms, revocation, .. } = self.0;
        let signatures = Signatures::of(chain);
        let built = signatures.verify(algorithms, |algorithms| self.build(end_entity, algorithms));
        let built = built.map_err(|error| self.explain(error))?;
        if let Some(revocation) = revocation {
            revocation.check_built(self, end_entity, &built, &signatures)?;
        }
        Ok(built)
    }

    #[inline(never)]
    fn build(
        &self,
        end_entity: &EndEntityCert<'a>,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Result<Built<'a>, CertificateError> {
        let Candidate { anchors, chain, at, expect, issuers, .. } = *self.0;
        let intermediates = chain.get(1..).unwrap_or_default();
        let usage = expect.purpose();
        let path = end_entity
            .verify_for_usage(algorithms, anchors, intermediates, at, usage, None, Some(&all_may_issue))
            .map_err(|error| named_error(&error, chain))?;
        let place = |der: &[u8]| chain.iter().position(|certificate| certificate.as_ptr() == der.as_ptr());
        let places = path.intermediate_certificates().map(|issuer| place(&issuer.der())).collect::<Option<Vec<_>>>();
        let places = [0].into_iter().chain(places.ok_or(CertificateError::Invalid)?); // all are of the chain
        let certificates: Vec<_> = places.map(|place| CertificateDer::from(chain[place].as_ref())).collect();
        let anchor_place = anchors.iter().position(|anchor| anchor == path.anchor());
        let anchor_place = anchor_place.ok_or(CertificateError::Invalid)?; // it is one of them
        let mut validity = Validity::UNBOUNDED;
        let mut signatures = 0_u8;
        let fields = certificates.iter().map(|der| Fields::read(der)).collect::<Result<Vec<_>, _>>()?;
        for fields in &fields {
            validity.narrow(fields, signatures);
            signatures = signatures.saturating_add(1);
        }
        let (mut issued, mut anchor) = (None, None);
        if issuers.is_some() {
            let issuer = anchor_as_issuer(path.anchor()).ok_or(CertificateError::Malformed)?;
            issued = Some(Issued::new(&fields, issuer.clone()));
            anchor = Some(issuer);
        }
        Ok(Built { validity, signatures, issued, anchor_place, certificates, anchor })
    }

    /// Replaces the error about a bad signature, if a key of the chain is too short: webpki reports that in the same
    /// way.
    fn explain(&self, error: CertificateError) -> CertificateError {
        if error != CertificateError::BadSignature {
            return error;
        }
        let fields: Vec<_> = self.0.chain.iter().filter_map(|der| Fields::read(der).ok()).collect();
        let of_chain =
            fields.iter().enumerate().skip(1).map(|(depth, fields)| check_key_size(fields.public_key, depth));
        let anchors = self.0.anchors.iter().filter_map(anchor_as_issuer);
        let anchors = anchors.filter(|anchor| fields.iter().any(|fields| fields.issuer == anchor.name()));
        let of_anchors = anchors.map(|anchor| check_key_size(anchor.public_key(), fields.len()));
        of_chain.chain(of_anchors).find_map(Result::err).unwrap_or(error)
    }

    /// Checks that no certificate of `built` is revoked. A current list must cover the leaf; the certificates above it
    /// are looked up if their issuer has a list. Cached handshakes are checked against the same [`Findings`].
    #[inline(never)] // its options and lists would take stack while the path is built
    pub(in crate::cert) fn check_revocation(
        &self,
        end_entity: &EndEntityCert<'a>,
        built: &Built<'a>,
        signatures: &Signatures<'a>,
        crls: &Crls,
    ) -> Result<(), CertificateError> {
        let unknown = CertificateError::UnknownRevocationStatus;
        let Candidate { anchors, chain, algorithms, at, expect, time, .. } = *self.0;
        let (Some(issued), Some(anchor)) = (&built.issued, &built.anchor) else {
            return Err(unknown); // who has revocation has these
        };
        let mut in_force: Vec<Arc<Findings>> = Vec::new();
        let mut are_signed = true;
        for (link, issuer) in issued.links.as_slice().iter().zip(issued.issuers.iter().chain([anchor])) {
            let Some(findings) = crls.of(link.issuer, issuer, algorithms) else { continue };
            if findings.revokes(link) {
                return Err(CertificateError::Revoked);
            }
            are_signed &= findings.are_signed();
            in_force.push(findings);
        }
        if !are_signed {
            return Err(unknown);
        }
        // webpki decides about scopes, and which list covers which certificate. It would also let a list with an
        // IssuingDistributionPoint cover a leaf that names no distribution point.
        let lists: Vec<_> = in_force.iter().flat_map(|findings| crls.newest(findings)).collect();
        let parsed: Vec<_> = lists.iter().map(|list| list.parsed()).collect();
        let leaf = Fields::read(chain.first().ok_or(CertificateError::Malformed)?)?;
        let of_leaf: Vec<_> = lists.iter().filter(|list| list.may_cover(&leaf)).map(|list| list.parsed()).collect();
        let leaf_covered = revocation(&of_leaf, RevocationCheckDepth::EndEntity, UnknownStatusPolicy::Deny, time);
        let whole_path = revocation(&parsed, RevocationCheckDepth::Chain, UnknownStatusPolicy::Allow, time);
        let known = signatures.known(algorithms, &lists);
        let known: Vec<_> = known.iter().map(|known| known as &dyn SignatureVerificationAlgorithm).collect();
        let intermediates = built.certificates.get(1..).unwrap_or_default();
        for options in [leaf_covered.ok_or(unknown)?, whole_path.ok_or(unknown)?] {
            end_entity
                .verify_for_usage(&known, anchors, intermediates, at, expect.purpose(), Some(options), None)
                .map_err(|error| named_error(&error, &built.certificates))?;
        }
        Ok(())
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

impl ExtendedKeyUsageValidator for Purpose {
    fn validate(&self, mut usages: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        match self {
            Self::Of(id) => KeyUsage::required_if_present(id.der_contents()).validate(usages),
            Self::Any => usages.try_for_each(|usage| usage.map(|_| ())),
            // Each is looked at by itself; with none at all there is no restriction.
            Self::Unrestricted => {
                let any = KeyPurposeId::ANY.der_contents();
                usages.try_for_each(|usage| match usage? == webpki::KeyPurposeId::new(any) {
                    true => Ok(()),
                    false => Err(webpki::Error::RequiredEkuNotFoundContext(RequiredEkuNotFoundContext {
                        required: KeyUsage::required(any),
                        present: Vec::new(),
                    })),
                })
            }
        }
    }
}
