//! The attributes of certification requests (RFC 2986, 4.1) that ask for extensions: extensionRequest (RFC 2985, 5.4.2), and
//! its form in templates, extensionReqTemplate (RFC 9908, 3.4).

use alloc::vec::Vec;

use der::Tag;
use der::asn1::ObjectIdentifier;

use super::MAX_EXTENSIONS;
use crate::Malformed;
use crate::asn1::{Element, Elements, OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE, SET, encode};

/// An Extension (RFC 5280, 4.1), or an ExtensionTemplate, which may lack its value (RFC 9908, 3.4).
#[derive(Clone, Copy)]
pub(super) struct Extension<'a> {
    pub(super) id: Element<'a>,
    is_critical: bool,
    /// The contents of the extnValue.
    pub(super) value: Option<&'a [u8]>,
}

impl<'a> Extension<'a> {
    /// Reads an Extension.
    pub(super) fn from_der(der: &'a [u8]) -> Result<Self, Malformed> {
        let extension = Self::read(Element::from_der(der, EXTENSION)?)?;
        if extension.value.is_some() { Ok(extension) } else { Err(Malformed::Missing("extnValue")) }
    }

    /// Reads what an extensionRequest or an extensionReqTemplate asks for: `values` are the values of the attribute.
    pub(super) fn read_all(mut values: Elements<'a>, name: &'static str) -> Result<Vec<Self>, Malformed> {
        let value = values.read()?;
        values.finish()?; // RFC 9908, 3.2 and 3.4: exactly one element
        let mut extensions: Vec<Self> = Vec::new();
        for extension in value.sequence(name)? {
            let extension = Self::read(extension?)?;
            // RFC 9908, 3.2: at most one with the same extnID.
            if extensions.iter().any(|earlier| earlier.id.contents == extension.id.contents) {
                return Err(Malformed::Duplicate("extension"));
            }
            if extensions.len() == MAX_EXTENSIONS {
                return Err(Malformed::TooMany("extensions"));
            }
            extensions.push(extension);
        }
        Ok(extensions)
    }

    fn read(extension: Element<'a>) -> Result<Self, Malformed> {
        let mut fields = extension.sequence(EXTENSION)?;
        let id = fields.expect(Tag::ObjectIdentifier)?;
        let is_critical = match fields.optional(Tag::Boolean)?.map(|critical| critical.contents) {
            None | Some([0]) => false, // DER has no default value, but encoders do
            Some([0xff]) => true,
            Some(_) => return Err(Malformed::Der(EXTENSION)),
        };
        let value = fields.optional(Tag::OctetString)?.map(|value| value.contents);
        fields.finish()?;
        Ok(Self { id, is_critical, value })
    }

    /// Returns the DER of an Extension with this value.
    pub(super) fn with_value(self, value: &[u8]) -> Vec<u8> {
        let critical: &[u8] = if self.is_critical { &[1, 1, 0xff] } else { &[] };
        encode(SEQUENCE, &[self.id.encoded, critical, &encode(OCTET_STRING, &[value])])
    }
}

/// Returns the values of the attribute of this type. In CSR attributes, object identifiers may stand between the attributes,
/// and do not count here.
pub(super) fn find<'a>(
    attributes: Elements<'a>,
    oid: ObjectIdentifier,
    name: &'static str,
) -> Result<Option<Elements<'a>>, Malformed> {
    let mut found = None;
    for attribute in attributes {
        let attribute = attribute?;
        if attribute.tag == Tag::ObjectIdentifier {
            continue;
        }
        let mut fields = attribute.sequence("attribute")?;
        if fields.expect(Tag::ObjectIdentifier)?.is(oid) {
            let values = fields.read()?.set(name)?;
            fields.finish()?;
            if found.replace(values).is_some() {
                return Err(Malformed::Duplicate(name));
            }
        }
    }
    Ok(found)
}

/// Returns the DER of an attribute with one value.
pub(super) fn attribute(oid: ObjectIdentifier, value: &[u8]) -> Vec<u8> {
    encode(SEQUENCE, &[&encode(OBJECT_IDENTIFIER, &[oid.as_bytes()]), &encode(SET, &[value])])
}

/// Returns the DER of an extensionRequest, or nothing if no extension is asked for.
pub(super) fn extension_request(extensions: &[Vec<u8>]) -> Vec<u8> {
    if extensions.is_empty() {
        return Vec::new();
    }
    attribute(EXTENSION_REQUEST, &encode(SEQUENCE, &[&extensions.concat()]))
}

/// id-ExtensionReq (RFC 9908, 3.2), which is pkcs-9-at-extensionRequest (RFC 2985, 5.4.2).
pub(super) const EXTENSION_REQUEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.14");

const EXTENSION: &str = "extension";
