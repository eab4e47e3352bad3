//! The base64 of RFC 4648, 4, as artefacts have it.

use alloc::string::String;
use alloc::vec::Vec;

use base64ct::{Base64, Encoding as _};

use crate::Malformed;

/// Decodes base64; white space is tolerated, and nothing else.
///
/// Some encoders break lines after 60 or 76 characters, as for MIME. White space carries nothing, so that a value has still
/// one meaning. The alphabet of RFC 4648, 5, missing padding, and bits that are not used but set are refused.
pub(crate) fn decode(text: &str, what: &'static str) -> Result<Vec<u8>, Malformed> {
    let decoded = if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        let compact: String = text.chars().filter(|char| !char.is_ascii_whitespace()).collect();
        decode_strictly(&compact)
    } else {
        decode_strictly(text)
    };
    decoded.ok_or(Malformed::Base64(what))
}

fn decode_strictly(text: &str) -> Option<Vec<u8>> {
    // `base64ct` takes a last group without its padding.
    if text.len().is_multiple_of(4) { Base64::decode_vec(text).ok() } else { None }
}

/// Appends the base64 of `bytes` to `out`.
pub(crate) fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    for group in bytes.chunks(GROUP) {
        let mut room = [0; GROUP / 3 * 4];
        // A group that is not the last one is a multiple of 3 bytes, and so has no padding.
        let text = Base64::encode(group, &mut room).expect("3 bytes are 4 characters, with padding");
        out.extend_from_slice(text.as_bytes());
    }
}

/// Returns how many characters `len` bytes have in base64.
pub(crate) const fn encoded_len(len: usize) -> usize {
    len.div_ceil(3) * 4
}

const GROUP: usize = 48;

#[cfg(test)]
mod tests;
