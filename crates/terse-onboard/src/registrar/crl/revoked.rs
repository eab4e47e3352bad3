//! The serial numbers in CRLs by the names of their issuers, without any path.
//!
//! What must always hold: a certificate that was issued here once is found in a CRL of the file also when no path leads to
//! its CA any more, when the CRL is late, and whatever the clocks of CA and registrar say.

use alloc::collections::{BTreeMap, BTreeSet};

use pki_types::CertificateRevocationListDer;
use x509_cert::Certificate;
use x509_cert::crl::CertificateList;
use x509_cert::der::{self, Decode as _, Encode as _};

/// The certificates that are revoked: the serial numbers by issuer, each the DER of a Name.
#[derive(Default)]
pub(super) struct Revoked {
    by_issuer: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
}

impl Revoked {
    /// Reads CRLs, which come from the operator's file, or are the registrar's own.
    pub(super) fn read<'a>(
        crls: impl Iterator<Item = &'a CertificateRevocationListDer<'static>>,
    ) -> Result<Self, der::Error> {
        let mut revoked = Self::default();
        for crl in crls {
            let list = <CertificateList>::from_der(crl)?.tbs_cert_list;
            let serial_numbers = list.revoked_certificates.into_iter().flatten();
            let serial_numbers = serial_numbers.map(|one| one.serial_number.as_bytes().to_vec());
            revoked.by_issuer.entry(list.issuer.to_der()?).or_default().extend(serial_numbers);
        }
        Ok(revoked)
    }

    /// Whether a certificate is among them. One that cannot be read is.
    pub(super) fn contains(&self, certificate: &[u8]) -> bool {
        let Ok(certificate) = Certificate::from_der(certificate) else { return true };
        let certificate = certificate.tbs_certificate();
        let Ok(issuer) = certificate.issuer().to_der() else { return true };
        let serial_numbers = self.by_issuer.get(&issuer);
        serial_numbers.is_some_and(|numbers| numbers.contains(certificate.serial_number().as_bytes()))
    }
}

/// Returns the issuer of a CRL, the DER of a Name.
pub(super) fn issuer(crl: &CertificateRevocationListDer<'_>) -> Result<Vec<u8>, der::Error> {
    <CertificateList>::from_der(crl)?.tbs_cert_list.issuer.to_der()
}
