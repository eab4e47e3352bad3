//! Once a day the log says which LDevIDs end soon. Devices renew theirs before, so that these need somebody who looks after them.
//!
//! What must always hold: a reminder costs a count and one page of the database, and a line, however many devices there are.

use pki_types::UnixTime;

use super::Service;
use super::store::DAY;

/// When the operator was last reminded.
#[derive(Debug, Default)]
pub(super) struct Reminder {
    last: Option<u64>,
}

impl Reminder {
    /// Whether a day is over since the last one, which is so at first as well. If it is, the next one is due in a day.
    fn is_due(&mut self, now: UnixTime) -> bool {
        let now = now.as_secs();
        // A clock that was set back must not put it off for long.
        let is_due = self.last.is_none_or(|last| now < last || now - last >= 86_400);
        if is_due {
            self.last = Some(now);
        }
        is_due
    }
}

impl Service {
    /// Reminds the operator of LDevIDs that end soon, if that is due.
    pub(super) async fn remind(&self, reminder: &mut Reminder) {
        if reminder.is_due(self.now()) {
            match self.ending_soon().await {
                Ok((0, _)) => {}
                Ok((count, first)) => tracing::warn!("{}", text(count, &first)),
                Err(error) => tracing::error!(%error, "the database does not answer"),
            }
        }
    }

    /// Returns how many LDevIDs end soon, and the serial numbers of the first devices.
    async fn ending_soon(&self) -> Result<(u64, Vec<String>), sqlx::Error> {
        let (store, now) = (&self.inner.store, self.now());
        let count = store.counts(now).await?.ending_in_week;
        if count == 0 {
            return Ok((0, Vec::new()));
        }
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let first = store.ending(now, now.saturating_add(7 * DAY), None).await?.rows;
        Ok((count, first.into_iter().take(NAMED).map(|one| one.serial_number).collect()))
    }
}

fn text(count: u64, first: &[String]) -> String {
    let more = if count > first.len() as u64 { ", ..." } else { "" };
    let what = match count {
        1 => "1 LDevID ends within 7 days and was not renewed".to_owned(),
        _ => format!("{count} LDevIDs end within 7 days and were not renewed"),
    };
    format!("{what}: {}{more}; see `terse registrar ending`", first.join(", "))
}

/// How many devices the reminder names.
const NAMED: usize = 10;

#[cfg(test)]
mod tests;
