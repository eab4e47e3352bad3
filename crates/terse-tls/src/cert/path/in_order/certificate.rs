//! Reads certificates strictly (RFC 5280, 4.1 and 4.2): each field is where it belongs and what it must be, nothing
//! follows it, and every critical extension is known.

use pki_types::{CertificateDer, TrustAnchor};
use x509_cert::der::{Reader as _, SliceReader};

use crate::cert::fields::{
    CONTEXT_0, CONTEXT_3, CRL_DISTRIBUTION_POINTS, EXT_KEY_USAGE, Fields, INTEGER, KEY_USAGE, OBJECT_IDENTIFIER,
    OCTET_STRING, SEQUENCE, SUBJECT_ALT_NAME, bit_string, contents, key_usage, reader, sequence, tlv, validity,
};
use crate::error::{ApiMisuse, CertificateError};

/// A certificate of a path.
#[derive(Default)]
pub(in crate::cert) struct Certificate<'a> {
    pub(in crate::cert) fields: Fields<'a>,
    /// `tbsCertificate`, with its header: what is signed.
    pub(super) signed: &'a [u8],
    pub(super) signature: &'a [u8],
    /// `cA` of basicConstraints; false if there is no such extension.
    pub(super) is_ca: bool,
    /// `pathLenConstraint` of basicConstraints.
    pub(super) path_len_constraint: Option<u8>,
    /// Whether it has name constraints, critical or not.
    pub(super) has_name_constraints: bool,
}

/// The longest certificate, in bytes.
const MAX_LEN: usize = 0xffff;

/// The longest serial number, in bytes.
const MAX_SERIAL_NUMBER: usize = 20;

/// The most extensions of a certificate.
const MAX_EXTENSIONS: usize = 24;

impl<'a> Certificate<'a> {
    /// Reads a certificate of version 3.
    #[inline(never)]
    pub(in crate::cert) fn read(der: &'a [u8]) -> Result<Self, CertificateError> {
        let mut certificate = Self::default();
        let Frame { version, extensions } = certificate.read_fields(der)?;
        if version != VERSION_3 {
            return Err(CertificateError::Malformed);
        }
        certificate.read_extensions(extensions.unwrap_or_default(), Critical::MustBeKnown)?;
        Ok(certificate)
    }

    /// Whether the serial number is an INTEGER of at most 20 octets that is greater than zero (RFC 5280, 4.1.2.2).
    pub(super) fn has_serial_number(&self) -> bool {
        match self.fields.serial_number {
            [] | [0] | [0, ..0x80, ..] | [(0x80..), ..] => false,
            serial_number => serial_number.len() <= MAX_SERIAL_NUMBER,
        }
    }

    /// Whether the issuer has a name (RFC 5280, 4.1.2.4).
    pub(super) fn has_issuer(&self) -> bool {
        self.fields.issuer != EMPTY_SEQUENCE
    }

    /// Reads all but the extensions.
    #[inline(never)]
    fn read_fields(&mut self, der: &'a [u8]) -> Result<Frame<'a>, CertificateError> {
        if der.len() > MAX_LEN {
            return Err(CertificateError::Malformed);
        }
        let mut certificate = reader(sequence(der)?)?;
        self.signed = tlv(&mut certificate)?;
        let signature_algorithm = sequence(tlv(&mut certificate)?)?;
        self.signature = bit_string(tlv(&mut certificate)?)?;
        finished(&certificate)?;

        let mut tbs = reader(sequence(self.signed)?)?;
        let mut version: &[u8] = &[];
        let mut serial_number = tlv(&mut tbs)?;
        if serial_number.first() == Some(&CONTEXT_0) {
            version = serial_number;
            serial_number = tlv(&mut tbs)?;
        }
        let fields = &mut self.fields;
        fields.serial_number = contents(serial_number, INTEGER)?;
        fields.signature_algorithm = sequence(tlv(&mut tbs)?)?;
        // RFC 5280, 4.1.1.2
        if fields.signature_algorithm != signature_algorithm {
            return Err(CertificateError::Invalid);
        }
        fields.issuer = whole_sequence(tlv(&mut tbs)?)?;
        (fields.not_before, fields.not_after) = validity(tlv(&mut tbs)?)?;
        fields.subject = whole_sequence(tlv(&mut tbs)?)?;
        fields.public_key = whole_sequence(tlv(&mut tbs)?)?;
        let extensions = match optional(&mut tbs)? {
            None => None,
            Some(extensions) => Some(sequence(contents(extensions, CONTEXT_3)?)?),
        };
        finished(&tbs)?; // the unique identifiers are refused: nobody uses them (RFC 5280, 4.1.2.8)
        Ok(Frame { version, extensions })
    }

    /// Reads extensions, each of which may come only once (RFC 5280, 4.2).
    #[inline(never)]
    fn read_extensions(&mut self, extensions: &'a [u8], critical: Critical) -> Result<(), CertificateError> {
        let mut rest = reader(extensions)?;
        let mut count = 0;
        while let Some(extension) = Extension::next(&mut rest)? {
            if count == MAX_EXTENSIONS {
                return Err(CertificateError::Invalid);
            }
            if is_among(&extension, extensions, count)? {
                return Err(CertificateError::Malformed);
            }
            count += 1;
            self.add(&extension, critical)?;
        }
        Ok(())
    }

    fn add(&mut self, extension: &Extension<'a>, critical: Critical) -> Result<(), CertificateError> {
        let Extension { id, is_critical, value } = *extension;
        match id {
            KEY_USAGE => self.fields.key_usage = Some(key_usage(value)?),
            SUBJECT_ALT_NAME => self.fields.subject_alt_name = whole_sequence(value)?,
            BASIC_CONSTRAINTS => (self.is_ca, self.path_len_constraint) = basic_constraints(value)?,
            EXT_KEY_USAGE => self.fields.extended_key_usage = whole_sequence(value)?,
            NAME_CONSTRAINTS => self.has_name_constraints = true,
            _ if is_critical && matches!(critical, Critical::MustBeKnown) => return Err(CertificateError::Invalid),
            CRL_DISTRIBUTION_POINTS => {
                whole_sequence(value)?;
                self.fields.has_distribution_points = true;
            }
            _ => {}
        }
        Ok(())
    }
}

/// What becomes of a critical extension that is not processed.
#[derive(Clone, Copy)]
enum Critical {
    /// It is refused.
    MustBeKnown,
    /// It is ignored, as everything in the certificate of a trust anchor but name, key and name constraints.
    MayBeUnknown,
}

/// Reads the certificate of a CA that is trusted: it may be of version 1 or 3, and of its extensions only name constraints
/// count, which are refused.
pub(super) fn read_trust_anchor(der: &CertificateDer<'_>) -> Result<TrustAnchor<'static>, ApiMisuse> {
    let malformed = |_: CertificateError| ApiMisuse::MalformedCertificate;
    let mut certificate = Certificate::default();
    let Frame { version, extensions } = certificate.read_fields(der).map_err(malformed)?;
    let is_known = version == VERSION_3 || (version.is_empty() && extensions.is_none());
    if !is_known {
        return Err(ApiMisuse::MalformedCertificate);
    }
    let extensions = extensions.unwrap_or_default();
    certificate.read_extensions(extensions, Critical::MayBeUnknown).map_err(malformed)?;
    if certificate.has_name_constraints {
        return Err(ApiMisuse::ConstrainedTrustAnchor);
    }
    let Fields { subject, public_key, .. } = certificate.fields;
    Ok(TrustAnchor {
        subject: sequence(subject).map_err(malformed)?.to_vec().into(),
        subject_public_key_info: sequence(public_key).map_err(malformed)?.to_vec().into(),
        name_constraints: None,
    })
}

/// What of a certificate decides how the rest is read.
struct Frame<'a> {
    /// The version with its header; nothing for version 1.
    version: &'a [u8],
    /// The contents of the extensions, if there are any.
    extensions: Option<&'a [u8]>,
}

/// Whether one of the first `count` extensions has the identifier of `extension`.
fn is_among(extension: &Extension<'_>, extensions: &[u8], count: usize) -> Result<bool, CertificateError> {
    let mut extensions = reader(extensions)?;
    for _ in 0..count {
        if Extension::next(&mut extensions)?.is_some_and(|earlier| earlier.id == extension.id) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An extension (RFC 5280, 4.2).
struct Extension<'a> {
    /// The contents of `extnID`.
    id: &'a [u8],
    is_critical: bool,
    /// The contents of `extnValue`.
    value: &'a [u8],
}

impl<'a> Extension<'a> {
    fn next(extensions: &mut SliceReader<'a>) -> Result<Option<Self>, CertificateError> {
        if extensions.is_finished() {
            return Ok(None);
        }
        let mut extension = reader(sequence(tlv(extensions)?)?)?;
        let id = contents(tlv(&mut extension)?, OBJECT_IDENTIFIER)?;
        if id.last().is_none_or(|last| *last >= 0x80) {
            return Err(CertificateError::Malformed); // its last number has no end
        }
        let mut value = tlv(&mut extension)?;
        let mut is_critical = false;
        if value.first() == Some(&BOOLEAN) {
            is_critical = boolean(value)?;
            value = tlv(&mut extension)?;
        }
        finished(&extension)?;
        Ok(Some(Self { id, is_critical, value: contents(value, OCTET_STRING)? }))
    }
}

/// Reads `cA` and `pathLenConstraint` (RFC 5280, 4.2.1.9). A `cA` that is false may be written out, as some CAs do.
fn basic_constraints(value: &[u8]) -> Result<(bool, Option<u8>), CertificateError> {
    let mut constraints = reader(sequence(value)?)?;
    let mut element = optional(&mut constraints)?;
    let mut is_ca = false;
    if let Some(first @ [BOOLEAN, ..]) = element {
        is_ca = boolean(first)?;
        element = optional(&mut constraints)?;
    }
    finished(&constraints)?;
    let path_len_constraint = match element {
        None => None,
        Some(element) => match contents(element, INTEGER)? {
            [most @ ..0x80] | [0, most @ (0x80..)] => Some(*most),
            _ => return Err(CertificateError::Malformed),
        },
    };
    Ok((is_ca, path_len_constraint))
}

/// Returns the next element, if there is one.
fn optional<'a>(reader: &mut SliceReader<'a>) -> Result<Option<&'a [u8]>, CertificateError> {
    if reader.is_finished() { Ok(None) } else { tlv(reader).map(Some) }
}

fn boolean(element: &[u8]) -> Result<bool, CertificateError> {
    match contents(element, BOOLEAN)? {
        [0xff] => Ok(true),
        [0] => Ok(false),
        _ => Err(CertificateError::Malformed),
    }
}

/// Returns `der`, which must be a SEQUENCE.
fn whole_sequence(der: &[u8]) -> Result<&[u8], CertificateError> {
    sequence(der).map(|_| der)
}

fn finished(reader: &SliceReader<'_>) -> Result<(), CertificateError> {
    if reader.is_finished() { Ok(()) } else { Err(CertificateError::Malformed) }
}

const BOOLEAN: u8 = 0x01;
const EMPTY_SEQUENCE: &[u8] = &[SEQUENCE, 0];

/// `version` of X.509 version 3, with its header.
const VERSION_3: &[u8] = &[CONTEXT_0, 3, INTEGER, 1, 2];

/// id-ce-basicConstraints, 2.5.29.19 (RFC 5280, 4.2.1.9).
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];

/// id-ce-nameConstraints, 2.5.29.30 (RFC 5280, 4.2.1.10).
const NAME_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 30];
