//! Numbers of options (RFC 7252, 5.10 and 12.2), and values that are numbers (RFC 7252, 3.2).

use alloc::vec::Vec;

#[cfg(feature = "services")]
pub(super) const URI_HOST: u16 = 3;
pub(super) const ETAG: u16 = 4;
#[cfg(feature = "services")]
pub(super) const URI_PORT: u16 = 7;
pub(super) const URI_PATH: u16 = 11;
pub(super) const CONTENT_FORMAT: u16 = 12;
/// draft-ietf-core-uri-path-abbrev; the number is provisional.
pub(super) const URI_PATH_ABBREV: u16 = 13;
pub(super) const MAX_AGE: u16 = 14;
pub(super) const URI_QUERY: u16 = 15;
pub(super) const ACCEPT: u16 = 17;
pub(super) const BLOCK2: u16 = 23;
pub(super) const BLOCK1: u16 = 27;
pub(super) const SIZE2: u16 = 28;
#[cfg(feature = "services")]
pub(super) const PROXY_URI: u16 = 35;
#[cfg(feature = "services")]
pub(super) const PROXY_SCHEME: u16 = 39;
pub(super) const SIZE1: u16 = 60;

/// Whether an option that is not understood makes the message unusable (RFC 7252, 5.4.1 and 5.4.6).
pub(super) const fn is_critical(number: u16) -> bool {
    number & 1 == 1
}

/// Encodes a number in as few bytes as possible (RFC 7252, 3.2).
pub(super) fn uint(value: u32) -> Vec<u8> {
    let skipped = value.leading_zeros() as usize / 8;
    value.to_be_bytes()[skipped..].to_vec()
}

/// Reads a number of at most `max_len` bytes, four of them at most; leading zeros are allowed.
pub(super) fn read_uint(value: &[u8], max_len: usize) -> Option<u32> {
    let is_short = value.len() <= max_len.min(4);
    is_short.then(|| value.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}
