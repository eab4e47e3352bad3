//! The line between the root and the gateway. It carries one frame at a time, each way.

use core::time::Duration;
use std::collections::VecDeque;

use crate::Time;

/// One way over the line.
#[derive(Debug)]
pub(super) struct Serial<T> {
    waiting: VecDeque<(Time, T)>,
    /// When the line can take the next frame.
    free_at: Time,
    /// Whether a frame arrives at the end of its time on the line, or at the beginning.
    arrives_late: bool,
    each: Duration,
}

impl<T> Serial<T> {
    /// A frame arrives `each` after the line was free for it.
    pub(super) const fn up(each: Duration) -> Self {
        Self { waiting: VecDeque::new(), free_at: Time::ZERO, arrives_late: true, each }
    }

    /// A frame arrives at once, and the line is busy for `each`: OpenVisualizer waits after each fragment.
    pub(super) const fn down(each: Duration) -> Self {
        Self { waiting: VecDeque::new(), free_at: Time::ZERO, arrives_late: false, each }
    }

    pub(super) fn push(&mut self, now: Time, frame: T) {
        let begins = self.free_at.max(now);
        self.free_at = begins + self.each;
        self.waiting.push_back((if self.arrives_late { self.free_at } else { begins }, frame));
    }

    /// Returns the next frame that has arrived.
    pub(super) fn pop(&mut self, now: Time) -> Option<T> {
        self.waiting.pop_front_if(|(at, _)| *at <= now).map(|(_, frame)| frame)
    }

    /// Returns when the next frame arrives.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.waiting.front().map(|(at, _)| *at)
    }
}
