//! Numbers of 256 bits as the assembly has them: eight words, the least significant first.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// A number of 256 bits, aligned to words. It may be secret: it wipes itself, and does not print.
#[derive(Clone, Default, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Number(pub(crate) [u32; 8]);

impl Number {
    /// Reads a number from its 32 bytes, the most significant first.
    pub(crate) fn from_be_bytes(bytes: &[u8; 32]) -> Self {
        let mut number = Self::default();
        let (words, _) = bytes.as_chunks();
        for (word, bytes) in number.0.iter_mut().rev().zip(words) {
            *word = u32::from_be_bytes(*bytes);
        }
        number
    }

    /// Writes the 32 bytes of the number, the most significant first.
    pub(crate) fn write_be_bytes(&self, out: &mut [u8; 32]) {
        let (chunks, _) = out.as_chunks_mut();
        for (word, bytes) in self.0.iter().rev().zip(chunks) {
            *bytes = word.to_be_bytes();
        }
    }
}

/// A point of the curve other than the one at infinity, in affine coordinates. It is public.
#[derive(Clone, Default)]
pub(crate) struct Point {
    pub(crate) x: Number,
    pub(crate) y: Number,
}

/// The length in bytes of an uncompressed point (SEC 1, 2.3.3).
pub(crate) const UNCOMPRESSED_LEN: usize = 65;

impl Point {
    /// Returns the uncompressed form of the point.
    pub(crate) fn to_uncompressed(&self) -> [u8; UNCOMPRESSED_LEN] {
        let mut out = [0x04; UNCOMPRESSED_LEN];
        let (coordinates, _) = out[1..].as_chunks_mut();
        for (coordinate, bytes) in [&self.x, &self.y].into_iter().zip(coordinates) {
            coordinate.write_be_bytes(bytes);
        }
        out
    }
}
