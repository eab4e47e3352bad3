//! The fields of certificates that onboarding reads (RFC 8995, 2.3 and 5.8.2).
//!
//! A certificate is read as it stands: neither its signature nor its dates are checked here. What must always hold: at most
//! [`MAX_LEN`] bytes are read; a field of which there are two is refused, because two readers could take different ones; a
//! serial number and a MASA URL that are returned can be printed.

use alloc::string::String;
use alloc::vec::Vec;

use der::asn1::ObjectIdentifier;
use der::{Decode as _, Tag};
use pki_types::UnixTime;
use terse_tls::crypto::CryptoProvider;
use x509_cert::certificate::Rfc5280;
use x509_cert::time::{Time, Validity};

use crate::Malformed;
use crate::asn1::{Element, OCTET_STRING, SEQUENCE, encode};
use crate::voucher::MAX_LEN;

mod fields;
#[cfg(feature = "services")]
mod issued;
mod masa_url;
mod text;

pub(crate) use fields::key_of;
pub(crate) use fields::{Fields, algorithm_and_key_of};
#[cfg(feature = "services")]
pub(crate) use issued::{verify_issued, with_issuers};
#[cfg(feature = "services")]
pub use masa_url::est_base_url;
pub use masa_url::masa_base_url;
pub use text::is_unprintable;
use text::printable;

/// Where a manufacturer puts a device's serial number (RFC 8995, 2.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SerialNumberField {
    /// The attribute serialNumber of the subject.
    #[default]
    SubjectSerialNumber,
    /// The common name of the subject.
    CommonName,
}

impl SerialNumberField {
    const fn attribute(self) -> (ObjectIdentifier, &'static str) {
        match self {
            Self::SubjectSerialNumber => (SERIAL_NUMBER, "serialNumber"),
            Self::CommonName => (COMMON_NAME, "commonName"),
        }
    }
}

/// What is read of an IDevID.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Idevid {
    /// The serial number of the device, of 1 to 64 characters, none of which is a control character.
    pub serial_number: String,
    /// The value for `idevid-issuer`: the extnValue of the authority key identifier, an OCTET STRING with its DER. If the
    /// certificate has none, it is one that is made of the SHA-1 of this certificate's own key, as RFC 8366bis says
    /// ("Updates to the use of idevid-issuer"), or nothing if the provider has no SHA-1.
    pub issuer: Option<Vec<u8>>,
    /// The MASA URL extension (RFC 8995, 2.3.2), of 1 to 512 visible ASCII characters: an authority or a URL, if
    /// [`masa_base_url`] takes it.
    pub masa_url: Option<String>,
}

impl Idevid {
    /// Reads a certificate.
    pub fn read(provider: &CryptoProvider, certificate: &[u8], field: SerialNumberField) -> Result<Self, Malformed> {
        let fields = Fields::read(certificate)?;
        let (oid, name) = field.attribute();
        let serial_number = fields.attribute(oid, name)?.ok_or(Malformed::Missing(name))?;
        let issuer = match fields.extension(AUTHORITY_KEY_IDENTIFIER, "authorityKeyIdentifier")? {
            Some(value) => {
                Element::from_der(value.contents, "authorityKeyIdentifier")?.sequence("authorityKeyIdentifier")?;
                Some(value.encoded.into())
            }
            None => match provider.sha1 {
                Some(sha1) => Some(issuer_of_key_identifier(&sha1(key_of(fields.public_key)?))),
                None => None,
            },
        };
        let masa_url = match fields.extension(MASA_URL, "MASA URL")? {
            Some(value) => {
                let url = Element::from_der(value.contents, "MASA URL")?.expect(Tag::Ia5String, "MASA URL")?;
                Some(masa_url::visible(url.contents)?.into())
            }
            None => None,
        };
        Ok(Self { serial_number: printable(serial_number, name)?.into(), issuer, masa_url })
    }
}

/// Whether two values of `idevid-issuer` are the same issuer. Each is the whole extnValue, an OCTET STRING with the DER of an
/// AuthorityKeyIdentifier; or that without the OCTET STRING; or only the key identifier, with or without the OCTET STRING.
pub fn is_same_issuer(a: &[u8], b: &[u8]) -> bool {
    let forms = forms(b);
    self::forms(a).into_iter().flatten().any(|form| !form.is_empty() && forms.contains(&Some(form)))
}

/// Returns the value for `idevid-issuer` of the certificates that a CA issues, in the form of [`Idevid::issuer`]: around the
/// CA's subject key identifier (RFC 5280, 4.2.1.1), or `None` if it has none.
pub fn issuer_of_ca(certificate: &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
    Ok(Fields::read(certificate)?.subject_key_identifier()?.map(issuer_of_key_identifier))
}

/// Returns the domainID of a pinned certificate (RFC 8995, 5.8.2): its subject key identifier, or else the SHA-256 of its
/// SubjectPublicKeyInfo.
pub fn domain_id(provider: &CryptoProvider, certificate: &[u8]) -> Result<Vec<u8>, Malformed> {
    let fields = Fields::read(certificate)?;
    if let Some(identifier) = fields.subject_key_identifier()? {
        return Ok(identifier.into());
    }
    let mut hash = provider.sha256.start();
    hash.update(fields.public_key);
    Ok(hash.finish().as_ref().into())
}

/// Returns the SubjectPublicKeyInfo of a certificate, DER.
pub fn public_key(certificate: &[u8]) -> Result<&[u8], Malformed> {
    Ok(Fields::read(certificate)?.public_key)
}

/// Whether two certificates are for the same key.
pub fn same_key(a: &[u8], b: &[u8]) -> bool {
    matches!((public_key(a), public_key(b)), (Ok(a), Ok(b)) if a == b)
}

/// Returns the subject of a certificate, a DER Name.
pub fn subject(certificate: &[u8]) -> Result<&[u8], Malformed> {
    Ok(Fields::read(certificate)?.subject.encoded)
}

/// Whether a certificate is that of a device (RFC 8995, 2.3): it names a MASA, or its subject has a serialNumber. A
/// manufacturer often has one CA for its devices and for the signer of vouchers, and no extension says which is which.
pub fn is_device(certificate: &[u8]) -> Result<bool, Malformed> {
    let fields = Fields::read(certificate)?;
    Ok(fields.extension(MASA_URL, "MASA URL")?.is_some() || fields.attribute(SERIAL_NUMBER, "serialNumber")?.is_some())
}

/// Returns the issuer of a certificate, a DER Name.
pub fn issuer(certificate: &[u8]) -> Result<&[u8], Malformed> {
    Ok(Fields::read(certificate)?.issuer.encoded)
}

/// Returns the first and the last second at which a certificate is valid.
pub fn validity(certificate: &[u8]) -> Result<(UnixTime, UnixTime), Malformed> {
    let validity = Validity::<Rfc5280>::from_der(Fields::read(certificate)?.validity.encoded);
    let validity = validity.map_err(|_| Malformed::Der("validity"))?;
    let unix = |time: Time| UnixTime::since_unix_epoch(time.to_unix_duration());
    Ok((unix(validity.not_before), unix(validity.not_after)))
}

/// Returns an extnValue that has this key identifier and nothing else (RFC 5280, 4.2.1.1).
fn issuer_of_key_identifier(key_identifier: &[u8]) -> Vec<u8> {
    encode(OCTET_STRING, &[&encode(SEQUENCE, &[&encode(KEY_IDENTIFIER, &[key_identifier])])])
}

/// Returns the ways to read an `idevid-issuer`: as it stands; without an outer OCTET STRING; its key identifier.
fn forms(issuer: &[u8]) -> [Option<&[u8]>; 3] {
    let octets = Element::from_der(issuer, "idevid-issuer").ok().filter(|element| element.tag == Tag::OctetString);
    let octets = octets.map(|element| element.contents);
    let extension = Element::from_der(octets.unwrap_or(issuer), "idevid-issuer").ok();
    let key_identifier = extension.and_then(|extension| extension.sequence("idevid-issuer").ok()?.read().ok());
    let key_identifier = key_identifier.filter(|first| first.encoded.first() == Some(&KEY_IDENTIFIER));
    [Some(issuer), octets, key_identifier.map(|first| first.contents)]
}

/// id-at-serialNumber (RFC 5280, A.1).
const SERIAL_NUMBER: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.5");

/// id-at-commonName (RFC 5280, A.1).
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// id-ce-authorityKeyIdentifier (RFC 5280, 4.2.1.1).
const AUTHORITY_KEY_IDENTIFIER: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.35");

/// id-pe-masa-url (RFC 8995, 2.3.2).
const MASA_URL: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.1.32");

/// The tag of keyIdentifier in an AuthorityKeyIdentifier: `[0] IMPLICIT OCTET STRING`.
const KEY_IDENTIFIER: u8 = 0x80;

#[cfg(test)]
mod tests;
