//! Vouchers and voucher requests are read from CBOR, which is hostile input.
//!
//! What must always hold: a field that has a meaning is there once at most, whether it is named by a difference, a SID or a
//! name; there is one container, and it is the right one; a value that is not of its field's type is refused, unless the
//! field is ignored.

use minicbor::data::{Tag, Type};

use super::ABSOLUTE_SID;
use crate::Malformed;
use crate::cbor::Reader;
use crate::voucher::field::Field;
use crate::voucher::fields::{Fields, Kind};
use crate::voucher::{Assertion, MAX_LEN, Voucher, VoucherRequest};

pub(in crate::voucher) fn voucher(cbor: &[u8]) -> Result<Voucher, Malformed> {
    read(cbor, Kind::Voucher)?.into_voucher()
}

pub(in crate::voucher) fn request(cbor: &[u8]) -> Result<VoucherRequest, Malformed> {
    read(cbor, Kind::VoucherRequest)?.into_request()
}

fn read(cbor: &[u8], kind: Kind) -> Result<Fields, Malformed> {
    if cbor.len() > MAX_LEN {
        return Err(Malformed::TooLong(MAX_LEN));
    }
    let mut reader = Reader::new(cbor);
    let mut containers = reader.map()?;
    let mut has_container = false;
    let mut fields = None;
    while containers.next(&mut reader)? {
        // At the top a difference is one to 0.
        let name = read_key(&mut reader, 0, Kind::of_container, Kind::of_sid)?;
        // A document with both containers would mean one thing here and another one elsewhere.
        if name.is_some() && core::mem::replace(&mut has_container, true) {
            return Err(Malformed::Duplicate("voucher"));
        }
        if name == Some(kind) {
            fields = Some(read_fields(&mut reader, kind)?);
        } else {
            reader.skip()?;
        }
    }
    reader.finish()?;
    fields.ok_or(Malformed::Missing(kind.container()))
}

fn read_fields(reader: &mut Reader<'_>, kind: Kind) -> Result<Fields, Malformed> {
    let mut fields = Fields::default();
    let mut seen = 0;
    let mut entries = reader.map()?;
    while entries.next(reader)? {
        let by_sid = |sid| kind.field_of_sid(sid);
        let Some(field) = read_key(reader, kind.sid().into(), Field::of_name, by_sid)? else {
            reader.skip()?;
            continue;
        };
        if seen & field.bit() != 0 {
            return Err(Malformed::Duplicate(field.name()));
        }
        seen |= field.bit();
        if kind.has(field) {
            read_value(reader, field, &mut fields)?;
        } else {
            reader.skip()?;
        }
    }
    Ok(fields)
}

/// Reads a key: a SID that differs from `base` by so much, a SID with tag 47, or a name.
fn read_key<T>(
    reader: &mut Reader<'_>,
    base: i128,
    by_name: impl Fn(&str) -> Option<T>,
    by_sid: impl Fn(i128) -> Option<T>,
) -> Result<Option<T>, Malformed> {
    match reader.kind()? {
        Type::String | Type::StringIndef => Ok(by_name(&reader.text()?)),
        Type::Tag => {
            let is_absolute = reader.tag()? == Tag::new(ABSOLUTE_SID);
            let sid = reader.integer()?.filter(|sid| is_absolute && *sid >= 0);
            Ok(by_sid(sid.ok_or(Malformed::Cbor)?))
        }
        _ => Ok(by_sid(base + reader.integer()?.ok_or(Malformed::Cbor)?)),
    }
}

/// Reads a value by its type in YANG: an enumeration is a number, a binary field a byte string, and yang:date-and-time text
/// (RFC 9254, 6).
fn read_value(reader: &mut Reader<'_>, field: Field, fields: &mut Fields) -> Result<(), Malformed> {
    let invalid = Malformed::Invalid(field.name());
    match reader.kind()? {
        Type::String | Type::StringIndef => fields.set_text(field, &reader.text()?),
        Type::Bytes | Type::BytesIndef => fields.set_binary(field, reader.bytes()?.into_owned()),
        Type::Bool => fields.set_boolean(field, reader.boolean()?),
        _ if field == Field::Assertion => {
            let value = reader.integer()?.and_then(|value| u64::try_from(value).ok());
            fields.set_assertion(value.and_then(Assertion::of_value))
        }
        _ => Err(invalid),
    }
}

impl Kind {
    fn of_sid(sid: i128) -> Option<Self> {
        [Self::Voucher, Self::VoucherRequest].into_iter().find(|kind| i128::from(kind.sid()) == sid)
    }
}
