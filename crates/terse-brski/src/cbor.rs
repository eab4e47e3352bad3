//! Reads CBOR (RFC 8949) that comes from strangers, item by item, and writes it.
//!
//! The caller bounds its length. What must always hold: nothing is read by recursion, and what nobody takes is skipped
//! without memory; containers that are skipped are nested at most [`MAX_DEPTH`] deep. Lengths may be indefinite, since RFC
//! 9254, 3, says that a decoder "SHALL" support them, and integers may be longer than they need be.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use minicbor::Decoder;
use minicbor::data::{Tag, Type};

use crate::Malformed;

mod write;

pub(crate) use write::{Writer, encoded_len, head_len};

/// The most containers that may contain each other in an item that is skipped.
pub(crate) const MAX_DEPTH: usize = 16;

/// Reads items that follow one another.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    decoder: Decoder<'a>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(cbor: &'a [u8]) -> Self {
        Self { decoder: Decoder::new(cbor) }
    }

    /// Returns the type of the next item, which must be there.
    pub(crate) fn kind(&self) -> Result<Type, Malformed> {
        self.decoder.datatype().map_err(malformed)
    }

    /// Returns how many bytes were read.
    pub(crate) fn position(&self) -> usize {
        self.decoder.position()
    }

    /// Checks that nothing follows.
    pub(crate) fn finish(&self) -> Result<(), Malformed> {
        if self.decoder.position() == self.decoder.input().len() { Ok(()) } else { Err(Malformed::Cbor) }
    }

    /// Returns the integer that comes next, or `None` if something else does.
    pub(crate) fn integer(&mut self) -> Result<Option<i128>, Malformed> {
        match self.kind()? {
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => {}
            Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::Int => {}
            _ => return Ok(None),
        }
        self.decoder.int().map(|int| Some(int.into())).map_err(malformed)
    }

    pub(crate) fn boolean(&mut self) -> Result<bool, Malformed> {
        self.decoder.bool().map_err(malformed)
    }

    /// Returns a floating-point number of 16, 32 or 64 bits.
    pub(crate) fn float(&mut self) -> Result<f64, Malformed> {
        match self.kind()? {
            Type::F16 => match *self.skip()? {
                [_, high, low] => Ok(half(u16::from_be_bytes([high, low]))),
                _ => Err(Malformed::Cbor),
            },
            Type::F32 => self.decoder.f32().map(f64::from).map_err(malformed),
            _ => self.decoder.f64().map_err(malformed),
        }
    }

    pub(crate) fn tag(&mut self) -> Result<Tag, Malformed> {
        self.decoder.tag().map_err(malformed)
    }

    /// Returns a byte string, whose chunks are put together.
    pub(crate) fn bytes(&mut self) -> Result<Cow<'a, [u8]>, Malformed> {
        if self.kind()? != Type::BytesIndef {
            return self.decoder.bytes().map(Cow::Borrowed).map_err(malformed);
        }
        let mut bytes = Vec::new();
        for chunk in self.decoder.bytes_iter().map_err(malformed)? {
            bytes.extend_from_slice(chunk.map_err(malformed)?);
        }
        Ok(Cow::Owned(bytes))
    }

    /// Returns a text string, whose chunks are put together.
    pub(crate) fn text(&mut self) -> Result<Cow<'a, str>, Malformed> {
        if self.kind()? != Type::StringIndef {
            return self.decoder.str().map(Cow::Borrowed).map_err(malformed);
        }
        let mut text = String::new();
        for chunk in self.decoder.str_iter().map_err(malformed)? {
            text.push_str(chunk.map_err(malformed)?);
        }
        Ok(Cow::Owned(text))
    }

    /// Begins an array.
    pub(crate) fn array(&mut self) -> Result<Entries, Malformed> {
        self.decoder.array().map(Entries).map_err(malformed)
    }

    /// Begins a map, whose entries have a key and a value.
    pub(crate) fn map(&mut self) -> Result<Entries, Malformed> {
        self.decoder.map().map(Entries).map_err(malformed)
    }

    /// Skips an item, with all that it contains, and returns its encoding.
    pub(crate) fn skip(&mut self) -> Result<&'a [u8], Malformed> {
        let start = self.decoder.position();
        let mut open = [Open::default(); MAX_DEPTH];
        let mut depth = 0;
        loop {
            while self.kind()? == Type::Tag {
                self.tag()?;
            }
            if let Some(inner) = self.begin()? {
                *open.get_mut(depth).ok_or(Malformed::Cbor)? = inner;
                depth += 1;
            }
            while let Some(innermost) = open.get_mut(..depth).and_then(<[Open]>::last_mut) {
                if innermost.goes_on(self)? {
                    break;
                }
                depth -= 1;
            }
            if depth == 0 {
                return self.decoder.input().get(start..self.decoder.position()).ok_or(Malformed::Cbor);
            }
        }
    }

    /// Begins the container that comes next, or skips what contains no items.
    fn begin(&mut self) -> Result<Option<Open>, Malformed> {
        match self.kind()? {
            Type::Array | Type::ArrayIndef => Ok(Some(Open { entries: self.array()?, is_map: false, has_key: false })),
            Type::Map | Type::MapIndef => Ok(Some(Open { entries: self.map()?, is_map: true, has_key: false })),
            Type::Break | Type::Unknown(_) => Err(Malformed::Cbor),
            _ => self.decoder.skip().map(|()| None).map_err(malformed),
        }
    }
}

/// How many entries of an array or a map are still to come: `None` if its length is indefinite.
#[derive(Clone, Copy, Default)]
pub(crate) struct Entries(Option<u64>);

impl Entries {
    /// Whether there is another entry. If not, the reader is after the container.
    pub(crate) fn next(&mut self, reader: &mut Reader<'_>) -> Result<bool, Malformed> {
        match &mut self.0 {
            Some(0) => Ok(false),
            Some(left) => {
                *left -= 1;
                Ok(true)
            }
            None if reader.kind()? == Type::Break => {
                reader.decoder.set_position(reader.decoder.position() + 1);
                Ok(false)
            }
            None => Ok(true),
        }
    }
}

/// A container that is skipped.
#[derive(Clone, Copy, Default)]
struct Open {
    entries: Entries,
    is_map: bool,
    /// Whether the key of an entry of a map is skipped already, and its value is due.
    has_key: bool,
}

impl Open {
    fn goes_on(&mut self, reader: &mut Reader<'_>) -> Result<bool, Malformed> {
        if self.has_key {
            self.has_key = false;
            return Ok(true);
        }
        let goes_on = self.entries.next(reader)?;
        self.has_key = goes_on && self.is_map;
        Ok(goes_on)
    }
}

/// Returns the number that a half-precision one is (RFC 8949, 3.3): a sign, 5 bits of an exponent with the bias 15, and 10 bits of
/// a fraction.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (u64::from(bits >> 10 & 0x1f), u64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => f64::from(bits & 0x3ff) / f64::from(1 << 24), // fraction * 2^-24
        0x1f => f64::from_bits(0x7ff << 52 | fraction << 42), // infinite, or no number
        _ => f64::from_bits((exponent + 1023 - 15) << 52 | fraction << 42), // the bias of f64 is 1023
    };
    if bits >> 15 == 0 { magnitude } else { -magnitude }
}

fn malformed(_: minicbor::decode::Error) -> Malformed {
    Malformed::Cbor
}

#[cfg(test)]
mod tests;
