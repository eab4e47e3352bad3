//! Status messages of the pledge (RFC 8995, 5.7 and 5.9.4): whether it took the voucher, and whether it got its certificate.
//!
//! They come from devices that nobody trusts yet. What must always hold: the text in a [`Status`] is bounded, and is never
//! more than a claim; a message of a later version is read, so that an operator can be told.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::Malformed;
use crate::json::{Object, in_one_line};
use crate::voucher::MAX_LEN;

mod cbor;

/// A status message about a voucher or an enrolment.
///
/// Its strings are the device's: they may have control characters, which are to be escaped where they are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The version; 1 is the only one that is known.
    pub version: u64,
    /// Whether the pledge succeeded.
    pub status: bool,
    /// Why not, for people. At most [`MAX_REASON_LEN`] bytes are read; the rest is cut off.
    pub reason: Option<String>,
    /// reason-context, as JSON. What was read is in one line.
    pub reason_context: Option<String>,
    /// The names of other fields, which are logged and otherwise ignored: the first [`MAX_UNKNOWN`] by the alphabet, and of
    /// each at most [`MAX_NAME_LEN`] bytes. They are not encoded.
    pub unknown: Vec<String>,
}

/// The most bytes of a reason that are read.
pub const MAX_REASON_LEN: usize = 1024;

/// The most names of unknown fields that are kept.
pub const MAX_UNKNOWN: usize = 16;

/// The most bytes of a name of an unknown field that are kept.
pub const MAX_NAME_LEN: usize = 64;

impl Status {
    /// A status of version 1.
    pub const fn new(status: bool, reason: Option<String>) -> Self {
        Self { version: 1, status, reason, reason_context: None, unknown: Vec::new() }
    }

    /// Encodes it as JSON. A reason-context that is no JSON is encoded as a string.
    pub fn to_json(&self) -> Vec<u8> {
        let context = self.reason_context.as_deref().map(|text| match serde_json::from_str::<&RawValue>(text) {
            Ok(json) => Ok(json.to_owned()),
            Err(_) => to_raw_value(text),
        });
        let message = Message {
            version: self.version,
            status: self.status,
            reason: self.reason.as_deref(),
            reason_context: context.and_then(Result::ok), // strings can always be encoded
        };
        serde_json::to_vec(&message).expect("a number, a boolean, a string and JSON can be encoded")
    }

    /// Parses JSON of at most [`MAX_LEN`] bytes. The same field twice is refused.
    pub fn from_json(json: &[u8]) -> Result<Self, Malformed> {
        if json.len() > MAX_LEN {
            return Err(Malformed::TooLong(MAX_LEN));
        }
        let json = core::str::from_utf8(json).map_err(|_| Malformed::Json)?;
        let mut object = Object::parse(json, &[VERSION, STATUS, REASON, REASON_CONTEXT])?;
        Ok(Self {
            version: object.take_number(VERSION)?.ok_or(Malformed::Missing(VERSION))?,
            status: object.take(STATUS)?.ok_or(Malformed::Missing(STATUS))?,
            reason: object.take(REASON)?.map(|reason: String| cut(reason, MAX_REASON_LEN)),
            reason_context: object.take_json(REASON_CONTEXT).map(in_one_line),
            unknown: object.into_names().take(MAX_UNKNOWN).map(|name| cut(name, MAX_NAME_LEN)).collect(),
        })
    }
}

/// Cuts a text off after at most `len` bytes.
fn cut(mut text: String, len: usize) -> String {
    text.truncate(text.floor_char_boundary(len));
    text
}

/// What is encoded (RFC 8995, figures 15 and 19).
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Message<'a> {
    version: u64,
    status: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason_context: Option<alloc::boxed::Box<RawValue>>,
}

const VERSION: &str = "version";
const STATUS: &str = "status";
const REASON: &str = "reason";
const REASON_CONTEXT: &str = "reason-context";

#[cfg(test)]
mod tests;
