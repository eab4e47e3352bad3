//! Vouchers and voucher requests are read from JSON (RFC 8259), which is hostile input.
//!
//! What must always hold: a field that has a meaning is there once at most, however its name is escaped; there is one
//! container, and it is the right one; a value that is not of its field's type is refused, unless the field is ignored.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use pki_types::{CertificateDer, UnixTime};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::field::{Field, VOUCHER, VOUCHER_REQUEST};
use super::{Assertion, MAX_LEN, Nonce, Pin, Voucher, VoucherRequest};
use crate::{Malformed, base64, date};

pub(super) fn voucher(json: &[u8]) -> Result<Voucher, Malformed> {
    let fields = Fields::read(json, Kind::Voucher)?;
    Ok(Voucher {
        created_on: fields.created_on,
        expires_on: fields.expires_on,
        assertion: fields.assertion.ok_or(Malformed::Missing("assertion"))?,
        serial_number: fields.serial_number.ok_or(Malformed::Missing("serial-number"))?,
        idevid_issuer: fields.idevid_issuer,
        pins: fields.pins,
        domain_cert_revocation_checks: fields.domain_cert_revocation_checks,
        nonce: fields.nonce,
        last_renewal_date: fields.last_renewal_date,
    })
}

pub(super) fn request(json: &[u8]) -> Result<VoucherRequest, Malformed> {
    let fields = Fields::read(json, Kind::VoucherRequest)?;
    Ok(VoucherRequest {
        created_on: fields.created_on,
        assertion: fields.assertion,
        serial_number: fields.serial_number.ok_or(Malformed::Missing("serial-number"))?,
        idevid_issuer: fields.idevid_issuer,
        nonce: fields.nonce,
        prior_signed_voucher_request: fields.prior_signed_voucher_request,
        proximity_registrar: fields.pins,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Voucher,
    VoucherRequest,
}

impl Kind {
    const fn container(self) -> &'static str {
        match self {
            Self::Voucher => VOUCHER,
            Self::VoucherRequest => VOUCHER_REQUEST,
        }
    }

    /// Whether this kind of artefact has the field. RFC 8995, 3.4: some of a voucher are not valid in a request, "and any
    /// occurrence MUST be ignored".
    const fn has(self, field: Field) -> bool {
        match field {
            Field::CreatedOn | Field::Assertion | Field::SerialNumber | Field::IdevidIssuer | Field::Nonce => true,
            Field::ExpiresOn
            | Field::PinnedDomainCert
            | Field::PinnedDomainPubk
            | Field::PinnedDomainPubkSha256
            | Field::DomainCertRevocationChecks
            | Field::LastRenewalDate => matches!(self, Self::Voucher),
            Field::PriorSignedVoucherRequest
            | Field::ProximityRegistrarCert
            | Field::ProximityRegistrarPubk
            | Field::ProximityRegistrarPubkSha256 => matches!(self, Self::VoucherRequest),
        }
    }
}

/// The fields that were read. `pins` are those of a voucher, or the keys of the registrar in a request.
#[derive(Default)]
struct Fields {
    created_on: Option<UnixTime>,
    expires_on: Option<UnixTime>,
    assertion: Option<Assertion>,
    serial_number: Option<String>,
    idevid_issuer: Option<Box<[u8]>>,
    pins: Vec<Pin>,
    domain_cert_revocation_checks: Option<bool>,
    nonce: Option<Nonce>,
    last_renewal_date: Option<UnixTime>,
    prior_signed_voucher_request: Option<Box<[u8]>>,
}

impl Fields {
    fn read(json: &[u8], kind: Kind) -> Result<Self, Malformed> {
        if json.len() > MAX_LEN {
            return Err(Malformed::TooLong(MAX_LEN));
        }
        let mut reader = Reader { kind, seen: 0, has_container: false, fields: None, reason: None };
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let result = deserializer.deserialize_map(Document(&mut reader)).and_then(|()| deserializer.end());
        match result {
            Ok(()) => reader.fields.ok_or(Malformed::Missing(kind.container())),
            // What is no JSON is that, wherever it is found.
            Err(error) if error.is_data() => Err(reader.reason.unwrap_or(Malformed::Json)),
            Err(_) => Err(Malformed::Json),
        }
    }

    /// Takes the text of a field.
    fn set_text(&mut self, field: Field, text: &str) -> Result<(), Malformed> {
        let invalid = Malformed::Invalid(field.name());
        let date = || date::parse(text).ok_or(invalid);
        let binary = || match base64::decode(text, field.name()) {
            Ok(bytes) if bytes.is_empty() => Err(invalid),
            decoded => decoded,
        };
        match field {
            Field::CreatedOn => self.created_on = Some(date()?),
            Field::ExpiresOn => self.expires_on = Some(date()?),
            Field::LastRenewalDate => self.last_renewal_date = Some(date()?),
            Field::Assertion => self.assertion = Some(Assertion::of_name(text).ok_or(invalid)?),
            Field::SerialNumber if text.is_empty() => return Err(invalid),
            Field::SerialNumber => self.serial_number = Some(text.into()),
            Field::IdevidIssuer => self.idevid_issuer = Some(binary()?.into()),
            Field::Nonce => self.nonce = Some(Nonce::new(text.as_bytes())?),
            Field::PriorSignedVoucherRequest => self.prior_signed_voucher_request = Some(binary()?.into()),
            Field::PinnedDomainCert | Field::ProximityRegistrarCert => {
                self.pins.push(Pin::Certificate(CertificateDer::from(binary()?)));
            }
            Field::PinnedDomainPubk | Field::ProximityRegistrarPubk => {
                self.pins.push(Pin::PublicKey(binary()?.into()));
            }
            Field::PinnedDomainPubkSha256 | Field::ProximityRegistrarPubkSha256 => {
                self.pins.push(Pin::PublicKeySha256(binary()?.try_into().map_err(|_| invalid)?));
            }
            // The example of RFC 8366, 5.2, has a string, although RFC 7951, 6.3, has none.
            Field::DomainCertRevocationChecks => {
                self.domain_cert_revocation_checks = Some(text.parse().map_err(|_| invalid)?);
            }
        }
        Ok(())
    }

    /// Takes the truth value of a field.
    fn set_boolean(&mut self, field: Field, value: bool) -> Result<(), Malformed> {
        match field {
            Field::DomainCertRevocationChecks => self.domain_cert_revocation_checks = Some(value),
            _ => return Err(Malformed::Invalid(field.name())),
        }
        Ok(())
    }
}

/// The state of reading a document.
struct Reader {
    kind: Kind,
    /// The fields that were there, by [`Field::bit`].
    seen: u16,
    has_container: bool,
    /// The fields of the container that is due.
    fields: Option<Fields>,
    /// Why the document is refused: the error of `serde_json` has no room for it.
    reason: Option<Malformed>,
}

impl Reader {
    fn refuse<E: Error>(&mut self, reason: Malformed) -> E {
        self.reason = Some(reason);
        E::custom("")
    }
}

/// The outermost object, in which the container is.
struct Document<'a>(&'a mut Reader);

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.kind.container())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(reader) = self;
        while let Some(name) = map.next_key_seed(Name(|name: &str| match name {
            VOUCHER => Some(Kind::Voucher),
            VOUCHER_REQUEST => Some(Kind::VoucherRequest),
            _ => None,
        }))? {
            // A document with both containers would mean one thing here and another one elsewhere.
            if name.is_some() && core::mem::replace(&mut reader.has_container, true) {
                return Err(reader.refuse(Malformed::Duplicate("voucher")));
            }
            if name == Some(reader.kind) {
                map.next_value_seed(Container(&mut *reader))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// The object with the fields.
struct Container<'a>(&'a mut Reader);

impl<'de> DeserializeSeed<'de> for Container<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Container<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(reader) = self;
        let mut fields = Fields::default();
        while let Some(name) = map.next_key_seed(Name(Field::of_name))? {
            let Some(field) = name else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if reader.seen & field.bit() != 0 {
                return Err(reader.refuse(Malformed::Duplicate(field.name())));
            }
            reader.seen |= field.bit();
            if reader.kind.has(field) {
                // It is replaced by a better reason, if there is one, and void if there is no error.
                reader.reason = Some(Malformed::Invalid(field.name()));
                map.next_value_seed(Value { field, fields: &mut fields, reason: &mut reader.reason })?;
                reader.reason = None;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        reader.fields = Some(fields);
        Ok(())
    }
}

/// A name, which is looked up without a copy.
struct Name<F>(F);

impl<'de, T, F: FnOnce(&str) -> T> DeserializeSeed<'de> for Name<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<T, F: FnOnce(&str) -> T> Visitor<'_> for Name<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        Ok((self.0)(name))
    }
}

/// The value of a field: a string, or a truth value.
struct Value<'a> {
    field: Field,
    fields: &'a mut Fields,
    reason: &'a mut Option<Malformed>,
}

impl Value<'_> {
    fn finish<E: Error>(reason: &mut Option<Malformed>, result: Result<(), Malformed>) -> Result<(), E> {
        result.map_err(|error| {
            *reason = Some(error);
            E::custom("")
        })
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field.name())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        Self::finish(self.reason, self.fields.set_text(self.field, text))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        Self::finish(self.reason, self.fields.set_boolean(self.field, value))
    }
}
