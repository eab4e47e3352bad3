//! An entry of the audit log as a link of the chain.
//!
//! What must always hold: two entries that differ in any field have different encodings, and no encoding is the beginning of
//! another one; so a hash stands for one entry after one other, whatever bytes the fields have.

use sqlx::Row;
use sqlx::any::AnyRow;
use terse_aws_lc::PROVIDER;
use terse_brski::digest::Sha256;

/// An entry of the audit log of a device, as it stands in the database. Nothing says that a hand has left it as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::masa) struct Entry {
    pub(in crate::masa) serial_number: String,
    pub(in crate::masa) idevid_issuer: Vec<u8>,
    /// Counts the entries of the device, from 1.
    pub(in crate::masa) number: i64,
    /// In seconds since 1970, as `expires_on`.
    pub(in crate::masa) date: i64,
    pub(in crate::masa) domain_id: Vec<u8>,
    pub(in crate::masa) domain_key: Vec<u8>,
    pub(in crate::masa) nonce: Option<Vec<u8>>,
    pub(in crate::masa) assertion: String,
    /// The SHA-256 of the request. Entries of earlier versions whose voucher was replaced have none, and no voucher.
    pub(in crate::masa) request: Option<Vec<u8>>,
    /// The SHA-256 of the voucher.
    pub(in crate::masa) voucher_sha256: Option<Vec<u8>>,
    /// When the voucher expires.
    pub(in crate::masa) expires_on: Option<i64>,
}

/// The hash before the first link.
pub(in crate::masa) const NO_LINK: Sha256 = [0; 32];

impl Entry {
    /// The columns of [`Self::read`], of the table `audit_log` by the name `a`.
    pub(super) const COLUMNS: &str = "a.serial_number, a.idevid_issuer, a.number, a.date, a.domain_id, a.domain_key, a.nonce, \
                                      a.assertion, a.request, a.voucher_sha256, a.expires_on";

    /// Reads a row. It fails if a value is not of its column's type: SQLite stores any value in any column.
    pub(super) fn read(row: &AnyRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            serial_number: row.try_get("serial_number")?,
            idevid_issuer: row.try_get("idevid_issuer")?,
            number: row.try_get("number")?,
            date: row.try_get("date")?,
            domain_id: row.try_get("domain_id")?,
            domain_key: row.try_get("domain_key")?,
            nonce: row.try_get("nonce")?,
            assertion: row.try_get("assertion")?,
            request: row.try_get("request")?,
            voucher_sha256: row.try_get("voucher_sha256")?,
            expires_on: row.try_get("expires_on")?,
        })
    }

    /// Returns the hash of this link: `SHA-256(DOMAIN || previous || encoding)`.
    pub(in crate::masa) fn link(&self, previous: &Sha256) -> Sha256 {
        sha256(&[DOMAIN, previous, &self.encode()])
    }

    /// Encodes the fields in their order. A number has 8 bytes, a text or bytes follow their length, and what may be missing
    /// follows 0, for that, or 1.
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        bytes(self.serial_number.as_bytes(), &mut out);
        bytes(&self.idevid_issuer, &mut out);
        number(self.number, &mut out);
        number(self.date, &mut out);
        bytes(&self.domain_id, &mut out);
        bytes(&self.domain_key, &mut out);
        optional(self.nonce.as_deref(), bytes, &mut out);
        bytes(self.assertion.as_bytes(), &mut out);
        optional(self.request.as_deref(), bytes, &mut out);
        optional(self.voucher_sha256.as_deref(), bytes, &mut out);
        optional(self.expires_on, number, &mut out);
        out
    }
}

/// Returns the SHA-256 of the concatenation of `parts`.
pub(in crate::masa) fn sha256(parts: &[&[u8]]) -> Sha256 {
    let digest = PROVIDER.sha256.hash(parts);
    core::array::from_fn(|index| digest.as_ref().get(index).copied().unwrap_or_default()) // SHA-256 has 32 bytes
}

fn number(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn bytes(value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(value.len() as u64).to_be_bytes());
    out.extend_from_slice(value);
}

fn optional<T>(value: Option<T>, encode: impl FnOnce(T, &mut Vec<u8>), out: &mut Vec<u8>) {
    out.push(value.is_some().into());
    if let Some(value) = value {
        encode(value, out);
    }
}

/// What no other hash of this project begins with.
const DOMAIN: &[u8] = b"terse masa audit log 1\0";

#[cfg(test)]
mod tests;
