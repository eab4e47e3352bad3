//! Names (RFC 5280, 4.1.2.4), and the templates of names (RFC 9908, 3.4), whose attributes may lack their values.

use alloc::vec::Vec;

use der::Tag;

use crate::Malformed;
use crate::asn1::{Element, SEQUENCE, SET, encode};

/// A SingleAttributeTemplate: an attribute whose value may be missing.
#[derive(Clone, Copy)]
pub(super) struct Attribute<'a> {
    encoded: &'a [u8],
    pub(super) id: Element<'a>,
    pub(super) value: Option<Element<'a>>,
}

/// The attributes of each RelativeDistinguishedName.
pub(super) type Attributes<'a> = Vec<Vec<Attribute<'a>>>;

/// Reads the template of a Name. A Name is one, too.
pub(super) fn read_template(der: &[u8]) -> Result<Attributes<'_>, Malformed> {
    let mut names = Vec::new();
    for name in Element::from_der(der, NAME)?.sequence(NAME)? {
        let mut attributes = Vec::new();
        for attribute in name?.set(NAME)? {
            let attribute = attribute?;
            let mut fields = attribute.sequence(NAME)?;
            let id = fields.expect(Tag::ObjectIdentifier)?;
            let value = fields.next().transpose()?;
            fields.finish()?;
            attributes.push(Attribute { encoded: attribute.encoded, id, value });
        }
        if attributes.is_empty() {
            return Err(Malformed::Der(NAME));
        }
        names.push(attributes);
    }
    Ok(names)
}

/// Reads a Name.
pub(super) fn read(der: &[u8]) -> Result<Attributes<'_>, Malformed> {
    let names = read_template(der)?;
    let is_complete = names.iter().flatten().all(|attribute| attribute.value.is_some());
    if is_complete { Ok(names) } else { Err(Malformed::Der(NAME)) }
}

/// Returns the Name of a template. A missing value is that of `own`'s attribute of the same type: its first one for the
/// first that is missing, and so on. An attribute that `own` lacks is left out.
pub(super) fn fill(template: &Attributes<'_>, own: Attributes<'_>) -> Vec<u8> {
    let mut own: Vec<_> = own.into_iter().flatten().collect();
    let mut names = Vec::new();
    for attributes in template {
        let mut filled: Vec<&[u8]> = Vec::new();
        for attribute in attributes {
            let at = own.iter().position(|own| own.id.contents == attribute.id.contents);
            match (attribute.value, at) {
                (Some(_), _) => filled.push(attribute.encoded),
                (None, Some(at)) => filled.push(own.remove(at).encoded),
                (None, None) => {}
            }
        }
        if !filled.is_empty() {
            filled.sort_unstable(); // X.690, 11.6: the order of a SET OF
            names.extend(encode(SET, &filled));
        }
    }
    encode(SEQUENCE, &[&names])
}

const NAME: &str = "subject";
