//! Paths that are not built: the certificates that were sent are the path, each certified by the next one (RFC 9846,
//! 4.5.1), up to the first one whose issuer has the name of a trust anchor. What comes after it is not looked at here; only the time at which
//! a chain counts without a clock is the latest notBefore of all certificates.
//!
//! This is the validation of RFC 5280, 6.1, for private PKIs, where servers send what their devices expect: one pass
//! without recursion, little code, little stack. It never accepts what [`PathBuilding`](super::PathBuilding) refuses, except keys of
//! public CAs that `rustls-webpki` distrusts by name. What it refuses beyond that is listed at [`Trust::without_path_building`](crate::Trust::without_path_building).
//!
//! What must always hold: signatures are verified only when everything else about the path is right, from the trust anchor
//! down, so that a stranger's chain costs one signature for each trust anchor with the name that it claims, usually one; and
//! a path counts only if all of its signatures are right.
//!
//! Certificates are read again where they are needed: that takes little time, and what was read would take stack while
//! signatures are verified.

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor};

use super::{Candidate, Path, PathValidation, check_leaf};
use crate::cert::Validity;
use crate::cert::expect::Expect;
use crate::cert::fields::{Fields, rsa_bits_of, sequence, split_public_key_contents};
use crate::cert::issuers::Issued;
use crate::cert::verify::check_rsa_bits;
use crate::error::{ApiMisuse, CertificateError};

mod certificate;
mod names;

pub(in crate::cert) use certificate::Certificate;
use certificate::read_trust_anchor;

#[cfg(test)]
mod tests;

/// Validation of paths whose certificates come in order.
pub(in crate::cert) struct InOrder;

/// The most certificates of a path: a leaf and six intermediate certificates.
const MAX_CERTIFICATES: usize = 7;

impl PathValidation for InOrder {
    fn trust_anchor(&self, certificate: &CertificateDer<'_>) -> Result<TrustAnchor<'static>, ApiMisuse> {
        read_trust_anchor(certificate)
    }

    fn validate<'a>(&self, candidate: &Candidate<'a>) -> Result<Path<'a>, CertificateError> {
        let (path, validity) = check_certificates(candidate)?;
        let anchor_place = verify_signatures(candidate, path)?;
        finish(candidate, path, validity, anchor_place)
    }

    fn id(&self) -> &'static [u8] {
        b"paths are not built"
    }
}

/// Checks everything about a path but its signatures: each of its certificates, that they follow each other, and the
/// leaf's name and usage. Returns the path, leaf first, and when all of it is valid.
#[inline(never)] // it needs no stack while signatures are verified
fn check_certificates<'a>(candidate: &Candidate<'a>) -> Result<(&'a [CertificateDer<'a>], Validity), CertificateError> {
    let Candidate { anchors, chain, expect, .. } = *candidate;
    let mut validity = Validity::UNBOUNDED;
    let mut issuer: &[u8] = &[];
    for (depth, der) in chain.iter().enumerate() {
        let certificate = Certificate::read(der)?;
        let fields = &certificate.fields;
        if depth > 0 && (fields.subject != issuer || is_among(fields, chain.get(..depth).unwrap_or_default())) {
            return Err(CertificateError::UnknownIssuer);
        }
        if depth == MAX_CERTIFICATES {
            return Err(CertificateError::Invalid);
        }
        check_certificate(&certificate, candidate, depth)?;
        check_issuing(&certificate, depth)?;
        validity.narrow(fields, depth as u8); // less than MAX_CERTIFICATES
        issuer = fields.issuer;
        if has_anchor(anchors, issuer) {
            let path = chain.get(..=depth).unwrap_or_default();
            check_expected(path, expect)?;
            check_algorithms(candidate, path)?;
            return Ok((path, validity));
        }
    }
    Err(CertificateError::UnknownIssuer)
}

/// Checks what must hold for every certificate of a path: its serial number and the name of its issuer, its dates (RFC
/// 5280, 6.1.3 (a) (2)), and its extended key usage; and that it has no name constraints, which are not processed here.
fn check_certificate(
    certificate: &Certificate<'_>,
    candidate: &Candidate<'_>,
    depth: usize,
) -> Result<(), CertificateError> {
    let fields = &certificate.fields;
    if !certificate.has_serial_number() || !certificate.has_issuer() {
        return Err(CertificateError::Malformed);
    }
    if fields.not_before > fields.not_after {
        return Err(CertificateError::Invalid);
    }
    let mut validity = Validity::UNBOUNDED;
    validity.narrow(fields, depth as u8); // less than MAX_CERTIFICATES
    validity.check(candidate.at)?;
    if certificate.has_name_constraints {
        return Err(CertificateError::NameConstraints { depth: depth as u8 });
    }
    candidate.expect.purpose().check(fields.extended_key_usage)
}

/// Checks that a certificate above the leaf is one of a CA that may issue the ones below it (RFC 5280, 6.1.4), and that
/// the leaf is none of a CA.
fn check_issuing(certificate: &Certificate<'_>, depth: usize) -> Result<(), CertificateError> {
    let is_leaf = depth == 0;
    if certificate.is_ca == is_leaf {
        return Err(CertificateError::WrongUsage); // (k)
    }
    // (l), (m): self-issued certificates count as well, which refuses more.
    let below = depth.saturating_sub(1); // CAs
    if !is_leaf && certificate.path_len_constraint.is_some_and(|most| below > usize::from(most)) {
        return Err(CertificateError::ConstraintViolated);
    }
    if !is_leaf && certificate.fields.key_usage.is_some_and(|usage| !usage.key_cert_sign()) {
        return Err(CertificateError::WrongUsage); // (n)
    }
    Ok(())
}

/// Whether one of `certificates` has the name and the key of these fields: a CA that is on a path already is no step
/// further.
#[inline(never)]
fn is_among(fields: &Fields<'_>, certificates: &[CertificateDer<'_>]) -> bool {
    certificates.iter().any(|der| match Certificate::read(der) {
        Ok(other) => (other.fields.subject, other.fields.public_key) == (fields.subject, fields.public_key),
        Err(_) => true, // it was read before
    })
}

/// Checks that the leaf is what is expected.
#[inline(never)]
fn check_expected(path: &[CertificateDer<'_>], expect: Expect<'_>) -> Result<(), CertificateError> {
    let leaf = Certificate::read(path.first().ok_or(CertificateError::Malformed)?)?.fields;
    if let Expect::Server(name) = expect {
        names::check(name, leaf.subject_alt_name)?;
    }
    check_leaf(&leaf, expect)
}

/// Checks that there is an algorithm for each signature of a path below the trust anchor.
fn check_algorithms(candidate: &Candidate<'_>, path: &[CertificateDer<'_>]) -> Result<(), CertificateError> {
    let mut steps = steps(path);
    steps.try_for_each(|(certificate, issuer, depth)| {
        Signed::read(candidate, certificate, public_key(issuer)?, depth).map(|_| ())
    })
}

/// Verifies all signatures of a path, from the trust anchor down. Returns the place of the anchor.
#[inline(never)]
fn verify_signatures(candidate: &Candidate<'_>, path: &[CertificateDer<'_>]) -> Result<usize, CertificateError> {
    let anchor_place = find_anchor(candidate, path)?;
    for (certificate, issuer, depth) in steps(path).rev() {
        Signed::read(candidate, certificate, public_key(issuer)?, depth)?.verify()?;
    }
    Ok(anchor_place)
}

/// Returns the place of the trust anchor that has signed the last certificate of a path. Several may have its name.
fn find_anchor(candidate: &Candidate<'_>, path: &[CertificateDer<'_>]) -> Result<usize, CertificateError> {
    let top = path.last().ok_or(CertificateError::Malformed)?;
    let mut refused = CertificateError::UnknownIssuer;
    for (place, anchor) in candidate.anchors.iter().enumerate() {
        if !is_issued_by(top, anchor)? {
            continue;
        }
        let key = &anchor.subject_public_key_info;
        match Signed::read(candidate, top, key, candidate.chain.len()).and_then(Signed::verify) {
            Ok(()) => return Ok(place),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// Returns the certificates of a path below the trust anchor, each with that of its issuer, and the issuer's depth.
fn steps<'p, 'a>(
    path: &'p [CertificateDer<'a>],
) -> impl DoubleEndedIterator<Item = (&'p CertificateDer<'a>, &'p CertificateDer<'a>, usize)> {
    path.iter()
        .zip(path.get(1..).unwrap_or_default())
        .enumerate()
        .map(|(below, (one, issuer))| (one, issuer, below + 1))
}

/// A signature, and what it is verified with.
struct Signed<'a> {
    algorithm: &'a dyn SignatureVerificationAlgorithm,
    key: &'a [u8],
    message: &'a [u8],
    signature: &'a [u8],
}

impl<'a> Signed<'a> {
    /// Reads the signature of a certificate. Its issuer's key is the contents of a SubjectPublicKeyInfo, at `depth` in the
    /// chain.
    #[inline(never)]
    fn read(
        candidate: &Candidate<'a>,
        der: &'a [u8],
        issuer_key: &'a [u8],
        depth: usize,
    ) -> Result<Self, CertificateError> {
        let certificate = Certificate::read(der)?;
        let (kind, key) = split_public_key_contents(issuer_key)?;
        let algorithm = candidate.algorithms.iter().find(|algorithm| {
            *algorithm.signature_alg_id() == *certificate.fields.signature_algorithm
                && *algorithm.public_key_alg_id() == *kind
        });
        let algorithm = *algorithm.ok_or(CertificateError::UnsupportedAlgorithm)?;
        check_rsa_bits(rsa_bits_of(kind, key), depth)?;
        Ok(Self { algorithm, key, message: certificate.signed, signature: certificate.signature })
    }

    fn verify(self) -> Result<(), CertificateError> {
        let verified = self.algorithm.verify_signature(self.key, self.message, self.signature);
        verified.map_err(|_| CertificateError::BadSignature)
    }
}

/// Returns the public key of a certificate: the contents of the SubjectPublicKeyInfo.
#[inline(never)]
fn public_key(der: &[u8]) -> Result<&[u8], CertificateError> {
    sequence(Certificate::read(der)?.fields.public_key)
}

/// Whether a trust anchor has this name, a DER `Name`.
fn has_anchor(anchors: &[TrustAnchor<'_>], name: &[u8]) -> bool {
    anchors.iter().any(|anchor| is_named(anchor, name))
}

fn is_named(anchor: &TrustAnchor<'_>, name: &[u8]) -> bool {
    sequence(name).is_ok_and(|name| *anchor.subject == *name)
}

/// Whether a trust anchor has the name of the issuer of a certificate.
#[inline(never)]
fn is_issued_by(der: &[u8], anchor: &TrustAnchor<'_>) -> Result<bool, CertificateError> {
    Ok(is_named(anchor, Certificate::read(der)?.fields.issuer))
}

/// Puts together what is known of a verified path, after the check for revocation.
#[inline(never)]
fn finish<'a>(
    candidate: &Candidate<'a>,
    path: &'a [CertificateDer<'a>],
    validity: Validity,
    anchor_place: usize,
) -> Result<Path<'a>, CertificateError> {
    let issued = issued(candidate, path, anchor_place)?;
    let leaf = Certificate::read(path.first().ok_or(CertificateError::Malformed)?)?.fields;
    let signatures = path.len() as u8; // at most MAX_CERTIFICATES
    Ok(Path { leaf, validity, signatures, issued, anchor_place })
}

/// Returns the issuers of a verified path, if revocation or staples are checked, after the check for revocation.
fn issued(
    candidate: &Candidate<'_>,
    path: &[CertificateDer<'_>],
    anchor_place: usize,
) -> Result<Option<Issued>, CertificateError> {
    let Candidate { anchors, algorithms, time, issuers, revocation, .. } = candidate;
    let Some(issuers) = issuers else {
        // Who checks for revocation knows issuers.
        return if revocation.is_none() { Ok(None) } else { Err(CertificateError::UnknownRevocationStatus) };
    };
    let (issued, anchor) = issuers.issued(path, anchors.get(anchor_place).ok_or(CertificateError::Malformed)?)?;
    if let Some(revocation) = revocation {
        revocation.check_issued(&issued, &anchor, algorithms, *time)?;
    }
    Ok(Some(issued))
}
