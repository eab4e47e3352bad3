//! Certificates and keys of the program: PEM (RFC 7468), or DER.

use alloc::vec::Vec;

use pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};
use webpki::EndEntityCert;
use zeroize::Zeroizing;

use crate::TerseError;
use crate::error::Failure;

/// The first byte of an ASN.1 SEQUENCE, and so of every certificate and key in DER. No PEM file begins with it: it is `0`.
const SEQUENCE: u8 = 0x30;

/// Reads certificates: all of a PEM text, or DER, one after the other. Returns at least one.
pub(crate) fn certificates(bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let certificates: Vec<_> = if is_der(bytes) {
        sequences(bytes).map(|der| der.map(|der| CertificateDer::from(der.to_vec()))).collect::<Result<_, _>>()?
    } else {
        let all = terse_pem::all(bytes, terse_pem::CERTIFICATE);
        let all = all.map(|der| der.map(|der| CertificateDer::from(der.to_vec()))).collect::<Result<_, _>>();
        all.map_err(|_| TerseError::MalformedPem)?
    };
    if certificates.is_empty() { Err(TerseError::MalformedPem.into()) } else { Ok(certificates) }
}

/// Reads a private key: PKCS #8, SEC 1 or PKCS #1, the first of a PEM text, or DER.
pub(crate) fn private_key(bytes: &[u8]) -> Result<Zeroizing<PrivateKeyDer<'static>>, Failure> {
    let decoded;
    let der = if is_der(bytes) {
        bytes
    } else {
        decoded = terse_pem::first(bytes, terse_pem::PRIVATE_KEY).map_err(|_| TerseError::MalformedPem)?;
        &decoded
    };
    let key = PrivateKeyDer::try_from(der).map_err(|_| terse_tls::crypto::KeyError::Malformed)?;
    Ok(Zeroizing::new(key.clone_key()))
}

/// Reads a public key, a SubjectPublicKeyInfo: the first of a PEM text, or DER.
pub(crate) fn public_key(bytes: &[u8]) -> Result<SubjectPublicKeyInfoDer<'static>, Failure> {
    if is_der(bytes) {
        return Ok(SubjectPublicKeyInfoDer::from(bytes.to_vec()));
    }
    let der = terse_pem::first(bytes, terse_pem::PUBLIC_KEY).map_err(|_| TerseError::MalformedPem)?;
    Ok(der.to_vec().into())
}

/// Returns the public key of the first certificate of a chain.
pub(crate) fn public_key_of(chain: &[CertificateDer<'_>]) -> Result<SubjectPublicKeyInfoDer<'static>, Failure> {
    let malformed = terse_tls::ApiMisuse::MalformedCertificate;
    let leaf = EndEntityCert::try_from(chain.first().ok_or(malformed)?).map_err(|_| malformed)?;
    Ok(leaf.subject_public_key_info().into_owned())
}

/// Whether `bytes` are DER. The first of them is also the digit 0, with which text before a PEM section can begin.
fn is_der(bytes: &[u8]) -> bool {
    bytes.first() == Some(&SEQUENCE) && terse_pem::sections(bytes).next().is_none()
}

/// Splits `bytes` into the SEQUENCEs that they begin one after the other.
fn sequences(mut bytes: &[u8]) -> impl Iterator<Item = Result<&[u8], Failure>> {
    core::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let Some((sequence, rest)) = sequence_len(bytes).and_then(|len| bytes.split_at_checked(len)) else {
            bytes = &[];
            return Some(Err(terse_tls::ApiMisuse::MalformedCertificate.into()));
        };
        bytes = rest;
        Some(Ok(sequence))
    })
}

/// Returns the length of the SEQUENCE that `bytes` begin with, with its header (X.690, 8.1.3).
fn sequence_len(bytes: &[u8]) -> Option<usize> {
    let (header, content) = match *bytes {
        [SEQUENCE, short @ 0..=0x7f, ..] => (2, usize::from(short)),
        [SEQUENCE, 0x81, len, ..] => (3, usize::from(len)),
        [SEQUENCE, 0x82, high, low, ..] => (4, usize::from(u16::from_be_bytes([high, low]))),
        _ => return None, // no certificate is as long
    };
    Some(header + content)
}
