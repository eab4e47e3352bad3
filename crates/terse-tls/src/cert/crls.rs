//! Revocation lists (RFC 5280, 5): as path validation takes them, and as what is cached is matched against them, by the
//! same 8 bytes of a hash that an entry keeps of each certificate.
//!
//! What must always hold: a certificate counts as not revoked only under lists whose signatures were verified with the
//! key of its issuer, each of that issuer's name; where they say more than is understood here, they still revoke.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{AlgorithmIdentifier, CertificateRevocationListDer, SignatureVerificationAlgorithm, UnixTime};
use spin::Mutex;
use webpki::{BorrowedCertRevocationList, CertRevocationList, OwnedCertRevocationList};

use super::fields::CrlFields;
use super::issuers::{CertificateId, Issuer, IssuerId, Link};
use super::split_public_key;
use crate::crypto::Hash;
use crate::error::ApiMisuse;
use crate::lru::Lru;

/// The revocation lists that are in force.
pub(super) struct Crls {
    lists: Box<[Crl]>,
    /// What they say of issuers that were asked about. It ends with the lists.
    findings: Mutex<Lru<IssuerId, Arc<Findings>>>,
}

struct Crl {
    der: CertificateRevocationListDer<'static>,
    /// For path validation.
    parsed: CertRevocationList<'static>,
}

/// What all lists of one issuer say together.
pub(super) struct Findings {
    /// In order.
    revoked: Box<[CertificateId]>,
    /// Seconds since 1970: the earliest nextUpdate. It counts for all of them, as path validation stops at the first
    /// list.
    next_update: u64,
    /// Whether one of them is about all certificates of the issuer.
    is_complete: bool,
    /// Whether all of them are signed with this issuer's key, which may sign lists.
    are_signed: bool,
    /// What the signatures were verified with.
    algorithms: Vec<Algorithm>,
}

/// Of a signature and of its key.
type Algorithm = (AlgorithmIdentifier, AlgorithmIdentifier);

/// How many issuers' findings are kept. One more costs the verification of a signature.
const MAX_FINDINGS: usize = 64;

impl Crls {
    pub(super) fn read(crls: &[CertificateRevocationListDer<'_>]) -> Result<Self, ApiMisuse> {
        let lists = crls.iter().map(Crl::read).collect::<Option<_>>().ok_or(ApiMisuse::MalformedCrl)?;
        Ok(Self { lists, findings: Mutex::new(Lru::new(MAX_FINDINGS)) })
    }

    /// For path validation.
    pub(super) fn parsed(&self) -> Vec<&CertRevocationList<'static>> {
        self.lists.iter().map(|crl| &crl.parsed).collect()
    }

    /// What the lists of `issuer` say, with signatures verified by `algorithms`. `None`: there is none.
    pub(super) fn of(
        &self,
        id: IssuerId,
        issuer: &Issuer,
        sha256: &dyn Hash,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Option<Arc<Findings>> {
        let known = self.findings.lock().touch(&id).map(|findings| findings.clone());
        if let Some(findings) = known.filter(|findings| findings.is_of(algorithms)) {
            return Some(findings);
        }
        let findings = Arc::new(self.find(issuer, sha256, algorithms)?);
        self.findings.lock().insert(id, findings.clone());
        Some(findings)
    }

    fn find(
        &self,
        issuer: &Issuer,
        sha256: &dyn Hash,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Option<Findings> {
        let mut lists = self.lists.iter().filter_map(|crl| Some((crl, CrlFields::read(&crl.der).ok()?)));
        let lists: Vec<_> = lists.by_ref().filter(|(_, fields)| fields.issuer == issuer.name()).collect();
        if lists.is_empty() {
            return None;
        }
        let certificate = issuer.certificates(sha256);
        let is_signed = |fields: &CrlFields<'_>| issuer.signs_crls() && is_signed(fields, issuer, algorithms);
        let (signed, others): (Vec<_>, Vec<_>) = lists.into_iter().partition(|(_, fields)| is_signed(fields));
        let mut revoked: Vec<_> = signed.iter().flat_map(|(crl, _)| crl.revoked(&certificate)).collect();
        revoked.sort_unstable();
        Some(Findings {
            revoked: revoked.into(),
            next_update: signed.iter().map(|(_, fields)| fields.next_update).min().unwrap_or_default(),
            is_complete: signed.iter().any(|(crl, _)| crl.parsed.issuing_distribution_point().is_none()),
            are_signed: others.is_empty(),
            algorithms: algorithms.iter().copied().map(ids).collect(),
        })
    }
}

impl Findings {
    pub(super) fn revokes(&self, link: &Link) -> bool {
        self.revoked.binary_search(&link.certificate).is_ok()
    }

    /// Whether every list of the issuer is signed by it.
    pub(super) const fn are_signed(&self) -> bool {
        self.are_signed
    }

    /// Whether every list is believed at `time`; without a clock as path validation does it, which ignores nextUpdate.
    pub(super) fn is_due_after(&self, time: Option<UnixTime>) -> bool {
        time.is_none_or(|time| time.as_secs() < self.next_update)
    }

    /// Whether a certificate of the issuer that is in no list is not revoked. A list with an IssuingDistributionPoint
    /// (RFC 5280, 5.2.5) is about some certificates only, and an entry does not know whether its own is one of them.
    pub(super) const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether these are the algorithms that it was found with.
    fn is_of(&self, algorithms: &[&dyn SignatureVerificationAlgorithm]) -> bool {
        algorithms.iter().copied().map(ids).eq(self.algorithms.iter().copied())
    }
}

impl Crl {
    fn read(der: &CertificateRevocationListDer<'_>) -> Option<Self> {
        CrlFields::read(der).ok()?;
        let parsed = CertRevocationList::Owned(OwnedCertRevocationList::from_der(der).ok()?);
        Some(Self { der: CertificateRevocationListDer::from(der.to_vec()), parsed })
    }

    fn revoked(&self, certificate: &impl Fn(&[u8]) -> CertificateId) -> Vec<CertificateId> {
        let borrowed = BorrowedCertRevocationList::from_der(&self.der); // succeeds, as in `read`
        borrowed.iter().flatten().flatten().map(|entry| certificate(entry.serial_number)).collect()
    }
}

/// Whether the key of `issuer` made the signature, as path validation decides it.
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
