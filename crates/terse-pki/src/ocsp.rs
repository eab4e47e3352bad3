//! OCSP responses (RFC 6960, 4.2) are about certificates of this CA, signed by the CA that issued them or by a
//! responder that it certified. The DER is encoded by hand: it has a dozen elements.

use pki_types::CertificateDer;
use rcgen::KeyPair;

use crate::authority::{date, parse};
use crate::der::{ENUMERATED, GENERALIZED_TIME, INTEGER, NULL, OCTET_STRING, SEQUENCE, sign, tlv};
use crate::{Authority, Credential, Error, identifier};

/// The status of a certificate in a response (RFC 6960, 2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OcspStatus {
    /// The certificate is not revoked.
    #[default]
    Good,
    /// The certificate was revoked at this time, in UNIX seconds.
    Revoked(u64),
    /// The responder does not know the certificate.
    Unknown,
}

/// The hash by which a response names the issuer (RFC 6960, 4.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OcspHash {
    /// SHA-1, which most responders use; it protects nothing here.
    #[default]
    Sha1,
    /// SHA-256.
    Sha256,
}

/// The options of a response.
#[derive(Clone, Copy, Debug)]
pub struct OcspOptions<'a> {
    /// The status of the certificate.
    pub status: OcspStatus,
    /// The time from which on the response is valid, in UNIX seconds.
    pub this_update: u64,
    /// The time when a newer response is due, in UNIX seconds.
    pub next_update: Option<u64>,
    /// The hash of the issuer's name and key.
    pub hash: OcspHash,
    /// Whether the responder is named by its key rather than by its name.
    pub by_key: bool,
    /// The responder, a credential with [`crate::Usage::OcspSigning`]; by default the CA itself signs.
    pub responder: Option<&'a Credential>,
}

impl OcspOptions<'_> {
    /// Returns the options of a good response for some days, signed by the CA.
    pub fn good(this_update: u64, days: u32) -> Self {
        Self {
            status: OcspStatus::Good,
            this_update,
            next_update: Some(this_update.saturating_add(u64::from(days) * 86_400)),
            hash: OcspHash::Sha1,
            by_key: false,
            responder: None,
        }
    }
}

impl Authority {
    /// Returns an `OCSPResponse` about `certificate`, in DER.
    pub fn ocsp_response(&self, certificate: &CertificateDer<'_>, options: &OcspOptions<'_>) -> Result<Vec<u8>, Error> {
        let number = self.issuer_of(certificate)?;
        let issuer = &self.levels()[number];
        let (issuer_certificate, certificate) = (parse(&issuer.certificate)?, parse(certificate)?);
        let (id, hash) = match options.hash {
            OcspHash::Sha1 => (ID_SHA1, &aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY),
            OcspHash::Sha256 => (ID_SHA256, &aws_lc_rs::digest::SHA256),
        };
        let digest = |data: &[u8]| tlv(OCTET_STRING, &[aws_lc_rs::digest::digest(hash, data).as_ref()]);
        let issuer_key = &issuer_certificate.public_key().subject_public_key.data;
        let cert_id = tlv(
            SEQUENCE,
            &[
                &tlv(SEQUENCE, &[id, NULL]),
                &digest(certificate.issuer().as_raw()),
                &digest(issuer_key),
                &tlv(INTEGER, &[certificate.raw_serial()]),
            ],
        );
        let status = match options.status {
            OcspStatus::Good => tlv(0x80, &[]),
            OcspStatus::Revoked(time) => tlv(0xa1, &[&generalized_time(time)?]),
            OcspStatus::Unknown => tlv(0x82, &[]),
        };
        let this_update = generalized_time(options.this_update)?;
        let next_update = match options.next_update {
            Some(time) => tlv(0xa0, &[&generalized_time(time)?]),
            None => Vec::new(),
        };
        let single = tlv(SEQUENCE, &[&cert_id, &status, &this_update, &next_update]);
        let signer = match options.responder {
            Some(responder) => parse(responder.leaf())?,
            None => issuer_certificate,
        };
        let signer_key = &signer.public_key().subject_public_key.data;
        let responder_id = match options.by_key {
            true => tlv(0xa2, &[&tlv(OCTET_STRING, &[&identifier::of_key(signer_key)])]),
            false => tlv(0xa1, &[signer.subject().as_raw()]),
        };
        let signed = tlv(SEQUENCE, &[&responder_id, &this_update, &tlv(SEQUENCE, &[&single])]);
        let (signature, certs) = match options.responder {
            Some(responder) => {
                let certs = tlv(0xa0, &[&tlv(SEQUENCE, &[responder.leaf()])]);
                (sign(&KeyPair::try_from(responder.key())?, &signed)?, certs)
            }
            None => (self.by_level(number, |issuer| sign(issuer.key(), &signed))?, Vec::new()),
        };
        let basic = tlv(OCTET_STRING, &[&tlv(SEQUENCE, &[&signed, &signature, &certs])]);
        let bytes = tlv(0xa0, &[&tlv(SEQUENCE, &[ID_PKIX_OCSP_BASIC, &basic])]);
        Ok(tlv(SEQUENCE, &[&tlv(ENUMERATED, &[&[SUCCESSFUL]]), &bytes]))
    }
}

fn generalized_time(unix: u64) -> Result<Vec<u8>, Error> {
    let time = date(unix)?;
    let (hour, minute, second) = time.to_hms();
    let (year, month, day) = (time.year(), u8::from(time.month()), time.day());
    let text = format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}Z");
    Ok(tlv(GENERALIZED_TIME, &[text.as_bytes()]))
}

/// The OCSPResponseStatus `successful`.
const SUCCESSFUL: u8 = 0;
/// The OID 1.3.6.1.5.5.7.48.1.1 (RFC 6960, 4.2.1).
const ID_PKIX_OCSP_BASIC: &[u8] = &[6, 9, 0x2b, 6, 1, 5, 5, 7, 0x30, 1, 1];
/// The OID 1.3.14.3.2.26.
const ID_SHA1: &[u8] = &[6, 5, 0x2b, 0x0e, 3, 2, 0x1a];
/// The OID 2.16.840.1.101.3.4.2.1.
const ID_SHA256: &[u8] = &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];

#[cfg(test)]
mod tests;
