//! Parses OCSP responses (RFC 6960, 4.2.1) in place. Nothing is decided here, except that a response must be
//! `successful` and of the type `id-pkix-ocsp-basic`.

use x509_cert::der::asn1::{AnyRef, BitStringRef, GeneralizedTime, ObjectIdentifier};
use x509_cert::der::{Decode, Reader, SliceReader};

use crate::cert::fields::{reader, sequence, tlv};
use crate::error::{CertificateError, StapleError};

/// id-pkix-ocsp-basic (RFC 6960, 4.2.1).
const BASIC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.48.1.1");

/// id-sha1 (RFC 3279, 2.1).
const SHA1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.14.3.2.26");

/// id-sha256 (RFC 5754, 2.2).
const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");

/// `BasicOCSPResponse`.
pub(super) struct BasicResponse<'a> {
    /// `tbsResponseData` with its header: the signed part.
    pub(super) signed: &'a [u8],
    pub(super) responder: ResponderId<'a>,
    /// The contents of `responses`.
    responses: &'a [u8],
    /// The contents of the AlgorithmIdentifier.
    pub(super) signature_algorithm: &'a [u8],
    pub(super) signature: &'a [u8],
    /// The contents of `certs`; empty if there are none.
    certs: &'a [u8],
}

/// `ResponderID`: the signer of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResponderId<'a> {
    /// A DER `Name`.
    ByName(&'a [u8]),
    /// SHA-1 of the key.
    ByKey(&'a [u8]),
}

/// `SingleResponse`.
pub(super) struct SingleResponse<'a> {
    pub(super) cert_id: CertId<'a>,
    pub(super) status: CertStatus,
    /// Seconds since 1970.
    pub(super) this_update: u64,
    pub(super) next_update: Option<u64>,
}

/// `CertID`: identifies the certificate that a response is about.
pub(super) struct CertId<'a> {
    pub(super) hash: CertIdHash,
    pub(super) issuer_name_hash: &'a [u8],
    pub(super) issuer_key_hash: &'a [u8],
    /// The contents of a DER INTEGER.
    pub(super) serial_number: &'a [u8],
}

/// The hash algorithm of a [`CertId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CertIdHash {
    Sha1,
    Sha256,
    Other,
}

/// `CertStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CertStatus {
    Good,
    Revoked,
    Unknown,
}

impl<'a> BasicResponse<'a> {
    /// Parses an `OCSPResponse`.
    pub(super) fn read(response: &'a [u8]) -> Result<Self, StapleError> {
        let mut response = reader(sequence(response)?)?;
        let status = contents(tlv(&mut response)?, ENUMERATED)?;
        if status != [SUCCESSFUL] {
            return Err(StapleError::NotSuccessful);
        }
        let mut bytes = reader(sequence(contents(tlv(&mut response)?, CONTEXT_0)?)?)?;
        finished(response.is_finished())?;
        let kind = ObjectIdentifier::from_der(tlv(&mut bytes)?).map_err(|_| StapleError::Malformed)?;
        let basic = contents(tlv(&mut bytes)?, OCTET_STRING)?;
        finished(bytes.is_finished() && kind == BASIC)?;

        let mut basic = reader(sequence(basic)?)?;
        let signed = tlv(&mut basic)?;
        let signature_algorithm = sequence(tlv(&mut basic)?)?;
        let signature = BitStringRef::from_der(tlv(&mut basic)?).ok().and_then(|bits| bits.as_bytes());
        let certs = match optional(&mut basic, CONTEXT_0)? {
            Some(certs) => sequence(certs)?,
            None => &[],
        };
        finished(basic.is_finished())?;
        let signature = signature.ok_or(StapleError::Malformed)?;
        let (responder, responses) = response_data(signed)?;
        Ok(Self { signed, responder, responses, signature_algorithm, signature, certs })
    }

    /// Returns the first response that `is_wanted`. All responses must parse, since a malformed one may be the wanted
    /// one.
    pub(super) fn find(
        &self,
        is_wanted: impl Fn(&SingleResponse<'a>) -> bool,
    ) -> Result<Option<SingleResponse<'a>>, StapleError> {
        let mut responses = reader(self.responses)?;
        let mut found = None;
        while !responses.is_finished() {
            let single = SingleResponse::read(tlv(&mut responses)?)?;
            if found.is_none() && is_wanted(&single) {
                found = Some(single);
            }
        }
        Ok(found)
    }

    /// Returns the certificates in the response, up to the first malformed one.
    pub(super) fn certs(&self) -> impl Iterator<Item = &'a [u8]> {
        let mut certs = reader(self.certs).ok();
        core::iter::from_fn(move || {
            certs.as_mut().filter(|certs| !certs.is_finished()).and_then(|certs| tlv(certs).ok())
        })
    }
}

/// Parses `ResponseData`. Returns the responder, and the contents of `responses`.
fn response_data(signed: &[u8]) -> Result<(ResponderId<'_>, &[u8]), StapleError> {
    let mut data = reader(sequence(signed)?)?;
    if optional(&mut data, CONTEXT_0)?.is_some_and(|version| version != VERSION_1) {
        return Err(StapleError::Malformed);
    }
    let responder = tlv(&mut data)?;
    let responder = match responder.first() {
        Some(&CONTEXT_1) => ResponderId::ByName(contents(responder, CONTEXT_1)?),
        _ => ResponderId::ByKey(contents(contents(responder, CONTEXT_2)?, OCTET_STRING)?),
    };
    time(tlv(&mut data)?)?; // producedAt
    let responses = sequence(tlv(&mut data)?)?;
    extensions(optional(&mut data, CONTEXT_1)?)?;
    finished(data.is_finished())?;
    Ok((responder, responses))
}

impl<'a> SingleResponse<'a> {
    fn read(response: &'a [u8]) -> Result<Self, StapleError> {
        let mut response = reader(sequence(response)?)?;
        let cert_id = CertId::read(tlv(&mut response)?)?;
        let status = match tlv(&mut response)?.first() {
            Some(&GOOD) => CertStatus::Good,
            Some(&CONTEXT_1) => CertStatus::Revoked,
            Some(&UNKNOWN) => CertStatus::Unknown,
            _ => return Err(StapleError::Malformed),
        };
        let this_update = time(tlv(&mut response)?)?;
        let next_update = optional(&mut response, CONTEXT_0)?.map(time).transpose()?;
        extensions(optional(&mut response, CONTEXT_1)?)?;
        finished(response.is_finished())?;
        Ok(Self { cert_id, status, this_update, next_update })
    }
}

impl<'a> CertId<'a> {
    fn read(cert_id: &'a [u8]) -> Result<Self, StapleError> {
        let mut cert_id = reader(sequence(cert_id)?)?;
        let algorithm = tlv(&mut reader(sequence(tlv(&mut cert_id)?)?)?)?;
        let hash = match ObjectIdentifier::from_der(algorithm).map_err(|_| StapleError::Malformed)? {
            SHA1 => CertIdHash::Sha1,
            SHA256 => CertIdHash::Sha256,
            _ => CertIdHash::Other,
        };
        let issuer_name_hash = contents(tlv(&mut cert_id)?, OCTET_STRING)?;
        let issuer_key_hash = contents(tlv(&mut cert_id)?, OCTET_STRING)?;
        let serial_number = AnyRef::from_der(tlv(&mut cert_id)?).map_err(|_| StapleError::Malformed)?.value();
        finished(cert_id.is_finished())?;
        Ok(Self { hash, issuer_name_hash, issuer_key_hash, serial_number })
    }
}

/// Refuses critical extensions, since none is known here (RFC 6960, 4.4).
fn extensions(extensions: Option<&[u8]>) -> Result<(), StapleError> {
    let Some(extensions) = extensions else { return Ok(()) };
    let mut extensions = reader(sequence(extensions)?)?;
    while !extensions.is_finished() {
        let mut extension = reader(sequence(tlv(&mut extensions)?)?)?;
        tlv(&mut extension)?; // extnID
        if tlv(&mut extension)? == CRITICAL {
            return Err(StapleError::Malformed);
        }
    }
    Ok(())
}

/// Parses a GeneralizedTime. Returns it in seconds since 1970.
fn time(tlv: &[u8]) -> Result<u64, StapleError> {
    let time = GeneralizedTime::from_der(tlv).map_err(|_| StapleError::Malformed)?;
    Ok(time.to_unix_duration().as_secs())
}

/// Returns the contents of an element with this tag, which fills `tlv`.
fn contents(tlv: &[u8], tag: u8) -> Result<&[u8], StapleError> {
    let any = AnyRef::from_der(tlv).map_err(|_| StapleError::Malformed)?;
    if tlv.first() == Some(&tag) { Ok(any.value()) } else { Err(StapleError::Malformed) }
}

/// Returns the contents of the next element, if it has this tag.
fn optional<'a>(reader: &mut SliceReader<'a>, tag: u8) -> Result<Option<&'a [u8]>, StapleError> {
    let mut ahead = reader.clone();
    if ahead.is_finished() {
        return Ok(None);
    }
    let element = tlv(&mut ahead)?;
    if element.first() != Some(&tag) {
        return Ok(None);
    }
    *reader = ahead;
    contents(element, tag).map(Some)
}

fn finished(is_finished: bool) -> Result<(), StapleError> {
    if is_finished { Ok(()) } else { Err(StapleError::Malformed) }
}

impl From<CertificateError> for StapleError {
    /// Converts the errors of the functions that parse DER.
    fn from(_: CertificateError) -> Self {
        Self::Malformed
    }
}

const OCTET_STRING: u8 = 0x04;
const ENUMERATED: u8 = 0x0a;
/// OCSPResponseStatus.
const SUCCESSFUL: u8 = 0;
const CONTEXT_0: u8 = 0xa0;
const CONTEXT_1: u8 = 0xa1;
const CONTEXT_2: u8 = 0xa2;
/// `good [0] IMPLICIT NULL`
const GOOD: u8 = 0x80;
/// `unknown [2] IMPLICIT NULL`
const UNKNOWN: u8 = 0x82;
/// `v1` as an INTEGER.
const VERSION_1: &[u8] = &[2, 1, 0];
/// BOOLEAN TRUE.
const CRITICAL: &[u8] = &[1, 1, 0xff];
