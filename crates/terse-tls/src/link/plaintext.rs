//! The application data of one record, which waits to be read.

use alloc::vec::Vec;

use super::empty;

/// Application data that waits to be read. It is not wiped: the application's own buffers hold the same bytes, and
/// wiping would take as long as decrypting.
#[derive(Default)]
pub(crate) struct Plaintext {
    pub(super) bytes: Vec<u8>,
    read: usize,
}

impl Plaintext {
    pub(super) const fn new() -> Self {
        Self { bytes: Vec::new(), read: 0 }
    }

    /// Returns how many bytes wait to be read.
    pub(crate) const fn len(&self) -> usize {
        self.bytes.len() - self.read
    }

    /// Whether no bytes wait to be read.
    pub(crate) const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces the data by the content of the next record.
    pub(super) fn set(&mut self, content: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(content);
        self.read = 0;
    }

    /// Moves bytes to `out`. Returns the number of bytes.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> usize {
        let waiting = &self.bytes[self.read..];
        let len = waiting.len().min(out.len());
        out[..len].copy_from_slice(&waiting[..len]);
        self.read += len;
        if self.is_empty() {
            self.discard();
        }
        len
    }

    /// Returns all bytes that wait to be read, without a copy if none was read before.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        if self.read > 0 {
            self.bytes.drain(..core::mem::take(&mut self.read));
        }
        core::mem::take(&mut self.bytes)
    }

    /// Discards the data: a record that failed the connection must not reach the application.
    pub(crate) fn discard(&mut self) {
        empty(&mut self.bytes);
        self.read = 0;
    }
}
