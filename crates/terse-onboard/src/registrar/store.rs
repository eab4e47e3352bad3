//! The registrar's tables.
//!
//! What must always hold: what belongs together is one transaction; a state changes only from the one that was read, so
//! that of two processes on one database one wins and the other one reads again; a device costs a bounded number of rows
//! a day.

use pki_types::UnixTime;
use prometheus_client::metrics::counter::Counter;
use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, Row};
use terse_brski::digest::Sha256;
use terse_brski::registrar::{Joining, PledgeRequest, ReceivedVoucher, RequestRecord, RequestState};

use crate::store::{Database, Migrations, Pool, Transaction};

mod audits;
mod counts;
mod enrolment;
mod fetched;
mod history;
mod operator;
pub(super) mod pages;
mod passed_on;
pub(super) mod revocation;
mod rows;
mod unsent;

pub(super) use audits::AuditTask;
use audits::{JoiningAudit, join};
pub(super) use counts::Counts;
pub(super) use enrolment::{Issued, Known, Stored};
pub(super) use operator::Device;
pub(super) use passed_on::{Claim, Outcome, Passed, PassedOn, RequestKey};
use rows::{seconds, stored_request};
pub(super) use unsent::MAX_UNSENT;

pub use fetched::FetchedVoucher;
pub use operator::{DeviceReport, EndingCertificate, Pending, PendingReason};

/// The newest LDevIDs of devices, as the rows of `certificates c` and `joinings j`, but for devices that an operator keeps out: nobody
/// is to look after those.
const NEWEST_LDEVIDS: &str = "certificates c JOIN joinings j ON j.ldevid = c.certificate_sha256 \
                              AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.idevid = j.idevid AND d.is_allowed = 0) \
                              AND NOT EXISTS (SELECT 1 FROM kept_out k WHERE k.idevid = j.idevid)";

/// The database of a registrar.
#[derive(Clone)]
pub(super) struct Store {
    pool: Pool,
}

/// What is known about a pledge's voucher request.
pub(super) struct StoredRequest {
    pub(super) record: RequestRecord,
    /// How the MASA has refused it, since it was sent last: the status and the text for the pledge.
    pub(super) failure: Option<(u16, String)>,
}

impl StoredRequest {
    /// Whether the MASA has refused the request a while ago: then the same request of the pledge is as good as a new one.
    fn is_over(&self, time: UnixTime) -> bool {
        let is_refused = self.failure.as_ref().is_some_and(|(status, _)| *status != 202);
        match self.record.state {
            RequestState::Forwarded { sent, .. } => is_refused && seconds(time) > seconds(sent) + ANSWER_SECONDS,
            _ => false,
        }
    }
}

/// A device that joins, and the request by which it got its voucher.
pub(super) struct StoredJoining {
    pub(super) joining: Joining,
    pub(super) serial_number: String,
    pub(super) manufacturer: String,
    pub(super) request: Sha256,
    /// Whether an operator has rejected the device.
    pub(super) is_rejected: bool,
    /// Whether an operator has revoked its certificates, and has not accepted it since.
    pub(super) is_revoked: bool,
}

impl Store {
    pub(super) async fn open(database: &Database) -> Result<Self, sqlx::Error> {
        Ok(Self { pool: database.open(&Migrations::REGISTRAR).await? })
    }

    /// Whether the database answers.
    pub(super) async fn check(&self) -> Result<(), sqlx::Error> {
        sqlx::query("SELECT COUNT(*) FROM joinings WHERE idevid = $1").bind(&[][..]).fetch_one(&self.pool).await?;
        Ok(())
    }

    /// Returns the number of statements that the database did not carry out.
    pub(super) fn errors(&self) -> Counter {
        self.pool.errors().clone()
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }

    /// Begins a transaction that writes: it waits for others at its beginning, and not in its middle, where it would fail.
    async fn begin(&self) -> Result<Transaction, sqlx::Error> {
        self.pool.begin().await
    }

    /// Returns what became of a request. One of a device about which an operator has decided is as decided.
    pub(super) async fn request(
        &self,
        request: &PledgeRequest,
        time: UnixTime,
    ) -> Result<Option<StoredRequest>, sqlx::Error> {
        let row = sqlx::query(
            "SELECT request, received, state, created_on, sent, registrar_request, content_type, voucher, failure_status, \
             failure_text FROM requests WHERE request = $1",
        )
        .bind(&request.sha256()[..])
        .fetch_optional(&self.pool)
        .await?;
        let stored = row.map(|row| stored_request(&row)).transpose()?.filter(|stored| !stored.is_over(time));
        let decided = sqlx::query("SELECT is_allowed FROM decisions WHERE idevid = $1").bind(&request.client()[..]);
        let Some(decided) = decided.fetch_optional(&self.pool).await? else { return Ok(stored) };
        let is_allowed = decided.try_get::<i64, _>(0)? != 0;
        let is_open = stored.as_ref().is_none_or(|stored| stored.record.state == RequestState::AwaitingOperator);
        let state = match is_allowed {
            true if is_open => RequestState::Allowed,
            true => return Ok(stored),
            false => RequestState::Rejected, // also if it has had its voucher
        };
        let received = stored.map_or(time, |stored| stored.record.received);
        let record = RequestRecord { request: *request.sha256(), received, state };
        Ok(Some(StoredRequest { record, failure: None }))
    }

    /// Stores a request for which an operator is asked. Returns whether the device has not sent too many.
    pub(super) async fn await_operator(
        &self,
        request: &PledgeRequest,
        manufacturer: &str,
        record: &RequestRecord,
    ) -> Result<bool, sqlx::Error> {
        let mut transaction = self.begin().await?;
        if has_too_many(&mut transaction, request, record.received).await? {
            return Ok(false);
        }
        // Another process may have it meanwhile.
        insert(request, manufacturer, record.received, "awaiting-operator").execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Stores the registrar's request that is about to be sent. Returns `Forwarded::Lost` if another task has one for the
    /// same request already.
    pub(super) async fn forward(
        &self,
        request: &PledgeRequest,
        manufacturer: &str,
        registrar_request: &[u8],
        time: UnixTime,
    ) -> Result<Forwarded, sqlx::Error> {
        let mut transaction = self.begin().await?;
        let known = sqlx::query("SELECT state FROM requests WHERE request = $1").bind(&request.sha256()[..]);
        if known.fetch_optional(&mut *transaction).await?.is_none() {
            if has_too_many(&mut transaction, request, time).await? {
                return Ok(Forwarded::TooMany);
            }
            insert(request, manufacturer, time, "allowed").execute(&mut *transaction).await?;
        }
        let done = sqlx::query(
            "UPDATE requests SET state = 'forwarded', created_on = $2, sent = $2, registrar_request = $3, \
             failure_status = NULL, failure_text = NULL WHERE request = $1 \
             AND (state IN ('awaiting-operator', 'allowed') OR (state = 'forwarded' AND sent < $4))",
        )
        .bind(&request.sha256()[..])
        .bind(seconds(time))
        .bind(registrar_request)
        .bind(seconds(time).saturating_sub(ANSWER_SECONDS))
        .execute(&mut *transaction)
        .await?;
        if done.rows_affected() == 1 {
            history::add(&mut transaction, request, manufacturer).await?;
        }
        transaction.commit().await?;
        Ok(if done.rows_affected() == 1 { Forwarded::Stored } else { Forwarded::Lost })
    }

    /// Notes that a request is sent to the MASA again. Returns whether no other task has just done so.
    pub(super) async fn resend(&self, request: &Sha256, sent: UnixTime, time: UnixTime) -> Result<bool, sqlx::Error> {
        let done = sqlx::query(
            "UPDATE requests SET sent = $3, failure_status = NULL, failure_text = NULL \
             WHERE request = $1 AND state = 'forwarded' AND sent = $2",
        )
        .bind(&request[..])
        .bind(seconds(sent))
        .bind(seconds(time))
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Notes how the MASA has refused the request that was sent at this time, or with the status 202 that its answer could not
    /// be used. One that was sent again meanwhile is not touched.
    pub(super) async fn failed(
        &self,
        request: &Sha256,
        sent: UnixTime,
        status: u16,
        text: &str,
    ) -> Result<(), sqlx::Error> {
        sqlx::query(
            "UPDATE requests SET failure_status = $3, failure_text = $4 \
             WHERE request = $1 AND state = 'forwarded' AND sent = $2",
        )
        .bind(&request[..])
        .bind(seconds(sent))
        .bind(i64::from(status))
        .bind(text)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Stores a voucher, and that the device joins with it. Returns whether no other task has stored one for this request,
    /// and no operator has rejected the device meanwhile.
    pub(super) async fn answer(
        &self,
        request: &PledgeRequest,
        manufacturer: &str,
        received: &ReceivedVoucher,
        time: UnixTime,
    ) -> Result<bool, sqlx::Error> {
        let pinned = received.findings.as_ref().filter(|findings| findings.pins_own_chain);
        let mut transaction = self.begin().await?;
        let done = sqlx::query(
            "UPDATE requests SET state = 'answered', content_type = $2, voucher = $3, \
             failure_status = NULL, failure_text = NULL WHERE request = $1 AND state = 'forwarded' AND NOT EXISTS \
             (SELECT 1 FROM decisions d WHERE d.idevid = requests.idevid AND d.is_allowed = 0)",
        )
        .bind(&request.sha256()[..])
        .bind(&received.content_type)
        .bind(&received.voucher)
        .execute(&mut *transaction)
        .await?;
        if done.rows_affected() == 1 {
            let domain_id = pinned.and_then(|findings| findings.domain_id.as_deref());
            history::answered(&mut transaction, request, domain_id).await?;
            join(&mut transaction, request, manufacturer, &JoiningAudit::default(), time).await?;
        }
        transaction.commit().await?;
        Ok(done.rows_affected() == 1)
    }
}

/// What became of storing a request to the MASA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forwarded {
    /// It is stored, and is to be sent.
    Stored,
    /// Another task was faster.
    Lost,
    /// The device has sent too many requests of late.
    TooMany,
}

async fn has_too_many(
    transaction: &mut Transaction,
    request: &PledgeRequest,
    time: UnixTime,
) -> Result<bool, sqlx::Error> {
    let count: i64 = sqlx::query("SELECT COUNT(*) FROM requests WHERE idevid = $1 AND received > $2")
        .bind(&request.client()[..])
        .bind(seconds(time).saturating_sub(DAY))
        .fetch_one(&mut **transaction)
        .await?
        .try_get(0)?;
    Ok(count >= MAX_REQUESTS_A_DAY)
}

fn insert<'a>(
    request: &'a PledgeRequest,
    manufacturer: &'a str,
    received: UnixTime,
    state: &'static str,
) -> Query<'a, Any, AnyArguments<'a>> {
    sqlx::query(
        "INSERT INTO requests (request, idevid, serial_number, manufacturer, nonce, masa, received, state, \
         idevid_certificate) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (request) DO UPDATE SET \
         state = excluded.state WHERE requests.state = 'forwarded' AND requests.failure_status <> 202",
    )
    .bind(&request.sha256()[..])
    .bind(&request.client()[..])
    .bind(&request.idevid().serial_number)
    .bind(manufacturer)
    .bind(request.nonce().as_bytes())
    .bind(request.idevid().masa_url.as_deref())
    .bind(seconds(received))
    .bind(state)
    .bind(request.certificate())
}

pub(super) const DAY: i64 = 86_400;

/// How long the answer of a MASA stands before it is asked again; the decisions about requests have the same time.
const ANSWER_SECONDS: i64 = 60;

/// How long requests are kept that came to nothing: a day longer than pledges repeat them.
const FORGOTTEN_AFTER: i64 = 5 * DAY;

/// The most voucher requests of one device in a day. A pledge makes a new one for each attempt and each proxy.
const MAX_REQUESTS_A_DAY: i64 = 64;

#[cfg(test)]
mod tests;
