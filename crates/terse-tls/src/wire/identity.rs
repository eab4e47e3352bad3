//! The extension `identity_share` (docs/identity-format.md, 7), which has a different body in each of four messages.

use super::codec::{Encode, Parse, Reader, Writer};
use super::{Extension, ExtensionType, InvalidMessage};
use crate::identity::Authority;

/// `identity_share` in a ClientHello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdentityShareClientHello<'a> {
    /// The code of the algorithm in the low four bits, and the flags.
    pub(crate) algorithm: u8,
    pub(crate) authority: Authority,
    /// The encoded identity of the client.
    pub(crate) identity: &'a [u8],
    /// The client's ephemeral key, and maybe the public part of its identity key.
    pub(crate) key_exchange: &'a [u8],
    /// The ticket for early data, which is absent if it has no bytes.
    pub(crate) ticket: &'a [u8],
}

impl IdentityShareClientHello<'_> {
    /// The flag in `algorithm` which says that the client holds the public part of the server's key.
    pub(crate) const HOLDS_PUBLIC_PART: u8 = 0x80;

    /// The flag in `algorithm` by which the client asks for an ephemeral secret ticket.
    pub(crate) const WANTS_TICKET: u8 = 0x40;

    /// The flag in `algorithm` which says that `ticket` is the time at first contact.
    pub(crate) const FIRST_CONTACT: u8 = 0x20;

    /// Returns the code of the algorithm.
    pub(crate) const fn code(&self) -> u8 {
        self.algorithm & 0x0f
    }

    /// Returns whether the client holds the public part of the server's key.
    pub(crate) const fn holds_public_part(&self) -> bool {
        self.algorithm & Self::HOLDS_PUBLIC_PART != 0
    }

    /// Returns whether the client asks for an ephemeral secret ticket.
    pub(crate) const fn wants_ticket(&self) -> bool {
        self.algorithm & Self::WANTS_TICKET != 0
    }

    /// Returns the time in seconds since 1970 if the early data is at first contact.
    pub(crate) fn first_contact(&self) -> Option<u32> {
        let is_first = self.algorithm & Self::FIRST_CONTACT != 0;
        <[u8; 4]>::try_from(self.ticket).ok().filter(|_| is_first).map(u32::from_be_bytes)
    }

    /// Returns the ephemeral secret ticket, if there is one.
    pub(crate) fn secret_ticket(&self) -> Option<&[u8]> {
        let is_first = self.algorithm & Self::FIRST_CONTACT != 0;
        (!is_first && !self.ticket.is_empty()).then_some(self.ticket)
    }
}

impl<'a> Parse<'a> for IdentityShareClientHello<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let algorithm = reader.u8()?;
        let authority = Authority(reader.array()?);
        let identity = reader.vec8()?;
        if identity.len() < 2 {
            return Err(InvalidMessage::IllegalLength);
        }
        let key_exchange = reader.vec8()?;
        let ticket = if reader.is_empty() { &[] } else { super::codec::non_empty(reader.vec16()?)? };
        Ok(Self { algorithm, authority, identity, key_exchange, ticket })
    }
}

impl Encode for IdentityShareClientHello<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u8(self.algorithm);
        writer.bytes(&self.authority.0);
        writer.vec8(self.identity);
        writer.vec8(self.key_exchange);
        if !self.ticket.is_empty() {
            writer.vec16(self.ticket);
        }
    }
}

impl<'a> Extension<'a> for IdentityShareClientHello<'a> {
    const TYPE: ExtensionType = ExtensionType::IDENTITY_SHARE;
}

/// `identity_share` in a ServerHello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdentityShareServerHello<'a> {
    /// The encoded identity of the server; empty if it is the one that the client expects.
    pub(crate) identity: &'a [u8],
    /// The server's ephemeral key, and maybe the public part of its identity key.
    pub(crate) key_exchange: &'a [u8],
}

impl<'a> Parse<'a> for IdentityShareServerHello<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { identity: reader.vec8()?, key_exchange: reader.vec8()? })
    }
}

impl Encode for IdentityShareServerHello<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec8(self.identity);
        writer.vec8(self.key_exchange);
    }
}

impl<'a> Extension<'a> for IdentityShareServerHello<'a> {
    const TYPE: ExtensionType = ExtensionType::IDENTITY_SHARE;
}

/// `identity_share` in a HelloRetryRequest, which has no content: the server lacks the public part of the client's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdentityShareHelloRetryRequest;

impl Parse<'_> for IdentityShareHelloRetryRequest {
    fn parse(_: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(Self)
    }
}

impl Encode for IdentityShareHelloRetryRequest {
    fn encode(&self, _: &mut Writer<'_>) {}
}

impl Extension<'_> for IdentityShareHelloRetryRequest {
    const TYPE: ExtensionType = ExtensionType::IDENTITY_SHARE;
}

/// `identity_share` in a NewSessionTicket, which makes it an ephemeral secret ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdentityShareNewSessionTicket<'a> {
    /// `R`, the server's ephemeral key for the early data of a later connection.
    pub(crate) key_exchange: &'a [u8],
}

impl<'a> Parse<'a> for IdentityShareNewSessionTicket<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { key_exchange: reader.vec8()? })
    }
}

impl Encode for IdentityShareNewSessionTicket<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec8(self.key_exchange);
    }
}

impl<'a> Extension<'a> for IdentityShareNewSessionTicket<'a> {
    const TYPE: ExtensionType = ExtensionType::IDENTITY_SHARE;
}
