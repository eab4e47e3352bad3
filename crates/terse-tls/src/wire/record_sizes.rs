//! Limits on the records that a side takes: `max_fragment_length` (RFC 6066, 4) and `record_size_limit` (RFC 8449).

use super::InvalidMessage;
use super::codec::{Encode, Parse, Reader, Writer};
use super::{Extension, ExtensionType};

/// `max_fragment_length` (RFC 6066, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxFragmentLength {
    /// 2^9 bytes.
    Bytes512 = 1,
    /// 2^10 bytes.
    Bytes1024 = 2,
    /// 2^11 bytes.
    Bytes2048 = 3,
    /// 2^12 bytes.
    Bytes4096 = 4,
}

impl MaxFragmentLength {
    const ALL: [Self; 4] = [Self::Bytes512, Self::Bytes1024, Self::Bytes2048, Self::Bytes4096];

    /// Returns the value for this many bytes, if they are 512, 1,024, 2,048 or 4,096.
    pub fn from_bytes(bytes: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|length| length.bytes() == bytes)
    }

    /// Returns the length in bytes.
    pub const fn bytes(self) -> usize {
        1 << (8 + self as usize)
    }
}

impl Parse<'_> for MaxFragmentLength {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let code = reader.u8()?;
        Self::ALL.into_iter().find(|length| *length as u8 == code).ok_or(InvalidMessage::IllegalValue)
    }
}

impl Encode for MaxFragmentLength {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u8(*self as u8);
    }
}

impl Extension<'_> for MaxFragmentLength {
    const TYPE: ExtensionType = ExtensionType::MAX_FRAGMENT_LENGTH;
}

/// `record_size_limit`: `uint16 RecordSizeLimit`, at least 64 (RFC 8449, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordSizeLimit(pub(crate) u16);

impl Parse<'_> for RecordSizeLimit {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        match reader.u16()? {
            limit @ 64.. => Ok(Self(limit)),
            _ => Err(InvalidMessage::IllegalValue),
        }
    }
}

impl Encode for RecordSizeLimit {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u16(self.0);
    }
}

impl Extension<'_> for RecordSizeLimit {
    const TYPE: ExtensionType = ExtensionType::RECORD_SIZE_LIMIT;
}
