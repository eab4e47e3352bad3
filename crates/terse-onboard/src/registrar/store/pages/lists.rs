//! Lists in the order of time: what waits, what ends, what has failed, and the history of a device.

use pki_types::UnixTime;
use sqlx::Row;
use sqlx::any::AnyRow;
use terse_brski::digest::Sha256;

use super::super::rows::{digest, seconds, unsigned};
use super::super::{FORGOTTEN_AFTER, NEWEST_LDEVIDS, Store};
use super::{ByTime, PAGE, Rows, Waiting, optional_digest};

/// The LDevID of a device that ends.
pub(in super::super::super) struct Ending {
    pub(in super::super::super) idevid: Sha256,
    pub(in super::super::super) serial_number: String,
    pub(in super::super::super) manufacturer: String,
    pub(in super::super::super) not_after: u64,
    pub(in super::super::super) issued: u64,
}

/// A status message of a device that says that something has failed, or of one device any.
pub(in super::super::super) struct Failure {
    pub(in super::super::super) idevid: Sha256,
    /// The serial number, if the device is still known.
    pub(in super::super::super) serial_number: Option<String>,
    pub(in super::super::super) number: i64,
    pub(in super::super::super) received: u64,
    pub(in super::super::super) topic: String,
    pub(in super::super::super) is_good: bool,
    pub(in super::super::super) reason: Option<String>,
}

/// A voucher request of a device.
pub(in super::super::super) struct Asked {
    pub(in super::super::super) received: u64,
    pub(in super::super::super) state: String,
    pub(in super::super::super) masa: Option<String>,
    pub(in super::super::super) failure: Option<(u64, String)>,
    /// Whether the voucher was fetched in advance.
    pub(in super::super::super) is_fetched: bool,
}

/// An LDevID of a device.
pub(in super::super::super) struct Certificate {
    pub(in super::super::super) sha256: Sha256,
    pub(in super::super::super) issued: u64,
    pub(in super::super::super) not_after: u64,
}

/// What is known of one device beside its standing, the newest first.
pub(in super::super::super) struct DeviceHistory {
    pub(in super::super::super) certificate: Option<Vec<u8>>,
    pub(in super::super::super) newest: Option<Sha256>,
    pub(in super::super::super) decided: Option<u64>,
    pub(in super::super::super) asked: Vec<Asked>,
    pub(in super::super::super) certificates: Vec<Certificate>,
    pub(in super::super::super) messages: Vec<Failure>,
}

impl Store {
    /// Returns the devices that want to join and wait for an operator, the longest first, by their first request.
    pub(in super::super::super) async fn waiting(
        &self,
        after: Option<ByTime>,
        now: UnixTime,
    ) -> Result<Rows<Waiting, ByTime>, sqlx::Error> {
        let (time, request) = after.unwrap_or_default();
        let query = waiting_query();
        let query = sqlx::query(&query).bind(seconds(now).saturating_sub(FORGOTTEN_AFTER)).bind(time).bind(request);
        page(query.bind(MORE).fetch_all(&self.pool).await?, waiting)
    }

    /// Returns the devices whose audit log is bad and about which nobody has decided since, the longest first.
    pub(in super::super::super) async fn bad_audits(
        &self,
        after: Option<ByTime>,
    ) -> Result<Rows<Waiting, ByTime>, sqlx::Error> {
        let (time, idevid) = after.unwrap_or_default();
        let query = bad_audits_query();
        let query = sqlx::query(&query).bind(time).bind(idevid).bind(MORE);
        page(query.fetch_all(&self.pool).await?, waiting)
    }

    /// Returns the newest LDevIDs of devices that end within a time, the first one first; none of a device that is kept out.
    pub(in super::super::super) async fn ending(
        &self,
        from: i64,
        to: i64,
        after: Option<ByTime>,
    ) -> Result<Rows<Ending, ByTime>, sqlx::Error> {
        let (time, sha256) = after.unwrap_or((from, Vec::new()));
        let query = ending_query();
        let query = sqlx::query(&query).bind(from).bind(to).bind(time).bind(sha256).bind(MORE);
        let ending = |row: &AnyRow| {
            Ok(Ending {
                idevid: digest(row, "idevid")?,
                serial_number: row.try_get("serial_number")?,
                manufacturer: row.try_get("manufacturer")?,
                not_after: unsigned(row.try_get("since")?),
                issued: unsigned(row.try_get("issued")?),
            })
        };
        page(query.fetch_all(&self.pool).await?, ending)
    }

    /// Returns the status messages that say that something has failed, the newest first, before a time, an IDevID and a number.
    pub(in super::super::super) async fn failures(
        &self,
        before: Option<(i64, Vec<u8>, i64)>,
    ) -> Result<Rows<Failure, (i64, Vec<u8>, i64)>, sqlx::Error> {
        let (time, idevid, number) = before.unwrap_or((i64::MAX, Vec::new(), 0));
        let query = failures_query();
        let query = sqlx::query(&query).bind(time).bind(idevid).bind(number).bind(MORE);
        let rows = query.fetch_all(&self.pool).await?;
        let mut rows = rows.iter().map(message).collect::<Result<Vec<_>, sqlx::Error>>()?;
        let has_more = rows.len() > PAGE;
        rows.truncate(PAGE);
        let key =
            |last: &Failure| (i64::try_from(last.received).unwrap_or(i64::MAX), last.idevid.to_vec(), last.number);
        let next = rows.last().filter(|_| has_more).map(key);
        Ok(Rows { rows, next })
    }

    /// Returns what is known of one device beside its standing.
    pub(in super::super::super) async fn device_history(&self, idevid: &Sha256) -> Result<DeviceHistory, sqlx::Error> {
        let of_device = async |query: &str| {
            let query = format!("{query} LIMIT $2");
            sqlx::query(&query).bind(&idevid[..]).bind(MAX_OF_DEVICE).fetch_all(&self.pool).await
        };
        let asked = "SELECT received, state, masa, failure_status, failure_text, fetched FROM requests WHERE idevid = $1 \
                     ORDER BY received DESC";
        let certificates = "SELECT certificate_sha256, issued, not_after FROM certificates WHERE idevid = $1 \
                            ORDER BY issued DESC";
        let messages = format!(
            "SELECT {MESSAGE}, NULL AS serial_number FROM telemetry t WHERE t.idevid = $1 ORDER BY t.number DESC"
        );
        let certificate = "SELECT idevid_certificate FROM requests WHERE idevid = $1 AND idevid_certificate IS NOT NULL \
                           ORDER BY received DESC";
        let decided = of_device("SELECT decided FROM decisions WHERE idevid = $1").await?;
        let newest = of_device("SELECT ldevid FROM joinings WHERE idevid = $1").await?;
        Ok(DeviceHistory {
            certificate: of_device(certificate).await?.first().map(|row| row.try_get(0)).transpose()?,
            newest: newest.first().map(|row| optional_digest(row, "ldevid")).transpose()?.flatten(),
            decided: decided.first().map(|row| row.try_get("decided")).transpose()?.map(unsigned),
            asked: of_device(asked).await?.iter().map(self::asked).collect::<Result<_, _>>()?,
            certificates: of_device(certificates).await?.iter().map(self::certificate).collect::<Result<_, _>>()?,
            messages: of_device(&messages).await?.iter().map(message).collect::<Result<_, _>>()?,
        })
    }
}

pub(super) fn waiting_query() -> String {
    format!(
        "SELECT r.idevid, r.serial_number, r.manufacturer, r.received AS since, r.request AS place, r.masa, \
             r.idevid_certificate, NULL AS audit_reason FROM requests r WHERE {FIRST_OF_WAITING} \
             AND (r.received, r.request) > ($2, $3) ORDER BY r.received, r.request LIMIT $4"
    )
}

pub(super) fn bad_audits_query() -> String {
    format!(
        "SELECT j.idevid, j.serial_number, j.manufacturer, j.audit_tried AS since, j.idevid AS place, r.masa, \
                     r.idevid_certificate, j.audit_reason FROM joinings j LEFT JOIN requests r ON r.request = j.request \
                     WHERE {BAD_AUDIT} AND (j.audit_tried, j.idevid) > ($1, $2) \
                     ORDER BY j.audit_tried, j.idevid LIMIT $3"
    )
}

pub(super) fn failures_query() -> String {
    format!(
        "SELECT {MESSAGE}, j.serial_number FROM telemetry t LEFT JOIN joinings j ON j.idevid = t.idevid \
             WHERE t.status = 0 AND (t.received, t.idevid, t.number) < ($1, $2, $3) \
             ORDER BY t.received DESC, t.idevid DESC, t.number DESC LIMIT $4"
    )
}

/// Returns the rows of a page that has the time of each as `since` and its digest as `place`; one more says that there is a
/// next page.
fn page<T>(
    rows: Vec<AnyRow>,
    read: impl Fn(&AnyRow) -> Result<T, sqlx::Error>,
) -> Result<Rows<T, ByTime>, sqlx::Error> {
    let next = match rows.get(PAGE) {
        Some(_) => {
            rows.get(PAGE - 1).map(|last| Ok::<_, sqlx::Error>((last.try_get("since")?, last.try_get("place")?)))
        }
        None => None,
    };
    let read = rows.iter().take(PAGE).map(read).collect::<Result<_, _>>()?;
    Ok(Rows { rows: read, next: next.transpose()? })
}

fn waiting(row: &AnyRow) -> Result<Waiting, sqlx::Error> {
    Ok(Waiting {
        idevid: digest(row, "idevid")?,
        serial_number: row.try_get("serial_number")?,
        manufacturer: row.try_get("manufacturer")?,
        since: unsigned(row.try_get("since")?),
        masa: row.try_get("masa")?,
        certificate: row.try_get("idevid_certificate")?,
        audit_reason: row.try_get("audit_reason")?,
    })
}

fn message(row: &AnyRow) -> Result<Failure, sqlx::Error> {
    Ok(Failure {
        idevid: digest(row, "idevid")?,
        serial_number: row.try_get("serial_number")?,
        number: row.try_get("number")?,
        received: unsigned(row.try_get("received")?),
        topic: row.try_get("topic")?,
        is_good: row.try_get::<i64, _>("status")? != 0,
        reason: row.try_get("reason")?,
    })
}

fn asked(row: &AnyRow) -> Result<Asked, sqlx::Error> {
    let failure = match row.try_get::<Option<i64>, _>("failure_status")? {
        Some(status) => {
            let text = row.try_get::<Option<String>, _>("failure_text")?;
            Some((unsigned(status), text.unwrap_or_default()))
        }
        None => None,
    };
    Ok(Asked {
        received: unsigned(row.try_get("received")?),
        state: row.try_get("state")?,
        masa: row.try_get("masa")?,
        failure,
        is_fetched: row.try_get::<Option<Vec<u8>>, _>("fetched")?.is_some(),
    })
}

fn certificate(row: &AnyRow) -> Result<Certificate, sqlx::Error> {
    Ok(Certificate {
        sha256: digest(row, "certificate_sha256")?,
        issued: unsigned(row.try_get("issued")?),
        not_after: unsigned(row.try_get("not_after")?),
    })
}

pub(super) fn ending_query() -> String {
    format!(
        "SELECT j.idevid, j.serial_number, j.manufacturer, c.not_after AS since, c.issued, c.certificate_sha256 AS place \
         FROM {NEWEST_LDEVIDS} WHERE c.not_after >= $1 AND c.not_after <= $2 \
         AND (c.not_after, c.certificate_sha256) > ($3, $4) ORDER BY c.not_after, c.certificate_sha256 LIMIT $5"
    )
}

const MESSAGE: &str = "t.idevid, t.number, t.received, t.topic, t.status, t.reason";

/// The first request of each device that waits, of those after `$1`. Without `||` SQLite would look at all that wait, by the index
/// of states, for each of them.
pub(super) const FIRST_OF_WAITING: &str = "r.state = 'awaiting-operator' AND r.received > $1 \
    AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.idevid = r.idevid) \
    AND NOT EXISTS (SELECT 1 FROM requests e WHERE e.idevid = r.idevid AND e.state || '' = 'awaiting-operator' \
    AND e.received > $1 AND (e.received, e.request) < (r.received, r.request))";

/// A device whose audit log is bad, and that nobody has rejected.
pub(super) const BAD_AUDIT: &str = "j.audit = 'bad' AND NOT EXISTS \
    (SELECT 1 FROM decisions d WHERE d.idevid = j.idevid AND d.is_allowed = 0)";

/// A page and the row that says that there is a next one.
const MORE: i64 = PAGE as i64 + 1;

/// The most rows of each kind that are shown of one device.
const MAX_OF_DEVICE: i64 = 32;
