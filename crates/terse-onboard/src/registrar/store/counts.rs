//! How many devices need somebody's attention, for metrics.
//!
//! What must always hold: each count ends at [`MAX_COUNTED`], so that a large database costs no more.

use pki_types::UnixTime;
use sqlx::Row;

use super::rows::{seconds, unsigned};
use super::{DAY, FORGOTTEN_AFTER, NEWEST_LDEVIDS, Store};

/// Numbers of devices, each at most [`MAX_COUNTED`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Counts {
    /// Those that an operator may let in.
    pub(in super::super) waiting_to_join: u64,
    /// Those whose audit log is not as the policy wants it.
    pub(in super::super) waiting_for_audit: u64,
    /// Those whose audit log has not come.
    pub(in super::super) audits_missing: u64,
    /// Those whose newest LDevID ends within seven days.
    pub(in super::super) ending_in_week: u64,
    /// Those whose newest LDevID ends within thirty days, with those above.
    pub(in super::super) ending_in_month: u64,
}

impl Store {
    /// Counts the devices that need attention, in one query.
    pub(in super::super) async fn counts(&self, now: UnixTime) -> Result<Counts, sqlx::Error> {
        let count =
            |rows: &str| format!("(SELECT COUNT(*) FROM (SELECT 1 AS one FROM {rows} LIMIT {MAX_COUNTED}) AS counted)");
        let ending =
            |until: &str| count(&format!("{NEWEST_LDEVIDS} WHERE c.not_after > $2 AND c.not_after <= {until}"));
        let query = [
            count(
                "requests r WHERE state = 'awaiting-operator' AND received > $1 \
                 AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.idevid = r.idevid) GROUP BY idevid",
            ),
            count(
                "joinings j WHERE audit = 'bad' AND NOT EXISTS \
                 (SELECT 1 FROM decisions d WHERE d.idevid = j.idevid AND d.is_allowed = 0)",
            ),
            count("joinings WHERE audit = 'requested'"),
            ending("$3"),
            ending("$4"),
        ];
        let query = format!("SELECT {}", query.join(", "));
        let now = seconds(now);
        let row = sqlx::query(&query)
            .bind(now.saturating_sub(FORGOTTEN_AFTER))
            .bind(now)
            .bind(now.saturating_add(7 * DAY))
            .bind(now.saturating_add(30 * DAY))
            .fetch_one(&self.pool)
            .await?;
        Ok(Counts {
            waiting_to_join: unsigned(row.try_get(0)?),
            waiting_for_audit: unsigned(row.try_get(1)?),
            audits_missing: unsigned(row.try_get(2)?),
            ending_in_week: unsigned(row.try_get(3)?),
            ending_in_month: unsigned(row.try_get(4)?),
        })
    }
}

/// Where a count ends.
const MAX_COUNTED: u32 = 10_000;
