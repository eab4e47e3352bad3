//! The lines of an export: objects in JSON, one on each line.
//!
//! | `kind` | |
//! |---|---|
//! | `log` | the first line: the version of the format |
//! | `device` | a device, as it is recorded |
//! | `entry` | an entry of the audit log in its place in the chain, with its voucher if that is stored |
//! | `end` | the last line: length, head and time, the SHA-256 of all bytes before it, and a signature of these four |
//!
//! Digests and identifiers are in hexadecimal digits, vouchers and the signature in base64.

use base64ct::{Base64, Encoding as _};
use pki_types::UnixTime;
use serde::{Deserialize, Serialize};
use terse_brski::date;
use terse_brski::masa::Buyer;

use super::LogHead;
use super::entry::Entry;
use super::head::{from_hex, hex};
use super::rows::Row;

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum Line {
    Log(LogLine),
    Device(DeviceLine),
    Entry(Box<EntryLine>),
    End(EndLine),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogLine {
    pub(super) version: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeviceLine {
    pub(super) serial_number: String,
    pub(super) idevid_issuer: String,
    pub(super) registered: bool,
    pub(super) blocked: bool,
    pub(super) sold_to: Vec<Buyer>,
    pub(super) raw_public_keys_only: bool,
    pub(super) owner: Option<String>,
    pub(super) entries: i64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntryLine {
    position: i64,
    serial_number: String,
    idevid_issuer: String,
    number: i64,
    date: String,
    domain_id: String,
    domain_key: String,
    nonce: Option<String>,
    assertion: String,
    request: Option<String>,
    voucher_sha256: Option<String>,
    expires_on: Option<String>,
    hash: String,
    voucher: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLine {
    pub(super) length: i64,
    pub(super) head: String,
    pub(super) time: String,
    pub(super) sha256: String,
    /// Signed data of CMS (RFC 5652) whose content is a [`Statement`].
    pub(super) signature: String,
}

/// What is signed. It has a member that no voucher has, and none that a voucher must have.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Statement {
    #[serde(rename = "terse-audit-log")]
    pub(super) log: StatementFields,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatementFields {
    pub(super) length: i64,
    pub(super) head: String,
    pub(super) time: String,
    pub(super) sha256: String,
}

/// The version of the format.
pub(super) const VERSION: u32 = 1;

impl EntryLine {
    /// Returns the line of a row that was verified, unless it has a time that has no text.
    pub(super) fn of(row: &Row, entry: &Entry) -> Option<Self> {
        Some(Self {
            position: row.position,
            serial_number: entry.serial_number.clone(),
            idevid_issuer: hex(&entry.idevid_issuer),
            number: entry.number,
            date: text(entry.date)?,
            domain_id: hex(&entry.domain_id),
            domain_key: hex(&entry.domain_key),
            nonce: entry.nonce.as_deref().map(hex),
            assertion: entry.assertion.clone(),
            request: entry.request.as_deref().map(hex),
            voucher_sha256: entry.voucher_sha256.as_deref().map(hex),
            expires_on: match entry.expires_on {
                Some(time) => Some(text(time)?),
                None => None,
            },
            hash: hex(&row.link().hash),
            voucher: row.voucher.as_ref().map(|stored| Base64::encode_string(&stored.voucher)),
        })
    }

    /// Returns the head that the entry says it makes, the entry, and its voucher, or `None` if a value has not its form.
    pub(super) fn read(self) -> Option<(LogHead, Entry, Option<Vec<u8>>)> {
        let entry = Entry {
            serial_number: self.serial_number,
            idevid_issuer: from_hex(&self.idevid_issuer)?,
            number: self.number,
            date: seconds(&self.date)?,
            domain_id: from_hex(&self.domain_id)?,
            domain_key: from_hex(&self.domain_key)?,
            nonce: optional(self.nonce.as_deref(), from_hex)?,
            assertion: self.assertion,
            request: optional(self.request.as_deref(), from_hex)?,
            voucher_sha256: optional(self.voucher_sha256.as_deref(), from_hex)?,
            expires_on: optional(self.expires_on.as_deref(), seconds)?,
        };
        let voucher = optional(self.voucher.as_deref(), |text| Base64::decode_vec(text).ok())?;
        let hash = from_hex(&self.hash)?.try_into().ok()?;
        Some((LogHead { length: self.position, hash }, entry, voucher))
    }
}

impl EndLine {
    pub(super) fn statement(&self) -> Statement {
        let (length, head, time, sha256) = (self.length, self.head.clone(), self.time.clone(), self.sha256.clone());
        Statement { log: StatementFields { length, head, time, sha256 } }
    }

    pub(super) fn head(&self) -> Option<LogHead> {
        let hash = from_hex(&self.head)?.try_into().ok()?;
        Some(LogHead { length: self.length, hash })
    }
}

/// Reads a value that may be missing. `None` is one that is there, and has not its form.
fn optional<T>(text: Option<&str>, read: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    match text {
        Some(text) => read(text).map(Some),
        None => Some(None),
    }
}

/// Returns a time of the database in the form of RFC 3339, unless it has no such form.
fn text(seconds_since_1970: i64) -> Option<String> {
    let time = u64::try_from(seconds_since_1970).ok()?;
    let text = date::format(UnixTime::since_unix_epoch(core::time::Duration::from_secs(time)));
    (seconds(&text) == Some(seconds_since_1970)).then_some(text)
}

fn seconds(text: &str) -> Option<i64> {
    i64::try_from(date::parse(text)?.as_secs()).ok()
}
