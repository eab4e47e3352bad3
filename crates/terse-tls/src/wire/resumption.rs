//! Resumption and pre-shared keys: the extensions `pre_shared_key`, `psk_key_exchange_modes` and `early_data`, the
//! message NewSessionTicket (RFC 9846, 4.3.9 to 4.3.11 and 4.7.1), and `session_ticket` of TLS 1.2 (RFC 5077).
//!
//! What must always hold: `pre_shared_key` has one binder for each identity, and at least one identity.

use super::InvalidMessage;
use super::codec::{Encode, EncodeError, List, Parse, Reader, Writer, empty, non_empty};
use super::{Extension, ExtensionType, Extensions, PskKeyExchangeMode};

/// `NewSessionTicket` of TLS 1.3 (RFC 9846, 4.7.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewSessionTicket<'a> {
    pub(crate) ticket_lifetime: u32,
    pub(crate) ticket_age_add: u32,
    pub(crate) ticket_nonce: &'a [u8],
    pub(crate) ticket: &'a [u8],
    pub(crate) extensions: Extensions<'a>,
}

impl<'a> Parse<'a> for NewSessionTicket<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            ticket_lifetime: reader.u32()?,
            ticket_age_add: reader.u32()?,
            ticket_nonce: reader.vec8()?,
            ticket: non_empty(reader.vec16()?)?,
            extensions: Extensions::parse(reader)?,
        })
    }
}

impl Encode for NewSessionTicket<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u32(self.ticket_lifetime);
        writer.u32(self.ticket_age_add);
        writer.vec8(self.ticket_nonce);
        writer.vec16(self.ticket);
        self.extensions.encode(writer);
    }
}

/// `pre_shared_key` in a ClientHello, `OfferedPsks` (RFC 9846, 4.3.11). It must be the last extension.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PreSharedKeyClientHello<'a> {
    pub(crate) identities: List<'a, PskIdentity<'a>>,
    pub(crate) binders: List<'a, PskBinder<'a>>,
}

impl PreSharedKeyClientHello<'_> {
    /// Returns the length of the binders with their length field. Truncate() removes this many bytes from the end of a
    /// ClientHello before a binder is computed over it (RFC 9846, 4.3.11.2).
    pub(crate) fn binders_len(&self) -> usize {
        2 + self.binders.iter().map(|binder| 1 + binder.0.len()).sum::<usize>()
    }

    /// Replaces the binders at the end of an encoded ClientHello by these, which have the same lengths.
    pub(crate) fn patch_binders(&self, client_hello: &mut [u8]) -> Result<(), EncodeError> {
        let start = client_hello.len().checked_sub(self.binders_len()).ok_or(EncodeError)?;
        let mut writer = Writer::new(&mut client_hello[start..]);
        writer.vec::<2>(|writer| self.binders.encode(writer));
        writer.finish().map(drop)
    }
}

impl<'a> Parse<'a> for PreSharedKeyClientHello<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let identities: List<'a, PskIdentity<'a>> = List::new(non_empty(reader.vec16()?)?)?;
        let binders: List<'a, PskBinder<'a>> = List::new(non_empty(reader.vec16()?)?)?;
        if identities.iter().count() != binders.iter().count() {
            return Err(InvalidMessage::IllegalValue);
        }
        Ok(Self { identities, binders })
    }
}

impl Encode for PreSharedKeyClientHello<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec::<2>(|writer| self.identities.encode(writer));
        writer.vec::<2>(|writer| self.binders.encode(writer));
    }
}

impl<'a> Extension<'a> for PreSharedKeyClientHello<'a> {
    const TYPE: ExtensionType = ExtensionType::PRE_SHARED_KEY;
}

/// `PskIdentity`: `opaque identity<1..2^16-1>`, and the age of the ticket in milliseconds plus `ticket_age_add`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PskIdentity<'a> {
    pub(crate) identity: &'a [u8],
    pub(crate) obfuscated_ticket_age: u32,
}

impl<'a> Parse<'a> for PskIdentity<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { identity: non_empty(reader.vec16()?)?, obfuscated_ticket_age: reader.u32()? })
    }
}

impl Encode for PskIdentity<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec16(self.identity);
        writer.u32(self.obfuscated_ticket_age);
    }
}

/// `opaque PskBinderEntry<32..255>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PskBinder<'a>(pub(crate) &'a [u8]);

impl<'a> Parse<'a> for PskBinder<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        match reader.vec8()? {
            binder if binder.len() < 32 => Err(InvalidMessage::IllegalLength),
            binder => Ok(Self(binder)),
        }
    }
}

impl Encode for PskBinder<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec8(self.0);
    }
}

/// `pre_shared_key` in a ServerHello: `uint16 selected_identity`, an index (RFC 9846, 4.3.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PreSharedKeyServerHello(pub(crate) u16);

impl Parse<'_> for PreSharedKeyServerHello {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        reader.u16().map(Self)
    }
}

impl Encode for PreSharedKeyServerHello {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u16(self.0);
    }
}

impl Extension<'_> for PreSharedKeyServerHello {
    const TYPE: ExtensionType = ExtensionType::PRE_SHARED_KEY;
}

/// `psk_key_exchange_modes`: `PskKeyExchangeMode ke_modes<1..255>` (RFC 9846, 4.3.9).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PskKeyExchangeModes<'a>(pub(crate) List<'a, PskKeyExchangeMode>);

impl<'a> Parse<'a> for PskKeyExchangeModes<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        List::new(non_empty(reader.vec8()?)?).map(Self)
    }
}

impl Encode for PskKeyExchangeModes<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec::<1>(|writer| self.0.encode(writer));
    }
}

impl<'a> Extension<'a> for PskKeyExchangeModes<'a> {
    const TYPE: ExtensionType = ExtensionType::PSK_KEY_EXCHANGE_MODES;
}

empty! {
    /// `early_data` in a ClientHello or EncryptedExtensions (RFC 9846, 4.3.10).
    EarlyData

    /// `EndOfEarlyData` (RFC 9846, 4.6).
    EndOfEarlyData
}

impl Extension<'_> for EarlyData {
    const TYPE: ExtensionType = ExtensionType::EARLY_DATA;
}

/// `early_data` in a NewSessionTicket: `uint32 max_early_data_size` (RFC 9846, 4.3.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaxEarlyDataSize(pub(crate) u32);

impl Parse<'_> for MaxEarlyDataSize {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        reader.u32().map(Self)
    }
}

impl Encode for MaxEarlyDataSize {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u32(self.0);
    }
}

impl Extension<'_> for MaxEarlyDataSize {
    const TYPE: ExtensionType = ExtensionType::EARLY_DATA;
}

/// `session_ticket` of TLS 1.2. The ticket is the whole body; an empty one requests or promises a new ticket (RFC 5077,
/// 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionTicket<'a>(pub(crate) &'a [u8]);

impl<'a> Parse<'a> for SessionTicket<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self(reader.rest()))
    }
}

impl Encode for SessionTicket<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.bytes(self.0);
    }
}

impl<'a> Extension<'a> for SessionTicket<'a> {
    const TYPE: ExtensionType = ExtensionType::SESSION_TICKET;
}
