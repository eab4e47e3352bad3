//! The extension `key_share` (RFC 9846, 4.3.8), which has a different body in each of three messages.

use super::InvalidMessage;
use super::codec::{Encode, List, Parse, Reader, Writer, non_empty};
use super::{Extension, ExtensionType, NamedGroup};

/// `KeyShareEntry`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyShareEntry<'a> {
    pub(crate) group: NamedGroup,
    pub(crate) key_exchange: &'a [u8],
}

impl<'a> Parse<'a> for KeyShareEntry<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { group: NamedGroup::parse(reader)?, key_exchange: non_empty(reader.vec16()?)? })
    }
}

impl Encode for KeyShareEntry<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.group.encode(writer);
        writer.vec16(self.key_exchange);
    }
}

/// `KeyShareClientHello`: `KeyShareEntry client_shares<0..2^16-1>`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyShareClientHello<'a>(pub(crate) List<'a, KeyShareEntry<'a>>);

impl<'a> Parse<'a> for KeyShareClientHello<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        List::new(reader.vec16()?).map(Self)
    }
}

impl Encode for KeyShareClientHello<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec::<2>(|writer| self.0.encode(writer));
    }
}

impl<'a> Extension<'a> for KeyShareClientHello<'a> {
    const TYPE: ExtensionType = ExtensionType::KEY_SHARE;
}

/// `KeyShareServerHello`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyShareServerHello<'a>(pub(crate) KeyShareEntry<'a>);

impl<'a> Parse<'a> for KeyShareServerHello<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        KeyShareEntry::parse(reader).map(Self)
    }
}

impl Encode for KeyShareServerHello<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.0.encode(writer);
    }
}

impl<'a> Extension<'a> for KeyShareServerHello<'a> {
    const TYPE: ExtensionType = ExtensionType::KEY_SHARE;
}

/// `KeyShareHelloRetryRequest`: the selected group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyShareHelloRetryRequest(pub(crate) NamedGroup);

impl Parse<'_> for KeyShareHelloRetryRequest {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        NamedGroup::parse(reader).map(Self)
    }
}

impl Encode for KeyShareHelloRetryRequest {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.0.encode(writer);
    }
}

impl Extension<'_> for KeyShareHelloRetryRequest {
    const TYPE: ExtensionType = ExtensionType::KEY_SHARE;
}
