//! Takes signed data apart (RFC 5652, 5.1 and 5.3).
//!
//! What must always hold: there is one signer with signed attributes, and content; nothing here is verified.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use der::asn1::{GeneralizedTime, UtcTime};
use der::{Decode as _, EncodingRules, Tag, TagNumber};
use pki_types::UnixTime;

use super::{MAX_CERTIFICATES, oid};
use crate::asn1::{Element, Elements, context};
use crate::certificate::Fields;
use crate::{Malformed, SignatureRefused};

/// A SignedData with one SignerInfo.
pub(super) struct SignedData<'a> {
    /// eContentType, an object identifier.
    pub(super) content_type: Element<'a>,
    pub(super) content: Cow<'a, [u8]>,
    pub(super) certificates: Vec<&'a [u8]>,
    pub(super) signer: SignerInfo<'a>,
}

impl<'a> SignedData<'a> {
    /// Reads a ContentInfo with signed data.
    pub(super) fn read(encoded: &'a [u8], rules: EncodingRules) -> Result<Self, SignatureRefused> {
        const WHAT: &str = "SignedData";
        let mut content_info = Element::from_encoding(encoded, rules, "ContentInfo")?.sequence("ContentInfo")?;
        if !content_info.read()?.is(oid::SIGNED_DATA) {
            return Err(Malformed::Invalid("contentType").into());
        }
        let mut fields = explicit(content_info.expect(context(0))?, WHAT)?.sequence(WHAT)?;
        content_info.finish()?;

        // RFC 8366, 5.4: version 1 is that of PKCS #7.
        version(&mut fields, &[1, 3])?;
        fields.expect(Tag::Set)?; // digestAlgorithms, which the one signer repeats
        let mut encap_content_info = fields.read()?.sequence("encapContentInfo")?;
        let content_type = encap_content_info.expect(Tag::ObjectIdentifier)?;
        let content = encap_content_info.optional(context(0))?.ok_or(Malformed::Missing("eContent"))?;
        encap_content_info.finish()?;
        let content = explicit(content, "eContent")?.octets("eContent")?;
        let certificates = fields.optional(context(0))?.map_or(Ok(Vec::new()), certificates)?;
        fields.optional(context(1))?; // crls
        let mut signers = fields.read()?.set("signerInfos")?;
        fields.finish()?;
        let (Some(signer), None) = (signers.next(), signers.next()) else {
            return Err(SignatureRefused::Signers);
        };
        Ok(Self { content_type, content, certificates, signer: SignerInfo::read(signer?)? })
    }
}

/// A SignerInfo with signed attributes.
pub(super) struct SignerInfo<'a> {
    pub(super) sid: SignerIdentifier<'a>,
    pub(super) digest_algorithm: Element<'a>,
    /// signedAttrs, with their tag.
    pub(super) signed_attrs: &'a [u8],
    pub(super) signature_algorithm: Element<'a>,
    pub(super) signature: &'a [u8],
}

impl<'a> SignerInfo<'a> {
    fn read(signer_info: Element<'a>) -> Result<Self, SignatureRefused> {
        let mut fields = signer_info.sequence("SignerInfo")?;
        let version = version(&mut fields, &[1, 3])?;
        let sid = SignerIdentifier::read(fields.read()?, version)?;
        let digest_algorithm = fields.expect(Tag::Sequence)?;
        let signed_attrs = fields.optional(context(0))?.ok_or(SignatureRefused::SignedAttributes("signedAttrs"))?;
        let signature_algorithm = fields.expect(Tag::Sequence)?;
        let Cow::Borrowed(signature) = fields.read()?.octets("signature")? else {
            return Err(Malformed::Der("signature").into());
        };
        fields.optional(context(1))?; // unsignedAttrs
        fields.finish()?;
        Ok(Self { sid, digest_algorithm, signed_attrs: signed_attrs.encoded, signature_algorithm, signature })
    }
}

/// Which certificate is the signer's.
#[derive(Clone, Copy, Debug)]
pub(super) enum SignerIdentifier<'a> {
    /// The issuer and the serial number, as they stand in the certificate, one after the other.
    IssuerAndSerialNumber(&'a [u8]),
    /// The contents of the extension.
    SubjectKeyIdentifier(&'a [u8]),
}

impl<'a> SignerIdentifier<'a> {
    /// Reads an identifier, which goes with the version of its SignerInfo (RFC 5652, 5.3).
    fn read(sid: Element<'a>, version: u8) -> Result<Self, Malformed> {
        const SUBJECT_KEY_IDENTIFIER: Tag = Tag::ContextSpecific { constructed: false, number: TagNumber(0) };
        match (sid.tag, version) {
            (Tag::Sequence, 1) => Ok(Self::IssuerAndSerialNumber(sid.contents)),
            (SUBJECT_KEY_IDENTIFIER, 3) => Ok(Self::SubjectKeyIdentifier(sid.contents)),
            _ => Err(Malformed::Der("SignerIdentifier")),
        }
    }

    /// Whether this is the certificate with these fields.
    pub(super) fn is(self, certificate: &Fields<'_>) -> bool {
        match self {
            Self::IssuerAndSerialNumber(both) => {
                both.strip_prefix(certificate.issuer.encoded) == Some(certificate.serial_number.encoded)
            }
            Self::SubjectKeyIdentifier(identifier) => {
                certificate.subject_key_identifier().is_ok_and(|found| found == Some(identifier))
            }
        }
    }
}

/// The signed attributes that have a meaning here (RFC 5652, 11). Others are ignored.
pub(super) struct SignedAttributes<'a> {
    /// An object identifier.
    pub(super) content_type: Element<'a>,
    pub(super) message_digest: &'a [u8],
    pub(super) signing_time: Option<UnixTime>,
}

impl<'a> SignedAttributes<'a> {
    /// Reads the attributes, which are DER also where the rest is BER (RFC 5652, 5.3).
    pub(super) fn read(signed_attrs: &'a [u8]) -> Result<Self, SignatureRefused> {
        const WHAT: &str = "signedAttrs";
        let (mut content_type, mut message_digest, mut signing_time) = (None, None, None);
        for attribute in Element::from_der(signed_attrs, WHAT)?.elements(WHAT)? {
            let mut fields = attribute?.sequence(WHAT)?;
            let attr_type = fields.expect(Tag::ObjectIdentifier)?;
            let mut values = fields.read()?.set(WHAT)?;
            fields.finish()?;
            let (place, name) = match attr_type {
                _ if attr_type.is(oid::CONTENT_TYPE) => (&mut content_type, "contentType"),
                _ if attr_type.is(oid::MESSAGE_DIGEST) => (&mut message_digest, "messageDigest"),
                _ if attr_type.is(oid::SIGNING_TIME) => (&mut signing_time, "signingTime"),
                _ => continue,
            };
            // RFC 5652, 11: each is there once, with one value.
            let (Some(value), None) = (values.next(), values.next()) else {
                return Err(SignatureRefused::SignedAttributes(name));
            };
            if place.replace(value?).is_some() {
                return Err(SignatureRefused::SignedAttributes(name));
            }
        }
        let content_type = content_type.ok_or(SignatureRefused::SignedAttributes("contentType"))?;
        let message_digest = message_digest.ok_or(SignatureRefused::SignedAttributes("messageDigest"))?;
        let message_digest = message_digest.expect(Tag::OctetString, "messageDigest")?.contents;
        let signing_time = match signing_time {
            Some(time) => Some(read_time(time).ok_or(Malformed::Invalid("signingTime"))?),
            None => None,
        };
        Ok(Self { content_type, message_digest, signing_time })
    }
}

/// Reads a UTCTime or GeneralizedTime.
fn read_time(time: Element<'_>) -> Option<UnixTime> {
    let time = match time.tag {
        Tag::UtcTime => UtcTime::from_der(time.encoded).ok()?.to_unix_duration(),
        Tag::GeneralizedTime => GeneralizedTime::from_der(time.encoded).ok()?.to_unix_duration(),
        _ => return None,
    };
    Some(UnixTime::since_unix_epoch(time))
}

/// Reads the certificates, a SET that may have other kinds than X.509's, which are refused.
fn certificates<'a>(set: Element<'a>) -> Result<Vec<&'a [u8]>, Malformed> {
    const WHAT: &str = "certificates";
    let mut certificates = Vec::new();
    for certificate in set.elements(WHAT)? {
        if certificates.len() == MAX_CERTIFICATES {
            return Err(Malformed::TooMany(WHAT));
        }
        certificates.push(certificate?.expect(Tag::Sequence, WHAT)?.encoded);
    }
    Ok(certificates)
}

/// Returns the one element that an explicit tag contains.
fn explicit<'a>(outer: Element<'a>, what: &'static str) -> Result<Element<'a>, Malformed> {
    let mut elements = outer.elements(what)?;
    let inner = elements.read()?;
    elements.finish().map(|()| inner)
}

/// Reads a version, one of those.
fn version(fields: &mut Elements<'_>, known: &[u8]) -> Result<u8, Malformed> {
    match fields.expect(Tag::Integer)?.contents {
        [version] if known.contains(version) => Ok(*version),
        _ => Err(Malformed::Invalid("version")),
    }
}
