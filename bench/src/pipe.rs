//! The wire: two stretches of memory, one for each direction. Rust and C write to them and read from them alike
//! (`c/peer.h` has the same struct). They carry a stream, or datagrams, each with its length before it.
//!
//! What must always hold: nothing is allocated after a pipe was made; `total` counts every byte that was ever written, but
//! not those lengths.

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
    /// More than any flight, or any one write of application data with its records.
    pub const CAPACITY: usize = 1 << 16;

    /// An empty one, for a stream or for `datagrams`. It is large: it is boxed from the beginning.
    pub fn new(datagrams: bool) -> Box<Self> {
        Self::with_largest(if datagrams { MTU } else { 0 })
    }

    /// An empty one for datagrams of at most so many bytes.
    pub fn with_largest(largest: usize) -> Box<Self> {
        Box::new(Self { bytes: [0; Self::CAPACITY], start: 0, end: 0, total: 0, largest })
    }

    /// Forgets everything, for a new connection.
    pub const fn clear(&mut self) {
        (self.start, self.end, self.total) = (0, 0, 0);
    }

    /// What waits to be read, of datagrams the first one. It may be decrypted in place.
    pub fn waiting(&mut self) -> &mut [u8] {
        let range = self.first();
        &mut self.bytes[range]
    }

    /// So many of the bytes that wait were read. Of a datagram, the rest becomes the first one.
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

    /// Where the next bytes can be written, or the next datagram.
    pub fn room(&mut self) -> &mut [u8] {
        if self.largest == 0 {
            &mut self.bytes[self.end..]
        } else {
            &mut self.bytes[self.end + PREFIX..][..self.largest]
        }
    }

    /// So many bytes were written.
    pub fn produce(&mut self, len: usize) {
        if self.largest > 0 {
            self.put_len(self.end, len);
            self.end += PREFIX;
        }
        self.end += len;
        self.total += len as u64;
        assert!(self.end <= Self::CAPACITY, "more was written than there was room for");
    }

    /// How many bytes were ever written.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Where that is which waits to be read at once.
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

/// What the length of a datagram takes.
const PREFIX: usize = size_of::<u16>();

/// The largest datagram that either side sends, in bytes: what packets of 1,280 bytes leave, the least MTU of IPv6.
pub const MTU: usize = 1_232;

/// Both directions, as one side sees them.
#[derive(Debug)]
pub struct Wire<'a> {
    /// What the other side sent.
    pub input: &'a mut Box<Pipe>,
    /// What this side sends.
    pub output: &'a mut Box<Pipe>,
}
