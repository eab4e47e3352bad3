//! Looks at something that costs work, such as at the database: one at a time, and few, however many clients ask.
//!
//! What must always hold: a look goes on when its client has gone, so that nobody causes more of them by going; one that
//! takes too long ends with the value for that.

use alloc::sync::Arc;
use core::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// Looks whose values count for a while.
pub(crate) struct Looks<W, T> {
    look: Arc<W>,
    kept: Duration,
    /// The value of a look that takes too long.
    late: T,
    /// When the last look ended, and what it has found.
    last: Arc<Mutex<Option<(Instant, T)>>>,
}

impl<W, T> Looks<W, T> {
    pub(crate) fn new(kept: Duration, late: T, look: W) -> Self {
        Self { look: Arc::new(look), kept, late, last: Arc::default() }
    }
}

impl<W, T: Clone> Clone for Looks<W, T> {
    fn clone(&self) -> Self {
        Self { look: self.look.clone(), kept: self.kept, late: self.late.clone(), last: self.last.clone() }
    }
}

impl<T, F, W> Looks<W, T>
where
    T: Clone + Send + 'static,
    F: Future<Output = T> + Send + 'static,
    W: Fn() -> F + Send + Sync + 'static,
{
    /// Returns what the last look has found, or looks if that was a while ago.
    pub(crate) async fn value(&self) -> T {
        let mut last = self.last.clone().lock_owned().await;
        if let Some((time, value)) = &*last
            && time.elapsed() < self.kept
        {
            return value.clone();
        }
        let (look, late) = (self.look.clone(), self.late.clone());
        let look = tokio::spawn(async move {
            let value = tokio::time::timeout(LOOK_TIME, look()).await.unwrap_or(late);
            *last = Some((Instant::now(), value.clone()));
            value
        });
        look.await.unwrap_or_else(|_| self.late.clone())
    }
}

/// How long a look may take. It leaves a client time for its answer.
pub(crate) const LOOK_TIME: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests;
