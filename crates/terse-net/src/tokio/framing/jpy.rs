//! JPY, the framing between a stateless join proxy and a registrar (draft-ietf-anima-constrained-join-proxy-20, "JPY
//! Message Structure"):
//!
//! ```text
//! jpy_message = [ jpy_header: bstr, jpy_content: bstr ]
//! ```
//!
//! The proxy chooses the header, which tells its pledges apart, and the registrar returns it unchanged. In the draft's terms a
//! pledge's connection is a 5-tuple: both addresses and ports, and the header.
//!
//! An array may have more elements, which later versions of the draft may give a meaning: they are skipped ("Processing by
//! Registrar").
//!
//! What must always hold: what is read is one array of definite length, which begins with two byte strings of definite length,
//! and nothing behind it; skipping takes a bounded stack, no memory, and time in proportion to the datagram; what is written is
//! read as the same path and content.

use core::net::SocketAddr;
use core::ops::Range;

use minicbor::data::Type;
use minicbor::{Decoder, Encoder};
use terse_tls::Path;

use super::{Framing, Misframed};

#[cfg(test)]
mod tests;

/// The framing of a stateless join proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jpy {
    max_header: usize,
}

impl Jpy {
    /// Returns the framing with headers of up to [`Path::MAX_HEADER`] bytes, which cost up to 70 bytes of a datagram.
    pub const fn new() -> Self {
        Self { max_header: Path::MAX_HEADER }
    }

    /// Refuses headers of more than `max` bytes. The draft asks proxies for 32 at most, which cost up to 38 bytes of a
    /// datagram.
    #[must_use]
    pub const fn max_header(self, max: usize) -> Self {
        Self { max_header: if max < Path::MAX_HEADER { max } else { Path::MAX_HEADER } }
    }

    /// Reads a message: returns its header, of any length, and where its content is. Further elements are skipped.
    pub fn parse(datagram: &[u8]) -> Result<(&[u8], Range<usize>), Misframed> {
        let mut decoder = Decoder::new(datagram);
        let elements = decoder.array().map_err(malformed)?;
        let further = elements.and_then(|elements| elements.checked_sub(2)).ok_or(Misframed::Malformed)?;
        let header = decoder.bytes().map_err(malformed)?;
        let content = decoder.bytes().map_err(malformed)?;
        let end = decoder.position();
        skip_all(&mut decoder, Some(further), MAX_DEPTH)?;
        if decoder.position() != datagram.len() {
            return Err(Misframed::Malformed);
        }
        Ok((header, end - content.len()..end))
    }

    /// Writes to `out` what stands before a content of `len` bytes in a message with this header. Returns its length, or `None`
    /// if `out` is too short.
    pub fn prefix(header: &[u8], len: usize, out: &mut [u8]) -> Option<usize> {
        let room = out.len();
        let mut encoder = Encoder::new(out);
        let encoded = encoder.array(2).and_then(|encoder| encoder.bytes(header));
        encoded.and_then(|encoder| encoder.bytes_len(len as u64)).ok()?;
        Some(room - encoder.into_writer().len())
    }
}

impl Default for Jpy {
    fn default() -> Self {
        Self::new()
    }
}

impl Framing for Jpy {
    fn overhead(&self) -> usize {
        ARRAY_HEAD + bytes_head(self.max_header) + self.max_header + bytes_head(usize::from(u16::MAX))
    }

    fn read(&self, from: SocketAddr, datagram: &[u8]) -> Result<(Path, Range<usize>), Misframed> {
        let (header, content) = Self::parse(datagram)?;
        let path = Path::new(from, header).filter(|_| header.len() <= self.max_header);
        Ok((path.ok_or(Misframed::HeaderTooLong)?, content))
    }

    fn write(&self, path: &Path, len: usize, out: &mut [u8]) -> Option<usize> {
        Self::prefix(path.header(), len, out)
    }
}

/// Skips so many items, or all until a break. Each takes a byte at least, so that no number of them takes longer than the datagram.
fn skip_all(decoder: &mut Decoder<'_>, items: Option<u64>, depth: usize) -> Result<(), Misframed> {
    match items {
        Some(items) => (0..items).try_for_each(|_| skip(decoder, depth)),
        None => {
            while decoder.datatype().map_err(malformed)? != Type::Break {
                skip(decoder, depth)?;
            }
            decoder.skip().map_err(malformed)
        }
    }
}

/// Skips an item that is nested at most this deep.
fn skip(decoder: &mut Decoder<'_>, depth: usize) -> Result<(), Misframed> {
    let depth = depth.checked_sub(1).ok_or(Misframed::Malformed)?;
    let items = match decoder.datatype().map_err(malformed)? {
        Type::Array | Type::ArrayIndef => decoder.array().map_err(malformed)?,
        Type::Map | Type::MapIndef => decoder.map().map_err(malformed)?.map(|pairs| pairs.saturating_mul(2)),
        Type::Tag => {
            decoder.tag().map_err(malformed)?;
            Some(1)
        }
        Type::Break => return Err(Misframed::Malformed),
        _ => return decoder.skip().map_err(malformed),
    };
    skip_all(decoder, items, depth)
}

fn malformed(_: minicbor::decode::Error) -> Misframed {
    Misframed::Malformed
}

/// How deep further elements may be nested.
const MAX_DEPTH: usize = 16;

/// The length of the head of an array of two.
const ARRAY_HEAD: usize = 1;

/// Returns the length of the head of a byte string of at most 65,535 bytes (RFC 8949, 3).
const fn bytes_head(len: usize) -> usize {
    match len {
        0..24 => 1,
        24..0x100 => 2,
        _ => 3,
    }
}
