//! Vouchers and voucher requests are read from JSON (RFC 8259), which is hostile input.
//!
//! What must always hold: a field that has a meaning is there once at most, however its name is escaped; there is one
//! container, and it is the right one; a value that is not of its field's type is refused, unless the field is ignored.

use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::field::Field;
use super::fields::{Fields, Kind};
use super::{Assertion, MAX_LEN, Voucher, VoucherRequest};
use crate::{Malformed, base64};

pub(super) fn voucher(json: &[u8]) -> Result<Voucher, Malformed> {
    read(json, Kind::Voucher)?.into_voucher()
}

pub(super) fn request(json: &[u8]) -> Result<VoucherRequest, Malformed> {
    read(json, Kind::VoucherRequest)?.into_request()
}

fn read(json: &[u8], kind: Kind) -> Result<Fields, Malformed> {
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

/// Takes a string.
fn set_string(fields: &mut Fields, field: Field, text: &str) -> Result<(), Malformed> {
    match field {
        Field::CreatedOn | Field::ExpiresOn | Field::LastRenewalDate | Field::SerialNumber => {
            fields.set_text(field, text)
        }
        Field::Assertion => fields.set_assertion(Assertion::of_name(text)),
        Field::Nonce => fields.set_binary(field, text.into()),
        // The example of RFC 8366, 5.2, has a string, although RFC 7951, 6.3, has none.
        Field::DomainCertRevocationChecks => {
            fields.set_boolean(field, text.parse().map_err(|_| Malformed::Invalid(field.name()))?)
        }
        _ => fields.set_binary(field, base64::decode(text, field.name())?),
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
        while let Some(name) = map.next_key_seed(Name(Kind::of_container))? {
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
        Self::finish(self.reason, set_string(self.fields, self.field, text))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        Self::finish(self.reason, self.fields.set_boolean(self.field, value))
    }
}
