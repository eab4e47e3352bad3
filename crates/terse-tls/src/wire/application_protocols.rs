//! Application-layer protocol negotiation (RFC 7301).

use super::InvalidMessage;
use super::codec::{Encode, List, Parse, Reader, Writer, non_empty};
use super::{Extension, ExtensionType};

/// `application_layer_protocol_negotiation`: `ProtocolName protocol_name_list<2..2^16-1>` (RFC 7301, 3.1).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProtocolNameList<'a>(pub(crate) List<'a, ProtocolName<'a>>);

impl<'a> Parse<'a> for ProtocolNameList<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        List::new(non_empty(reader.vec16()?)?).map(Self)
    }
}

impl Encode for ProtocolNameList<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec::<2>(|writer| self.0.encode(writer));
    }
}

impl<'a> Extension<'a> for ProtocolNameList<'a> {
    const TYPE: ExtensionType = ExtensionType::APPLICATION_LAYER_PROTOCOL_NEGOTIATION;
}

/// `opaque ProtocolName<1..2^8-1>` (RFC 7301, 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProtocolName<'a>(pub(crate) &'a [u8]);

impl<'a> Parse<'a> for ProtocolName<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        non_empty(reader.vec8()?).map(Self)
    }
}

impl Encode for ProtocolName<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec8(self.0);
    }
}
