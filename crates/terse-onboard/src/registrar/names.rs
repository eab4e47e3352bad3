//! The subjects and the names that devices get in their LDevIDs, as the configuration says, and the CSR attributes that ask for
//! them (RFC 7030, 4.5; RFC 8995, 5.9.2).
//!
//! What must always hold: a name that is made of what stands in an IDevID is a DNS name of the form that was configured; of an
//! IDevID only the serial number gets into a subject, as the value of an attribute that has nothing else from a device, so that
//! no two devices have the same subject.

use pki_types::DnsName;
use terse_brski::est::CsrAttributes;
use terse_pki::{NameAttribute, Subject};
use x509_cert::der::asn1::{Ia5String, OctetString};
use x509_cert::der::oid::AssociatedOid;
use x509_cert::der::{self, Encode};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// Fills in the configured names for a device. Fails if its serial number or the name of its manufacturer is no label of a
/// DNS name.
pub(super) fn of_device(names: &[String], serial_number: &str, manufacturer: &str) -> Option<Vec<String>> {
    // A serial number with a point in it would be a name elsewhere.
    let is_label = |text: &str| !text.contains('.') && DnsName::try_from(text).is_ok();
    let fill = |name: &String| {
        let is_usable = |part: &str, value: &str| !name.contains(part) || is_label(value);
        let is_filled = is_usable("{serial}", serial_number) && is_usable("{manufacturer}", manufacturer);
        let filled = name.replace("{serial}", serial_number).replace("{manufacturer}", manufacturer);
        (is_filled && DnsName::try_from(filled.as_str()).is_ok()).then(|| filled.to_ascii_lowercase())
    };
    names.iter().map(fill).collect()
}

/// The subjects of devices, as they are configured.
#[derive(Clone, Debug)]
pub(super) struct SubjectTemplate(Vec<(NameAttribute, String)>);

impl SubjectTemplate {
    /// Parses attributes such as `O={manufacturer}`, for the devices of these manufacturers. The error says what to do.
    pub(super) fn new(attributes: &[String], manufacturers: &[&str]) -> Result<Self, String> {
        let parse = |attribute: &String| {
            let parts = attribute.split_once('=');
            let parsed = parts.and_then(|(name, value)| Some((name.parse().ok()?, value.to_owned())));
            parsed.ok_or_else(|| {
                format!("the attribute {attribute:?} cannot stand in a subject; write CN, O, OU or another, and =")
            })
        };
        let template = Self(attributes.iter().map(parse).collect::<Result<_, _>>()?);
        let has = |part: &str| template.0.iter().any(|(_, value)| value.contains(part));
        if !has(SERIAL) {
            return Err("the subject would be that of all devices; put {serial} into it".into());
        }
        if manufacturers.len() > 1 && !has(MANUFACTURER) {
            return Err("the subject could be that of devices of two manufacturers; put {manufacturer} into it".into());
        }
        // Together the two could be read in more than one way.
        if template.0.iter().any(|(_, value)| value.contains(SERIAL) && value.contains(MANUFACTURER)) {
            return Err("{serial} and {manufacturer} stand in one attribute of the subject; give each its own".into());
        }
        let unusable = manufacturers.iter().find(|manufacturer| template.of_device("1", manufacturer).is_none());
        unusable.map_or(Ok(template), |manufacturer| {
            Err(format!("no subject can be made of the manufacturer's name {manufacturer:?}; shorten the name, or change the subject"))
        })
    }

    /// Fills in the subject of a device. Fails if its serial number cannot stand in the attribute.
    pub(super) fn of_device(&self, serial_number: &str, manufacturer: &str) -> Option<Subject> {
        let mut subject = Subject::empty();
        for (attribute, value) in &self.0 {
            let value = match value.contains(SERIAL) {
                true => value.replace(SERIAL, serial_number),
                false => value.replace(MANUFACTURER, manufacturer),
            };
            subject = subject.with(*attribute, &value).ok()?;
        }
        Some(subject)
    }
}

/// Returns the attributes that ask for this subject, if one is given, and for these names.
pub(super) fn attributes(subject: Option<&Subject>, names: &[String]) -> Result<CsrAttributes, der::Error> {
    let mut attributes = CsrAttributes::default();
    attributes.subject = subject.map(|subject| subject.der().to_vec());
    if !names.is_empty() {
        let names = names.iter().map(|name| Ok(GeneralName::DnsName(Ia5String::new(name)?)));
        let names = SubjectAltName(names.collect::<Result<_, der::Error>>()?).to_der()?;
        let extension =
            Extension { extn_id: SubjectAltName::OID, critical: false, extn_value: OctetString::new(names)? };
        attributes.extensions.push(extension.to_der()?);
    }
    Ok(attributes)
}

/// Returns the bytes of hexadecimal digits, of which colons are no part.
pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.chars().filter(|c| *c != ':').map(|c| c.to_digit(16)).collect::<Option<Vec<_>>>()?;
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(high << 4 | low).ok(), // below 256
        _ => None,
    });
    pairs.collect::<Option<Vec<_>>>().filter(|bytes| !bytes.is_empty())
}

/// The subject of a device, unless another one is configured.
pub(super) const DEFAULT_SUBJECT: [&str; 2] = ["O={manufacturer}", "serialNumber={serial}"];

/// The only attribute of a subject that is the IDevID's.
pub(super) const IDEVID: &str = "{idevid}";

const SERIAL: &str = "{serial}";
const MANUFACTURER: &str = "{manufacturer}";

#[cfg(test)]
mod tests;
