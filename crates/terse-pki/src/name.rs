//! The subject of a certificate is a distinguished name (RFC 5280, 4.1.2.4): a sequence of attributes.
//!
//! What must always hold: a [`Subject`] is the DER of a Name, byte for byte as it was read or made; none has more than
//! [`MAX_LEN`] bytes; what this crate makes itself has the string types and the upper bounds of RFC 5280, A.1.

use core::fmt;
use core::str::FromStr;

use pki_types::CertificateDer;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::asn1::{
    Any, Ia5StringRef, ObjectIdentifier, PrintableStringRef, SetOfVec, TeletexStringRef, Utf8StringRef,
};
use x509_cert::der::{Decode, Encode, Tag, Tagged};

use crate::Error;
use crate::authority::parse;

/// The types of attributes that a subject is made of here, by their short names (RFC 4514, 3; RFC 4519).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NameAttribute {
    /// CN, commonName.
    CommonName,
    /// serialNumber, the serial number of a device; it has nothing to do with the serial number of its certificate.
    SerialNumber,
    /// C, countryName: two letters.
    Country,
    /// L, localityName.
    Locality,
    /// ST, stateOrProvinceName.
    StateOrProvince,
    /// O, organizationName.
    Organization,
    /// OU, organizationalUnitName.
    OrganizationalUnit,
    /// DC, domainComponent: one label of a DNS name.
    DomainComponent,
}

impl NameAttribute {
    const ALL: [Self; 8] = [
        Self::CommonName,
        Self::SerialNumber,
        Self::Country,
        Self::Locality,
        Self::StateOrProvince,
        Self::Organization,
        Self::OrganizationalUnit,
        Self::DomainComponent,
    ];

    fn short_name(self) -> &'static str {
        self.definition().0
    }

    /// Returns the short name, the object identifier, the string type and the upper bound (RFC 5280, A.1).
    fn definition(self) -> (&'static str, ObjectIdentifier, Tag, usize) {
        let (name, oid, tag, upper_bound) = match self {
            Self::CommonName => ("CN", "2.5.4.3", Tag::Utf8String, 64),
            Self::SerialNumber => ("serialNumber", "2.5.4.5", Tag::PrintableString, 64),
            Self::Country => ("C", "2.5.4.6", Tag::PrintableString, 2),
            Self::Locality => ("L", "2.5.4.7", Tag::Utf8String, 128),
            Self::StateOrProvince => ("ST", "2.5.4.8", Tag::Utf8String, 128),
            Self::Organization => ("O", "2.5.4.10", Tag::Utf8String, 64),
            Self::OrganizationalUnit => ("OU", "2.5.4.11", Tag::Utf8String, 64),
            Self::DomainComponent => ("DC", "0.9.2342.19200300.100.1.25", Tag::Ia5String, 63),
        };
        (name, ObjectIdentifier::new_unwrap(oid), tag, upper_bound) // each of the eight is valid
    }
}

impl FromStr for NameAttribute {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|attribute| attribute.short_name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| Error::InvalidSubject(name.into()))
    }
}

/// The subject of a certificate or of a certification request.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Subject {
    der: Vec<u8>,
}

impl Subject {
    /// Returns the subject without attributes.
    pub fn empty() -> Self {
        Self { der: vec![0x30, 0] }
    }

    /// Returns a subject with a common name alone.
    pub fn common_name(name: &str) -> Result<Self, Error> {
        Self::empty().with(NameAttribute::CommonName, name)
    }

    /// Returns the subject of a certificate.
    pub fn of(certificate: &CertificateDer<'_>) -> Result<Self, Error> {
        Self::from_der(parse(certificate)?.subject().as_raw())
    }

    /// Reads the DER of a Name.
    pub fn from_der(der: &[u8]) -> Result<Self, Error> {
        match RdnSequence::from_der(der) {
            // RFC 5280, 4.1.2.4: a RelativeDistinguishedName has at least one attribute.
            Ok(names) if der.len() <= MAX_LEN && names.iter().all(|name| !name.is_empty()) => {
                Ok(Self { der: der.into() })
            }
            _ => Err(Error::Malformed("the subject")),
        }
    }

    /// Returns this subject with one more attribute at its end. An attribute may come more than once.
    pub fn with(&self, attribute: NameAttribute, value: &str) -> Result<Self, Error> {
        let (name, oid, tag, upper_bound) = attribute.definition();
        let invalid = || Error::InvalidSubject(format!("{name}={value}"));
        let is_of_type = match tag {
            Tag::PrintableString => PrintableStringRef::new(value).is_ok(),
            Tag::Ia5String => value.is_ascii(),
            _ => true,
        };
        let length = value.chars().count();
        let fits = (1..=upper_bound).contains(&length) && (attribute != NameAttribute::Country || length == 2);
        if !is_of_type || !fits || value.trim() != value || value.chars().any(is_unprintable) {
            return Err(invalid());
        }
        let value = Any::new(tag, value.as_bytes()).map_err(|_| invalid())?;
        let mut one = SetOfVec::new();
        one.insert(AttributeTypeAndValue { oid, value }).map_err(|_| invalid())?;
        let mut names = self.names();
        names.push(one);
        let der = names.to_der().map_err(|_| invalid())?;
        if der.len() > MAX_LEN { Err(invalid()) } else { Ok(Self { der }) }
    }

    /// Returns the DER of the Name.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Whether there is no attribute.
    pub fn is_empty(&self) -> bool {
        self.names().is_empty()
    }

    /// Whether there is an attribute of this type.
    pub fn has(&self, attribute: NameAttribute) -> bool {
        let (_, oid, ..) = attribute.definition();
        self.names().iter().flat_map(SetOfVec::iter).any(|one| one.oid == oid)
    }

    /// Whether both have the same attributes with the same values in the same order. The types of their strings may
    /// differ: an enrolment client may encode anew what it read in another certificate (RFC 5280, 7.1).
    pub fn matches(&self, other: &Self) -> bool {
        let (own, others) = (self.names(), other.names());
        let is_same = |own: &AttributeTypeAndValue, other: &AttributeTypeAndValue| {
            let same_text = text(own).zip(text(other)).is_some_and(|(own, other)| own == other);
            own.oid == other.oid && (own.value == other.value || same_text)
        };
        own.len() == others.len()
            && own.iter().zip(&others).all(|(own, other)| {
                own.len() == other.len() && own.iter().zip(other.iter()).all(|(own, other)| is_same(own, other))
            })
    }

    /// Whether a CA can sign the subject without knowing more of it: printable text, in the string types that RFC 5280
    /// still allows (4.1.2.4), neither empty nor overlong.
    pub(crate) fn is_plain(&self) -> bool {
        self.names().iter().flat_map(SetOfVec::iter).all(|attribute| {
            text(attribute).is_some_and(|text| {
                !text.is_empty() && text.chars().count() <= 128 && !text.chars().any(is_unprintable)
            })
        })
    }

    fn names(&self) -> RdnSequence {
        // The DER was read as this type, or is the encoding of such a value.
        RdnSequence::from_der(&self.der).unwrap_or_default()
    }
}

impl fmt::Display for Subject {
    /// Writes the attributes in their order, with the escapes of RFC 4514, 2.4, and none that a terminal would obey.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, name) in self.names().iter().enumerate() {
            f.write_str(if number > 0 { ", " } else { "" })?;
            for (number, attribute) in name.iter().enumerate() {
                f.write_str(if number > 0 { "+" } else { "" })?;
                let text = attribute.to_string();
                text.chars().try_for_each(|c| match is_unprintable(c) {
                    true => write!(f, "{}", c.escape_unicode()),
                    false => write!(f, "{c}"),
                })?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subject({self})")
    }
}

/// Returns the text of an attribute, or `None` if it is of a string type that RFC 5280 no longer allows, or no string.
fn text(attribute: &AttributeTypeAndValue) -> Option<&str> {
    let value = &attribute.value;
    match value.tag() {
        Tag::PrintableString => PrintableStringRef::try_from(value).ok().map(|text| text.as_str()),
        Tag::Utf8String => Utf8StringRef::try_from(value).ok().map(|text| text.as_str()),
        Tag::Ia5String => Ia5StringRef::try_from(value).ok().map(|text| text.as_str()),
        Tag::TeletexString => TeletexStringRef::try_from(value).ok().map(|text| text.as_str()),
        _ => None,
    }
}

/// Whether a terminal or a log would obey the character rather than show it: controls, line separators and
/// format characters (the general categories Cc, Cf, Zl and Zp of Unicode).
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{600}'
                ..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{180e}'
        )
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}')
        || matches!(c, '\u{1d173}'..='\u{1d17a}' | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

/// An RDNSequence (RFC 5280, 4.1.2.4).
type RdnSequence = Vec<SetOfVec<AttributeTypeAndValue>>;

/// The most bytes of a subject.
pub(crate) const MAX_LEN: usize = 2048;

#[cfg(test)]
mod tests;
