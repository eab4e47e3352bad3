//! Certificates of an exact length: a private extension without a meaning fills them up.
//!
//! What must always hold: a certificate has the wanted length to the byte, or there is an error.

use pki_types::CertificateDer;
use rcgen::{CertificateParams, CustomExtension, SerialNumber};

use crate::Error;

/// Signs `params`; if a length is wanted, with a filling extension that gives the certificate this length in bytes.
///
/// The signature of an ECDSA key varies in length (RFC 3279, 2.2.3), so that a certificate may have to be signed more
/// than once. Where a header of DER grows with the filling, one length is skipped: a certificate has it with a serial number
/// that is a byte or two shorter.
pub(crate) fn exact(
    mut params: CertificateParams,
    length: Option<usize>,
    sign: impl Fn(&CertificateParams) -> Result<CertificateDer<'static>, Error>,
) -> Result<CertificateDer<'static>, Error> {
    let Some(length) = length else { return sign(&params) };
    let serial = params.serial_number.as_ref().map(SerialNumber::to_bytes).unwrap_or_default();
    for shorter in 0..=SHORTER {
        if shorter > 0 {
            // RFC 5280, 4.1.2.2: what is left of a random number must still be unique.
            let left = serial.len().checked_sub(shorter).filter(|left| *left >= LEAST_SERIAL);
            let Some(serial) = left.and_then(|left| serial.get(..left)) else { break };
            params.serial_number = Some(serial.to_vec().into());
        }
        if let Some(certificate) = filled(params.clone(), length, &sign)? {
            return Ok(certificate);
        }
    }
    Err(Error::InvalidLength(length))
}

/// Returns a certificate of this length, or `None` if this serial number does not lead to one.
fn filled(
    mut params: CertificateParams,
    length: usize,
    sign: impl Fn(&CertificateParams) -> Result<CertificateDer<'static>, Error>,
) -> Result<Option<CertificateDer<'static>>, Error> {
    let others = params.custom_extensions.clone();
    let mut certificate = sign(&params)?;
    let mut filling: Option<usize> = None;
    for _ in 0..ATTEMPTS {
        if certificate.len() == length {
            return Ok(Some(certificate));
        }
        let others_take = filling.map_or(certificate.len() + EMPTY, |filling| certificate.len() - filling);
        let Some(len) = length.checked_sub(others_take) else { return Ok(None) };
        params.custom_extensions = others.clone();
        params.custom_extensions.push(CustomExtension::from_oid_content(&OID, octets(len)));
        certificate = sign(&params)?;
        filling = Some(len);
    }
    Ok(None)
}

/// Returns the DER of an OCTET STRING of zeros: what an extension holds must be DER itself (RFC 5280, 4.2).
fn octets(len: usize) -> Vec<u8> {
    let mut der = vec![0x04];
    match len {
        0..=0x7f => der.push(len as u8),
        0x80..=0xff => der.extend([0x81, len as u8]),
        _ => der.extend([0x82, (len >> 8) as u8, len as u8]),
    }
    der.resize(der.len() + len, 0);
    der
}

/// The object identifier of the extension, below the enterprise number for examples (RFC 5612).
const OID: [u64; 8] = [1, 3, 6, 1, 4, 1, 32_473, 1];

/// The length of the extension when it holds an OCTET STRING of no bytes.
const EMPTY: usize = 17;

/// The most signatures for one certificate and serial number. Every second ECDSA signature has the most frequent length.
const ATTEMPTS: usize = 40;

/// By how many bytes a serial number may be shorter: as many headers can grow at once.
const SHORTER: usize = 3;

/// The length in bytes of the shortest serial number that is shortened.
const LEAST_SERIAL: usize = 12;

#[cfg(test)]
mod tests;
