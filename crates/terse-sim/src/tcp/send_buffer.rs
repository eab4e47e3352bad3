//! The send buffer holds data that the application wrote and the peer has not acknowledged.

use super::SequenceNumber;
use std::collections::VecDeque;

/// Bytes from the sequence number `base` on.
#[derive(Clone, Debug)]
pub(super) struct SendBuffer {
    bytes: VecDeque<u8>,
    base: SequenceNumber,
}

impl SendBuffer {
    pub(super) const fn new(base: SequenceNumber) -> Self {
        Self { bytes: VecDeque::new(), base }
    }

    pub(super) fn push(&mut self, data: &[u8]) {
        self.bytes.extend(data);
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the sequence number after the last byte.
    pub(super) fn end(&self) -> SequenceNumber {
        self.base + self.bytes.len() as u32
    }

    /// Returns how many bytes there are from `next` on.
    pub(super) fn available(&self, next: SequenceNumber) -> u32 {
        self.end().saturating_since(next)
    }

    /// Returns the bytes from `start` up to `end`, as far as they are here.
    pub(super) fn copy(&self, start: SequenceNumber, end: SequenceNumber) -> Vec<u8> {
        let from = (start.saturating_since(self.base) as usize).min(self.bytes.len());
        let to = (end.saturating_since(self.base) as usize).clamp(from, self.bytes.len());
        self.bytes.range(from..to).copied().collect()
    }

    /// Removes everything up to `acknowledged`.
    pub(super) fn acknowledge(&mut self, acknowledged: SequenceNumber) {
        let done = (acknowledged.saturating_since(self.base) as usize).min(self.bytes.len());
        self.bytes.drain(..done);
        self.base += done as u32;
    }

    pub(super) fn clear(&mut self) {
        self.bytes = VecDeque::new();
    }
}
