//! What a path needs of a certificate (RFC 5280, 4.1 and 4.2).

use alloc::string::String;
use alloc::vec::Vec;

use der::Decode;
use der::asn1::ObjectIdentifier;
use pki_types::UnixTime;
use terse_tls::{CertificateError, Date, KeyPurposeId};
use x509_cert::Certificate;
use x509_cert::ext::pkix::name::{DistributionPointName, GeneralName};
use x509_cert::ext::pkix::{
    AuthorityInfoAccessSyntax, BasicConstraints, CrlDistributionPoints, ExtendedKeyUsage, KeyUsage,
};
use x509_cert::name::Name;

use crate::masa::Refusal;

/// What a path needs of a certificate.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    pub(super) subject: Name,
    pub(super) issuer: Name,
    pub(super) not_before: u64,
    pub(super) not_after: u64,
    pub(super) is_ca: bool,
    /// Whether it has the extended key usage cmcRA.
    pub(super) is_registrar: bool,
    /// Whether it has a key usage without digitalSignature (RFC 5280, 4.2.1.3).
    pub(super) is_signature_denied: bool,
    /// Whether it has a CRL distribution point or an OCSP responder, of whatever form of name.
    pub(super) states_revocation: bool,
    pub(super) revocation_urls: Vec<String>,
}

impl Fields {
    pub(super) fn read(certificate: &[u8]) -> Result<Self, der::Error> {
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

    pub(super) fn check_validity(&self, depth: usize, time: UnixTime) -> Result<(), Refusal> {
        let at = |seconds| Date::of(UnixTime::since_unix_epoch(core::time::Duration::from_secs(seconds)));
        let depth = u8::try_from(depth).unwrap_or(u8::MAX);
        let error = match time.as_secs() {
            now if now < self.not_before => CertificateError::NotYetValid { depth, not_before: at(self.not_before) },
            now if now > self.not_after => CertificateError::Expired { depth, not_after: at(self.not_after) },
            _ => return Ok(()),
        };
        Err(Refusal::Registrar(error))
    }
}

/// The most URLs of a certificate that are looked at.
const MAX_URLS: usize = 8;

/// id-ad-ocsp (RFC 5280, 4.2.2.1).
const ID_AD_OCSP: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.48.1");
