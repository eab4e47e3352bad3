//! The digest of a file, which stands in the file itself.
//!
//! It is the last of the key-value pairs: SHA-256 over the file with zeros in the place of the digest. Parquet has no check of
//! its own that covers the metadata, and decoders trust it.
//!
//! What must always hold: a change of any byte of a sealed file breaks the seal, or leaves none.

use core::ops::Range;

use sha2::{Digest, Sha256};

use super::super::plan::hexadecimal;

/// The key of the digest.
pub(super) const KEY: &str = "terse.digest";

/// What stands in the place of the digest as long as it is not known.
pub(super) const OPEN: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Writes the digest in its place.
pub(super) fn close(bytes: &mut [u8]) {
    if let Some(place) = place(bytes) {
        let digest = digest(bytes, &place);
        if let Some(found) = bytes.get_mut(place) {
            found.copy_from_slice(digest.as_bytes());
        }
    }
}

/// Whether the file has a digest that is not its own. A file without a digest is of somebody else.
pub(super) fn is_broken(bytes: &[u8]) -> bool {
    place(bytes).is_some_and(|place| bytes.get(place.clone()) != Some(digest(bytes, &place).as_bytes()))
}

/// Returns where the digest is: after the last occurrence of its key, and the type and the length of a text.
fn place(bytes: &[u8]) -> Option<Range<usize>> {
    let key = bytes.windows(KEY.len()).rposition(|window| window == KEY.as_bytes())?;
    let begin = key + KEY.len() + 2;
    let place = begin..begin + OPEN.len();
    bytes.get(place.clone()).is_some().then_some(place)
}

fn digest(bytes: &[u8], place: &Range<usize>) -> String {
    let (before, after) = (bytes.get(..place.start), bytes.get(place.end..));
    let digest = Sha256::new().chain_update(before.unwrap_or_default()).chain_update(OPEN);
    hexadecimal(&digest.chain_update(after.unwrap_or_default()).finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_any_byte_breaks_the_seal() {
        let mut bytes = format!("before terse.digest, terse.digest\u{18}\u{40}{OPEN} after").into_bytes();
        assert!(is_broken(&bytes), "it is open");
        close(&mut bytes);
        assert!(!is_broken(&bytes));
        let key = bytes.len() - OPEN.len() - " after".len() - 2 - KEY.len();
        for at in (0..bytes.len()).filter(|at| !(key..key + KEY.len()).contains(at)) {
            bytes[at] ^= 1;
            assert!(is_broken(&bytes), "{at}");
            bytes[at] ^= 1;
        }
        assert!(!is_broken(b"something else"));
    }
}
