//! Certificates of an exact length: a private extension without a meaning fills them up.
//!
//! What must always hold: a certificate has the wanted length to the byte, or there is an error.

use pki_types::CertificateDer;
use rcgen::{CertificateParams, CustomExtension};

use crate::Error;

/// Signs `params`; if a length is wanted, with a filling extension that gives the certificate this length in bytes.
///
/// The signature of an ECDSA key varies in length (RFC 3279, 2.2.3), so that a certificate may have to be signed more
/// than once.
pub(crate) fn exact(
    mut params: CertificateParams,
    length: Option<usize>,
    sign: impl Fn(&CertificateParams) -> Result<CertificateDer<'static>, Error>,
) -> Result<CertificateDer<'static>, Error> {
    let mut certificate = sign(&params)?;
    let Some(length) = length else { return Ok(certificate) };
    let others = params.custom_extensions.clone();
    for oid in OIDS {
        let mut filling: Option<usize> = None;
        for _ in 0..ATTEMPTS {
            if certificate.len() == length {
                return Ok(certificate);
            }
            let others_take = filling.map_or(certificate.len() + EMPTY, |filling| certificate.len() - filling);
            let len = length.checked_sub(others_take).ok_or(Error::InvalidLength(length))?;
            params.custom_extensions = others.clone();
            params.custom_extensions.push(CustomExtension::from_oid_content(&oid, octets(len)));
            certificate = sign(&params)?;
            filling = Some(len);
        }
        params.custom_extensions = others.clone();
        certificate = sign(&params)?;
    }
    Err(Error::InvalidLength(length))
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

/// Object identifiers of the extension, below the enterprise number for examples (RFC 5612). Where the headers of DER grow with
/// what is in them, a certificate with the first one skips a length, which it can have with the second, a byte longer.
const OIDS: [[u64; 8]; 2] = [[1, 3, 6, 1, 4, 1, 32473, 1], [1, 3, 6, 1, 4, 1, 32473, 128]];

/// The length of the extension when it holds an OCTET STRING of no bytes.
const EMPTY: usize = 17;

/// The most signatures for one certificate and identifier. Every second ECDSA signature has the most frequent length.
const ATTEMPTS: usize = 40;

#[cfg(test)]
mod tests;
