//! The audit log of a device (RFC 8995, 5.8.1): who had vouchers for it.
//!
//! The MASA that sends it is authenticated, but it is the manufacturer's, and so is what it says. What must always hold: a log
//! that is read has at most [`MAX_EVENTS`] events, the newest first, whatever order they came in.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use pki_types::UnixTime;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::json::Object;
use crate::voucher::{Assertion, Nonce};
use crate::{Malformed, base64, date};

/// The response of a MASA.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditLog {
    /// The version; 1 is the only one that is known. Later ones only add to it.
    pub version: u64,
    /// The events, the newest first.
    pub events: Vec<Event>,
    /// How many events were removed because there is a newer one of the same domain, with and without a nonce.
    pub nonced_duplicates: u64,
    /// See [`Self::nonced_duplicates`].
    pub nonceless_duplicates: u64,
    /// How many events were removed for any other reason.
    pub arbitrary: u64,
}

/// A voucher that was issued.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// When it was issued.
    pub date: UnixTime,
    /// The domain that it pinned.
    pub domain_id: Vec<u8>,
    /// Its nonce.
    pub nonce: Option<Nonce>,
    /// Its assertion.
    pub assertion: Assertion,
    /// How many events of this domain were removed.
    pub truncated: u64,
}

/// The most events of a log that is read.
pub const MAX_EVENTS: usize = 1024;

/// The most bytes of a domainID. A key identifier has 20 or 32.
pub const MAX_DOMAIN_ID_LEN: usize = 64;

impl AuditLog {
    /// Encodes it as JSON. Counts of zero are left out. A nonce that is no UTF-8, as in CBOR, is in base64.
    pub fn to_json(&self) -> Vec<u8> {
        let counts = [self.nonced_duplicates, self.nonceless_duplicates, self.arbitrary];
        let truncation = Truncation {
            nonced_duplicates: self.nonced_duplicates,
            nonceless_duplicates: self.nonceless_duplicates,
            arbitrary: self.arbitrary,
        };
        let response = Response {
            version: self.version,
            events: self.events.iter().map(EventFields::of).collect(),
            truncation: counts.iter().any(|count| *count > 0).then_some(truncation),
        };
        serde_json::to_vec(&response).expect("numbers and strings can be encoded")
    }

    /// Parses JSON of at most `max_len` bytes; numbers may be strings, as in the RFC's own example, and an assertion may be
    /// the number of its name. The same field twice is refused.
    pub fn from_json(json: &[u8], max_len: usize) -> Result<Self, Malformed> {
        if json.len() > max_len {
            return Err(Malformed::TooLong(max_len));
        }
        let json = core::str::from_utf8(json).map_err(|_| Malformed::Json)?;
        let mut log = Object::parse(json, &[VERSION, EVENTS, TRUNCATION])?;
        let version = log.take_number(VERSION)?.ok_or(Malformed::Missing(VERSION))?;
        let events: Vec<&RawValue> = log.take(EVENTS)?.ok_or(Malformed::Missing(EVENTS))?;
        if events.len() > MAX_EVENTS {
            return Err(Malformed::TooMany(EVENTS));
        }
        let mut events =
            events.into_iter().map(|event| Event::from_json(event.get())).collect::<Result<Vec<_>, _>>()?;
        events.sort_by_key(|event| Reverse(event.date));
        let truncation = log.take_json(TRUNCATION).unwrap_or("{}");
        let mut truncation = Object::parse(truncation, &[NONCED, NONCELESS, ARBITRARY])?;
        // A counter that is missing is zero.
        let mut count = |name| truncation.take_number(name).map(Option::unwrap_or_default);
        let (nonced_duplicates, nonceless_duplicates) = (count(NONCED)?, count(NONCELESS)?);
        Ok(Self { version, events, nonced_duplicates, nonceless_duplicates, arbitrary: count(ARBITRARY)? })
    }
}

impl Event {
    /// An event without removed ones.
    pub const fn new(date: UnixTime, domain_id: Vec<u8>, nonce: Option<Nonce>, assertion: Assertion) -> Self {
        Self { date, domain_id, nonce, assertion, truncated: 0 }
    }

    /// Returns the domainID in hexadecimal digits, for people.
    pub fn domain_id_hex(&self) -> String {
        let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default(); // below 16
        self.domain_id.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }

    fn from_json(json: &str) -> Result<Self, Malformed> {
        let mut event = Object::parse(json, &[DATE, DOMAIN_ID, NONCE, ASSERTION, TRUNCATED])?;
        let date: String = event.take(DATE)?.ok_or(Malformed::Missing(DATE))?;
        let domain_id: String = event.take(DOMAIN_ID)?.ok_or(Malformed::Missing(DOMAIN_ID))?;
        let domain_id = base64::decode(&domain_id, DOMAIN_ID)?;
        if !(1..=MAX_DOMAIN_ID_LEN).contains(&domain_id.len()) {
            return Err(Malformed::Invalid(DOMAIN_ID));
        }
        let nonce = event.take(NONCE)?.map(|nonce: String| Nonce::new(nonce.as_bytes())).transpose()?;
        Ok(Self {
            date: date::parse(&date).ok_or(Malformed::Invalid(DATE))?,
            domain_id,
            nonce,
            assertion: assertion(&mut event)?,
            truncated: event.take_number(TRUNCATED)?.unwrap_or_default(),
        })
    }
}

/// Takes an assertion, which is a name or the value of one.
fn assertion(event: &mut Object<'_>) -> Result<Assertion, Malformed> {
    let json = event.take_json(ASSERTION).ok_or(Malformed::Missing(ASSERTION))?;
    let value = match serde_json::from_str::<String>(json) {
        Ok(name) => match Assertion::of_name(&name) {
            Some(assertion) => return Ok(assertion),
            None => name.parse().ok().filter(|_| name.bytes().all(|c| c.is_ascii_digit())),
        },
        Err(_) => serde_json::from_str(json).ok(),
    };
    value.and_then(Assertion::of_value).ok_or(Malformed::Invalid(ASSERTION))
}

/// What is encoded (RFC 8995, figure 17).
#[derive(Serialize)]
struct Response<'a> {
    version: u64,
    events: Vec<EventFields<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncation: Option<Truncation>,
}

#[derive(Serialize)]
struct EventFields<'a> {
    date: String,
    #[serde(rename = "domainID")]
    domain_id: String,
    nonce: Option<alloc::borrow::Cow<'a, str>>,
    assertion: &'static str,
    #[serde(skip_serializing_if = "is_zero")]
    truncated: u64,
}

impl<'a> EventFields<'a> {
    fn of(event: &'a Event) -> Self {
        let nonce = event.nonce.as_ref().map(Nonce::as_bytes);
        Self {
            date: date::format(event.date),
            domain_id: text(&event.domain_id),
            nonce: nonce.map(|nonce| core::str::from_utf8(nonce).map_or_else(|_| text(nonce).into(), Into::into)),
            assertion: event.assertion.name(),
            truncated: event.truncated,
        }
    }
}

#[derive(Serialize)]
struct Truncation {
    #[serde(rename = "nonced duplicates", skip_serializing_if = "is_zero")]
    nonced_duplicates: u64,
    #[serde(rename = "nonceless duplicates", skip_serializing_if = "is_zero")]
    nonceless_duplicates: u64,
    #[serde(skip_serializing_if = "is_zero")]
    arbitrary: u64,
}

/// Returns the base64 of some bytes.
fn text(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(base64::encoded_len(bytes.len()));
    base64::encode(bytes, &mut text);
    String::from_utf8(text).unwrap_or_default() // base64 is ASCII
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}

const VERSION: &str = "version";
const EVENTS: &str = "events";
const TRUNCATION: &str = "truncation";
const NONCED: &str = "nonced duplicates";
const NONCELESS: &str = "nonceless duplicates";
const ARBITRARY: &str = "arbitrary";
const DATE: &str = "date";
const DOMAIN_ID: &str = "domainID";
const NONCE: &str = "nonce";
const ASSERTION: &str = "assertion";
const TRUNCATED: &str = "truncated";

#[cfg(test)]
mod tests;
