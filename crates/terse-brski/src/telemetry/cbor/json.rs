//! A reason-context is JSON where it is kept, and CBOR where it is sent (RFC 8949, 6).
//!
//! What must always hold: what strangers send is nested at most [`MAX_DEPTH`] deep, and becomes text that is JSON.

use alloc::string::{String, ToString as _};
use core::fmt::{self, Write as _};

use base64ct::{Base64UrlUnpadded, Encoding as _};
use minicbor::data::Type;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::Malformed;
use crate::cbor::{MAX_DEPTH, Reader, Writer};
use crate::telemetry::REASON_CONTEXT;
use crate::voucher::MAX_LEN;

/// Writes JSON as CBOR (RFC 8949, 6.2), or a text that is no JSON as that text.
pub(super) fn write(json: &str, writer: &mut Writer) {
    let mut value = Writer::with_capacity(json.len());
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let written = deserializer.deserialize_any(Value(&mut value)).and_then(|()| deserializer.end());
    if written.is_ok() {
        writer.encoded(&value.into_vec());
    } else {
        writer.text(json);
    }
}

/// Writes the value that it visits. Lengths are indefinite, since JSON has none in advance.
struct Value<'a>(&'a mut Writer);

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.null();
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.boolean(value);
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.0.integer(value);
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.0.integer(value);
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.0.float(value);
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.0.text(value);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        self.0.begin(false);
        while sequence.next_element_seed(Value(&mut *self.0))?.is_some() {}
        self.0.end();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.begin(true);
        while map.next_key_seed(Value(&mut *self.0))?.is_some() {
            map.next_value_seed(Value(&mut *self.0))?;
        }
        self.0.end();
        Ok(())
    }
}

/// Reads an item, and returns it as JSON in one line, of at most [`MAX_LEN`] bytes.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<String, Malformed> {
    let mut json = String::new();
    convert(reader, MAX_DEPTH, &mut json)?;
    if json.len() > MAX_LEN { Err(Malformed::Invalid(REASON_CONTEXT)) } else { Ok(json) }
}

/// Appends an item as JSON, in which `depth` containers may be in each other.
fn convert(reader: &mut Reader<'_>, depth: usize, json: &mut String) -> Result<(), Malformed> {
    while reader.kind()? == Type::Tag {
        reader.tag()?;
    }
    match reader.kind()? {
        Type::Array | Type::ArrayIndef => convert_array(reader, depth, json)?,
        Type::Map | Type::MapIndef => convert_map(reader, depth, json)?,
        Type::String | Type::StringIndef => push_string(&reader.text()?, json)?,
        Type::Bytes | Type::BytesIndef => push_string(&Base64UrlUnpadded::encode_string(&reader.bytes()?), json)?,
        Type::Bool => json.push_str(if reader.boolean()? { "true" } else { "false" }),
        Type::F16 | Type::F32 | Type::F64 => push_float(reader.float()?, json),
        _ => match reader.integer()? {
            Some(number) => json.push_str(&number.to_string()),
            None => {
                reader.skip()?;
                json.push_str("null");
            }
        },
    }
    Ok(())
}

fn convert_array(reader: &mut Reader<'_>, depth: usize, json: &mut String) -> Result<(), Malformed> {
    let depth = depth.checked_sub(1).ok_or(Malformed::Invalid(REASON_CONTEXT))?;
    let mut entries = reader.array()?;
    json.push('[');
    let mut separator = "";
    while entries.next(reader)? {
        json.push_str(separator);
        separator = ",";
        convert(reader, depth, json)?;
    }
    json.push(']');
    Ok(())
}

fn convert_map(reader: &mut Reader<'_>, depth: usize, json: &mut String) -> Result<(), Malformed> {
    let depth = depth.checked_sub(1).ok_or(Malformed::Invalid(REASON_CONTEXT))?;
    let mut entries = reader.map()?;
    json.push('{');
    let mut separator = "";
    while entries.next(reader)? {
        json.push_str(separator);
        separator = ",";
        // Names are strings: a number is the text of it.
        match reader.integer()? {
            Some(number) => push_string(&number.to_string(), json)?,
            None if matches!(reader.kind()?, Type::String | Type::StringIndef) => push_string(&reader.text()?, json)?,
            None => return Err(Malformed::Invalid(REASON_CONTEXT)),
        }
        json.push(':');
        convert(reader, depth, json)?;
    }
    json.push('}');
    Ok(())
}

fn push_string(text: &str, json: &mut String) -> Result<(), Malformed> {
    let quoted = serde_json::to_string(text).map_err(|_| Malformed::Invalid(REASON_CONTEXT))?;
    json.push_str(&quoted);
    Ok(())
}

/// Appends a number; what is none, or infinite, is null.
fn push_float(number: f64, json: &mut String) {
    if number.is_finite() {
        let _ = write!(json, "{number:?}"); // a string takes all that is written to it
    } else {
        json.push_str("null");
    }
}
