//! The wire: two stretches of memory, one for each direction. Rust and C write to them and read from them alike
//! (`c/peer.h` has the same struct).
//!
//! What must always hold: nothing is allocated after a pipe was made; `total` counts every byte that was ever written.

/// One direction of a connection.
#[repr(C)]
#[derive(Debug)]
pub struct Pipe {
    bytes: [u8; Self::CAPACITY],
    start: usize,
    end: usize,
    total: u64,
}

impl Pipe {
    /// More than any flight, or any one write of application data with its records.
    pub const CAPACITY: usize = 1 << 16;

    /// An empty one. It is large: it is boxed from the beginning.
    pub fn new() -> Box<Self> {
        Box::new(Self { bytes: [0; Self::CAPACITY], start: 0, end: 0, total: 0 })
    }

    /// Forgets everything, for a new connection.
    pub const fn clear(&mut self) {
        (self.start, self.end, self.total) = (0, 0, 0);
    }

    /// What waits to be read. It may be decrypted in place.
    pub fn waiting(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.end]
    }

    /// So many of the bytes were read.
    pub fn consume(&mut self, len: usize) {
        self.start += len;
        assert!(self.start <= self.end, "more was read than there was");
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Where the next bytes can be written.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.end..]
    }

    /// So many bytes were written.
    pub fn produce(&mut self, len: usize) {
        self.end += len;
        self.total += len as u64;
        assert!(self.end <= Self::CAPACITY, "more was written than there was room for");
    }

    /// How many bytes were ever written.
    pub const fn total(&self) -> u64 {
        self.total
    }
}

/// Both directions, as one side sees them.
#[derive(Debug)]
pub struct Wire<'a> {
    /// What the other side sent.
    pub input: &'a mut Pipe,
    /// What this side sends.
    pub output: &'a mut Pipe,
}
