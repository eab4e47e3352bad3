//! Block-wise transfer (RFC 7959): the values of Block1 and Block2.

use core::fmt;

use super::option;

/// The size of blocks: a power of two from 16 to 1,024 bytes (RFC 7959, 2.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockSize(u8);

impl BlockSize {
    /// 1,024 bytes.
    pub const MAX: Self = Self(6);

    /// Returns the largest size that is at most `len` bytes; 16 bytes if `len` is less.
    pub const fn at_most(len: usize) -> Self {
        let mut szx = 6;
        while szx > 0 && len < 16 << szx {
            szx -= 1;
        }
        Self(szx)
    }

    /// Returns the largest size whose messages fit into datagrams of this length, with 64 bytes for all but the block; 16 bytes
    /// if there is less room.
    ///
    /// A message of this crate has 64 bytes at most besides its block, unless a request has a long query.
    pub const fn for_datagram(limit: usize) -> Self {
        Self::at_most(limit.saturating_sub(MESSAGE_ROOM))
    }

    /// Returns the exponent that stands for it (RFC 7959, 2.2: SZX), from 0 to 6.
    pub const fn szx(self) -> u8 {
        self.0
    }

    /// Returns the size in bytes.
    pub const fn bytes(self) -> usize {
        16 << self.0
    }
}

impl fmt::Debug for BlockSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockSize({})", self.bytes())
    }
}

/// The value of Block1 or Block2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) number: u32,
    pub(super) more: bool,
    pub(super) size: BlockSize,
}

impl Block {
    /// Returns the block that begins at this offset, which is a multiple of the size.
    pub(super) fn at(offset: usize, more: bool, size: BlockSize) -> Self {
        Self { number: u32::try_from(offset / size.bytes()).unwrap_or(u32::MAX), more, size }
    }

    /// Reads a value of at most three bytes. The exponent 7 is reserved (RFC 7959, 2.2).
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let value = option::read_uint(value, 3)?;
        let szx = (value & 7) as u8;
        (szx != 7).then_some(Self { number: value >> 4, more: value & 8 != 0, size: BlockSize(szx) })
    }

    pub(super) fn value(self) -> u32 {
        self.number << 4 | u32::from(self.more) << 3 | u32::from(self.size.0)
    }

    /// Returns where the block begins in the body.
    pub(super) fn offset(self) -> usize {
        self.number as usize * self.size.bytes()
    }

    /// Whether a payload has the length that it must have (RFC 7959, 2.3). A last block may be shorter than the size.
    pub(super) fn fits(self, payload: &[u8]) -> bool {
        match self.more {
            true => payload.len() == self.size.bytes(),
            false => payload.len() <= self.size.bytes(),
        }
    }
}

/// How many bytes of a message are not for the block: header, token and payload marker have 13 at most, and the options 51.
const MESSAGE_ROOM: usize = 64;

#[cfg(test)]
mod tests;
