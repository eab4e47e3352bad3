//! Writes CBOR into memory, with the shortest heads (RFC 8949, 4.1).

use alloc::vec::Vec;
use core::convert::Infallible;

use minicbor::Encoder;
use minicbor::data::{Int, Tag};
use minicbor::encode::Error;

/// Appends items to bytes.
pub(crate) struct Writer(Encoder<Vec<u8>>);

impl Writer {
    /// Returns a writer with room for this many bytes.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self::new(Vec::with_capacity(capacity))
    }

    /// Returns a writer that appends to these bytes.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(Encoder::new(bytes))
    }

    /// Returns how many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.0.writer().len()
    }

    pub(crate) fn into_vec(self) -> Vec<u8> {
        self.0.into_writer()
    }

    /// Appends what is encoded already.
    pub(crate) fn encoded(&mut self, item: &[u8]) {
        self.0.writer_mut().extend_from_slice(item);
    }

    pub(crate) fn tag(&mut self, tag: u64) {
        written(self.0.tag(Tag::new(tag)));
    }

    /// Begins an array of this many items.
    pub(crate) fn array(&mut self, len: usize) {
        written(self.0.array(len as u64));
    }

    /// Begins a map of this many entries.
    pub(crate) fn map(&mut self, len: usize) {
        written(self.0.map(len as u64));
    }

    pub(crate) fn integer(&mut self, value: impl Into<Int>) {
        written(self.0.int(value.into()));
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        written(self.0.bytes(bytes));
    }

    /// Begins a byte string of this length.
    pub(crate) fn bytes_head(&mut self, len: usize) {
        written(self.0.bytes_len(len as u64));
    }

    pub(crate) fn text(&mut self, text: &str) {
        written(self.0.str(text));
    }

    pub(crate) fn boolean(&mut self, value: bool) {
        written(self.0.bool(value));
    }

    pub(crate) fn null(&mut self) {
        written(self.0.null());
    }

    pub(crate) fn float(&mut self, value: f64) {
        written(self.0.f64(value));
    }

    /// Begins an array or a map whose length is indefinite.
    pub(crate) fn begin(&mut self, is_map: bool) {
        written(if is_map { self.0.begin_map() } else { self.0.begin_array() });
    }

    /// Ends what [`Self::begin`] has begun.
    pub(crate) fn end(&mut self) {
        written(self.0.end());
    }
}

/// Returns how many bytes the head of a string of this length has, or of a container, or an integer.
pub(crate) const fn head_len(argument: usize) -> usize {
    match argument {
        0..24 => 1,
        24..0x100 => 2,
        0x100..0x1_0000 => 3,
        _ => 5, // nothing here is as long as 4 GB
    }
}

/// Returns how many bytes a string of this length has, with its head.
pub(crate) const fn encoded_len(len: usize) -> usize {
    head_len(len) + len
}

fn written<T>(result: Result<T, Error<Infallible>>) {
    debug_assert!(result.is_ok(), "memory takes all that is written to it");
}
