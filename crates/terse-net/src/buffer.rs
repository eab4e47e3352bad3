//! A buffer between a connection and its transport, of the size of the largest record.
//!
//! What must always hold: a buffer is filled only when it is empty, and nothing is read of it but what it was filled with, since a
//! spare buffer still has the bytes of another stream behind that; a thread keeps at most one spare buffer.

#[cfg(feature = "tokio")]
use core::cell::Cell;
use core::ops::Range;
use std::io::{self, ErrorKind, Read};

/// The length of a buffer for the largest record (RFC 9846, 5.2), so that one read can take it.
const BUFFER_LEN: usize = 5 + 0x4000 + 256;

/// Bytes to be consumed in steps; the buffer is filled only when it is empty.
pub(crate) struct Buffer {
    bytes: Box<[u8]>,
    range: Range<usize>,
}

impl Buffer {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; BUFFER_LEN].into(), range: 0..0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    pub(crate) fn filled_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.range.clone()] // set by the functions below, within the bytes
    }

    pub(crate) fn consume(&mut self, len: usize) {
        self.range.start = (self.range.start + len).min(self.range.end);
    }

    /// Fills the buffer with what `fill` writes to the beginning of its bytes. `fill` returns how many that were.
    pub(crate) fn fill_with(&mut self, fill: impl FnOnce(&mut [u8]) -> usize) {
        let len = fill(&mut self.bytes);
        self.range = 0..len.min(self.bytes.len());
    }

    pub(crate) fn fill_from(&mut self, source: &mut impl Read) -> io::Result<usize> {
        loop {
            match source.read(&mut self.bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => {
                    self.range = 0..result.as_ref().map_or(0, |len| *len);
                    return result;
                }
            }
        }
    }
}

#[cfg(feature = "tokio")]
thread_local! {
    /// The buffer that the next stream on this thread uses.
    static SPARE: Cell<Option<Buffer>> = const { Cell::new(None) };
}

/// Streams of one thread that wait share a buffer: each has one of its own only while something is left in it.
#[cfg(feature = "tokio")]
impl Buffer {
    /// Returns the thread's spare buffer, or a new one.
    pub(crate) fn spare() -> Self {
        SPARE.try_with(Cell::take).ok().flatten().unwrap_or_else(Self::new)
    }

    /// Makes this the thread's spare buffer. While the thread ends, the buffer is dropped instead.
    pub(crate) fn give_back(self) {
        let _ = SPARE.try_with(|spare| spare.set(Some(self)));
    }
}
