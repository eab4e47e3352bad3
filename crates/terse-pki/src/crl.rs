//! There is a certificate revocation list (RFC 5280, 5) for each CA of the chain, signed by that CA.

use pki_types::{CertificateDer, CertificateRevocationListDer};
use rcgen::{CertificateRevocationListParams, KeyIdMethod, RevokedCertParams};
use x509_parser::certificate::X509Certificate;

use crate::authority::{self, date, parse};
use crate::{Authority, Error, RevocationReason, Validity};

/// One revoked certificate, as a CRL lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revocation {
    serial: Vec<u8>,
    time: u64,
    reason: Option<RevocationReason>,
}

impl Revocation {
    /// Revokes a certificate at a point in time, in UNIX seconds.
    pub fn new(certificate: &CertificateDer<'_>, time: u64) -> Result<Self, Error> {
        Ok(Self { serial: parse(certificate)?.raw_serial().to_vec(), time, reason: None })
    }

    /// Revokes the certificate with this serialNumber, the contents of a DER INTEGER.
    pub fn of_serial_number(serial_number: &[u8], time: u64) -> Self {
        Self { serial: serial_number.to_vec(), time, reason: None }
    }

    /// Gives the reason.
    #[must_use]
    pub fn with_reason(self, reason: Option<RevocationReason>) -> Self {
        Self { reason, ..self }
    }

    /// Returns the serialNumber of the certificate, the contents of a DER INTEGER.
    pub fn serial_number(&self) -> &[u8] {
        &self.serial
    }

    /// Returns the reason, if there is one.
    pub const fn reason(&self) -> Option<RevocationReason> {
        self.reason
    }

    /// Returns when the certificate was revoked, in UNIX seconds.
    pub const fn time(&self) -> u64 {
        self.time
    }

    /// Whether both have the same serial number, and so name the same certificate of one issuer.
    pub fn same_certificate(&self, other: &Self) -> bool {
        self.serial == other.serial
    }
}

impl Authority {
    /// Signs the CRL of a CA, whose number is counted from 0, the root. The CRL number is the time of issue, and so
    /// increases.
    pub fn crl(
        &self,
        issuer: usize,
        revoked: &[Revocation],
        validity: Validity,
    ) -> Result<CertificateRevocationListDer<'static>, Error> {
        self.numbered_crl(issuer, revoked, validity, validity.not_before)
    }

    /// Signs the CRL of a CA, whose number is counted from 0, the root. The CRL number must be greater than that of every
    /// earlier CRL of this CA (RFC 5280, 5.2.3).
    pub fn numbered_crl(
        &self,
        issuer: usize,
        revoked: &[Revocation],
        validity: Validity,
        crl_number: u64,
    ) -> Result<CertificateRevocationListDer<'static>, Error> {
        let level = self.levels().get(issuer).ok_or(Error::ForeignIssuer)?;
        let (this_update, next_update) = validity.dates()?;
        let revoked_certs = revoked.iter().map(|revocation| {
            Ok(RevokedCertParams {
                serial_number: revocation.serial.clone().into(),
                revocation_time: date(revocation.time)?,
                reason_code: revocation.reason.map(RevocationReason::encoded),
                invalidity_date: None,
            })
        });
        let params = CertificateRevocationListParams {
            this_update,
            next_update,
            crl_number: crl_number.into(),
            issuing_distribution_point: None,
            revoked_certs: revoked_certs.collect::<Result<_, Error>>()?,
            key_identifier_method: KeyIdMethod::PreSpecified(level.key_identifier()?),
        };
        self.by_level(issuer, |issuer| Ok(params.signed_by(issuer)?.into()))
    }

    /// Returns the number of the CA that issued a certificate; the root is its own issuer.
    pub fn issuer_of(&self, certificate: &CertificateDer<'_>) -> Result<usize, Error> {
        let certificate = parse(certificate)?;
        self.find(|ca| authority::is_issued_by(&certificate, ca))
    }

    /// Returns the number of the CA that issued a CRL, and the revocations in it.
    pub fn read_crl(&self, crl: &CertificateRevocationListDer<'_>) -> Result<(usize, Vec<Revocation>), Error> {
        let (_, list) = x509_parser::parse_x509_crl(crl).map_err(|_| Error::Malformed("the CRL"))?;
        let issuer = self.find(|ca| list.issuer() == ca.subject() && list.verify_signature(ca.public_key()).is_ok())?;
        let revoked = list.iter_revoked_certificates().map(|entry| Revocation {
            serial: entry.raw_serial().to_vec(),
            time: u64::try_from(entry.revocation_date.timestamp()).unwrap_or(0),
            reason: entry.reason_code().and_then(|(_, code)| RevocationReason::from_code(code.0)),
        });
        Ok((issuer, revoked.collect()))
    }

    fn find(&self, is_issuer: impl Fn(&X509Certificate<'_>) -> bool) -> Result<usize, Error> {
        for (number, certificate) in self.certificates().enumerate() {
            if is_issuer(&parse(certificate)?) {
                return Ok(number);
            }
        }
        Err(Error::ForeignIssuer)
    }
}

/// Whether a certificate is signed by a CA with this certificate.
pub fn is_issued_by(certificate: &CertificateDer<'_>, issuer: &CertificateDer<'_>) -> Result<bool, Error> {
    Ok(authority::is_issued_by(&parse(certificate)?, &parse(issuer)?))
}

#[cfg(test)]
mod tests;
