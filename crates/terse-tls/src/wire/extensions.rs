//! Extensions (RFC 9846, 4.3): the extension block, the messages in which each extension may appear, and the general
//! extensions. Key exchange, resumption, certificate types, caching and TLS 1.2 have files of their own.

use alloc::vec::Vec;
use core::fmt;

use super::InvalidMessage;
use super::codec::{Encode, List, Parse, Reader, Writer, non_empty};
use super::{CipherSuite, ExtensionType, NamedGroup, ProtocolVersion, SignatureScheme};

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
        self.iter().find(|(other, _)| *other == kind).map(|(_, body)| E::parse_all(body)).transpose()
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
        seen.sort_unstable();
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
    pub(crate) fn push<'a, E: Extension<'a>>(&mut self, extension: &E) -> Result<(), super::EncodeError> {
        self.push_as(E::TYPE, extension)
    }

    /// Adds an extension with another code point than its own.
    pub(crate) fn push_as<'a, E: Extension<'a>>(
        &mut self,
        kind: ExtensionType,
        extension: &E,
    ) -> Result<(), super::EncodeError> {
        let body = extension.to_vec()?;
        let mut header = [0; 4];
        let mut writer = Writer::new(&mut header);
        kind.encode(&mut writer);
        writer.u16(u16::try_from(body.len()).map_err(|_| super::EncodeError)?);
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

/// `supported_versions` in a ClientHello: `ProtocolVersion versions<2..254>` (RFC 9846, 4.3.1).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SupportedVersions<'a>(pub(crate) List<'a, ProtocolVersion>);

impl<'a> Parse<'a> for SupportedVersions<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        List::new(non_empty(reader.vec8()?)?).map(Self)
    }
}

impl Encode for SupportedVersions<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec::<1>(|writer| self.0.encode(writer));
    }
}

impl<'a> Extension<'a> for SupportedVersions<'a> {
    const TYPE: ExtensionType = ExtensionType::SUPPORTED_VERSIONS;
}

/// `supported_versions` in a ServerHello or HelloRetryRequest: the selected version (RFC 9846, 4.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SelectedVersion(pub(crate) ProtocolVersion);

impl Parse<'_> for SelectedVersion {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        ProtocolVersion::parse(reader).map(Self)
    }
}

impl Encode for SelectedVersion {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.0.encode(writer);
    }
}

impl Extension<'_> for SelectedVersion {
    const TYPE: ExtensionType = ExtensionType::SUPPORTED_VERSIONS;
}

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

/// `cookie`: `opaque cookie<1..2^16-1>` (RFC 9846, 4.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cookie<'a>(pub(crate) &'a [u8]);

impl<'a> Parse<'a> for Cookie<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        non_empty(reader.vec16()?).map(Self)
    }
}

impl Encode for Cookie<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec16(self.0);
    }
}

impl<'a> Extension<'a> for Cookie<'a> {
    const TYPE: ExtensionType = ExtensionType::COOKIE;
}

/// Defines a vector of code points, `T list<2..2^16-2>`: three extensions and one field of ClientHello.
macro_rules! code_point_list {
    ($(#[$doc:meta])* $name:ident: $item:ty $(= $extension:ident)?) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $name<'a>(pub(crate) List<'a, $item>);

        impl<'a> Parse<'a> for $name<'a> {
            fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
                List::new(non_empty(reader.vec16()?)?).map(Self)
            }
        }

        impl Encode for $name<'_> {
            fn encode(&self, writer: &mut Writer<'_>) {
                writer.vec::<2>(|writer| self.0.encode(writer));
            }
        }

        $(impl<'a> Extension<'a> for $name<'a> {
            const TYPE: ExtensionType = ExtensionType::$extension;
        })?
    };
}

code_point_list! {
    /// `cipher_suites` of a ClientHello (RFC 9846, 4.2.2).
    CipherSuites: CipherSuite
}
code_point_list! {
    /// `supported_groups` (RFC 9846, 4.3.7).
    SupportedGroups: NamedGroup = SUPPORTED_GROUPS
}
code_point_list! {
    /// `signature_algorithms` (RFC 9846, 4.3.3).
    SignatureAlgorithms: SignatureScheme = SIGNATURE_ALGORITHMS
}
code_point_list! {
    /// `signature_algorithms_cert` (RFC 9846, 4.3.3).
    SignatureAlgorithmsCert: SignatureScheme = SIGNATURE_ALGORITHMS_CERT
}

/// `certificate_authorities`: `DistinguishedName authorities<3..2^16-1>` (RFC 9846, 4.3.4).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CertificateAuthorities<'a>(pub(crate) List<'a, DistinguishedName<'a>>);

impl<'a> Parse<'a> for CertificateAuthorities<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        List::new(non_empty(reader.vec16()?)?).map(Self)
    }
}

impl Encode for CertificateAuthorities<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec::<2>(|writer| self.0.encode(writer));
    }
}

impl<'a> Extension<'a> for CertificateAuthorities<'a> {
    const TYPE: ExtensionType = ExtensionType::CERTIFICATE_AUTHORITIES;
}

/// `opaque DistinguishedName<1..2^16-1>`, a DER `Name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DistinguishedName<'a>(pub(crate) &'a [u8]);

impl<'a> Parse<'a> for DistinguishedName<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        non_empty(reader.vec16()?).map(Self)
    }
}

impl Encode for DistinguishedName<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec16(self.0);
    }
}

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

/// `server_name` (RFC 6066, 3): names of distinct types from the client, an empty body from the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServerNameList<'a> {
    Names(List<'a, ServerName<'a>>),
    Acknowledged,
}

impl<'a> ServerNameList<'a> {
    /// Returns the host name, if there is one. Names of other types are ignored.
    pub(crate) fn host_name(&self) -> Result<Option<&'a str>, InvalidMessage> {
        let Self::Names(names) = self else { return Ok(None) };
        let mut host_names = names.iter().filter(|name| name.name_type == ServerName::HOST_NAME);
        let Some(ServerName { name, .. }) = host_names.next() else { return Ok(None) };
        if host_names.next().is_some() || !name.iter().all(u8::is_ascii_graphic) {
            return Err(InvalidMessage::IllegalValue);
        }
        core::str::from_utf8(name).map(Some).map_err(|_| InvalidMessage::IllegalValue)
    }
}

impl<'a> Parse<'a> for ServerNameList<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        if reader.is_empty() {
            return Ok(Self::Acknowledged);
        }
        List::new(non_empty(reader.vec16()?)?).map(Self::Names)
    }
}

impl Encode for ServerNameList<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        if let Self::Names(names) = self {
            writer.vec::<2>(|writer| names.encode(writer));
        }
    }
}

impl<'a> Extension<'a> for ServerNameList<'a> {
    const TYPE: ExtensionType = ExtensionType::SERVER_NAME;
}

/// `ServerName` (RFC 6066, 3). Names of all types begin with a length of 16 bits, so that unknown types can be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerName<'a> {
    pub(crate) name_type: u8,
    pub(crate) name: &'a [u8],
}

impl<'a> ServerName<'a> {
    /// NameType `host_name`.
    const HOST_NAME: u8 = 0;

    pub(crate) const fn host(name: &'a str) -> Self {
        Self { name_type: Self::HOST_NAME, name: name.as_bytes() }
    }
}

impl<'a> Parse<'a> for ServerName<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let (name_type, name) = (reader.u8()?, reader.vec16()?);
        if name_type == Self::HOST_NAME {
            non_empty(name)?;
        }
        Ok(Self { name_type, name })
    }
}

impl Encode for ServerName<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u8(self.name_type);
        writer.vec16(self.name);
    }
}

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
