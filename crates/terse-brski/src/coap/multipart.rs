//! `application/multipart-core` (RFC 8710): representations, each with its content format, in an array of CBOR. With it a
//! registrar hands out CA certificates (draft-ietf-anima-constrained-voucher).

use alloc::vec::Vec;

use minicbor::data::Type;
use minicbor::decode::Error;
use minicbor::{Decoder, Encoder};

use crate::Malformed;

/// A representation and its content format.
pub type Part<'a> = (u16, &'a [u8]);

/// Encodes the parts, in their order.
pub fn encode(parts: &[Part<'_>]) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new());
    // Writing to a vector does not fail.
    let _ = encoder.array(2 * parts.len() as u64);
    for (content_format, content) in parts {
        let _ = encoder.u16(*content_format).and_then(|encoder| encoder.bytes(content).map(drop));
    }
    encoder.into_writer()
}

/// Reads at most `max_parts` parts. A part whose representation is missing (RFC 8710, 2: null) is left out, but counts.
pub fn decode(encoded: &[u8], max_parts: usize) -> Result<Vec<Part<'_>>, Malformed> {
    let mut decoder = Decoder::new(encoded);
    let malformed = |_: Error| Malformed::Invalid("multipart-core");
    let mut elements_left = decoder.array().map_err(malformed)?;
    let (mut parts, mut count) = (Vec::new(), 0);
    while !is_at_end(&mut decoder, elements_left).map_err(malformed)? {
        count += 1;
        if count > max_parts {
            return Err(Malformed::TooMany("multipart-core"));
        }
        let content_format = decoder.u16().map_err(malformed)?;
        match decoder.datatype().map_err(malformed)? {
            Type::Null => decoder.null().map_err(malformed)?,
            _ => parts.push((content_format, decoder.bytes().map_err(malformed)?)),
        }
        elements_left = match elements_left {
            Some(left) => Some(left.checked_sub(2).ok_or(Malformed::Invalid("multipart-core"))?),
            None => None,
        };
    }
    (decoder.position() == encoded.len()).then_some(parts).ok_or(Malformed::Invalid("multipart-core"))
}

/// Whether the array is over: all its elements were read, or the break of an array without a length.
fn is_at_end(decoder: &mut Decoder<'_>, elements_left: Option<u64>) -> Result<bool, Error> {
    match elements_left {
        Some(left) => Ok(left == 0),
        None if decoder.datatype()? == Type::Break => {
            decoder.skip()?;
            Ok(true)
        }
        None => Ok(false),
    }
}

#[cfg(test)]
mod tests;
