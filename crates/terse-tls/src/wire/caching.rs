//! The extensions of handshake caching: `cached_info` (RFC 7924, 3), `client_cached_info` (BiTHaC, IV-B), and
//! `compact_cache` (docs/caching.md).

use super::InvalidMessage;
use super::codec::{Encode, List, Parse, Reader, Writer, non_empty};
use super::{CachedInformationType, Extension, ExtensionType};

/// `cached_info` in a ClientHello: `CachedObject cached_info<1..2^16-1>`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CachedInformation<'a>(pub(crate) List<'a, CachedObject<'a>>);

impl<'a> Parse<'a> for CachedInformation<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        List::new(non_empty(reader.vec16()?)?).map(Self)
    }
}

impl Encode for CachedInformation<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec::<2>(|writer| self.0.encode(writer));
    }
}

impl<'a> Extension<'a> for CachedInformation<'a> {
    const TYPE: ExtensionType = ExtensionType::CACHED_INFO;
}

/// `CachedObject` from the client: `opaque hash_value<1..255>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CachedObject<'a> {
    pub(crate) kind: CachedInformationType,
    pub(crate) hash_value: &'a [u8],
}

impl<'a> Parse<'a> for CachedObject<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { kind: CachedInformationType::parse(reader)?, hash_value: non_empty(reader.vec8()?)? })
    }
}

impl Encode for CachedObject<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.kind.encode(writer);
        writer.vec8(self.hash_value);
    }
}

/// `cached_info` from the server: the types that it selects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SelectedInformation<'a>(pub(crate) List<'a, CachedInformationType>);

impl<'a> Parse<'a> for SelectedInformation<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        List::new(non_empty(reader.vec16()?)?).map(Self)
    }
}

impl Encode for SelectedInformation<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec::<2>(|writer| self.0.encode(writer));
    }
}

impl<'a> Extension<'a> for SelectedInformation<'a> {
    const TYPE: ExtensionType = ExtensionType::CACHED_INFO;
}

/// The two bodies of `client_cached_info`: an empty one, which means "supported", or `T objects<0..2^16-1>`.
macro_rules! client_cached_info {
    ($(#[$doc:meta])* $name:ident: $item:ty) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $name<'a>(pub(crate) Option<List<'a, $item>>);

        impl<'a> Parse<'a> for $name<'a> {
            fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
                if reader.is_empty() { Ok(Self(None)) } else { Ok(Self(Some(List::new(reader.vec16()?)?))) }
            }
        }

        impl Encode for $name<'_> {
            fn encode(&self, writer: &mut Writer<'_>) {
                if let Some(objects) = &self.0 {
                    writer.vec::<2>(|writer| objects.encode(writer));
                }
            }
        }

        impl<'a> Extension<'a> for $name<'a> {
            const TYPE: ExtensionType = ExtensionType::CLIENT_CACHED_INFO;
        }
    };
}

client_cached_info! {
    /// `client_cached_info` in a ClientHello: the client's tickets.
    ClientCachedInfo: CachedClientObject<'a>
}
client_cached_info! {
    /// `client_cached_info` from the server: the objects that it selects.
    SelectedClientInfo: SelectedClientObject
}

/// `CachedClientObject`: `opaque ticket<1..255>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CachedClientObject<'a> {
    pub(crate) kind: CachedInformationType,
    pub(crate) ticket: &'a [u8],
}

impl<'a> Parse<'a> for CachedClientObject<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { kind: CachedInformationType::parse(reader)?, ticket: non_empty(reader.vec8()?)? })
    }
}

impl Encode for CachedClientObject<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.kind.encode(writer);
        writer.vec8(self.ticket);
    }
}

/// One selection of a server: the type, and the index of the ticket in the client's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SelectedClientObject {
    pub(crate) kind: CachedInformationType,
    pub(crate) index: u16,
}

impl Parse<'_> for SelectedClientObject {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(Self { kind: CachedInformationType::parse(reader)?, index: reader.u16()? })
    }
}

impl Encode for SelectedClientObject {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.kind.encode(writer);
        writer.u16(self.index);
    }
}

/// `compact_cache` in a ClientHello: an empty body, which means "supported", or the ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompactOffer(pub(crate) Option<[u8; 8]>);

impl Parse<'_> for CompactOffer {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        if reader.is_empty() { Ok(Self(None)) } else { reader.array().map(Some).map(Self) }
    }
}

impl Encode for CompactOffer {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.0.iter().for_each(|ticket| writer.bytes(ticket));
    }
}

impl Extension<'_> for CompactOffer {
    const TYPE: ExtensionType = ExtensionType::COMPACT_CACHE;
}

/// `compact_cache` from the server: an empty body if all messages are sent in full, or a bit for each message that is
/// omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompactSelection(pub(crate) Option<u8>);

impl CompactSelection {
    pub(crate) const SERVER_CERTIFICATE: u8 = 1;
    pub(crate) const CERTIFICATE_REQUEST: u8 = 2;
    pub(crate) const CLIENT_CERTIFICATE: u8 = 4;
    /// The server's Certificate is sent without its certificates. This excludes [`Self::SERVER_CERTIFICATE`].
    pub(crate) const SERVER_CERTIFICATE_REDUCED: u8 = 8;
}

impl Parse<'_> for CompactSelection {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        if reader.is_empty() { Ok(Self(None)) } else { reader.u8().map(Some).map(Self) }
    }
}

impl Encode for CompactSelection {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.0.iter().for_each(|bits| writer.u8(*bits));
    }
}

impl Extension<'_> for CompactSelection {
    const TYPE: ExtensionType = ExtensionType::COMPACT_CACHE;
}
