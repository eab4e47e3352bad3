//! The tables of certification requests that are passed on to an EST server, and of its CA certificates.
//!
//! What must always hold: a request is sent by one task at a time; a device has a bounded number of them a day, and of these
//! few are under way or waited for.

use pki_types::{CertificateDer, UnixTime};
use sqlx::Row;
use terse_brski::digest::Sha256;
use terse_brski::est::{decode_certs_only, encode_certs_only};

use super::enrolment::MAX_CERTIFICATES_A_DAY;
use super::rows::{seconds, unsigned};
use super::{DAY, FORGOTTEN_AFTER, Store, Transaction};

/// What a certification request is known by.
#[derive(Clone, Copy)]
pub(in super::super) struct RequestKey {
    /// The SHA-256 of the request.
    pub(in super::super) request: Sha256,
    /// The SHA-256 of the certificate that the client has presented.
    pub(in super::super) client: Sha256,
    pub(in super::super) idevid: Sha256,
}

/// A request that was passed on.
pub(in super::super) struct PassedOn {
    /// When it may be sent again, in seconds since 1970.
    pub(in super::super) next: u64,
    /// How often in a row the EST server has refused it.
    pub(in super::super) refusals: u32,
    /// What the device is told until then, status and text; `None` while the request is under way.
    pub(in super::super) outcome: Option<(u16, String)>,
}

/// The right to say what becomes of a request that was sent. It ends when another task may send the request.
#[derive(Clone, Copy)]
pub(in super::super) struct Claim {
    next: i64,
    /// How often in a row the EST server had refused the request.
    pub(in super::super) refusals: u32,
}

/// What the device is told of a request for which there is no certificate.
pub(in super::super) struct Outcome<'a> {
    /// When the request may be sent again, in seconds since 1970.
    pub(in super::super) next: u64,
    /// How often in a row the EST server has refused it.
    pub(in super::super) refusals: u32,
    /// 202 if the device has to wait, or how the request was refused.
    pub(in super::super) status: u16,
    pub(in super::super) text: &'a str,
}

/// What became of storing that a request is passed on.
pub(in super::super) enum Passed {
    /// It is stored, and is to be sent by whoever has the claim.
    Stored(Claim),
    /// Another task was faster.
    Lost,
    /// Another task has got this certificate meanwhile.
    Issued(Vec<u8>),
    /// Other requests of the device come first.
    Full,
    /// The device has sent too many requests of late.
    TooMany,
}

impl Store {
    /// Returns what became of a request.
    pub(in super::super) async fn passed_on(&self, key: &RequestKey) -> Result<Option<PassedOn>, sqlx::Error> {
        let query = "SELECT next, refusals, status, reason FROM passed_on WHERE request = $1 AND client = $2";
        let row = sqlx::query(query).bind(&key.request[..]).bind(&key.client[..]).fetch_optional(&self.pool).await?;
        let Some(row) = row else { return Ok(None) };
        let outcome = match row.try_get::<Option<i64>, _>("status")? {
            Some(status) => Some((u16::try_from(status).unwrap_or(502), row.try_get("reason")?)),
            None => None,
        };
        let refusals = u32::try_from(row.try_get::<i64, _>("refusals")?).unwrap_or(0);
        Ok(Some(PassedOn { next: unsigned(row.try_get("next")?), refusals, outcome }))
    }

    /// Stores that a request is sent, if it is still as it was read.
    pub(in super::super) async fn pass_on(
        &self,
        key: &RequestKey,
        earlier: Option<&PassedOn>,
        time: UnixTime,
    ) -> Result<Passed, sqlx::Error> {
        let mut transaction = self.begin().await?;
        let known = "SELECT certificate FROM certificates WHERE request = $1 AND client = $2 AND not_after > $3";
        let known = sqlx::query(known).bind(&key.request[..]).bind(&key.client[..]).bind(seconds(time));
        if let Some(row) = known.fetch_optional(&mut *transaction).await? {
            return Ok(Passed::Issued(row.try_get("certificate")?));
        }
        if let Some(denied) = denied(&mut transaction, key, time).await? {
            return Ok(denied);
        }
        let next = seconds(time).saturating_add(UNDER_WAY_SECONDS);
        let done = match earlier {
            Some(earlier) => {
                sqlx::query(
                    "UPDATE passed_on SET next = $4, status = NULL, reason = NULL \
                     WHERE request = $1 AND client = $2 AND next = $3",
                )
                .bind(&key.request[..])
                .bind(&key.client[..])
                .bind(i64::try_from(earlier.next).unwrap_or(i64::MAX))
                .bind(next)
                .execute(&mut *transaction)
                .await?
            }
            None => {
                sqlx::query(
                    "INSERT INTO passed_on (request, client, idevid, begun, next) VALUES ($1, $2, $3, $4, $5) \
                     ON CONFLICT (request, client) DO NOTHING",
                )
                .bind(&key.request[..])
                .bind(&key.client[..])
                .bind(&key.idevid[..])
                .bind(seconds(time))
                .bind(next)
                .execute(&mut *transaction)
                .await?
            }
        };
        transaction.commit().await?;
        let refusals = earlier.map_or(0, |earlier| earlier.refusals);
        Ok(if done.rows_affected() == 1 { Passed::Stored(Claim { next, refusals }) } else { Passed::Lost })
    }

    /// Notes what the device is told of a request that was sent.
    pub(in super::super) async fn not_certified(
        &self,
        key: &RequestKey,
        claim: Claim,
        outcome: &Outcome<'_>,
    ) -> Result<(), sqlx::Error> {
        sqlx::query(
            "UPDATE passed_on SET next = $3, refusals = $4, status = $5, reason = $6 \
             WHERE request = $1 AND client = $2 AND next = $7 AND status IS NULL",
        )
        .bind(&key.request[..])
        .bind(&key.client[..])
        .bind(i64::try_from(outcome.next).unwrap_or(i64::MAX))
        .bind(i64::from(outcome.refusals))
        .bind(i64::from(outcome.status))
        .bind(outcome.text)
        .bind(claim.next)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Forgets a request that has its certificate. One that is not forgotten does no harm: the certificate is found first.
    pub(in super::super) async fn forget_passed_on(&self, key: &RequestKey) -> Result<(), sqlx::Error> {
        let query = "DELETE FROM passed_on WHERE request = $1 AND client = $2";
        sqlx::query(query).bind(&key.request[..]).bind(&key.client[..]).execute(&self.pool).await?;
        Ok(())
    }

    /// Removes requests that are older than pledges repeat them, and certificates that have expired.
    pub(in super::super) async fn prune_passed_on(&self, time: UnixTime) -> Result<(), sqlx::Error> {
        let before = seconds(time).saturating_sub(FORGOTTEN_AFTER);
        sqlx::query("DELETE FROM passed_on WHERE begun < $1 AND next < $2")
            .bind(before)
            .bind(seconds(time))
            .execute(&self.pool)
            .await?;
        self.prune_certificates(time).await
    }

    /// Stores the CA certificates of the EST server at a URL.
    pub(in super::super) async fn store_ca_certificates(
        &self,
        server: &str,
        certificates: &[CertificateDer<'static>],
        fetched: UnixTime,
    ) -> Result<(), sqlx::Error> {
        sqlx::query(
            "INSERT INTO ca_certificates (server, fetched, certificates) VALUES ($1, $2, $3) \
             ON CONFLICT (server) DO UPDATE SET fetched = excluded.fetched, certificates = excluded.certificates",
        )
        .bind(server)
        .bind(seconds(fetched))
        .bind(encode_certs_only(certificates))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Returns the CA certificates of the EST server at a URL, and when they came, in seconds since 1970.
    pub(in super::super) async fn ca_certificates(
        &self,
        server: &str,
    ) -> Result<Option<(Vec<CertificateDer<'static>>, u64)>, sqlx::Error> {
        let row = sqlx::query("SELECT fetched, certificates FROM ca_certificates WHERE server = $1").bind(server);
        let Some(row) = row.fetch_optional(&self.pool).await? else { return Ok(None) };
        let certificates = decode_certs_only(&row.try_get::<Vec<u8>, _>("certificates")?);
        let certificates = certificates.map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
        Ok(Some((certificates, u64::try_from(row.try_get::<i64, _>("fetched")?).unwrap_or(0))))
    }
}

/// Returns why a request may not be sent now, for the sake of the other ones of its device.
async fn denied(
    transaction: &mut Transaction,
    key: &RequestKey,
    time: UnixTime,
) -> Result<Option<Passed>, sqlx::Error> {
    let row = sqlx::query(
        "SELECT (SELECT COUNT(*) FROM passed_on WHERE idevid = $1 AND begun > $4 AND (request <> $2 OR client <> $3)) \
         + (SELECT COUNT(*) FROM certificates WHERE idevid = $1 AND issued > $4), \
         (SELECT COUNT(*) FROM passed_on WHERE idevid = $1 AND (request <> $2 OR client <> $3) \
         AND (status IS NULL OR status = 202) AND next > $5)",
    )
    .bind(&key.idevid[..])
    .bind(&key.request[..])
    .bind(&key.client[..])
    .bind(seconds(time).saturating_sub(DAY))
    .bind(seconds(time).saturating_sub(REPEATED_WITHIN))
    .fetch_one(&mut **transaction)
    .await?;
    let (of_day, open): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    Ok(match () {
        () if of_day >= MAX_CERTIFICATES_A_DAY => Some(Passed::TooMany),
        () if open >= MAX_OPEN => Some(Passed::Full),
        () => None,
    })
}

/// The most requests of a device that are under way, or that the EST server is asked about again and again.
const MAX_OPEN: i64 = 2;

/// How long after it may be sent again a request still counts as one of these; the device has dropped it if it does not
/// repeat it by then.
const REPEATED_WITHIN: i64 = 60;

/// How long a request is under way at most: an EST server may take a minute for the certificate, and another one for its CA
/// certificates.
const UNDER_WAY_SECONDS: i64 = 125;
