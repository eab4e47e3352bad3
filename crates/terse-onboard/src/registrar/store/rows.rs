//! Rows as values, and values as columns.
//!
//! What must always hold: a row that no version of this program has written is an error, and never taken for something else.

use core::time::Duration;

use pki_types::UnixTime;
use sqlx::Row;
use sqlx::any::AnyRow;
use terse_brski::digest::Sha256;
use terse_brski::registrar::{AuditState, Joining, RequestRecord, RequestState};
use terse_brski::voucher::Nonce;

use super::{AuditTask, StoredJoining, StoredRequest};

pub(super) fn stored_request(row: &AnyRow) -> Result<StoredRequest, sqlx::Error> {
    let registrar_request = || -> Result<Vec<u8>, sqlx::Error> { row.try_get("registrar_request") };
    let state = match row.try_get::<&str, _>("state")? {
        "awaiting-operator" => RequestState::AwaitingOperator,
        "allowed" => RequestState::Allowed,
        "rejected" => RequestState::Rejected,
        "forwarded" => {
            let (created_on, sent) = (time(row.try_get("created_on")?), time(row.try_get("sent")?));
            RequestState::Forwarded { created_on, sent, registrar_request: registrar_request()? }
        }
        "answered" | "superseded" => RequestState::Answered {
            registrar_request: registrar_request()?,
            content_type: row.try_get("content_type")?,
            voucher: row.try_get("voucher")?,
        },
        _ => return Err(sqlx::Error::Decode("the state of a request is unknown".into())),
    };
    let failure = match row.try_get::<Option<i64>, _>("failure_status")? {
        Some(status) => Some((u16::try_from(status).unwrap_or(502), row.try_get("failure_text")?)),
        None => None,
    };
    let record = RequestRecord { request: digest(row, "request")?, received: time(row.try_get("received")?), state };
    Ok(StoredRequest { record, failure })
}

pub(super) fn audit_task(row: &AnyRow) -> Result<AuditTask, sqlx::Error> {
    let nonce = Nonce::new(row.try_get("nonce")?).map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
    // A voucher that was fetched in advance has none.
    let nonce = row.try_get::<Option<&[u8]>, _>("fetched")?.is_none().then_some(nonce);
    Ok(AuditTask {
        idevid: digest(row, "idevid")?,
        serial_number: row.try_get("serial_number")?,
        manufacturer: row.try_get("manufacturer")?,
        masa_url: row.try_get("masa")?,
        request: digest(row, "request")?,
        nonce,
        registrar_request: row.try_get("registrar_request")?,
        due: time(row.try_get("due")?),
    })
}

pub(super) fn stored_joining(row: &AnyRow) -> Result<StoredJoining, sqlx::Error> {
    let flag = |name| -> Result<Option<bool>, sqlx::Error> {
        Ok(row.try_get::<Option<i64>, _>(name)?.map(|value| value != 0))
    };
    let audit = match row.try_get::<&str, _>("audit")? {
        "requested" => AuditState::Requested,
        "good" => AuditState::Good,
        "bad" => AuditState::Bad,
        _ => return Err(sqlx::Error::Decode("the state of an audit log is unknown".into())),
    };
    let ldevid = row.try_get::<Option<Vec<u8>>, _>("ldevid")?;
    let ldevid = ldevid.map(|ldevid| ldevid.try_into().map_err(|_| not_a_digest())).transpose()?;
    let joining = Joining {
        idevid: digest(row, "idevid")?,
        voucher_status: flag("voucher_status")?,
        audit,
        ldevid,
        enroll_status: flag("enroll_status")?,
    };
    Ok(StoredJoining {
        joining,
        serial_number: row.try_get("serial_number")?,
        manufacturer: row.try_get("manufacturer")?,
        request: digest(row, "request")?,
        is_rejected: row.try_get::<Option<i64>, _>("is_allowed")? == Some(0),
        is_revoked: row.try_get::<Option<i64>, _>("kept_out")?.is_some(),
    })
}

pub(super) fn digest(row: &AnyRow, column: &str) -> Result<Sha256, sqlx::Error> {
    row.try_get::<&[u8], _>(column)?.try_into().map_err(|_| not_a_digest())
}

pub(super) fn not_a_digest() -> sqlx::Error {
    sqlx::Error::Decode("a digest has not 32 bytes".into())
}

pub(super) fn seconds(time: UnixTime) -> i64 {
    i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
}

pub(super) fn time(seconds: i64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(unsigned(seconds)))
}

pub(super) fn unsigned(seconds: i64) -> u64 {
    u64::try_from(seconds).unwrap_or(0)
}
