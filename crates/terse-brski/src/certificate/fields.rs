//! Takes a certificate apart (RFC 5280, 4.1).

use der::Tag;
use der::asn1::{BitStringRef, ObjectIdentifier};

use super::MAX_LEN;
use crate::Malformed;
use crate::asn1::{Element, Elements, context};

/// The fields of a certificate that are read here.
pub(crate) struct Fields<'a> {
    pub(crate) serial_number: Element<'a>,
    pub(crate) issuer: Element<'a>,
    pub(super) validity: Element<'a>,
    pub(crate) subject: Element<'a>,
    /// The SubjectPublicKeyInfo, DER.
    pub(crate) public_key: &'a [u8],
    extensions: Option<Elements<'a>>,
}

impl<'a> Fields<'a> {
    pub(crate) fn read(certificate: &'a [u8]) -> Result<Self, Malformed> {
        if certificate.len() > MAX_LEN {
            return Err(Malformed::TooLong(MAX_LEN));
        }
        let mut outer = Element::from_der(certificate, CERTIFICATE)?.sequence(CERTIFICATE)?;
        let mut tbs = outer.read()?.sequence(CERTIFICATE)?;
        outer.expect(Tag::Sequence)?; // signatureAlgorithm
        outer.expect(Tag::BitString)?; // signatureValue
        outer.finish()?;
        tbs.optional(context(0))?; // version
        let serial_number = tbs.expect(Tag::Integer)?;
        tbs.expect(Tag::Sequence)?; // signature
        let issuer = tbs.expect(Tag::Sequence)?;
        let validity = tbs.expect(Tag::Sequence)?;
        let subject = tbs.expect(Tag::Sequence)?;
        let public_key = tbs.expect(Tag::Sequence)?.encoded;
        key_of(public_key)?;
        // issuerUniqueID and subjectUniqueID, which nobody uses, may come before the extensions.
        let extensions = loop {
            match tbs.next().transpose()? {
                None => break None,
                Some(field) if field.tag == context(3) => break Some(field),
                Some(_) => {}
            }
        };
        tbs.finish()?;
        let extensions = match extensions {
            Some(field) => Some(Element::from_der(field.contents, CERTIFICATE)?.sequence(CERTIFICATE)?),
            None => None,
        };
        Ok(Self { serial_number, issuer, validity, subject, public_key, extensions })
    }

    /// Returns the extnValue of the extension with this identifier, an OCTET STRING.
    pub(crate) fn extension(
        &self,
        oid: ObjectIdentifier,
        name: &'static str,
    ) -> Result<Option<Element<'a>>, Malformed> {
        let mut found = None;
        for extension in self.extensions.clone().into_iter().flatten() {
            let mut fields = extension?.sequence(CERTIFICATE)?;
            let id = fields.expect(Tag::ObjectIdentifier)?;
            fields.optional(Tag::Boolean)?; // critical
            let value = fields.expect(Tag::OctetString)?;
            fields.finish()?;
            // RFC 5280, 4.2: a certificate must not have an extension twice.
            if id.is(oid) && found.replace(value).is_some() {
                return Err(Malformed::Duplicate(name));
            }
        }
        Ok(found)
    }

    /// Returns the subject key identifier (RFC 5280, 4.2.1.2), which is not empty.
    pub(crate) fn subject_key_identifier(&self) -> Result<Option<&'a [u8]>, Malformed> {
        const NAME: &str = "subjectKeyIdentifier";
        let Some(value) = self.extension(SUBJECT_KEY_IDENTIFIER, NAME)? else { return Ok(None) };
        match Element::from_der(value.contents, NAME)?.expect(Tag::OctetString, NAME)?.contents {
            [] => Err(Malformed::Invalid(NAME)),
            identifier => Ok(Some(identifier)),
        }
    }

    /// Returns the value of the attribute of the subject with this type.
    pub(crate) fn attribute(
        &self,
        oid: ObjectIdentifier,
        name: &'static str,
    ) -> Result<Option<Element<'a>>, Malformed> {
        let mut found = None;
        for relative_name in self.subject.sequence(CERTIFICATE)? {
            for attribute in relative_name?.set(CERTIFICATE)? {
                let mut fields = attribute?.sequence(CERTIFICATE)?;
                let id = fields.expect(Tag::ObjectIdentifier)?;
                let value = fields.read()?;
                fields.finish()?;
                if id.is(oid) && found.replace(value).is_some() {
                    return Err(Malformed::Duplicate(name)); // which one would be the device's?
                }
            }
        }
        Ok(found)
    }
}

/// Returns the key in a SubjectPublicKeyInfo: the contents of its BIT STRING, without the number of unused bits
/// (RFC 5280, 4.2.1.2).
pub(crate) fn key_of(public_key: &[u8]) -> Result<&[u8], Malformed> {
    algorithm_and_key_of(public_key).map(|(_, key)| key)
}

/// Returns what a SubjectPublicKeyInfo consists of: the contents of its AlgorithmIdentifier, and the key.
pub(crate) fn algorithm_and_key_of(public_key: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    const WHAT: &str = "subjectPublicKeyInfo";
    let mut fields = Element::from_der(public_key, WHAT)?.sequence(WHAT)?;
    let algorithm = fields.expect(Tag::Sequence)?;
    let key = fields.expect(Tag::BitString)?;
    fields.finish()?;
    let key = <BitStringRef<'_> as der::Decode<'_>>::from_der(key.encoded).ok();
    Ok((algorithm.contents, key.and_then(|key| key.as_bytes()).ok_or(Malformed::Der(WHAT))?))
}

const CERTIFICATE: &str = "certificate";

/// id-ce-subjectKeyIdentifier (RFC 5280, 4.2.1.2).
pub(super) const SUBJECT_KEY_IDENTIFIER: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.14");
