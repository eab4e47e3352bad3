//! The CA itself has a root, any number of intermediates, and signs certificates (RFC 5280, 4).
//!
//! What must always hold: `levels` is not empty, starts with the root, and each certificate is signed by the level before.

use core::fmt;
use std::sync::Arc;

use pki_types::CertificateDer;
use rcgen::{
    CertificateParams, CustomExtension, DnType, Issuer, KeyPair, KeyUsagePurpose, PublicKeyData, SerialNumber,
};
use time::OffsetDateTime;
use x509_parser::certificate::X509Certificate;
use zeroize::Zeroizing;

use crate::key::{LevelKey, Signer};
use crate::level::Level;
use crate::name::is_unprintable;
use crate::{Chain, Credential, Error, ExternalKey, KeyAlgorithm, LeafOptions, Subject};
use crate::{der, identifier, length, to_pem};

/// The first and the last second of validity, in UNIX seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first second of validity.
    pub not_before: u64,
    /// The last second of validity.
    pub not_after: u64,
}

impl Validity {
    /// Returns a validity of `days` days after `from`, in UNIX seconds.
    pub fn days(from: u64, days: u32) -> Self {
        Self { not_before: from, not_after: from.saturating_add(u64::from(days) * 86_400) }
    }

    /// Returns a validity from `from`, in UNIX seconds, to 99991231235959Z, which means that no end is known (RFC 5280,
    /// 4.1.2.5).
    pub fn without_end(from: u64) -> Self {
        Self { not_before: from, not_after: 253_402_300_799 }
    }

    pub(crate) fn dates(self) -> Result<(OffsetDateTime, OffsetDateTime), Error> {
        match self.not_before < self.not_after {
            true => Ok((date(self.not_before)?, date(self.not_after)?)),
            false => Err(Error::InvalidValidity),
        }
    }
}

/// Converts UNIX seconds to a date, whose year must have four digits (RFC 5280, 4.1.2.5).
pub(crate) fn date(unix: u64) -> Result<OffsetDateTime, Error> {
    let seconds = i64::try_from(unix).map_err(|_| Error::InvalidValidity)?;
    match OffsetDateTime::from_unix_timestamp(seconds) {
        Ok(date) if date.year() <= 9999 => Ok(date),
        _ => Err(Error::InvalidValidity),
    }
}

/// The options of a new [`Authority`].
#[derive(Clone, Debug)]
pub struct AuthorityOptions {
    /// The key algorithm, and the number of certificates from leaf to root.
    pub chain: Chain,
    /// The common name of the root; intermediates append their number. Short names make short certificates.
    pub name: String,
    /// The validity of every CA certificate.
    pub validity: Validity,
    /// The exact length of every CA certificate in bytes of DER; by default each is as short as it can be.
    pub length: Option<usize>,
    /// Whether CA certificates carry key identifiers, and with them all that this CA issues, as RFC 5280 requires (4.2.1.1
    /// and 4.2.1.2). By default they leave them out, which saves some 64 bytes a certificate.
    pub key_identifiers: bool,
}

impl AuthorityOptions {
    /// Returns the options of a CA named "Terse CA".
    pub fn new(chain: Chain, validity: Validity) -> Self {
        Self { chain, name: "Terse CA".into(), validity, length: None, key_identifiers: false }
    }
}

/// A CA: a root and any intermediates, each with its private key, unless that is kept elsewhere until it is needed.
pub struct Authority {
    levels: Vec<Level>,
}

impl Authority {
    /// Makes new keys and certificates.
    pub fn new(options: &AuthorityOptions) -> Result<Self, Error> {
        let name = options.name.trim();
        // RFC 5280, A.1: ub-common-name is 64; intermediates append to the name.
        if name.is_empty() || name.chars().count() > 60 || name.chars().any(is_unprintable) {
            return Err(Error::InvalidName(options.name.clone()));
        }
        let mut levels: Vec<Level> = Vec::new();
        for number in 0..options.chain.certificates() - 1 {
            let key = options.chain.algorithm().generate()?;
            let mut params = match number {
                0 => ca_params(name.into(), options.validity)?,
                _ => ca_params(format!("{name} {number}"), options.validity)?,
            };
            if options.key_identifiers {
                let own = identifier::subject_key_identifier(&identifier::of_key(key.der_bytes()));
                params.custom_extensions.push(own);
                // RFC 5280, 4.2.1.1: the root may leave out the second, since it would be the first again.
                if let Some(parent) = levels.last() {
                    params.custom_extensions.push(identifier::authority_key_identifier(&parent.key_identifier()?));
                }
            }
            let certificate = length::exact(params, options.length, |params| match levels.last() {
                None => Ok(params.self_signed(&*key)?.into()),
                Some(parent) => parent.sign(number - 1, |issuer| Ok(params.signed_by(&*key, issuer)?.into())),
            })?;
            levels.push(Level { certificate, key: Some(LevelKey::Software(key)) });
        }
        Ok(Self { levels })
    }

    /// Creates a CA from its levels, root first, and checks that each signed the next.
    pub(crate) fn from_levels(levels: Vec<Level>) -> Result<Self, Error> {
        let mut parent: Option<X509Certificate<'_>> = None;
        for level in &levels {
            let certificate = parse(&level.certificate)?;
            if level.key.as_ref().is_some_and(|key| key.subject_public_key_info() != certificate.public_key().raw) {
                return Err(Error::KeyMismatch);
            }
            if !is_issued_by(&certificate, parent.as_ref().unwrap_or(&certificate)) {
                return Err(Error::ForeignIssuer);
            }
            parent = Some(certificate);
        }
        Ok(Self { levels })
    }

    /// Has a key that is elsewhere sign for a CA certificate, whose number is counted from 0, the root.
    pub fn with_external_key(mut self, issuer: usize, key: Arc<dyn ExternalKey>) -> Result<Self, Error> {
        let level = self.levels.get_mut(issuer).ok_or(Error::ForeignIssuer)?;
        level.key = Some(LevelKey::External(key));
        Self::from_levels(self.levels)
    }

    /// Whether the private key of a CA certificate is here, whose number is counted from 0, the root.
    pub fn has_key(&self, issuer: usize) -> bool {
        self.levels.get(issuer).is_some_and(|level| level.key.is_some())
    }

    /// Whether the key of the issuing CA is elsewhere, so that each certificate waits for it.
    pub fn signs_elsewhere(&self) -> bool {
        matches!(self.last().key, Some(LevelKey::External(_)))
    }

    /// Calls `sign` with a CA as the issuer, whose number is counted from 0, the root.
    pub(crate) fn by_level<T>(
        &self,
        number: usize,
        sign: impl FnOnce(&Issuer<'static, Signer<'_>>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.levels.get(number).ok_or(Error::ForeignIssuer)?.sign(number, sign)
    }

    /// Issues a certificate for a new key.
    pub fn issue(&self, options: &LeafOptions) -> Result<Credential, Error> {
        self.issue_by(options.algorithm, options.template()?)
    }

    /// Issues another certificate for the key of `credential`; the algorithm in `options` does not count.
    pub fn renew(&self, credential: &Credential, options: &LeafOptions) -> Result<Credential, Error> {
        let key = Zeroizing::new(KeyPair::try_from(credential.key())?);
        Ok(Credential::new(self.certify(&*key, options.template()?)?, &key))
    }

    /// Issues a certificate of any profile for a new key; the algorithm is by default that of the CA.
    pub(crate) fn issue_by(&self, algorithm: Option<KeyAlgorithm>, template: Template) -> Result<Credential, Error> {
        let key = algorithm.or(self.algorithm()).unwrap_or(KeyAlgorithm::P256).generate()?;
        Ok(Credential::new(self.certify(&*key, template)?, &key))
    }

    /// Signs a certificate of any profile for a key, and returns it before the intermediates.
    pub(crate) fn certify(
        &self,
        key: &impl PublicKeyData,
        template: Template,
    ) -> Result<Vec<CertificateDer<'static>>, Error> {
        let Template { mut params, subject, length, names_its_key, always_names_issuer_key } = template;
        if names_its_key {
            params.custom_extensions.push(identifier::subject_key_identifier(&identifier::of_key(key.der_bytes())));
        }
        let level = self.last();
        if always_names_issuer_key || self.has_key_identifiers()? {
            params.custom_extensions.push(identifier::authority_key_identifier(&level.key_identifier()?));
        }
        let leaf = self.by_level(self.levels.len() - 1, |issuer| {
            let leaf = length::exact(params, length, |params| Ok(params.signed_by(key, issuer)?.into()))?;
            match subject {
                Some(subject) => Ok(der::with_element(&leaf, SUBJECT, subject.der(), issuer.key())?.into()),
                None => Ok(leaf),
            }
        })?;
        let intermediates = self.levels.iter().skip(1).rev().map(|level| level.certificate.clone());
        Ok(core::iter::once(leaf).chain(intermediates).collect())
    }

    /// Whether the issuing CA's certificate carries a subject key identifier; what it issues then names it.
    pub fn has_key_identifiers(&self) -> Result<bool, Error> {
        Ok(self.last().subject_key_identifier()?.is_some())
    }

    /// Returns the root certificate, which peers must trust.
    pub fn root(&self) -> &CertificateDer<'static> {
        &self.levels[0].certificate // never empty
    }

    /// Returns the root certificate as PEM.
    pub fn root_pem(&self) -> String {
        to_pem("CERTIFICATE", self.root())
    }

    /// Returns every CA certificate, root first; the position of one is its issuer number for [`Authority::crl`].
    pub fn certificates(&self) -> impl ExactSizeIterator<Item = &CertificateDer<'static>> + DoubleEndedIterator {
        self.levels.iter().map(|level| &level.certificate)
    }

    /// Returns the key algorithm of the issuing CA, which is the default for leaves.
    pub fn algorithm(&self) -> Option<KeyAlgorithm> {
        self.last().algorithm().ok().flatten()
    }

    /// Returns the last second, in UNIX time, at which every CA certificate is still valid.
    pub fn not_after(&self) -> Result<u64, Error> {
        let ends = self.certificates().map(|der| Ok(parse(der)?.validity().not_after.timestamp()));
        let first = ends.collect::<Result<Vec<_>, Error>>()?.into_iter().min();
        Ok(first.and_then(|end| u64::try_from(end).ok()).unwrap_or(0))
    }

    pub(crate) fn levels(&self) -> &[Level] {
        &self.levels
    }

    fn last(&self) -> &Level {
        &self.levels[self.levels.len() - 1] // never empty
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("levels", &self.levels.len()).finish_non_exhaustive()
    }
}

/// What a profile decides about an end entity's certificate; the CA adds what depends on the keys.
pub(crate) struct Template {
    pub(crate) params: CertificateParams,
    /// The subject, where `params` cannot express it; it replaces the one of `params`, which must not be empty.
    pub(crate) subject: Option<Subject>,
    /// The exact length of the certificate; it cannot be had with a `subject` of another length.
    pub(crate) length: Option<usize>,
    /// Whether the certificate carries a subject key identifier.
    pub(crate) names_its_key: bool,
    /// Whether the certificate carries an authority key identifier also if the CA has no subject key identifier.
    pub(crate) always_names_issuer_key: bool,
}

impl Template {
    pub(crate) fn new(params: CertificateParams) -> Self {
        Self { params, subject: None, length: None, names_its_key: false, always_names_issuer_key: false }
    }
}

/// Returns the parameters that CA certificates and leaves have in common.
pub(crate) fn params(
    common_name: Option<String>,
    validity: Validity,
    serial: Option<u64>,
) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    if let Some(name) = common_name {
        params.distinguished_name.push(DnType::CommonName, name);
    }
    (params.not_before, params.not_after) = validity.dates()?;
    params.serial_number = Some(match serial {
        Some(number) => SerialNumber::from(number),
        None => random_serial()?,
    });
    Ok(params)
}

fn ca_params(name: String, validity: Validity) -> Result<CertificateParams, Error> {
    let mut params = params(Some(name), validity, None)?;
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    // The BasicConstraints { cA TRUE } are encoded by hand: rcgen's `IsCa` would add a subject key identifier.
    let mut constraints = CustomExtension::from_oid_content(&[2, 5, 29, 19], vec![0x30, 3, 1, 1, 0xff]);
    constraints.set_criticality(true);
    params.custom_extensions = vec![constraints];
    Ok(params)
}

/// Returns a serial number, which must be positive and unique for the issuer (RFC 5280, 4.1.2.2). It always has sixteen
/// bytes, so that sizes do not vary. 126 bits of it are random, so that no two certificates share one without a record
/// of them.
fn random_serial() -> Result<SerialNumber, Error> {
    let mut serial = [0; 16];
    aws_lc_rs::rand::fill(&mut serial)?;
    serial[0] = serial[0] & 0x7f | 0x40;
    Ok(serial.to_vec().into())
}

pub(crate) fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, Error> {
    match x509_parser::parse_x509_certificate(certificate) {
        Ok(([], certificate)) => Ok(certificate),
        _ => Err(Error::Malformed("the certificate")),
    }
}

/// Whether the issuer's name and signature are right: two CAs may have the same name.
pub(crate) fn is_issued_by(certificate: &X509Certificate<'_>, issuer: &X509Certificate<'_>) -> bool {
    certificate.issuer() == issuer.subject() && certificate.verify_signature(Some(issuer.public_key())).is_ok()
}

/// The position of the subject in a TBSCertificate of version 3 (RFC 5280, 4.1).
const SUBJECT: usize = 5;

#[cfg(test)]
pub(crate) mod tests;
