//! Status messages in CBOR (draft-ietf-anima-constrained-voucher-31, "Status Telemetry Returns"): the maps that the CDDL of RFC
//! 8995, 5.7 and 5.9.4, describes, with names as keys.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use minicbor::data::Type;

use super::{MAX_NAME_LEN, MAX_REASON_LEN, MAX_UNKNOWN, REASON, REASON_CONTEXT, STATUS, Status, VERSION, cut};
use crate::Malformed;
use crate::cbor::{Reader, Writer};
use crate::voucher::MAX_LEN;

mod json;

impl Status {
    /// Encodes it as CBOR. A reason-context that is no JSON is encoded as a text.
    pub fn to_cbor(&self) -> Vec<u8> {
        let context = self.reason_context.as_deref();
        let mut writer = begin(self.version, self.status, self.reason.as_deref(), context.is_some());
        if let Some(context) = context {
            writer.text(REASON_CONTEXT);
            json::write(context, &mut writer);
        }
        writer.into_vec()
    }

    /// Encodes a status of version 1 without a reason-context as CBOR. A device that sends no other has nothing of JSON in its
    /// firmware for it, as it has for [`Self::to_cbor`].
    pub fn cbor_without_context(status: bool, reason: Option<&str>) -> Vec<u8> {
        begin(1, status, reason, false).into_vec()
    }

    /// Parses CBOR of at most [`MAX_LEN`] bytes. The same field twice is refused.
    ///
    /// [`Self::reason_context`] is JSON also here, as RFC 8949, 6.1, converts it: bytes are in base64url, and what JSON has no
    /// form for is null. At most 16 containers may be in each other. Names of unknown fields that are numbers are the text of
    /// those.
    pub fn from_cbor(cbor: &[u8]) -> Result<Self, Malformed> {
        if cbor.len() > MAX_LEN {
            return Err(Malformed::TooLong(MAX_LEN));
        }
        let mut reader = Reader::new(cbor);
        let mut fields = Fields::default();
        let mut entries = reader.map()?;
        while entries.next(&mut reader)? {
            fields.read(&mut reader)?;
        }
        reader.finish()?;
        fields.into_status()
    }
}

/// Writes all but the reason-context.
fn begin(version: u64, status: bool, reason: Option<&str>, has_context: bool) -> Writer {
    let mut writer = Writer::with_capacity(ROOM + reason.map_or(0, str::len));
    writer.map(2 + usize::from(reason.is_some()) + usize::from(has_context));
    writer.text(VERSION);
    writer.integer(version);
    writer.text(STATUS);
    writer.boolean(status);
    if let Some(reason) = reason {
        writer.text(REASON);
        writer.text(reason);
    }
    writer
}

/// The fields that were read.
#[derive(Default)]
struct Fields {
    version: Option<u64>,
    status: Option<bool>,
    reason: Option<String>,
    reason_context: Option<String>,
    /// The names of all fields, of which none is there twice.
    names: BTreeSet<String>,
}

impl Fields {
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let name = read_name(reader)?;
        if self.names.contains(&name) {
            let known = KNOWN.into_iter().find(|known| *known == name);
            return Err(Malformed::Duplicate(known.unwrap_or("an unknown field")));
        }
        match name.as_str() {
            VERSION => {
                let number = reader.integer()?.and_then(|number| u64::try_from(number).ok());
                self.version = Some(number.ok_or(Malformed::Invalid(VERSION))?);
            }
            STATUS if reader.kind()? == Type::Bool => self.status = Some(reader.boolean()?),
            STATUS => return Err(Malformed::Invalid(STATUS)),
            // null is no value, as in JSON.
            REASON | REASON_CONTEXT if reader.kind()? == Type::Null => {
                reader.skip()?;
            }
            REASON if matches!(reader.kind()?, Type::String | Type::StringIndef) => {
                self.reason = Some(cut(reader.text()?.into_owned(), MAX_REASON_LEN));
            }
            REASON => return Err(Malformed::Invalid(REASON)),
            REASON_CONTEXT => self.reason_context = Some(json::read(reader)?),
            _ => {
                reader.skip()?;
            }
        }
        self.names.insert(name);
        Ok(())
    }

    fn into_status(self) -> Result<Status, Malformed> {
        let unknown = self.names.into_iter().filter(|name| !KNOWN.contains(&name.as_str()));
        Ok(Status {
            version: self.version.ok_or(Malformed::Missing(VERSION))?,
            status: self.status.ok_or(Malformed::Missing(STATUS))?,
            reason: self.reason,
            reason_context: self.reason_context,
            unknown: unknown.take(MAX_UNKNOWN).map(|name| cut(name, MAX_NAME_LEN)).collect(),
        })
    }
}

/// Reads a key: a text, or a number.
fn read_name(reader: &mut Reader<'_>) -> Result<String, Malformed> {
    match reader.kind()? {
        Type::String | Type::StringIndef => reader.text().map(String::from),
        _ => Ok(reader.integer()?.ok_or(Malformed::Cbor)?.to_string()),
    }
}

const KNOWN: [&str; 4] = [VERSION, STATUS, REASON, REASON_CONTEXT];

/// How many bytes a message without a reason-context has at most besides its reason.
const ROOM: usize = 40;

#[cfg(test)]
mod tests;
