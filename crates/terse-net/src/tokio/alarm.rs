//! The one timer of an endpoint or of a connection: it wakes the task when the earliest of all its timers is due.

use alloc::boxed::Box;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use terse_tls::Instant;
use tokio::time::{Instant as TokioInstant, Sleep, sleep_until};

/// A timer that is set again only when its time changes.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    /// Created when there is the first time to wait for, since it needs a runtime.
    sleep: Option<Pin<Box<Sleep>>>,
    /// The time that `sleep` is set to, until it was reached.
    set: Option<Instant>,
}

impl Alarm {
    /// Waits until `time`, given the present time, or for ever. It may be ready a little early.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, time: Option<(Instant, Instant)>) -> Poll<()> {
        let Some((time, now)) = time else {
            self.set = None;
            return Poll::Pending;
        };
        if self.set != Some(time) {
            let deadline = TokioInstant::now() + Duration::from_millis(time.since(now).min(LONGEST));
            match &mut self.sleep {
                Some(sleep) => sleep.as_mut().reset(deadline),
                None => self.sleep = Some(Box::pin(sleep_until(deadline))),
            }
            self.set = Some(time);
        }
        let Some(sleep) = &mut self.sleep else { return Poll::Pending }; // set above
        let is_reached = sleep.as_mut().poll(cx);
        if is_reached.is_ready() {
            self.set = None;
        }
        is_reached
    }
}

/// The longest sleep in milliseconds, a day: a point in time that is far away could be none of the system's clock.
const LONGEST: u64 = 86_400_000;
