//! The fields of a certificate (RFC 5280, 4.1) that `rustls-webpki` does not expose, and that validation without it reads:
//! serialNumber, signature, issuer, validity, the whole subjectPublicKeyInfo, subjectAltName, keyUsage, extKeyUsage, whether
//! there are cRLDistributionPoints, and the two parts of a SubjectPublicKeyInfo; and the issuer, dates, number, scope and
//! signature of a CRL. The fields are parsed in place.

use pki_types::alg_id::RSA_ENCRYPTION;
use x509_cert::der::{DateTime, Decode as _, Header, Reader as _, SliceReader};

use crate::error::CertificateError;

/// id-ce-keyUsage, 2.5.29.15 (RFC 5280, 4.2.1.3).
pub(super) const KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];

/// id-ce-subjectAltName, 2.5.29.17 (RFC 5280, 4.2.1.6).
pub(super) const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];

/// id-ce-cRLNumber, 2.5.29.20 (RFC 5280, 5.2.3).
const CRL_NUMBER: &[u8] = &[0x55, 0x1d, 20];

/// id-ce-issuingDistributionPoint, 2.5.29.28 (RFC 5280, 5.2.5).
const ISSUING_DISTRIBUTION_POINT: &[u8] = &[0x55, 0x1d, 28];

/// id-ce-cRLDistributionPoints, 2.5.29.31 (RFC 5280, 4.2.1.13).
pub(super) const CRL_DISTRIBUTION_POINTS: &[u8] = &[0x55, 0x1d, 31];

/// id-ce-extKeyUsage, 2.5.29.37 (RFC 5280, 4.2.1.12).
pub(super) const EXT_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];

pub(super) const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const CONTEXT_0: u8 = 0xa0;
pub(super) const CONTEXT_3: u8 = 0xa3;

/// The fields that are read from a certificate.
#[derive(Default)]
pub(super) struct Fields<'a> {
    /// The contents of a DER INTEGER.
    pub(super) serial_number: &'a [u8],
    /// The contents of the AlgorithmIdentifier, as `pki-types` compares them.
    pub(super) signature_algorithm: &'a [u8],
    /// A DER `Name`.
    pub(super) issuer: &'a [u8],
    /// A DER `Name`.
    pub(super) subject: &'a [u8],
    /// A DER SubjectPublicKeyInfo.
    pub(super) public_key: &'a [u8],
    /// Seconds since 1970.
    pub(super) not_before: u64,
    /// Seconds since 1970.
    pub(super) not_after: u64,
    /// The value of the extension, DER; empty if there is none.
    pub(super) subject_alt_name: &'a [u8],
    /// The key usage; `None` if there is no such extension, so that any usage is allowed.
    pub(super) key_usage: Option<KeyUsage>,
    /// The value of the extension, DER; empty if there is none.
    pub(super) extended_key_usage: &'a [u8],
    /// Whether it says where CRLs are (RFC 5280, 4.2.1.13).
    pub(super) has_distribution_points: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn read(certificate: &'a [u8]) -> Result<Self, CertificateError> {
        let certificate = sequence(certificate)?;
        let tbs_certificate = sequence(tlv(&mut reader(certificate)?)?)?;
        let mut tbs = reader(tbs_certificate)?;
        let mut serial_number = tlv(&mut tbs)?;
        if serial_number.first() == Some(&CONTEXT_0) {
            serial_number = tlv(&mut tbs)?; // this was the version
        }
        let signature_algorithm = sequence(tlv(&mut tbs)?)?;
        let issuer = tlv(&mut tbs)?;
        let (not_before, not_after) = validity(tlv(&mut tbs)?)?;
        let subject = tlv(&mut tbs)?;
        let public_key = tlv(&mut tbs)?;
        let serial_number = contents(serial_number, INTEGER)?;
        let mut fields = Self {
            serial_number,
            signature_algorithm,
            issuer,
            subject,
            public_key,
            not_before,
            not_after,
            subject_alt_name: &[],
            key_usage: None,
            extended_key_usage: &[],
            has_distribution_points: false,
        };
        for_each_extension(&mut tbs, CONTEXT_3, |id, value| {
            match id {
                SUBJECT_ALT_NAME => fields.subject_alt_name = value,
                EXT_KEY_USAGE => fields.extended_key_usage = value,
                KEY_USAGE => fields.key_usage = Some(key_usage(value)?),
                CRL_DISTRIBUTION_POINTS => fields.has_distribution_points = true,
                _ => {}
            }
            Ok(())
        })?;
        Ok(fields)
    }
}

/// The fields that are read from a CRL (RFC 5280, 5.1).
pub(super) struct CrlFields<'a> {
    /// The signed part, `tbsCertList`.
    pub(super) tbs_cert_list: &'a [u8],
    /// A DER `Name`.
    pub(super) issuer: &'a [u8],
    /// When this list was issued (5.1.2.4), in seconds since 1970.
    pub(super) this_update: u64,
    /// The contents of the DER INTEGER, which is not negative (5.2.3); empty if there is none.
    pub(super) crl_number: &'a [u8],
    /// The value of the IssuingDistributionPoint, DER (5.2.5); empty if there is none.
    pub(super) scope: &'a [u8],
    /// When the next list will be issued at the latest (5.1.2.5), in seconds since 1970.
    pub(super) next_update: u64,
    /// The contents of the AlgorithmIdentifier, as `pki-types` compares them.
    pub(super) signature_algorithm: &'a [u8],
    pub(super) signature: &'a [u8],
}

impl<'a> CrlFields<'a> {
    pub(super) fn read(crl: &'a [u8]) -> Result<Self, CertificateError> {
        let mut list = reader(sequence(crl)?)?;
        let tbs_cert_list = tlv(&mut list)?;
        let signature_algorithm = sequence(tlv(&mut list)?)?;
        let signature = bit_string(tlv(&mut list)?)?;
        let mut tbs = reader(sequence(tbs_cert_list)?)?;
        tlv(&mut tbs)?; // version
        tlv(&mut tbs)?; // signature
        let issuer = tlv(&mut tbs)?;
        let this_update = time(tlv(&mut tbs)?)?;
        let next_update = time(tlv(&mut tbs)?)?;
        let (mut crl_number, mut scope): (&[u8], &[u8]) = (&[], &[]);
        for_each_extension(&mut tbs, CONTEXT_0, |id, value| {
            match id {
                CRL_NUMBER => crl_number = contents(value, INTEGER)?,
                ISSUING_DISTRIBUTION_POINT => scope = value,
                _ => {}
            }
            Ok(())
        })?;
        Ok(Self { tbs_cert_list, issuer, this_update, crl_number, scope, next_update, signature_algorithm, signature })
    }
}

/// Returns the contents of the AlgorithmIdentifier (without its outer header, as `pki-types` compares them) and the
/// key.
pub(crate) fn split_public_key(spki: &[u8]) -> Result<(&[u8], &[u8]), CertificateError> {
    split_public_key_contents(sequence(spki)?)
}

/// Returns the same of a SubjectPublicKeyInfo without its outer header.
pub(super) fn split_public_key_contents(contents: &[u8]) -> Result<(&[u8], &[u8]), CertificateError> {
    let mut fields = reader(contents)?;
    let algorithm = sequence(tlv(&mut fields)?)?;
    let key = bit_string(tlv(&mut fields)?)?;
    if fields.is_finished() { Ok((algorithm, key)) } else { Err(CertificateError::Malformed) }
}

/// Returns how many bits the modulus of an RSA key has.
pub(super) fn rsa_bits(spki: &[u8]) -> Option<usize> {
    let (kind, key) = split_public_key(spki).ok()?;
    rsa_bits_of(kind, key)
}

/// Returns the same of a key whose AlgorithmIdentifier has the contents `kind`.
pub(super) fn rsa_bits_of(kind: &[u8], key: &[u8]) -> Option<usize> {
    if kind != RSA_ENCRYPTION.as_ref() {
        return None;
    }
    let modulus = contents(tlv(&mut reader(sequence(key).ok()?).ok()?).ok()?, INTEGER).ok()?;
    let significant = modulus.iter().position(|byte| *byte != 0).map_or(&[][..], |start| &modulus[start..]);
    Some(8 * significant.len() - significant.first().map_or(0, |byte| byte.leading_zeros() as usize))
}

/// Calls `read` with the contents of the extnID and of the extnValue of each extension, which are in a field with this
/// context-specific tag.
fn for_each_extension<'a>(
    tbs: &mut SliceReader<'a>,
    field: u8,
    mut read: impl FnMut(&'a [u8], &'a [u8]) -> Result<(), CertificateError>,
) -> Result<(), CertificateError> {
    while !tbs.is_finished() {
        let next = tlv(tbs)?;
        if next.first() != Some(&field) {
            continue; // issuerUniqueID, subjectUniqueID; revokedCertificates
        }
        let mut extensions = reader(sequence(contents(next, field)?)?)?;
        while !extensions.is_finished() {
            let mut extension = reader(sequence(tlv(&mut extensions)?)?)?;
            let id = contents(tlv(&mut extension)?, OBJECT_IDENTIFIER)?;
            let mut value = tlv(&mut extension)?;
            if !extension.is_finished() {
                value = tlv(&mut extension)?; // this was `critical`
            }
            read(id, contents(value, OCTET_STRING)?)?;
        }
    }
    Ok(())
}

pub(super) fn reader(bytes: &[u8]) -> Result<SliceReader<'_>, CertificateError> {
    SliceReader::new(bytes).map_err(malformed)
}

/// Returns the next element, including its header.
pub(super) fn tlv<'a>(reader: &mut SliceReader<'a>) -> Result<&'a [u8], CertificateError> {
    reader.tlv_bytes().map_err(malformed)
}

/// Returns the contents of a SEQUENCE that fills `bytes`.
pub(super) fn sequence(bytes: &[u8]) -> Result<&[u8], CertificateError> {
    contents(bytes, SEQUENCE)
}

/// Returns the contents of an element with this identifier octet, which fills `bytes`.
pub(super) fn contents(bytes: &[u8], identifier: u8) -> Result<&[u8], CertificateError> {
    let mut reader = reader(bytes)?;
    let header = Header::decode(&mut reader).map_err(malformed)?;
    let contents = reader.read_slice(header.length()).map_err(malformed)?;
    let is_it = bytes.first() == Some(&identifier) && reader.is_finished();
    if is_it { Ok(contents) } else { Err(CertificateError::Malformed) }
}

/// Returns the bits of a BIT STRING that fills `bytes`, and has no unused ones.
pub(super) fn bit_string(bytes: &[u8]) -> Result<&[u8], CertificateError> {
    match contents(bytes, BIT_STRING)? {
        [0, bits @ ..] => Ok(bits),
        _ => Err(CertificateError::Malformed),
    }
}

/// Calls `read` with the contents of each KeyPurposeId of an extended key usage, DER (RFC 5280, 4.2.1.12), which has at
/// least one.
pub(super) fn for_each_key_purpose(usages: &[u8], mut read: impl FnMut(&[u8])) -> Result<(), CertificateError> {
    let mut usages = reader(sequence(usages)?)?;
    if usages.is_finished() {
        return Err(CertificateError::WrongUsage);
    }
    while !usages.is_finished() {
        read(contents(tlv(&mut usages)?, OBJECT_IDENTIFIER)?);
    }
    Ok(())
}

/// Returns notBefore and notAfter of a `Validity`, DER, in seconds since 1970.
pub(super) fn validity(der: &[u8]) -> Result<(u64, u64), CertificateError> {
    let mut times = reader(sequence(der)?)?;
    let validity = (time(tlv(&mut times)?)?, time(tlv(&mut times)?)?);
    if times.is_finished() { Ok(validity) } else { Err(CertificateError::Malformed) }
}

/// Returns a `Time`, DER, in seconds since 1970: a UTCTime `YYMMDDhhmmssZ` from 1970 to 2049, or a GeneralizedTime
/// `YYYYMMDDhhmmssZ` (RFC 5280, 4.1.2.5). `der` has types for both, which find the date of the seconds again: 2 kB of code.
fn time(der: &[u8]) -> Result<u64, CertificateError> {
    let mut fields = [0_u8; 7]; // century, year, month, day, hour, minute, second
    let (given, identifier) = match der.first() {
        Some(&UTC_TIME) => (&mut fields[1..], UTC_TIME),
        _ => (&mut fields[..], GENERALIZED_TIME),
    };
    let Some((b'Z', digits)) = contents(der, identifier)?.split_last() else { return Err(CertificateError::Malformed) };
    if digits.len() != 2 * given.len() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(CertificateError::Malformed);
    }
    for (field, pair) in given.iter_mut().zip(digits.chunks_exact(2)) {
        *field = pair.iter().fold(0, |number, digit| 10 * number + (digit - b'0'));
    }
    let [mut century, year, month, day, hour, minute, second] = fields;
    if identifier == UTC_TIME {
        century = if year < 50 { 20 } else { 19 };
    }
    let year = 100 * u16::from(century) + u16::from(year);
    let time = DateTime::new(year, month, day, hour, minute, second).map_err(malformed)?;
    Ok(time.unix_duration().as_secs())
}

/// A keyUsage (RFC 5280, 4.2.1.3): its first eight bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyUsage(u8);

impl KeyUsage {
    pub(super) const fn digital_signature(self) -> bool {
        self.0 & 1 << 7 != 0
    }

    pub(super) const fn key_cert_sign(self) -> bool {
        self.0 & 1 << 2 != 0
    }

    pub(super) const fn crl_sign(self) -> bool {
        self.0 & 1 << 1 != 0
    }
}

/// Returns the value of a keyUsage extension: a BIT STRING of at most 16 bits, of which nine have a meaning.
pub(super) fn key_usage(der: &[u8]) -> Result<KeyUsage, CertificateError> {
    match contents(der, BIT_STRING)? {
        [0] => Ok(KeyUsage(0)),
        [unused @ 0..8, bits] => Ok(KeyUsage(bits >> unused << unused)),
        [0..8, bits, _] => Ok(KeyUsage(*bits)),
        _ => Err(CertificateError::Malformed),
    }
}

fn malformed<E>(_: E) -> CertificateError {
    CertificateError::Malformed
}

#[cfg(test)]
mod tests;
