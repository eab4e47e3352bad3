//! The wire consists of two buffers in memory, one for each direction. Rust and C write to them and read from them
//! alike (`c/peer.h` has the same struct). They carry a stream, or datagrams, each with its length before it.
//!
//! What must always hold: nothing is allocated after a pipe was created; `total` counts every byte that was ever
//! written, without those lengths.

use core::ops::Range;

/// One direction of a connection.
#[repr(C)]
#[derive(Debug)]
pub struct Pipe {
    bytes: [u8; Self::CAPACITY],
    start: usize,
    end: usize,
    total: u64,
    largest: usize,
}

impl Pipe {
    /// The capacity is more than any flight, or any one write of application data with its records.
    pub const CAPACITY: usize = 1 << 16;

    /// Creates an empty pipe, for a stream or for `datagrams`. It is large, and so boxed.
    pub fn new(datagrams: bool) -> Box<Self> {
        Self::with_largest(if datagrams { MTU } else { 0 })
    }

    /// Creates an empty pipe for datagrams of at most `largest` bytes.
    pub fn with_largest(largest: usize) -> Box<Self> {
        Box::new(Self { bytes: [0; Self::CAPACITY], start: 0, end: 0, total: 0, largest })
    }

    /// Forgets everything, for a new connection.
    pub const fn clear(&mut self) {
        (self.start, self.end, self.total) = (0, 0, 0);
    }

    /// Returns the bytes to read, or the first datagram. They may be decrypted in place.
    pub fn waiting(&mut self) -> &mut [u8] {
        let range = self.first();
        &mut self.bytes[range]
    }

    /// Removes `len` of the bytes to read. The rest of a datagram becomes the first one.
    pub fn consume(&mut self, len: usize) {
        let rest = self.first().len().checked_sub(len).expect("more was read than there was");
        self.start += len;
        if self.largest > 0 && rest > 0 {
            self.put_len(self.start, rest);
        } else if self.largest > 0 {
            self.start += PREFIX;
        }
        assert!(self.start <= self.end, "more was read than there was");
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Returns the room for the next bytes, or for the next datagram.
    pub fn room(&mut self) -> &mut [u8] {
        if self.largest == 0 {
            &mut self.bytes[self.end..]
        } else {
            &mut self.bytes[self.end + PREFIX..][..self.largest]
        }
    }

    /// Adds `len` bytes that were written into the room.
    pub fn produce(&mut self, len: usize) {
        if self.largest > 0 {
            self.put_len(self.end, len);
            self.end += PREFIX;
        }
        self.end += len;
        self.total += len as u64;
        assert!(self.end <= Self::CAPACITY, "more was written than there was room for");
    }

    /// Returns how many bytes were ever written.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Returns the range of the bytes to read, or of the first datagram.
    fn first(&self) -> Range<usize> {
        if self.largest == 0 || self.start == self.end {
            return self.start..self.end;
        }
        let start = self.start + PREFIX;
        let len = u16::from_le_bytes([self.bytes[self.start], self.bytes[self.start + 1]]);
        start..start + usize::from(len)
    }

    fn put_len(&mut self, at: usize, len: usize) {
        let len = u16::try_from(len).expect("no datagram is longer");
        self.bytes[at..at + PREFIX].copy_from_slice(&len.to_le_bytes());
    }
}

/// The length of a datagram's length.
const PREFIX: usize = size_of::<u16>();

/// The length of the largest datagram of either side: it fits a packet of 1,280 bytes, IPv6's least MTU.
pub const MTU: usize = 1_232;

/// Both directions, as one side sees them.
#[derive(Debug)]
pub struct Wire<'a> {
    /// The pipe from the other side.
    pub input: &'a mut Box<Pipe>,
    /// The pipe to the other side.
    pub output: &'a mut Box<Pipe>,
}
