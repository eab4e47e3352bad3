//! Vouchers (RFC 8366, 5) and voucher requests (RFC 8995, 3): their fields, their form as JSON (RFC 7951), and
//! their form as CBOR (RFC 9254; the SIDs of draft-ietf-anima-rfc8366bis of 2025-12-18).
//!
//! What must always hold: no field is there twice, and unknown fields are ignored (RFC 8995, 5.6.1); what is hostile is
//! bounded by [`MAX_LEN`] before it is parsed. No field means anything before the signature around it is verified
//! ([`crate::cms`], [`crate::cose`]).

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};

use crate::{Malformed, base64};

mod cbor;
mod field;
mod fields;
mod read;
mod write;

/// The most bytes of an artefact, signature included, that is read.
pub const MAX_LEN: usize = 16_384;

/// How the relationship between pledge and registrar was verified (RFC 8366, 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Assertion {
    /// The manufacturer has verified the ownership.
    Verified,
    /// The voucher is issued to anybody, and logged.
    Logged,
    /// The pledge has seen the registrar's certificate in its own connection.
    Proximity,
    /// The same, by an agent (RFC 8366bis).
    AgentProximity,
}

impl Assertion {
    /// Every assertion, in the order of their values in YANG.
    pub const ALL: [Self; 4] = [Self::Verified, Self::Logged, Self::Proximity, Self::AgentProximity];

    /// Returns the name, as it stands in JSON (RFC 7951, 6.4).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Logged => "logged",
            Self::Proximity => "proximity",
            Self::AgentProximity => "agent-proximity",
        }
    }

    /// Returns the value that YANG gives to the name (RFC 7950, 9.6.4.2), as it stands in CBOR.
    pub const fn value(self) -> u8 {
        match self {
            Self::Verified => 0,
            Self::Logged => 1,
            Self::Proximity => 2,
            Self::AgentProximity => 3,
        }
    }

    /// Returns the assertion of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|assertion| assertion.name() == name)
    }

    /// Returns the assertion of this value.
    pub fn of_value(value: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|assertion| u64::from(assertion.value()) == value)
    }
}

/// A nonce as it stands in an artefact: the bytes of CBOR, or the text of a JSON string, which is opaque although it is often
/// base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonce(Box<[u8]>);

impl Nonce {
    /// Takes the bytes of a nonce as they stand in an artefact, 1 to 64 of them. In JSON they are text.
    pub fn new(text: &[u8]) -> Result<Self, Malformed> {
        if text.is_empty() || text.len() > MAX_NONCE_LEN {
            return Err(Malformed::Invalid("nonce"));
        }
        Ok(Self(text.into()))
    }

    /// Returns the nonce of this randomness, 8 to 32 bytes (RFC 8366, 5.3), for a JSON artefact: in base64. What is after
    /// 32 bytes is not used.
    pub fn of_random(random: &[u8]) -> Self {
        let mut text = Vec::with_capacity(base64::encoded_len(32));
        base64::encode(random.get(..32).unwrap_or(random), &mut text);
        Self(text.into())
    }

    /// Returns the nonce of this randomness, 8 to 32 bytes (RFC 8366, 5.3), for a CBOR artefact: as it is. What is after 32
    /// bytes is not used.
    pub fn of_random_bytes(random: &[u8]) -> Self {
        Self(random.get(..32).unwrap_or(random).into())
    }

    /// Returns the bytes as they stand in the artefact.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// What a voucher pins: the domain that the pledge is to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pin {
    /// pinned-domain-cert: a certificate, of the registrar itself or of a CA above it.
    Certificate(CertificateDer<'static>),
    /// pinned-domain-pubk: a DER SubjectPublicKeyInfo.
    PublicKey(Box<[u8]>),
    /// pinned-domain-pubk-sha256: the SHA-256 of a DER SubjectPublicKeyInfo.
    PublicKeySha256([u8; 32]),
}

impl Pin {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Certificate(certificate) => certificate,
            Self::PublicKey(key) => key,
            Self::PublicKeySha256(hash) => hash,
        }
    }

    /// Returns the place of this kind among those that were read.
    const fn rank(&self) -> u8 {
        match self {
            Self::Certificate(_) => 0,
            Self::PublicKey(_) => 1,
            Self::PublicKeySha256(_) => 2,
        }
    }

    /// Returns the first of each kind.
    fn by_kind(pins: &[Self]) -> ByKind<'_> {
        let first = |kind: fn(&Self) -> bool| pins.iter().find(|pin| kind(pin)).map(Self::as_bytes);
        ByKind {
            certificate: first(|pin| matches!(pin, Self::Certificate(_))),
            public_key: first(|pin| matches!(pin, Self::PublicKey(_))),
            public_key_sha256: first(|pin| matches!(pin, Self::PublicKeySha256(_))),
        }
    }
}

/// The first pin of each kind, which is written.
struct ByKind<'a> {
    certificate: Option<&'a [u8]>,
    public_key: Option<&'a [u8]>,
    public_key_sha256: Option<&'a [u8]>,
}

/// The fields of a voucher.
///
/// RFC 8366, 5.3, wants either a nonce or expires-on. A voucher with both parses: who holds it can check both.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Voucher {
    /// created-on.
    pub created_on: Option<UnixTime>,
    /// expires-on.
    pub expires_on: Option<UnixTime>,
    /// assertion.
    pub assertion: Assertion,
    /// serial-number.
    pub serial_number: String,
    /// idevid-issuer: the authority key identifier of the IDevID.
    pub idevid_issuer: Option<Box<[u8]>>,
    /// What is pinned: none is a voucher that refuses (RFC 8995, 5.6.1); several are allowed by RFC 8366bis.
    pub pins: Vec<Pin>,
    /// domain-cert-revocation-checks.
    pub domain_cert_revocation_checks: Option<bool>,
    /// nonce.
    pub nonce: Option<Nonce>,
    /// last-renewal-date.
    pub last_renewal_date: Option<UnixTime>,
}

/// The fields of a voucher request: of the pledge or of the registrar.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VoucherRequest {
    /// created-on.
    pub created_on: Option<UnixTime>,
    /// assertion.
    pub assertion: Option<Assertion>,
    /// serial-number.
    pub serial_number: String,
    /// idevid-issuer: the authority key identifier of the IDevID, as the extension's value: an OCTET STRING of DER.
    pub idevid_issuer: Option<Box<[u8]>>,
    /// nonce.
    pub nonce: Option<Nonce>,
    /// prior-signed-voucher-request: the pledge's, whole.
    pub prior_signed_voucher_request: Option<Box<[u8]>>,
    /// proximity-registrar-cert, proximity-registrar-pubk or proximity-registrar-pubk-sha256.
    pub proximity_registrar: Vec<Pin>,
}

impl Voucher {
    /// Creates a voucher for the pledge with this serial number, without anything optional.
    pub fn new(serial_number: String, assertion: Assertion) -> Self {
        Self {
            created_on: None,
            expires_on: None,
            assertion,
            serial_number,
            idevid_issuer: None,
            pins: Vec::new(),
            domain_cert_revocation_checks: None,
            nonce: None,
            last_renewal_date: None,
        }
    }

    /// Encodes it as JSON (RFC 8995, figure 14), without white space. Of several pins of one kind only the first is written.
    pub fn to_json(&self) -> Vec<u8> {
        write::voucher(self)
    }

    /// Parses JSON of at most [`MAX_LEN`] bytes.
    ///
    /// Unknown fields are ignored (RFC 8995, 5.6.1), also those of voucher requests; a field that is there twice is refused.
    /// White space in base64 is tolerated, and `domain-cert-revocation-checks` may be a string, as in the example of RFC
    /// 8366, 5.2.
    pub fn from_json(json: &[u8]) -> Result<Self, Malformed> {
        read::voucher(json)
    }

    /// Encodes it as CBOR, with SIDs, in the order of those. Of several pins of one kind only the first is written.
    pub fn to_cbor(&self) -> Vec<u8> {
        cbor::write_voucher(self)
    }

    /// Parses CBOR of at most [`MAX_LEN`] bytes.
    ///
    /// Fields are known by their SIDs, as a difference to that of the container or whole with tag 47, or by their names,
    /// mixed as may be. Unknown fields are ignored; a field that is there twice, by whichever of these, is refused. Lengths
    /// may be indefinite (RFC 9254, 3); what is ignored may contain at most 16 containers in each other.
    pub fn from_cbor(cbor: &[u8]) -> Result<Self, Malformed> {
        cbor::read_voucher(cbor)
    }
}

impl VoucherRequest {
    /// Creates a request for the pledge with this serial number, without anything optional.
    pub const fn new(serial_number: String) -> Self {
        Self {
            created_on: None,
            assertion: None,
            serial_number,
            idevid_issuer: None,
            nonce: None,
            prior_signed_voucher_request: None,
            proximity_registrar: Vec::new(),
        }
    }

    /// Encodes it as JSON (RFC 8995, figures 6 to 8), without white space. Of several keys of one kind in
    /// [`Self::proximity_registrar`] only the first is written.
    pub fn to_json(&self) -> Vec<u8> {
        write::request(self)
    }

    /// Parses JSON of at most [`MAX_LEN`] bytes.
    ///
    /// Unknown fields are ignored, and so are those that are not valid in a request, whatever their values are (RFC 8995,
    /// 3.4): pins, `expires-on`, `last-renewal-date` and `domain-cert-revocation-checks`. A field that is there twice is
    /// refused. White space in base64 is tolerated.
    pub fn from_json(json: &[u8]) -> Result<Self, Malformed> {
        read::request(json)
    }

    /// Encodes it as CBOR, with SIDs, in the order of those. Of several keys of one kind in [`Self::proximity_registrar`] only
    /// the first is written.
    pub fn to_cbor(&self) -> Vec<u8> {
        cbor::write_request(self)
    }

    /// Parses CBOR of at most [`MAX_LEN`] bytes, as [`Voucher::from_cbor`] does. What is not valid in a request is ignored, as
    /// [`Self::from_json`] says.
    pub fn from_cbor(cbor: &[u8]) -> Result<Self, Malformed> {
        cbor::read_request(cbor)
    }
}

/// The longest nonce that is taken: 32 bytes in base64 have 44 characters, in hexadecimal digits 64.
const MAX_NONCE_LEN: usize = 64;

#[cfg(test)]
mod tests;
