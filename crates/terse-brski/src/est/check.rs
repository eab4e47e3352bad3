//! Whether a certification request has what its sender was asked for.
//!
//! RFC 8951, 4: a server may refuse a request whose attributes are incomplete, and its answer says why.

use core::fmt;

use der::Tag;
use der::asn1::ObjectIdentifier;

use super::attribute::{EXTENSION_REQUEST, Extension, find};
use super::{CsrAttributes, limit, name};
use crate::Malformed;
use crate::asn1::{Element, context};

/// What a certification request lacks of what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotAsAsked {
    /// The request does not parse, or what was asked for does not.
    Malformed(Malformed),
    /// The request has another subject.
    Subject,
    /// The request does not ask for this extension, or with another value.
    Extension(ObjectIdentifier),
}

impl fmt::Display for NotAsAsked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => write!(f, "the certification request: {malformed}"),
            Self::Subject => f.write_str("the subject is not the one that the CSR attributes ask for"),
            Self::Extension(oid) => {
                write!(f, "the extension {oid} is missing, or has another value than the CSR attributes ask for")
            }
        }
    }
}

impl core::error::Error for NotAsAsked {}

impl From<Malformed> for NotAsAsked {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl CsrAttributes {
    /// Checks that a certification request in DER has the subject and the extensions that these attributes ask for. It may
    /// ask for more. Whether an extension is critical does not count: the CA decides that. The signature is not verified.
    pub fn check(&self, request: &[u8]) -> Result<(), NotAsAsked> {
        const REQUEST: &str = "CertificationRequest";
        limit(request)?;
        // RFC 2986, 4.1 and 4.2.
        let mut info = Element::from_der(request, REQUEST)?.sequence(REQUEST)?.read()?.sequence(REQUEST)?;
        info.expect(Tag::Integer)?; // version
        let subject = info.expect(Tag::Sequence)?;
        info.expect(Tag::Sequence)?; // subjectPKInfo
        let attributes = info.expect(context(0))?.elements(REQUEST)?;
        if !self.subject.as_deref().map_or(Ok(true), |asked| is_subject(asked, subject.encoded))? {
            return Err(NotAsAsked::Subject);
        }
        let requested = find(attributes, EXTENSION_REQUEST, "extensionRequest")?;
        let requested = requested.map(|values| Extension::read_all(values, "extensionRequest")).transpose()?;
        for asked in &self.extensions {
            let asked = Extension::from_der(asked)?;
            let is_same = |one: &Extension<'_>| one.id.contents == asked.id.contents && one.value == asked.value;
            if !requested.iter().flatten().any(is_same) {
                let oid = ObjectIdentifier::from_bytes(asked.id.contents).map_err(|_| Malformed::Der("extension"))?;
                return Err(NotAsAsked::Extension(oid));
            }
        }
        Ok(())
    }
}

/// Whether a Name has the attributes of a template, in its order, with its values where it has any.
fn is_subject(template: &[u8], subject: &[u8]) -> Result<bool, Malformed> {
    let (template, subject) = (name::read_template(template)?, name::read(subject)?);
    let is_same = |asked: &name::Attribute<'_>, one: &name::Attribute<'_>| {
        asked.id.contents == one.id.contents
            && asked.value.is_none_or(|asked| one.value.is_some_and(|one| is_text(asked, one)))
    };
    Ok(template.len() == subject.len()
        && template.iter().zip(&subject).all(|(asked, one)| {
            // The order in a SET is that of the encodings, which differ if the types of strings do.
            asked.len() == one.len() && asked.iter().all(|asked| one.iter().any(|one| is_same(asked, one)))
        }))
}

/// Whether two values are the same, whatever the types of their strings are: a client may encode anew what it read
/// (RFC 5280, 7.1).
fn is_text(a: Element<'_>, b: Element<'_>) -> bool {
    let is_string =
        |element: Element<'_>| matches!(element.tag, Tag::PrintableString | Tag::Utf8String | Tag::Ia5String);
    a.encoded == b.encoded || is_string(a) && is_string(b) && a.contents == b.contents
}

#[cfg(test)]
mod tests;
