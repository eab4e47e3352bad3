//! Objects of JSON (RFC 8259) that come from strangers: their fields are taken one by one, each with an error of its own.
//!
//! The caller bounds the text. What must always hold: no name is there twice, however it is escaped; values that nobody takes
//! are skipped without recursion, and cost no memory.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;

use serde::de::{Deserialize, Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::Malformed;

/// An object whose values are still text.
pub(crate) struct Object<'a> {
    fields: BTreeMap<String, &'a RawValue>,
}

impl<'a> Object<'a> {
    /// Parses a text that is one object. `known` are the names that an error may tell.
    pub(crate) fn parse(json: &'a str, known: &[&'static str]) -> Result<Self, Malformed> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let fields = deserializer.deserialize_map(Fields { known });
        let fields = fields.and_then(|fields| deserializer.end().map(|()| fields)).map_err(|_| Malformed::Json)?;
        fields.map(|fields| Self { fields })
    }

    /// Takes the value of a field, which may be missing; null is no value.
    pub(crate) fn take<T: Deserialize<'a>>(&mut self, name: &'static str) -> Result<Option<T>, Malformed> {
        let value = self.take_json(name);
        value.map(serde_json::from_str).transpose().map_err(|_| Malformed::Invalid(name))
    }

    /// Takes a number that is not negative, which may be in a string (RFC 8995, figure 18).
    pub(crate) fn take_number(&mut self, name: &'static str) -> Result<Option<u64>, Malformed> {
        let Some(json) = self.take_json(name) else { return Ok(None) };
        let in_string = || {
            let text: String = serde_json::from_str(json).ok()?;
            text.parse().ok().filter(|_| text.bytes().all(|c| c.is_ascii_digit()))
        };
        let number = serde_json::from_str(json).ok().or_else(in_string);
        number.map(Some).ok_or(Malformed::Invalid(name))
    }

    /// Takes the value of a field as JSON, if it is there and not null.
    pub(crate) fn take_json(&mut self, name: &str) -> Option<&'a str> {
        self.fields.remove(name).map(RawValue::get).filter(|json| *json != "null")
    }

    /// Returns the names of the fields that were not taken.
    pub(crate) fn into_names(self) -> impl Iterator<Item = String> {
        self.fields.into_keys()
    }
}

/// Returns JSON without the white space between its tokens, so that it is one line.
pub(crate) fn in_one_line(json: &str) -> String {
    let mut is_string = false;
    let mut is_escaped = false;
    let keep = |c: &char| {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true, // only strings have it
            '"' => is_string = !is_string,
            _ => {}
        }
        is_string || !c.is_ascii_whitespace()
    };
    json.chars().filter(keep).collect()
}

/// Collects the fields of an object, or tells the name that is there twice.
struct Fields<'k> {
    known: &'k [&'static str],
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = Result<BTreeMap<String, &'de RawValue>, Malformed>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = BTreeMap::new();
        let mut duplicate = None;
        while let Some(name) = map.next_key::<String>()? {
            if fields.contains_key(&name) {
                let known = self.known.iter().find(|known| **known == name);
                duplicate = Some(Malformed::Duplicate(known.copied().unwrap_or("an unknown field")));
            }
            fields.insert(name, map.next_value()?);
        }
        Ok(duplicate.map_or(Ok(fields), Err))
    }
}

#[cfg(test)]
mod tests;
