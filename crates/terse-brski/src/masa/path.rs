//! The path from a registrar's certificate to the highest CA that came with its request (RFC 8995, 5.5.2 to 5.5.4).
//!
//! The MASA need not know the domain: the top of the path is a temporary trust anchor, so that the path proves only that it
//! is consistent. Which of its certificates is pinned is decided elsewhere.
//!
//! What must always hold: each certificate of a path has signed the one below it; the first has the extended key usage
//! cmcRA; none is outside of its validity; every one above the first is that of a CA.

use alloc::string::String;
use alloc::vec::Vec;

use der::Decode;
use der::asn1::ObjectIdentifier;
use der::oid::AssociatedOid as _;
use pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{CertificateError, Expect, KeyPurposeId, Trust};
use x509_cert::Certificate;
use x509_cert::certificate::Rfc5280;
use x509_cert::crl::{CertificateList, TbsCertList};
use x509_cert::ext::pkix::name::{DistributionPointName, GeneralName};
use x509_cert::ext::pkix::{
    AuthorityInfoAccessSyntax, BasicConstraints, CrlDistributionPoints, ExtendedKeyUsage, IssuingDistributionPoint,
    KeyUsage,
};
use x509_cert::name::Name;

use super::{Refusal, RevocationStatus};
use crate::digest::{Sha256, public_key_sha256};

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
        while path.levels.len() < MAX_CERTIFICATES && !path.is_complete() {
            let Some(issuer) = path.issuer(provider, &others, time)? else { break };
            path.levels.push(issuer);
        }
        Ok(path)
    }

    /// Returns the certificate among `others` that has issued the top of the path, or `None` if it did not come along.
    fn issuer(&self, provider: &CryptoProvider, others: &[Level], time: UnixTime) -> Result<Option<Level>, Refusal> {
        let Some(top) = self.levels.last() else { return Ok(None) };
        let mut refusal = None;
        for candidate in others.iter().filter(|other| other.fields.subject == top.fields.issuer) {
            match self.check_issuer(provider, candidate, time) {
                Ok(()) => return Ok(Some(candidate.clone())),
                // Several CAs can have the same name, and only one has signed.
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        refusal.map_or(Ok(None), Err)
    }

    fn check_issuer(&self, provider: &CryptoProvider, candidate: &Level, time: UnixTime) -> Result<(), Refusal> {
        if !candidate.fields.is_ca {
            return Err(Refusal::IssuerIsNoCa);
        }
        candidate.fields.check_validity(self.levels.len(), time)?;
        self.check(provider, &candidate.certificate, Some(time))
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

/// What a path needs of a certificate.
#[derive(Clone, Debug)]
struct Fields {
    subject: Name,
    issuer: Name,
    not_before: u64,
    not_after: u64,
    is_ca: bool,
    /// Whether it has the extended key usage cmcRA.
    is_registrar: bool,
    /// Whether it has a key usage without digitalSignature (RFC 5280, 4.2.1.3).
    is_signature_denied: bool,
    /// Whether it has a CRL distribution point or an OCSP responder, of whatever form of name.
    states_revocation: bool,
    revocation_urls: Vec<String>,
}

impl Fields {
    fn read(certificate: &[u8]) -> Result<Self, der::Error> {
        let certificate = Certificate::from_der(certificate)?;
        let fields = certificate.tbs_certificate();
        let seconds = |time: x509_cert::time::Time| time.to_unix_duration().as_secs();
        let usage = fields.get_extension::<KeyUsage>()?.map(|(_, usage)| usage);
        let purposes = fields.get_extension::<ExtendedKeyUsage>()?.map(|(_, purposes)| purposes.0).unwrap_or_default();
        let constraints = fields.get_extension::<BasicConstraints>()?;
        let is_cmc_ra = |purpose: &ObjectIdentifier| purpose.as_bytes() == KeyPurposeId::CMC_RA.der_contents();
        let points = fields.get_extension::<CrlDistributionPoints>()?;
        let has_points = points.is_some();
        let points = points.map(|(_, points)| points.0).unwrap_or_default();
        let crls = points.iter().filter_map(|point| match &point.distribution_point {
            Some(DistributionPointName::FullName(names)) => Some(names),
            _ => None,
        });
        let access = fields.get_extension::<AuthorityInfoAccessSyntax>()?;
        let access = access.map(|(_, access)| access.0).unwrap_or_default();
        let mut responders = access.iter().filter(|access| access.access_method == ID_AD_OCSP).peekable();
        let states_revocation = has_points || responders.peek().is_some();
        let names = crls.flatten().chain(responders.map(|access| &access.access_location));
        let urls = names.filter_map(|name| match name {
            GeneralName::UniformResourceIdentifier(url) => Some(String::from(url.as_str())),
            _ => None,
        });
        Ok(Self {
            subject: fields.subject().clone(),
            issuer: fields.issuer().clone(),
            not_before: seconds(fields.validity().not_before),
            not_after: seconds(fields.validity().not_after),
            is_ca: constraints.is_some_and(|(_, constraints)| constraints.ca)
                && usage.is_none_or(|usage| usage.key_cert_sign()),
            is_registrar: purposes.iter().any(is_cmc_ra),
            is_signature_denied: usage.is_some_and(|usage| !usage.digital_signature()),
            states_revocation,
            revocation_urls: urls.take(MAX_URLS).collect(),
        })
    }

    fn check_validity(&self, depth: usize, time: UnixTime) -> Result<(), Refusal> {
        let at = |seconds| UnixTime::since_unix_epoch(core::time::Duration::from_secs(seconds));
        let error = match time.as_secs() {
            now if now < self.not_before => CertificateError::NotYetValid { depth, not_before: at(self.not_before) },
            now if now > self.not_after => CertificateError::Expired { depth, not_after: at(self.not_after) },
            _ => return Ok(()),
        };
        Err(Refusal::Registrar(error))
    }
}

/// The most certificates of a path. Each level is verified from the bottom, so that the work grows with the square.
const MAX_CERTIFICATES: usize = 7;

/// The most URLs of a certificate that are looked at.
const MAX_URLS: usize = 8;

/// id-ad-ocsp (RFC 5280, 4.2.2.1).
const ID_AD_OCSP: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.48.1");
