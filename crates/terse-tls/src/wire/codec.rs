//! The codec: parsing borrows from the input, encoding writes into a slice, and neither can panic.
//!
//! Vectors have the format of RFC 9846, 3.4: a length of one, two or three bytes, then that many bytes.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::InvalidMessage;

/// A type that can be read from bytes.
pub(crate) trait Parse<'a>: Sized {
    /// Reads one value; the rest stays in `reader`.
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage>;

    /// Reads one value that must fill `bytes` exactly.
    fn parse_all(bytes: &'a [u8]) -> Result<Self, InvalidMessage> {
        let mut reader = Reader::new(bytes);
        let value = Self::parse(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// A type that can be written to bytes.
pub(crate) trait Encode {
    /// Appends the encoding to `writer`.
    fn encode(&self, writer: &mut Writer<'_>);

    /// Returns the encoding in a buffer of its exact size.
    fn to_vec(&self) -> Result<Vec<u8>, EncodeError>
    where
        Self: Sized,
    {
        to_vec(self)
    }
}

/// [`Encode::to_vec`] for all types.
#[inline(never)]
pub(super) fn to_vec(value: &dyn Encode) -> Result<Vec<u8>, EncodeError> {
    let mut count = Writer::new(&mut []);
    value.encode(&mut count);
    let mut bytes = vec![0; count.len];
    let mut writer = Writer::new(&mut bytes);
    value.encode(&mut writer);
    writer.finish()?;
    Ok(bytes)
}

/// A value that is already encoded.
pub(crate) struct Encoded<'a>(pub(crate) &'a [u8]);

impl Encode for Encoded<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.bytes(self.0);
    }
}

/// A value did not fit into the buffer, or into its length field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EncodeError;

/// The rest of an input that is being parsed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], InvalidMessage> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(InvalidMessage::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.0)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], InvalidMessage> {
        self.chunk().copied()
    }

    /// Reads `N` bytes without copying them.
    pub(crate) fn chunk<const N: usize>(&mut self) -> Result<&'a [u8; N], InvalidMessage> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(InvalidMessage::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, InvalidMessage> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, InvalidMessage> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u24(&mut self) -> Result<usize, InvalidMessage> {
        let [a, b, c] = self.array()?;
        Ok(usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, InvalidMessage> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, InvalidMessage> {
        self.array().map(u64::from_be_bytes)
    }

    /// `opaque<0..2^8-1>`
    pub(crate) fn vec8(&mut self) -> Result<&'a [u8], InvalidMessage> {
        let len = self.u8()?;
        self.take(len.into())
    }

    /// `opaque<0..2^16-1>`
    pub(crate) fn vec16(&mut self) -> Result<&'a [u8], InvalidMessage> {
        let len = self.u16()?;
        self.take(len.into())
    }

    /// Reads a vector whose length has one byte if it is below 128, otherwise two bytes with the highest bit set.
    /// Caches use this format; TLS does not.
    pub(crate) fn short_vec(&mut self) -> Result<&'a [u8], InvalidMessage> {
        let len = match self.u8()? {
            len @ 0..0x80 => usize::from(len),
            high => match usize::from(high & 0x7f) << 8 | usize::from(self.u8()?) {
                0..0x80 => return Err(InvalidMessage::IllegalLength),
                len => len,
            },
        };
        self.take(len)
    }

    /// `opaque<0..2^24-1>`
    pub(crate) fn vec24(&mut self) -> Result<&'a [u8], InvalidMessage> {
        let len = self.u24()?;
        self.take(len)
    }

    /// Returns an error if bytes are left.
    pub(crate) fn finish(self) -> Result<(), InvalidMessage> {
        if self.is_empty() { Ok(()) } else { Err(InvalidMessage::TrailingData) }
    }
}

/// Refuses an empty vector, for types whose lower bound is 1.
pub(crate) fn non_empty(bytes: &[u8]) -> Result<&[u8], InvalidMessage> {
    if bytes.is_empty() { Err(InvalidMessage::IllegalLength) } else { Ok(bytes) }
}

/// Writes into a slice. Beyond the end of the slice it only counts bytes, and [`Writer::finish`] then fails. So
/// encoders need no error handling, and writing into an empty slice measures a value.
#[derive(Debug)]
pub(crate) struct Writer<'b> {
    buffer: &'b mut [u8],
    len: usize,
    overlong: bool,
}

impl<'b> Writer<'b> {
    pub(crate) const fn new(buffer: &'b mut [u8]) -> Self {
        Self { buffer, len: 0, overlong: false }
    }

    /// Returns how many bytes were written, including those beyond the end of the slice.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let end = self.len.saturating_add(bytes.len());
        if let Some(place) = self.buffer.get_mut(self.len..end) {
            place.copy_from_slice(bytes);
        }
        self.len = end;
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes(&[value]);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    pub(crate) fn u24(&mut self, value: usize) {
        self.overlong |= value >> 24 != 0;
        self.bytes(&(value as u32).to_be_bytes()[1..]);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_be_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes(&value.to_be_bytes());
    }

    /// Writes a vector: a length field of `N` bytes, at most three, and then what `body` writes.
    pub(crate) fn vec<const N: usize>(&mut self, body: impl FnOnce(&mut Self)) {
        let start = self.len;
        self.bytes(&[0; N]);
        body(self);
        self.end_vec(start..start + N);
    }

    /// Writes the length of a vector that ends here into its field.
    #[inline(never)] // one for all vectors
    fn end_vec(&mut self, field: Range<usize>) {
        let len = self.len - field.end;
        self.overlong |= len >> (8 * field.len()) != 0;
        let bytes = len.to_be_bytes();
        if let Some(place) = self.buffer.get_mut(field) {
            place.copy_from_slice(&bytes[bytes.len() - place.len()..]);
        }
    }

    pub(crate) fn vec8(&mut self, bytes: &[u8]) {
        self.vec::<1>(|writer| writer.bytes(bytes));
    }

    pub(crate) fn vec16(&mut self, bytes: &[u8]) {
        self.vec::<2>(|writer| writer.bytes(bytes));
    }

    pub(crate) fn vec24(&mut self, bytes: &[u8]) {
        self.vec::<3>(|writer| writer.bytes(bytes));
    }

    /// Writes a vector in the format of [`Reader::short_vec`].
    pub(crate) fn short_vec(&mut self, bytes: &[u8]) {
        match bytes.len() {
            len @ 0..0x80 => self.u8(len as u8),
            len => {
                self.overlong |= len >= 0x8000;
                self.u16(len as u16 | 0x8000);
            }
        }
        self.bytes(bytes);
    }

    /// Returns how many bytes were written, or an error if a value did not fit.
    pub(crate) fn finish(self) -> Result<usize, EncodeError> {
        if self.overlong || self.len > self.buffer.len() { Err(EncodeError) } else { Ok(self.len) }
    }
}

/// A sequence of values: parsed from the wire and checked, or in memory and to be encoded.
#[derive(Clone, Copy)]
pub(crate) enum List<'a, T> {
    Wire(&'a [u8]),
    Items(&'a [T]),
}

impl<'a, T: Parse<'a> + Clone> List<'a, T> {
    /// Checks that all of `bytes` is a sequence of `T`.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, InvalidMessage> {
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            T::parse(&mut reader)?;
        }
        Ok(Self::Wire(bytes))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = T> + use<'a, T> {
        let (wire, items): (&'a [u8], &'a [T]) = match *self {
            Self::Wire(bytes) => (bytes, &[]),
            Self::Items(items) => (&[], items),
        };
        let mut reader = Reader::new(wire);
        let parsed = core::iter::from_fn(move || if reader.is_empty() { None } else { T::parse(&mut reader).ok() });
        parsed.chain(items.iter().cloned())
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl<T: Encode> Encode for List<'_, T> {
    fn encode(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Wire(bytes) => writer.bytes(bytes),
            Self::Items(items) => items.iter().for_each(|item| item.encode(writer)),
        }
    }
}

impl<'a, T: Parse<'a> + Clone + PartialEq> PartialEq for List<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: Parse<'a> + Clone + fmt::Debug> fmt::Debug for List<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Defines types whose encoding is empty, because only their presence matters.
macro_rules! empty {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $name;

        impl Parse<'_> for $name {
            fn parse(_: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
                Ok(Self)
            }
        }

        impl Encode for $name {
            fn encode(&self, _: &mut Writer<'_>) {}
        }
    )*};
}
pub(super) use empty;
