//! Certificate revocation lists (RFC 5280, 5), for path validation and for cached entries. An entry is matched by the 8
//! bytes of a hash that it keeps of each certificate.
//!
//! What must always hold: a certificate counts as not revoked only by lists of its issuer whose signatures were
//! verified with the issuer's key, and only by the newest list of each scope; a certificate that any list revokes is
//! revoked. Full and cached handshakes use the same [`Findings`].

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{AlgorithmIdentifier, CertificateRevocationListDer, SignatureVerificationAlgorithm, UnixTime};
use spin::Mutex;
use webpki::{BorrowedCertRevocationList, CertRevocationList, OwnedCertRevocationList};

use super::fields::{CrlFields, Fields};
use super::issuers::{CertificateId, Issuer, IssuerId, Link};
use super::split_public_key;
use crate::error::ApiMisuse;
use crate::lru::Lru;

/// The revocation lists that are in force.
pub(super) struct Crls {
    lists: Box<[Crl]>,
    /// A cache of the findings about issuers. It is dropped with the lists.
    findings: Mutex<Lru<IssuerId, Arc<Findings>>>,
}

pub(super) struct Crl {
    der: CertificateRevocationListDer<'static>,
    /// The parsed list, for path validation. Behind a pointer, a program without lists need not know how to drop it.
    parsed: Box<dyn AsRef<CertRevocationList<'static>> + Send + Sync>,
}

struct Parsed(CertRevocationList<'static>);

/// The combined statements of all lists of one issuer.
pub(super) struct Findings {
    /// The revoked certificates, sorted.
    revoked: Box<[CertificateId]>,
    /// The indices of the newest list of each scope. Only these say which certificates are not revoked.
    newest: Vec<usize>,
    /// The earliest nextUpdate of the newest lists, in seconds since 1970. It counts for all of them, since an entry
    /// does not know which of them path validation would use.
    next_update: u64,
    /// Whether one of the newest lists covers all certificates of the issuer.
    is_complete: bool,
    /// The algorithms that the signatures were verified with.
    algorithms: Vec<Algorithm>,
}

/// The algorithm identifiers of a signature and of its key.
type Algorithm = (AlgorithmIdentifier, AlgorithmIdentifier);

/// How many issuers' findings are kept. Findings that were dropped cost the verification of a signature.
const MAX_FINDINGS: usize = 64;

impl Crls {
    pub(super) fn read(crls: &[CertificateRevocationListDer<'_>]) -> Result<Self, ApiMisuse> {
        let lists = crls.iter().map(Crl::read).collect::<Option<_>>().ok_or(ApiMisuse::MalformedCrl)?;
        Ok(Self { lists, findings: Mutex::new(Lru::new(MAX_FINDINGS)) })
    }

    /// Returns the number of lists.
    pub(super) const fn len(&self) -> usize {
        self.lists.len()
    }

    /// Returns the lists that say which certificates of an issuer are not revoked.
    pub(super) fn newest(&self, findings: &Findings) -> impl Iterator<Item = &Crl> {
        findings.newest.iter().filter_map(|place| self.lists.get(*place))
    }

    /// Returns the findings in the lists of `issuer`, with signatures verified by `algorithms`; `None` if there is no
    /// list.
    pub(super) fn of(
        &self,
        id: IssuerId,
        issuer: &Issuer,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Option<Arc<Findings>> {
        let known = self.findings.lock().touch(&id).map(|findings| findings.clone());
        if let Some(findings) = known.filter(|findings| findings.is_of(algorithms)) {
            return Some(findings);
        }
        let findings = Arc::new(self.find(issuer, algorithms)?);
        self.findings.lock().insert(id, findings.clone());
        Some(findings)
    }

    fn find(&self, issuer: &Issuer, algorithms: &[&dyn SignatureVerificationAlgorithm]) -> Option<Findings> {
        let lists = self.lists.iter().enumerate().filter_map(|(place, crl)| Some((place, crl.fields()?)));
        let mut lists: Vec<_> = lists.filter(|(_, fields)| fields.issuer == issuer.name()).collect();
        if lists.is_empty() {
            return None;
        }
        lists.retain(|(_, fields)| issuer.signs_crls() && is_signed(fields, issuer, algorithms));
        let certificate = issuer.certificates();
        let mut revoked: Vec<_> =
            lists.iter().flat_map(|(place, _)| self.lists[*place].revoked(&certificate)).collect();
        revoked.sort_unstable();
        lists.sort_by(|(_, a), (_, b)| b.age().cmp(&a.age())); // the newest first
        let mut newest: Vec<(usize, CrlFields<'_>)> = Vec::new();
        for (place, fields) in lists {
            if newest.iter().all(|(_, newer)| newer.scope != fields.scope) {
                newest.push((place, fields));
            }
        }
        Some(Findings {
            revoked: revoked.into(),
            next_update: newest.iter().map(|(_, fields)| fields.next_update).min().unwrap_or_default(),
            is_complete: newest.iter().any(|(_, fields)| fields.scope.is_empty()),
            newest: newest.into_iter().map(|(place, _)| place).collect(),
            algorithms: algorithms.iter().copied().map(ids).collect(),
        })
    }
}

impl Findings {
    pub(super) fn revokes(&self, link: &Link) -> bool {
        self.revoked.binary_search(&link.certificate).is_ok()
    }

    /// Whether at least one list has a valid signature of the issuer.
    pub(super) const fn are_signed(&self) -> bool {
        !self.newest.is_empty()
    }

    /// Whether no list that counts is past its nextUpdate at `time`. Without a clock nextUpdate is ignored, as in path
    /// validation.
    pub(super) fn is_due_after(&self, time: Option<UnixTime>) -> bool {
        time.is_none_or(|time| time.as_secs() < self.next_update)
    }

    /// Whether a certificate of the issuer that is in no list is not revoked. A list with an IssuingDistributionPoint
    /// (RFC 5280, 5.2.5) covers only some certificates, and an entry does not know whether it covers its own.
    pub(super) const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether the findings were made with these algorithms.
    fn is_of(&self, algorithms: &[&dyn SignatureVerificationAlgorithm]) -> bool {
        algorithms.iter().copied().map(ids).eq(self.algorithms.iter().copied())
    }
}

impl Crl {
    fn read(der: &CertificateRevocationListDer<'_>) -> Option<Self> {
        CrlFields::read(der).ok()?;
        let parsed = CertRevocationList::Owned(OwnedCertRevocationList::from_der(der).ok()?);
        Some(Self { der: CertificateRevocationListDer::from(der.to_vec()), parsed: Box::new(Parsed(parsed)) })
    }

    /// Returns the parsed list, for path validation.
    pub(super) fn parsed(&self) -> &CertRevocationList<'static> {
        (*self.parsed).as_ref()
    }

    /// Whether the list can say that a leaf of its issuer is not revoked. One with an IssuingDistributionPoint is only
    /// about certificates that name the same distribution point (RFC 5280, 6.3.3 (b) (2)).
    pub(super) fn may_cover(&self, leaf: &Fields<'_>) -> bool {
        leaf.has_distribution_points || self.fields().is_some_and(|fields| fields.scope.is_empty())
    }

    /// Returns the signed bytes, and the signature.
    pub(super) fn signed(&self) -> Option<(&[u8], &[u8])> {
        self.fields().map(|fields| (fields.tbs_cert_list, fields.signature))
    }

    fn fields(&self) -> Option<CrlFields<'_>> {
        CrlFields::read(&self.der).ok() // succeeds, as in `read`
    }

    fn revoked(&self, certificate: &impl Fn(&[u8]) -> CertificateId) -> Vec<CertificateId> {
        let borrowed = BorrowedCertRevocationList::from_der(&self.der); // succeeds, as in `read`
        borrowed.iter().flatten().flatten().map(|entry| certificate(entry.serial_number)).collect()
    }
}

impl AsRef<CertRevocationList<'static>> for Parsed {
    fn as_ref(&self) -> &CertRevocationList<'static> {
        &self.0
    }
}

impl CrlFields<'_> {
    /// Returns a value that is greater for the newer one of two lists with the same issuer and scope (RFC 5280, 5.2.3).
    fn age(&self) -> (usize, &[u8], u64) {
        let leading = self.crl_number.iter().take_while(|byte| **byte == 0).count();
        let number = &self.crl_number[leading..]; // at most the whole length
        (number.len(), number, self.this_update)
    }
}

/// Whether the key of `issuer` made the signature, decided as in path validation.
fn is_signed(fields: &CrlFields<'_>, issuer: &Issuer, algorithms: &[&dyn SignatureVerificationAlgorithm]) -> bool {
    let Ok((key_algorithm, key)) = split_public_key(issuer.public_key()) else { return false };
    let mut fitting = algorithms.iter().filter(|algorithm| {
        *algorithm.signature_alg_id() == *fields.signature_algorithm && *algorithm.public_key_alg_id() == *key_algorithm
    });
    fitting
        .next()
        .is_some_and(|algorithm| algorithm.verify_signature(key, fields.tbs_cert_list, fields.signature).is_ok())
}

fn ids(algorithm: &dyn SignatureVerificationAlgorithm) -> Algorithm {
    (algorithm.signature_alg_id(), algorithm.public_key_alg_id())
}
