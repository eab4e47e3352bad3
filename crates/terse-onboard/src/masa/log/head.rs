//! The head of the chain.

use core::fmt::{self, Write as _};
use core::str::FromStr;

use terse_brski::digest::Sha256;

use super::entry::NO_LINK;

/// How many entries the chain has, and the hash of the last one. It displays as `HASH@LENGTH`, which parses again.
///
/// ```
/// use terse_onboard::masa::LogHead;
///
/// let text = "00000000000000000000000000000000000000000000000000000000000000ff@12";
/// let head: LogHead = text.parse()?;
/// assert_eq!((head.length, head.hash[31]), (12, 255));
/// assert_eq!(head.to_string(), text);
/// # Ok::<_, terse_onboard::masa::InvalidHead>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogHead {
    /// How many entries there are.
    pub length: i64,
    /// The hash of the last entry; of an empty chain all of its bytes are zero.
    pub hash: Sha256,
}

impl LogHead {
    /// The head of an empty chain.
    pub const EMPTY: Self = Self { length: 0, hash: NO_LINK };

    /// Returns the hash in hexadecimal digits.
    pub fn hash_hex(&self) -> String {
        hex(&self.hash)
    }
}

impl fmt::Display for LogHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.hash_hex(), self.length)
    }
}

impl FromStr for LogHead {
    type Err = InvalidHead;

    fn from_str(text: &str) -> Result<Self, InvalidHead> {
        let (hash, length) = text.split_once('@').ok_or(InvalidHead)?;
        let hash = from_hex(hash).and_then(|hash| hash.try_into().ok()).ok_or(InvalidHead)?;
        let length = length.parse().ok().filter(|length| *length >= 0).ok_or(InvalidHead)?;
        Ok(Self { length, hash })
    }
}

/// The text is no head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidHead;

impl fmt::Display for InvalidHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a head is HASH@LENGTH, with 64 hexadecimal digits, as `terse masa log verify` prints it")
    }
}

impl core::error::Error for InvalidHead {}

/// Returns bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // a string takes everything
        text
    })
}

/// Returns the bytes that [`hex`] has written.
pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|digit| Some(digit.to_digit(16)? as u8)).collect(); // below 16
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests;
