//! The extensions of a message as a whole (RFC 9846, 4.3): the block, and the messages in which each extension may
//! appear. The extensions themselves are in the other files of this module, by what they are about.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::fmt;

use super::codec::{Encode, EncodeError, Parse, Reader, Writer, to_vec};
use super::{ExtensionType, InvalidMessage};

/// A message that carries extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ExtensionMessage {
    ClientHello = 1,
    ServerHello = 2,
    HelloRetryRequest = 4,
    EncryptedExtensions = 8,
    CertificateRequest = 16,
    Certificate = 32,
    NewSessionTicket = 64,
    /// A ServerHello that selects TLS 1.2 (RFC 5246, 7.4.1.4).
    ServerHello12 = 128,
}

impl ExtensionType {
    /// Returns the messages in which a known extension may appear, by the table of RFC 9846, 4.3, and for TLS 1.2 by
    /// the extension's own RFC. Returns `None` for an unknown extension.
    const fn places(self) -> Option<u8> {
        const CH: u8 = ExtensionMessage::ClientHello as u8;
        const SH: u8 = ExtensionMessage::ServerHello as u8;
        const HRR: u8 = ExtensionMessage::HelloRetryRequest as u8;
        const EE: u8 = ExtensionMessage::EncryptedExtensions as u8;
        const CR: u8 = ExtensionMessage::CertificateRequest as u8;
        const CT: u8 = ExtensionMessage::Certificate as u8;
        const NST: u8 = ExtensionMessage::NewSessionTicket as u8;
        const SH12: u8 = ExtensionMessage::ServerHello12 as u8;
        Some(match self {
            Self::SERVER_NAME => CH | EE | CR | SH12,
            Self::MAX_FRAGMENT_LENGTH
            | Self::APPLICATION_LAYER_PROTOCOL_NEGOTIATION
            | Self::CLIENT_CERTIFICATE_TYPE
            | Self::SERVER_CERTIFICATE_TYPE
            | Self::CACHED_INFO
            | Self::CLIENT_CACHED_INFO
            | Self::COMPACT_CACHE
            | Self::RECORD_SIZE_LIMIT => CH | EE | SH12,
            Self::SUPPORTED_GROUPS => CH | EE | SH12, // old servers send it, which is ignored
            Self::STATUS_REQUEST | Self::SIGNED_CERTIFICATE_TIMESTAMP => CH | CR | CT | SH12,
            Self::SIGNATURE_ALGORITHMS | Self::SIGNATURE_ALGORITHMS_CERT | Self::CERTIFICATE_AUTHORITIES => CH | CR,
            Self::EC_POINT_FORMATS | Self::EXTENDED_MASTER_SECRET | Self::SESSION_TICKET | Self::RENEGOTIATION_INFO => {
                CH | SH12
            }
            Self::PRE_SHARED_KEY => CH | SH,
            Self::CONNECTION_ID | Self::RRC => CH | SH | SH12,
            Self::EARLY_DATA => CH | EE | NST,
            Self::SUPPORTED_VERSIONS | Self::KEY_SHARE => CH | SH | HRR,
            Self::IDENTITY_SHARE => CH | SH | HRR | NST,
            Self::COOKIE => CH | HRR,
            Self::PSK_KEY_EXCHANGE_MODES | Self::POST_HANDSHAKE_AUTH => CH,
            Self::OID_FILTERS => CR,
            _ => return None,
        })
    }

    /// Returns an error for a known extension in a message that must not have it.
    pub(crate) const fn check_place(self, place: ExtensionMessage) -> Result<(), ExtensionError> {
        match self.places() {
            Some(places) if places & place as u8 == 0 => Err(ExtensionError::Misplaced(self)),
            _ => Ok(()),
        }
    }
}

/// An error in the extensions of a message (RFC 9846, 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExtensionError {
    /// The message must not have the extension.
    Misplaced(ExtensionType),
    /// The message must have the extension.
    Missing(ExtensionType),
    /// The extension was not offered.
    Unsolicited(ExtensionType),
    /// The body of an extension does not parse.
    Invalid(InvalidMessage),
}

/// An extension's body.
pub(crate) trait Extension<'a>: Parse<'a> + Encode {
    const TYPE: ExtensionType;
}

/// The extensions of a message: `Extension extensions<0..2^16-1>`, each type at most once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extensions<'a>(&'a [u8]);

impl<'a> Extensions<'a> {
    pub(crate) const EMPTY: Self = Self(&[]);

    /// Returns the block without its length.
    pub(crate) const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = (ExtensionType, &'a [u8])> {
        let mut reader = Reader::new(self.0);
        core::iter::from_fn(move || extension(&mut reader).ok())
    }

    /// Returns the type of the last extension: `pre_shared_key` must be the last one (RFC 9846, 4.3.11).
    pub(crate) fn last(self) -> Option<ExtensionType> {
        self.iter().last().map(|(kind, _)| kind)
    }

    /// Returns the extension `E`, if it is present.
    pub(crate) fn get<E: Extension<'a>>(self) -> Result<Option<E>, InvalidMessage> {
        self.get_as(E::TYPE)
    }

    /// Returns the extension with code point `kind`, if it is present, parsed as `E`.
    pub(crate) fn get_as<E: Extension<'a>>(self, kind: ExtensionType) -> Result<Option<E>, InvalidMessage> {
        self.find(kind).map(E::parse_all).transpose()
    }

    /// Returns the body of the extension with code point `kind`.
    #[inline(never)] // one for all types
    fn find(self, kind: ExtensionType) -> Option<&'a [u8]> {
        self.iter().find(|(other, _)| *other == kind).map(|(_, body)| body)
    }

    /// Returns the extension `E`, or an error if it is missing.
    pub(crate) fn require<E: Extension<'a>>(self) -> Result<E, ExtensionError> {
        self.get().map_err(ExtensionError::Invalid)?.ok_or(ExtensionError::Missing(E::TYPE))
    }

    /// Checks that a request has no misplaced extension. Unknown extensions are ignored.
    pub(crate) fn check_request(self, place: ExtensionMessage) -> Result<(), ExtensionError> {
        self.iter().try_for_each(|(kind, _)| kind.check_place(place))
    }

    /// Checks that every extension of a response was `offered`, and is not misplaced.
    pub(crate) fn check_response(
        self,
        place: ExtensionMessage,
        offered: &[ExtensionType],
    ) -> Result<(), ExtensionError> {
        self.iter().try_for_each(|(kind, _)| {
            kind.check_place(place)?;
            if offered.contains(&kind) { Ok(()) } else { Err(ExtensionError::Unsolicited(kind)) }
        })
    }
}

fn extension<'a>(reader: &mut Reader<'a>) -> Result<(ExtensionType, &'a [u8]), InvalidMessage> {
    Ok((ExtensionType::parse(reader)?, reader.vec16()?))
}

impl<'a> Parse<'a> for Extensions<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let bytes = reader.vec16()?;
        let mut reader = Reader::new(bytes);
        let mut seen = Vec::new();
        while !reader.is_empty() {
            seen.push(extension(&mut reader)?.0);
        }
        let seen = BinaryHeap::from(seen).into_sorted_vec(); // `sort_unstable` takes 7 kB of code
        if seen.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(InvalidMessage::DuplicateExtension);
        }
        Ok(Self(bytes))
    }
}

impl Encode for Extensions<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec16(self.0);
    }
}

impl fmt::Debug for Extensions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Extensions to be sent, in the order in which they were added.
#[derive(Debug, Default, Clone)]
pub(crate) struct ExtensionsBuilder {
    bytes: Vec<u8>,
    types: Vec<ExtensionType>,
}

impl ExtensionsBuilder {
    pub(crate) fn push<'a, E: Extension<'a>>(&mut self, extension: &E) -> Result<(), EncodeError> {
        self.push_as(E::TYPE, extension)
    }

    /// Adds an extension with another code point than its own.
    pub(crate) fn push_as<'a, E: Extension<'a>>(
        &mut self,
        kind: ExtensionType,
        extension: &E,
    ) -> Result<(), EncodeError> {
        self.push_body(kind, extension)
    }

    #[inline(never)] // one for all types
    fn push_body(&mut self, kind: ExtensionType, extension: &dyn Encode) -> Result<(), EncodeError> {
        let body = to_vec(extension)?;
        let mut header = [0; 4];
        let mut writer = Writer::new(&mut header);
        kind.encode(&mut writer);
        writer.u16(u16::try_from(body.len()).map_err(|_| EncodeError)?);
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(&body);
        self.types.push(kind);
        Ok(())
    }

    pub(crate) fn extensions(&self) -> Extensions<'_> {
        Extensions(&self.bytes)
    }

    /// Returns the types that were added.
    pub(crate) fn types(&self) -> &[ExtensionType] {
        &self.types
    }
}
