//! MASAs that cannot be reached: when they are asked again, and by how many.
//!
//! What must always hold: after a request has found that one cannot be reached, no more than one request begins at a time, after
//! 1, 2, 4 and so on up to 60 seconds, however many pledges wait for it; as soon as one is answered, all may ask again. Requests
//! that had begun before go on. Each process finds this out by itself, and forgets it at a restart: then as many requests as
//! come before the first one has failed find it out at once, but no more than there are places for the manufacturer.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::pin::pin;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

/// The MASAs that cannot be reached.
#[derive(Default)]
pub(super) struct Outages {
    table: Mutex<Table>,
    /// Notified when an attempt has ended, and when an outage has begun or ended.
    changed: Notify,
}

#[derive(Default)]
struct Table {
    outages: BTreeMap<Masa, Outage>,
    /// How many attempts have begun: the number of the last one.
    attempts: u64,
}

/// A MASA as it is asked for one manufacturer: by another one's anchors and credentials it may be reached all the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Masa {
    /// The name of the manufacturer.
    pub(super) manufacturer: String,
    /// The base URL.
    pub(super) base: String,
}

/// A MASA that could not be reached when it was asked last.
#[derive(Clone, Copy)]
struct Outage {
    /// How many attempts have failed in a row, at least one.
    failures: u32,
    /// When the next one may begin.
    next: Instant,
    /// The number of the attempt that finds out whether the MASA can be reached again, if one is under way.
    probe: Option<u64>,
}

/// An attempt to ask a MASA. One that is dropped without an outcome counts as none.
pub(super) struct Attempt {
    outages: Arc<Outages>,
    masa: Masa,
    number: u64,
}

/// A MASA that cannot be reached, as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OutageReport {
    /// The name of the manufacturer.
    pub(super) manufacturer: String,
    /// The base URL.
    pub(super) base: String,
    /// How many attempts have failed in a row.
    pub(super) failures: u32,
    /// After how long a time the next one begins.
    pub(super) wait: Duration,
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
    /// Begins an attempt, or returns after how long a time one may begin. While another one finds out, this waits for it until
    /// `end`.
    pub(super) async fn attempt(this: &Arc<Self>, masa: Masa, end: Instant) -> Result<Attempt, Duration> {
        loop {
            let mut changed = pin!(this.changed.notified());
            changed.as_mut().enable(); // so that no end is missed between the look and the wait
            match this.begin(&masa, Instant::now()) {
                Ok(number) => return Ok(Attempt { outages: this.clone(), masa, number }),
                Err(Denied::Until(next)) => return Err(next.saturating_duration_since(Instant::now())),
                Err(Denied::Tried) => {}
            }
            if tokio::time::timeout_at(end, changed).await.is_err() {
                return Err(WHILE_TRIED);
            }
        }
    }

    /// Begins an attempt without waiting for another one. Returns `None` if there can be none now.
    pub(super) fn try_attempt(this: &Arc<Self>, masa: Masa) -> Option<Attempt> {
        let number = this.begin(&masa, Instant::now()).ok()?;
        Some(Attempt { outages: this.clone(), masa, number })
    }

    /// Returns how long it takes until a MASA may be asked again that cannot be reached.
    pub(super) fn wait(&self, masa: &Masa) -> Option<Duration> {
        let outage = *self.lock().outages.get(masa)?;
        Some(match outage.probe {
            Some(_) => WHILE_TRIED,
            None => outage.next.saturating_duration_since(Instant::now()),
        })
    }

    /// Returns the MASAs that could not be reached when they were asked last: a bounded number of each manufacturer.
    pub(super) fn reports(&self) -> Vec<OutageReport> {
        let now = Instant::now();
        let report = |(masa, outage): (&Masa, &Outage)| OutageReport {
            manufacturer: masa.manufacturer.clone(),
            base: masa.base.clone(),
            failures: outage.failures,
            wait: outage.next.saturating_duration_since(now),
        };
        self.lock().outages.iter().map(report).collect()
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
        let outages = &self.lock().outages;
        let times = outages.values().filter(|outage| outage.probe.is_none()).map(|outage| outage.next);
        (times.filter(|next| Some(*next) > last).min(), outages.len())
    }

    /// Returns the number of the attempt that begins.
    fn begin(&self, masa: &Masa, now: Instant) -> Result<u64, Denied> {
        let Table { outages, attempts } = &mut *self.lock();
        let number = attempts.saturating_add(1); // no process lives to see the last one
        match outages.get_mut(masa) {
            None => {}
            Some(Outage { probe: Some(_), .. }) => return Err(Denied::Tried),
            Some(outage) if now < outage.next => return Err(Denied::Until(outage.next)),
            Some(outage) => outage.probe = Some(number),
        }
        *attempts = number;
        Ok(number)
    }

    /// Nothing panics while it is locked.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt {
    /// Notes that the MASA has answered, whatever it said.
    pub(super) fn answered(self) {
        self.outages.lock().outages.remove(&self.masa);
    }

    /// Notes that the MASA could not be reached. Returns after how long a time it is tried again.
    pub(super) fn failed(self) -> Duration {
        let now = Instant::now();
        let outages = &mut self.outages.lock().outages;
        let Some(outage) = outages.get_mut(&self.masa) else {
            let first = Outage { failures: 1, next: now + delay(1), probe: None };
            insert(outages, &self.masa, first);
            return delay(1);
        };
        // Of attempts that began before the outage was known, the first one has counted.
        if outage.probe == Some(self.number) {
            let failures = outage.failures.saturating_add(1);
            *outage = Outage { failures, next: now + delay(failures), probe: None };
        }
        outage.next.saturating_duration_since(now)
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(outage) = self.outages.lock().outages.get_mut(&self.masa)
            && outage.probe == Some(self.number)
        {
            outage.probe = None;
        }
        self.outages.changed.notify_waiters();
    }
}

/// Adds an outage. If the manufacturer has too many, that one of them makes room which is tried soonest; one that is being
/// tried stays.
fn insert(outages: &mut BTreeMap<Masa, Outage>, masa: &Masa, outage: Outage) {
    let is_own = |other: &Masa| other.manufacturer == masa.manufacturer;
    if outages.keys().filter(|other| is_own(other)).count() >= MAX_OUTAGES {
        let idle = outages.iter().filter(|(other, outage)| is_own(other) && outage.probe.is_none());
        let soonest = idle.min_by_key(|(_, outage)| outage.next).map(|(soonest, _)| soonest.clone());
        let Some(soonest) = soonest else { return };
        outages.remove(&soonest);
    }
    outages.insert(masa.clone(), outage);
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

/// The most MASAs of one manufacturer that are remembered; it has one or a few.
const MAX_OUTAGES: usize = 64;

#[cfg(test)]
mod tests;
