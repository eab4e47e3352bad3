//! What a registrar asks certification requests to have: CsrAttrs (RFC 7030, 4.5.2, as RFC 8951, 4, and RFC 9908 have it).
//!
//! Of its many forms two are followed here: the extensionRequest with the extensions themselves, and the template of a whole
//! request. Everything else is ignored, as RFC 8951 demands of what is not recognized: object identifiers without a value,
//! requirements for the key, a challengePassword.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use der::Tag;
use der::asn1::ObjectIdentifier;

use super::attribute::{EXTENSION_REQUEST, Extension, attribute, extension_request, find};
use super::{limit, name};
use crate::Malformed;
use crate::asn1::{Element, Elements, SEQUENCE, context, encode};

/// What a registrar asks CSRs to have (RFC 7030, 4.5; RFC 9908).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CsrAttributes {
    /// The extensions that the request must ask for, each a DER Extension (RFC 5280, 4.1).
    pub extensions: Vec<Vec<u8>>,
    /// The subject that the request must have, if one is given: a DER NameTemplate (RFC 9908, 3.4). That is a Name in which
    /// values may be missing, for the client to fill in; [`Self::subject_for`] does.
    pub subject: Option<Vec<u8>>,
}

impl CsrAttributes {
    /// Encodes the DER of CsrAttrs. A subject is in a template; the extensions are in the template and, for clients that do
    /// not know templates, beside it (RFC 9908, 4).
    pub fn to_der(&self) -> Vec<u8> {
        let request = extension_request(&self.extensions);
        let template = self.subject.as_ref().map(|subject| {
            attribute(TEMPLATE, &encode(SEQUENCE, &[&VERSION, subject, &encode(ATTRIBUTES, &[&request])]))
        });
        encode(SEQUENCE, &[&request, &template.unwrap_or_default()])
    }

    /// Decodes the DER of CsrAttrs: extension requests with values, and RFC 9908's template; the rest is ignored. If there is
    /// a template, everything else is (RFC 9908, 4).
    ///
    /// A template may ask for an extension without giving its value, or for a subjectAltName with empty names, which the
    /// client is to fill in. A pledge knows nothing to fill in there, so that such extensions and names are left out.
    pub fn from_der(der: &[u8]) -> Result<Self, Malformed> {
        limit(der)?;
        let attributes = Element::from_der(der, CSR_ATTRIBUTES)?.sequence(CSR_ATTRIBUTES)?;
        match find(attributes.clone(), TEMPLATE, "certificationRequestInfoTemplate")? {
            Some(mut template) => {
                let value = template.read()?;
                template.finish()?; // exactly one element
                Self::from_template(value)
            }
            None => Ok(Self { extensions: requested(attributes)?, subject: None }),
        }
    }

    /// Returns the subject of a request, a DER Name: `own`, or what the template says. A value that is missing there is that
    /// of `own`'s attribute of the same type; an attribute that `own` lacks is left out.
    pub fn subject_for(&self, own: &[u8]) -> Result<Vec<u8>, Malformed> {
        let attributes = name::read(own)?;
        match &self.subject {
            Some(template) => Ok(name::fill(&name::read_template(template)?, attributes)),
            None => Ok(own.to_owned()),
        }
    }

    /// Reads a CertificationRequestInfoTemplate (RFC 9908, 3.4).
    fn from_template(template: Element<'_>) -> Result<Self, Malformed> {
        let mut fields = template.sequence(CSR_ATTRIBUTES)?;
        if fields.read()?.encoded != VERSION {
            return Err(Malformed::Invalid("version"));
        }
        let subject = fields.optional(Tag::Sequence)?.map(|subject| subject.encoded);
        subject.map(name::read_template).transpose()?;
        fields.optional(context(0))?; // subjectPKInfo
        let attributes = fields.expect(context(1))?.elements(CSR_ATTRIBUTES)?;
        fields.finish()?;
        let extensions = match find(attributes.clone(), EXTENSION_REQUEST_TEMPLATE, "extensionReqTemplate")? {
            // RFC 9908, 3.4: not both.
            Some(_) if find(attributes.clone(), EXTENSION_REQUEST, "extensionRequest")?.is_some() => {
                return Err(Malformed::Duplicate("extensionRequest"));
            }
            Some(values) => complete(Extension::read_all(values, "extensionReqTemplate")?)?,
            None => requested(attributes)?,
        };
        Ok(Self { extensions, subject: subject.map(ToOwned::to_owned) })
    }
}

/// Returns the extensions that an extensionRequest among these attributes asks for.
fn requested(attributes: Elements<'_>) -> Result<Vec<Vec<u8>>, Malformed> {
    let values = find(attributes, EXTENSION_REQUEST, "extensionRequest")?;
    // The example of RFC 7030, 4.5.2, has an object identifier there, which asks for nothing that is an extension.
    let is_older =
        |values: &Elements<'_>| values.clone().all(|value| value.is_ok_and(|value| value.tag != Tag::Sequence));
    let Some(values) = values.filter(|values| !is_older(values)) else { return Ok(Vec::new()) };
    let extensions = Extension::read_all(values, "extensionRequest")?;
    let value = |extension: &Extension<'_>| {
        extension.value.map(|value| extension.with_value(value)).ok_or(Malformed::Missing("extnValue"))
    };
    extensions.iter().map(value).collect()
}

/// Returns those extensions of a template that have a value, without what the client would have to fill in.
fn complete(extensions: Vec<Extension<'_>>) -> Result<Vec<Vec<u8>>, Malformed> {
    let mut complete = Vec::new();
    for extension in extensions {
        match extension.value {
            None => {}
            Some(value) if extension.id.is(SUBJECT_ALT_NAME) => {
                complete.extend(without_empty_names(value)?.map(|names| extension.with_value(&names)));
            }
            Some(value) => complete.push(extension.with_value(value)),
        }
    }
    Ok(complete)
}

/// Returns GeneralNames without those that are empty, or `None` if no other is there.
fn without_empty_names(names: &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
    let mut others = Vec::new();
    for name in Element::from_der(names, "subjectAltName")?.sequence("subjectAltName")? {
        let name = name?;
        // A directoryName contains a Name, which is an empty SEQUENCE then; others contain the name itself.
        if !name.contents.is_empty() && name.contents != [SEQUENCE, 0] {
            others.extend_from_slice(name.encoded);
        }
    }
    Ok(if others.is_empty() { None } else { Some(encode(SEQUENCE, &[&others])) })
}

/// The DER of the version of a template: v1.
const VERSION: [u8; 3] = [2, 1, 0];

/// The tag of the attributes of a template: `[1] IMPLICIT SET OF Attribute`.
const ATTRIBUTES: u8 = 0xa1;

/// id-aa-certificationRequestInfoTemplate (RFC 9908, 3.4).
const TEMPLATE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.2.61");

/// id-aa-extensionReqTemplate (RFC 9908, 3.4).
const EXTENSION_REQUEST_TEMPLATE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.2.62");

/// id-ce-subjectAltName (RFC 5280, 4.2.1.6).
const SUBJECT_ALT_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");

const CSR_ATTRIBUTES: &str = "CsrAttrs";

#[cfg(test)]
mod tests;
