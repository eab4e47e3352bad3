//! MASAs that cannot be reached: when they are asked again, and by how many.
//!
//! What must always hold: one that cannot be reached is asked by one request at a time, after 1, 2, 4 and so on up to 60
//! seconds, however many pledges wait for it; as soon as it answers, all may ask again. All of this is forgotten at a restart,
//! which costs no more than one attempt.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::pin::pin;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

/// The MASAs that cannot be reached, by their base URLs.
#[derive(Default)]
pub(super) struct Outages {
    table: Mutex<BTreeMap<String, Outage>>,
    /// Notified when an attempt has ended, and when an outage has begun or ended.
    changed: Notify,
}

/// A MASA that could not be reached when it was asked last.
#[derive(Clone, Copy)]
struct Outage {
    /// How many attempts have failed in a row.
    failures: u32,
    /// When the next one may begin.
    next: Instant,
    /// Whether one is under way.
    is_tried: bool,
}

/// An attempt to ask a MASA. One that is dropped without an outcome counts as none.
pub(super) struct Attempt {
    outages: Arc<Outages>,
    base: String,
    /// How many attempts had failed before this one; zero if it is not the one that tries an unreachable MASA again.
    failures: u32,
}

/// Why a MASA may not be asked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Denied {
    /// Another request tries whether it can be reached again.
    Tried,
    /// It could not be reached, and is tried again at this time.
    Until(Instant),
}

impl Outages {
    /// Begins an attempt, or returns after how long a time one may begin. While another one finds out, this waits for it for
    /// at most `hold`.
    pub(super) async fn attempt(this: &Arc<Self>, base: &str, hold: Duration) -> Result<Attempt, Duration> {
        let end = Instant::now() + hold;
        loop {
            let mut changed = pin!(this.changed.notified());
            changed.as_mut().enable(); // so that no end is missed between the look and the wait
            match this.begin(base, Instant::now()) {
                Ok(failures) => return Ok(Attempt { outages: this.clone(), base: base.into(), failures }),
                Err(Denied::Until(next)) => return Err(next.saturating_duration_since(Instant::now())),
                Err(Denied::Tried) => {}
            }
            if tokio::time::timeout_at(end, changed).await.is_err() {
                return Err(WHILE_TRIED);
            }
        }
    }

    /// Begins an attempt without waiting for another one. Returns `None` if there can be none now.
    pub(super) fn try_attempt(this: &Arc<Self>, base: &str) -> Option<Attempt> {
        let failures = this.begin(base, Instant::now()).ok()?;
        Some(Attempt { outages: this.clone(), base: base.into(), failures })
    }

    /// Returns how long it takes until a MASA may be asked again that cannot be reached.
    pub(super) fn wait(&self, base: &str) -> Option<Duration> {
        let outage = *self.lock().get(base)?;
        Some(if outage.is_tried { WHILE_TRIED } else { outage.next.saturating_duration_since(Instant::now()) })
    }

    /// Waits until a MASA may be tried again whose time is after `last`, and returns that time; or until an outage has ended.
    pub(super) async fn until_due(&self, last: Option<Instant>) -> Option<Instant> {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let (next, count) = self.next(last);
            let due = async {
                match next {
                    Some(next) => tokio::time::sleep_until(next).await,
                    None => core::future::pending().await,
                }
            };
            tokio::select! {
                () = due => return next,
                () = changed => {}
            }
            if self.next(last).1 < count {
                return last;
            }
        }
    }

    /// Returns when the next attempt may begin after `last`, and how many MASAs cannot be reached.
    fn next(&self, last: Option<Instant>) -> (Option<Instant>, usize) {
        let table = self.lock();
        let times = table.values().filter(|outage| !outage.is_tried).map(|outage| outage.next);
        (times.filter(|next| Some(*next) > last).min(), table.len())
    }

    fn begin(&self, base: &str, now: Instant) -> Result<u32, Denied> {
        match self.lock().get_mut(base) {
            None => Ok(0),
            Some(outage) if outage.is_tried => Err(Denied::Tried),
            Some(outage) if now < outage.next => Err(Denied::Until(outage.next)),
            Some(outage) => {
                outage.is_tried = true;
                Ok(outage.failures)
            }
        }
    }

    /// Nothing panics while it is locked.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Outage>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt {
    /// Notes that the MASA has answered, whatever it said.
    pub(super) fn answered(self) {
        self.outages.lock().remove(&self.base);
    }

    /// Notes that the MASA could not be reached. Returns after how long a time it is tried again.
    pub(super) fn failed(self) -> Duration {
        let now = Instant::now();
        let mut table = self.outages.lock();
        if table.len() >= MAX_OUTAGES && !table.contains_key(&self.base) {
            // The one that is tried soonest anyway makes room.
            let soonest = table.iter().min_by_key(|(_, outage)| outage.next).map(|(base, _)| base.clone());
            table.remove(&soonest.unwrap_or_default());
        }
        let outage = Outage { failures: 0, next: now, is_tried: false };
        let outage = table.entry(self.base.clone()).or_insert(outage);
        // Of attempts that fail at the same time one counts.
        if outage.failures == self.failures {
            outage.failures = outage.failures.saturating_add(1);
            outage.next = now + delay(outage.failures);
        }
        outage.next.saturating_duration_since(now)
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.failures > 0
            && let Some(outage) = self.outages.lock().get_mut(&self.base)
        {
            outage.is_tried = false;
        }
        self.outages.changed.notify_waiters();
    }
}

/// Returns how long a MASA is left alone after so many failures in a row.
fn delay(failures: u32) -> Duration {
    let doubled = 1_u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX);
    Duration::from_secs(doubled).clamp(Duration::from_secs(1), MAX_DELAY)
}

/// Returns a time as Retry-After says it: in whole seconds, and at least one.
pub(super) fn retry_after(wait: Duration) -> u32 {
    u32::try_from(wait.as_millis().div_ceil(1_000)).unwrap_or(u32::MAX).clamp(1, MAX_DELAY.as_secs() as u32)
}

/// The longest time between two attempts.
const MAX_DELAY: Duration = Duration::from_secs(60);

/// When to come again while another request finds out whether the MASA answers.
const WHILE_TRIED: Duration = Duration::from_secs(5);

/// The most MASAs that are remembered; a manufacturer has one or a few.
const MAX_OUTAGES: usize = 64;

#[cfg(test)]
mod tests;
