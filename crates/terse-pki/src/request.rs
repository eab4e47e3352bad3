//! Certification requests (PKCS #10, RFC 2986): a key, signed by itself, and what its holder would like to be called.
//!
//! A request is hostile input. What must always hold: a [`CertificationRequest`] has at most [`MAX_LEN`] bytes of DER and
//! nothing after them; its key is of an algorithm and a length of [`KeyAlgorithm`]; its signature was made with this key,
//! which proves possession of it. Its names are wishes, and prove nothing.

use core::net::IpAddr;

use rcgen::{PublicKeyData, SubjectPublicKeyInfo};
use x509_cert::attr::Attribute;
use x509_cert::der::asn1::{AnyRef, ObjectIdentifier};
use x509_cert::der::{Class, Decode, Encode, Tag, Tagged};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::name::{GeneralName, GeneralNames};

use crate::der::{SEQUENCE, tlv};
use crate::leaf::address;
use crate::{KeyAlgorithm, Subject, to_pem};

mod error;
mod key;
mod new;

pub use error::RequestError;
pub use new::{NewRequest, RequestOptions};

/// A certification request whose signature proves that its sender has the private key.
///
/// Of its attributes only the extension request counts (RFC 2985, 5.4.2); others, such as a challengePassword, mean nothing
/// here.
#[derive(Clone, Debug)]
pub struct CertificationRequest {
    der: Vec<u8>,
    subject: Subject,
    key: SubjectPublicKeyInfo,
    algorithm: KeyAlgorithm,
    extensions: Vec<Extension>,
    names: Vec<GeneralName>,
}

impl CertificationRequest {
    /// Reads a request, and checks its key and its signature.
    pub fn from_der(der: &[u8]) -> Result<Self, RequestError> {
        if der.len() > MAX_LEN {
            return Err(RequestError::TooLong(der.len()));
        }
        let (first, rest) =
            AnyRef::from_der_partial(der).map_err(|_| RequestError::Malformed("its outermost element"))?;
        if !rest.is_empty() {
            return Err(RequestError::TrailingData(rest.len()));
        }
        // RFC 2986, 4.2: CertificationRequest.
        let [info, algorithm, signature] = elements(&first, "its outermost element")?;
        // RFC 2986, 4.1: CertificationRequestInfo.
        let [version, subject, key, attributes] = elements(&info, "its certificationRequestInfo")?;
        if version.tag() != Tag::Integer || version.value() != [0] {
            return Err(RequestError::Malformed("its version"));
        }
        let subject = Subject::from_der(&encoded(&subject)).map_err(|_| RequestError::Malformed("its subject"))?;
        let (algorithm, verification) = key::identify(&key, &algorithm)?;
        let key = encoded(&key);
        // What is certified is what was verified: no other encoding of the key will do.
        let key = match SubjectPublicKeyInfo::from_der(&key) {
            Ok(parsed) if parsed.subject_public_key_info() == key => parsed,
            _ => return Err(RequestError::Malformed("its public key")),
        };
        key::verify(verification, key.der_bytes(), &encoded(&info), &signature)?;
        let extensions = extensions(&attributes)?;
        let names = names(&extensions)?;
        Ok(Self { der: der.into(), subject, key, algorithm, extensions, names })
    }

    /// Reads a request from a file's contents, which are DER, or the first request of a PEM text (RFC 7468, 7).
    pub fn from_file_contents(contents: &[u8]) -> Result<Self, RequestError> {
        if contents.len() > 2 * MAX_LEN {
            return Err(RequestError::TooLong(contents.len()));
        }
        match terse_pem::first(contents, terse_pem::CERTIFICATE_REQUEST) {
            Ok(der) => Self::from_der(&der),
            // The first byte does not suffice to tell DER from PEM: the digit 0 is the same, and text may stand before a request.
            Err(terse_pem::Error::Missing) if contents.first() == Some(&SEQUENCE) => Self::from_der(contents),
            Err(terse_pem::Error::Missing) => Err(RequestError::Malformed("the file, which is neither DER nor PEM")),
            Err(_) => Err(RequestError::Malformed("the PEM of the file, which is damaged or cut off")),
        }
    }

    /// Returns the request as DER.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Returns the request as PEM.
    pub fn to_pem(&self) -> String {
        to_pem("CERTIFICATE REQUEST", &self.der)
    }

    /// Returns the subject that is asked for.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Returns the algorithm of the key.
    pub fn algorithm(&self) -> KeyAlgorithm {
        self.algorithm
    }

    /// Returns the SubjectPublicKeyInfo (RFC 5280, 4.1.2.7) as DER.
    pub fn subject_public_key_info(&self) -> Vec<u8> {
        self.key.subject_public_key_info()
    }

    /// Returns the DNS names and IP addresses that are asked for, or what is wrong with them: another kind of name, or none
    /// that could be certified.
    pub fn names(&self) -> Result<Vec<String>, RequestError> {
        self.names.iter().map(name).collect()
    }

    /// Whether any subjectAltName is asked for.
    pub fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    pub(crate) fn key(&self) -> &SubjectPublicKeyInfo {
        &self.key
    }

    /// Returns the identifier and the value of each extension that is asked for, but for the subjectAltName.
    pub(crate) fn other_extensions(&self) -> impl Iterator<Item = (String, &[u8])> {
        let others = self.extensions.iter().filter(|extension| extension.extn_id != SUBJECT_ALT_NAME);
        others.map(|extension| (extension.extn_id.to_string(), extension.extn_value.as_bytes()))
    }
}

/// Returns the elements of a SEQUENCE that has exactly `N`.
fn elements<'a, const N: usize>(sequence: &AnyRef<'a>, what: &'static str) -> Result<[AnyRef<'a>; N], RequestError> {
    let elements = sequence.decode_as::<Vec<AnyRef<'a>>>().map_err(|_| RequestError::Malformed(what))?;
    elements.try_into().map_err(|_| RequestError::Malformed(what))
}

/// Returns the bytes that an element was read from: DER has one encoding of a value.
fn encoded(element: &AnyRef<'_>) -> Vec<u8> {
    element.to_der().unwrap_or_default() // the length is that of the input, at most MAX_LEN
}

/// Returns the extensions that the attributes ask for (RFC 2985, 5.4.2). Other attributes do not count.
fn extensions(attributes: &AnyRef<'_>) -> Result<Vec<Extension>, RequestError> {
    const MALFORMED: RequestError = RequestError::Malformed("its attributes");
    let tag = attributes.tag();
    if (tag.class(), tag.is_constructed(), tag.number().value()) != (Class::ContextSpecific, true, 0) {
        return Err(MALFORMED);
    }
    let attributes = tlv(SEQUENCE, &[attributes.value()]);
    let attributes = Vec::<Attribute>::from_der(&attributes).map_err(|_| MALFORMED)?;
    let mut requests = attributes.iter().filter(|attribute| attribute.oid == EXTENSION_REQUEST);
    let Some(request) = requests.next() else { return Ok(Vec::new()) };
    // RFC 2985, 5.4.2: it is a single-valued attribute.
    let (1, Some(value), None) = (request.values.len(), request.values.get(0), requests.next()) else {
        return Err(RequestError::Malformed("its extension request, of which there is more than one"));
    };
    let extensions =
        value.decode_as::<Vec<Extension>>().map_err(|_| RequestError::Malformed("its extension request"))?;
    for (number, extension) in extensions.iter().enumerate() {
        // RFC 5280, 4.2: a certificate has no extension twice.
        if extensions[..number].iter().any(|earlier| earlier.extn_id == extension.extn_id) {
            return Err(RequestError::DuplicateExtension(extension.extn_id.to_string()));
        }
    }
    Ok(extensions)
}

fn names(extensions: &[Extension]) -> Result<Vec<GeneralName>, RequestError> {
    let Some(extension) = extensions.iter().find(|extension| extension.extn_id == SUBJECT_ALT_NAME) else {
        return Ok(Vec::new());
    };
    match GeneralNames::from_der(extension.extn_value.as_bytes()) {
        Ok(names) if names.len() > MAX_NAMES => Err(RequestError::TooManyNames(names.len())),
        Ok(names) if !names.is_empty() => Ok(names),
        _ => Err(RequestError::Malformed("its subjectAltName")),
    }
}

fn name(name: &GeneralName) -> Result<String, RequestError> {
    let kind = match name {
        // An address would pass as a DNS name, and then be certified as an address.
        GeneralName::DnsName(name) if name.as_str().parse::<IpAddr>().is_ok() => {
            return Err(RequestError::InvalidName(name.as_str().into()));
        }
        GeneralName::DnsName(name) => return Ok(name.as_str().into()),
        GeneralName::IpAddress(octets) => {
            let address = address(octets.as_bytes()).ok_or(RequestError::Malformed("its IP address"))?;
            return Ok(address.to_string());
        }
        GeneralName::OtherName(_) => "otherName",
        GeneralName::Rfc822Name(_) => "rfc822Name",
        GeneralName::DirectoryName(_) => "directoryName",
        GeneralName::EdiPartyName(_) => "ediPartyName",
        GeneralName::UniformResourceIdentifier(_) => "uniformResourceIdentifier",
        GeneralName::RegisteredId(_) => "registeredID",
    };
    Err(RequestError::UnsupportedName(kind))
}

/// The OID 1.2.840.113549.1.9.14 (RFC 2985, 5.4.2).
const EXTENSION_REQUEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.14");

/// The OID 2.5.29.17 (RFC 5280, 4.2.1.6).
const SUBJECT_ALT_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");

/// The most bytes of a request. One with an RSA key of 4,096 bits and a dozen names has some 2,000.
pub(crate) const MAX_LEN: usize = 8192;

/// The most names in a request.
const MAX_NAMES: usize = 32;

#[cfg(test)]
mod tests;
