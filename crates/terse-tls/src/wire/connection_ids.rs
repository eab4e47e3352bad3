//! Connection IDs: the extension that negotiates them (RFC 9146, 3), and the messages that provide and request new ones
//! (RFC 9147, 9).

use super::InvalidMessage;
use super::codec::{Encode, List, Parse, Reader, Writer};
use super::{Extension, ExtensionType};

/// `connection_id`: `opaque cid<0..2^8-1>`, the ID for records to its sender (RFC 9146, 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionId<'a>(pub(crate) &'a [u8]);

impl<'a> Parse<'a> for ConnectionId<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        reader.vec8().map(Self)
    }
}

impl Encode for ConnectionId<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec8(self.0);
    }
}

impl<'a> Extension<'a> for ConnectionId<'a> {
    const TYPE: ExtensionType = ExtensionType::CONNECTION_ID;
}

/// How new connection IDs are to be used (RFC 9147, 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionIdUsage {
    /// The peer must use one of the IDs at once, in all following records.
    CidImmediate,
    /// The peer keeps the IDs for a change of path.
    CidSpare,
}

impl Parse<'_> for ConnectionIdUsage {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        match reader.u8()? {
            0 => Ok(Self::CidImmediate),
            1 => Ok(Self::CidSpare),
            _ => Err(InvalidMessage::IllegalValue),
        }
    }
}

impl Encode for ConnectionIdUsage {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u8(match self {
            Self::CidImmediate => 0,
            Self::CidSpare => 1,
        });
    }
}

/// `NewConnectionId`: provides connection IDs for records to its sender (RFC 9147, 9).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NewConnectionId<'a> {
    pub(crate) cids: List<'a, ConnectionId<'a>>,
    pub(crate) usage: ConnectionIdUsage,
}

impl<'a> Parse<'a> for NewConnectionId<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { cids: List::new(reader.vec16()?)?, usage: ConnectionIdUsage::parse(reader)? })
    }
}

impl Encode for NewConnectionId<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec::<2>(|writer| self.cids.encode(writer));
        self.usage.encode(writer);
    }
}

/// `RequestConnectionId` (RFC 9147, 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestConnectionId {
    pub(crate) num_cids: u8,
}

impl Parse<'_> for RequestConnectionId {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(Self { num_cids: reader.u8()? })
    }
}

impl Encode for RequestConnectionId {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u8(self.num_cids);
    }
}
