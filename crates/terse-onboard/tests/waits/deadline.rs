//! Waits for what a test expects. Each has a bound, after which the test fails and says what was seen last.
#![allow(dead_code)] // each of those who include this file uses a part

use core::fmt::Debug;
use core::panic::Location;
use core::time::Duration;
use std::time::Instant;

/// The time after which something is taken not to come, also on a machine that is slow and busy. No test asserts how long
/// anything takes.
pub(crate) const SAFETY_LIMIT: Duration = Duration::from_secs(300);

/// Waits for `future`.
#[track_caller]
pub(crate) fn soon<T>(future: impl Future<Output = T>) -> impl Future<Output = T> {
    let place = Location::caller();
    async move {
        let waited = tokio::time::timeout(SAFETY_LIMIT, future).await;
        waited.unwrap_or_else(|_| panic!("it has not come after {SAFETY_LIMIT:?}: {place}"))
    }
}

/// Since when a test waits for a state, at which it looks again and again.
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    /// Lets a moment pass before the next look. `seen` is what the last one has seen.
    #[track_caller]
    pub(crate) fn wait(&self, seen: impl Debug) -> tokio::time::Sleep {
        self.check(seen);
        tokio::time::sleep(GLANCE)
    }

    /// The same without a pause.
    #[track_caller]
    pub(crate) fn check(&self, seen: impl Debug) {
        assert!(self.0.elapsed() < SAFETY_LIMIT, "it has not come after {SAFETY_LIMIT:?}; seen last: {seen:?}");
    }
}

/// The time between two looks.
const GLANCE: Duration = Duration::from_millis(2);
