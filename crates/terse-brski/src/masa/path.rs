//! The path from a registrar's certificate to the highest CA that came with its request (RFC 8995, 5.5.2 to 5.5.4).
//!
//! The MASA need not know the domain: the top of the path is a temporary trust anchor, so that the path proves only that it
//! is consistent. Which of its certificates is pinned is decided elsewhere.
//!
//! What must always hold: each certificate of a path has signed the one below it; the first has the extended key usage
//! cmcRA; none is outside of its validity; every one above the first is that of a CA; no name is on a path twice. Strangers
//! choose the certificates, so that the signatures which are verified are counted, and are at most [`MAX_VERIFICATIONS`].

use alloc::string::String;
use alloc::vec::Vec;

use der::Decode;
use der::oid::AssociatedOid as _;
use pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{CertificateError, Expect, KeyPurposeId, Trust};
use x509_cert::certificate::Rfc5280;
use x509_cert::crl::{CertificateList, TbsCertList};
use x509_cert::ext::pkix::IssuingDistributionPoint;

use super::{Refusal, RevocationStatus};
use crate::certificate::{public_key, verify_issued};
use crate::digest::{Sha256, public_key_sha256};

mod budget;
mod fields;

use budget::Budget;
use fields::Fields;

/// The certificates of a registrar's domain that came with a request: the registrar's first, then that of each issuer.
#[derive(Clone, Debug)]
pub struct RegistrarPath {
    levels: Vec<Level>,
}

#[derive(Clone, Debug)]
struct Level {
    certificate: CertificateDer<'static>,
    key: Sha256,
    fields: Fields,
}

impl RegistrarPath {
    /// Finds the path that begins with the first certificate of `chain`. The others may come in any order, and those that
    /// are not on the path are ignored.
    pub(super) fn new(
        provider: &CryptoProvider,
        chain: &[CertificateDer<'static>],
        time: UnixTime,
    ) -> Result<Self, Refusal> {
        let (registrar, others) = chain.split_first().ok_or(Refusal::Registrar(CertificateError::Malformed))?;
        let registrar = Level::new(provider, registrar)?;
        // RFC 8995, 5.5.4.
        if !registrar.fields.is_registrar {
            return Err(Refusal::NotRegistrar);
        }
        if registrar.fields.is_signature_denied {
            return Err(Refusal::Registrar(CertificateError::WrongUsage));
        }
        registrar.fields.check_validity(0, time)?;
        let mut path = Self { levels: Vec::from([registrar]) };
        // A certificate that does not parse is not on the path.
        let others: Vec<_> = others.iter().filter_map(|other| Level::new(provider, other).ok()).collect();
        let mut budget = Budget::new(MAX_VERIFICATIONS);
        while path.levels.len() < MAX_CERTIFICATES && !path.is_complete() {
            let Some(issuer) = path.issuer(provider, &others, time, &mut budget)? else { break };
            path.levels.push(issuer);
        }
        Ok(path)
    }

    /// Returns the certificate among `others` that has issued the top of the path, or `None` if it did not come along.
    fn issuer(
        &self,
        provider: &CryptoProvider,
        others: &[Level],
        time: UnixTime,
        budget: &mut Budget,
    ) -> Result<Option<Level>, Refusal> {
        let Some(top) = self.levels.last() else { return Ok(None) };
        let is_on_path = |other: &Level| self.levels.iter().any(|level| level.fields.subject == other.fields.subject);
        let candidates = others.iter().filter(|other| other.fields.subject == top.fields.issuer && !is_on_path(other));
        let has_namesakes = candidates.clone().count() > 1;
        let mut refusal = None;
        for candidate in candidates {
            match self.check_issuer(provider, candidate, has_namesakes, time, budget) {
                Ok(()) => return Ok(Some(candidate.clone())),
                Err(Refusal::TooManyCertificates) => return Err(Refusal::TooManyCertificates),
                // Several CAs can have the same name, and only one has signed.
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        refusal.map_or(Ok(None), Err)
    }

    fn check_issuer(
        &self,
        provider: &CryptoProvider,
        candidate: &Level,
        has_namesakes: bool,
        time: UnixTime,
        budget: &mut Budget,
    ) -> Result<(), Refusal> {
        if !candidate.fields.is_ca {
            return Err(Refusal::IssuerIsNoCa);
        }
        candidate.fields.check_validity(self.levels.len(), time)?;
        // Of several with the name, one signature tells which of them the whole path is worth verifying under.
        if has_namesakes {
            budget.spend(1)?;
            self.check_top(provider, candidate)?;
        }
        // No name is there twice, so that each certificate has one possible issuer.
        budget.spend(self.levels.len())?;
        self.check(provider, &candidate.certificate, Some(time))
    }

    /// Verifies the signature of the top of the path alone, by the key of `issuer`.
    fn check_top(&self, provider: &CryptoProvider, issuer: &Level) -> Result<(), Refusal> {
        let top = self.levels.last().ok_or(Refusal::Registrar(CertificateError::Malformed))?; // there is one
        let key = public_key(&issuer.certificate).map_err(|_| Refusal::Registrar(CertificateError::Malformed))?;
        verify_issued(provider, &top.certificate, key).map_err(|_| Refusal::Registrar(CertificateError::BadSignature))
    }

    /// Verifies the path under a temporary trust anchor.
    fn check(
        &self,
        provider: &CryptoProvider,
        anchor: &CertificateDer<'_>,
        time: Option<UnixTime>,
    ) -> Result<(), Refusal> {
        let trust =
            Trust::new(core::slice::from_ref(anchor)).map_err(|_| Refusal::Registrar(CertificateError::Malformed))?;
        let expect = Expect::Usage(KeyPurposeId::CMC_RA);
        trust.check(provider, &self.to_chain(), expect, time).map_err(Refusal::Registrar)?;
        Ok(())
    }

    /// Whether the top has no issuer but itself.
    fn is_complete(&self) -> bool {
        self.levels.last().is_some_and(|top| top.fields.subject == top.fields.issuer)
    }

    /// Returns the certificates, the registrar's first.
    pub fn certificates(&self) -> impl ExactSizeIterator<Item = &CertificateDer<'static>> {
        self.levels.iter().map(|level| &level.certificate)
    }

    pub(super) fn to_chain(&self) -> Vec<CertificateDer<'static>> {
        self.certificates().cloned().collect()
    }

    /// Whether the public key with this SHA-256 is that of a certificate of the path.
    pub fn has_key(&self, key: &Sha256) -> bool {
        self.levels.iter().any(|level| level.key == *key)
    }

    /// Returns the certificate at this height, 0 for the registrar's, and the SHA-256 of its key; the highest one if there is
    /// none so high.
    pub(super) fn at_most(&self, height: usize) -> Option<(&CertificateDer<'static>, &Sha256)> {
        let level = self.levels.get(height).or(self.levels.last())?;
        Some((&level.certificate, &level.key))
    }

    /// Returns the first notAfter of the registrar's certificate and those up to a height.
    pub(super) fn first_not_after(&self, height: usize) -> u64 {
        self.levels.iter().take(height.saturating_add(1)).map(|level| level.fields.not_after).min().unwrap_or(0)
    }

    /// Returns the URLs where the certificates say that their revocation can be looked up, by CRL (RFC 5280, 4.2.1.13) or
    /// by OCSP (4.2.2.1). Strangers have written them: [`is_public`](crate::address::is_public) tells which addresses may
    /// be connected to. [`Self::states_revocation`] tells whether there is anything to look up.
    pub fn revocation_urls(&self) -> impl Iterator<Item = &str> {
        self.levels.iter().flat_map(|level| level.fields.revocation_urls.iter().map(String::as_str))
    }

    /// Whether a certificate of the path says that its revocation can be looked up, even if in no URL: a CRL distribution
    /// point has other forms of names. A self-issued certificate does not count: only its holder could revoke it.
    pub fn states_revocation(&self) -> bool {
        self.levels.iter().any(Level::states_revocation)
    }

    /// Checks the certificates of the path with CRLs that were fetched. The path is good if a CRL covers the registrar's
    /// certificate, and one covers each other certificate that says that its revocation can be looked up. One whose issuer did
    /// not come along is not covered, since nothing verifies a CRL for it. A CRL that the path does not explain is ignored.
    pub fn check_crls(
        &self,
        provider: &CryptoProvider,
        crls: &[CertificateRevocationListDer<'_>],
        time: UnixTime,
    ) -> RevocationStatus {
        // The top of a longer path is only an anchor.
        let count = self.levels.len().saturating_sub(1).max(1);
        let is_covered = |(height, level): (usize, &Level)| {
            !level.states_revocation() || self.is_ca_covered(provider, height, crls, time)
        };
        match self.check_lowest(provider, count, crls, time) {
            RevocationStatus::Good if !self.levels.iter().enumerate().skip(1).all(is_covered) => {
                RevocationStatus::Unknown
            }
            status => status,
        }
    }

    /// Checks this many of the lowest certificates under the one above them. The result is good if a CRL covers the
    /// registrar's certificate and none revokes another one.
    fn check_lowest(
        &self,
        provider: &CryptoProvider,
        count: usize,
        crls: &[CertificateRevocationListDer<'_>],
        time: UnixTime,
    ) -> RevocationStatus {
        let Some(anchor) = self.levels.get(count).or(self.levels.last()) else { return RevocationStatus::Unknown };
        let anchors = core::slice::from_ref(&anchor.certificate);
        let Ok(trust) = Trust::new(anchors).and_then(|trust| trust.with_crls(crls)) else {
            return RevocationStatus::Unknown;
        };
        let chain: Vec<_> = self.certificates().take(count).cloned().collect();
        match trust.check(provider, &chain, Expect::Usage(KeyPurposeId::CMC_RA), Some(time)) {
            Ok(_) => RevocationStatus::Good,
            Err(CertificateError::Revoked) => RevocationStatus::Revoked,
            Err(_) => RevocationStatus::Unknown,
        }
    }

    /// Whether one of the CRLs is current, signed by the issuer of the CA at this height, and about all certificates of that
    /// issuer. [`Self::check_lowest`] accepts a path without a CRL about a CA, but none with a bad one: so each candidate is
    /// tried as the only CRL of its issuer.
    fn is_ca_covered(
        &self,
        provider: &CryptoProvider,
        height: usize,
        crls: &[CertificateRevocationListDer<'_>],
        time: UnixTime,
    ) -> bool {
        let (Some(level), Some(_)) = (self.levels.get(height), self.levels.get(height + 1)) else { return false };
        let read = |der| Some((der, CertificateList::<Rfc5280>::from_der(der).ok()?.tbs_cert_list));
        let (own, others): (Vec<_>, Vec<_>) = crls
            .iter()
            .filter_map(|crl| read(crl.as_ref()))
            .partition(|(_, fields)| fields.issuer == level.fields.issuer);
        let is_complete = |fields: &TbsCertList<Rfc5280>| {
            let mut extensions = fields.crl_extensions.iter().flatten();
            !extensions.any(|extension| extension.extn_id == IssuingDistributionPoint::OID)
        };
        own.iter().filter(|(_, fields)| is_complete(fields)).any(|candidate| {
            let crls: Vec<_> = others.iter().chain([candidate]).map(|(der, _)| (*der).into()).collect();
            self.check_lowest(provider, height + 1, &crls, time) == RevocationStatus::Good
        })
    }
}

impl Level {
    fn new(provider: &CryptoProvider, certificate: &CertificateDer<'static>) -> Result<Self, Refusal> {
        let fields = Fields::read(certificate).map_err(|_| Refusal::Registrar(CertificateError::Malformed))?;
        let key =
            public_key_sha256(provider, certificate).map_err(|_| Refusal::Registrar(CertificateError::Malformed))?;
        Ok(Self { certificate: certificate.clone(), key, fields })
    }

    fn states_revocation(&self) -> bool {
        self.fields.states_revocation && self.fields.subject != self.fields.issuer
    }
}

/// The most certificates of a path. Each level is verified from the bottom, so that the work grows with the square.
const MAX_CERTIFICATES: usize = 7;

/// The most signatures of certificates that are verified to find the path of a request. The longest path takes 21, and
/// 33 if each level has a certificate beside it with the same name.
const MAX_VERIFICATIONS: usize = 36;
