//! The names that devices get in their LDevIDs, as the configuration says, and the CSR attributes that ask for them
//! (RFC 7030, 4.5; RFC 8995, 5.9.2).
//!
//! What must always hold: a name that is made of what stands in an IDevID is a DNS name of the form that was configured.

use pki_types::DnsName;
use terse_brski::est::CsrAttributes;
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

/// Returns the attributes that ask for these names.
pub(super) fn attributes(names: &[String]) -> Result<CsrAttributes, der::Error> {
    let mut attributes = CsrAttributes::default();
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

#[cfg(test)]
mod tests;
