//! Handshake messages (RFC 9846, 4) and alerts (RFC 9846, 6), without their headers. Messages that differ in TLS 1.2
//! are in `tls12`, and NewSessionTicket is in `resumption`.

use super::InvalidMessage;
use super::codec::{Encode, List, Parse, Reader, Writer, non_empty};
use super::extensions::Extensions;
use super::negotiation::CipherSuites;
use super::{AlertDescription, CipherSuite, ProtocolVersion, SignatureScheme, Transport};

/// `Random`.
pub(crate) type Random = [u8; 32];

/// `ClientHello` (RFC 9846, 4.2.2; over datagrams RFC 6347, 4.2.1).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClientHello<'a> {
    /// The version in the numbering of TLS, if it was read by [`ClientHello::read`].
    pub(crate) legacy_version: ProtocolVersion,
    pub(crate) random: Random,
    pub(crate) legacy_session_id: &'a [u8],
    /// The cookie of DTLS, which may be empty; `None` in TLS.
    pub(crate) cookie: Option<&'a [u8]>,
    pub(crate) cipher_suites: CipherSuites<'a>,
    pub(crate) legacy_compression_methods: &'a [u8],
    pub(crate) extensions: Extensions<'a>,
}

impl<'a> ClientHello<'a> {
    /// Parses the body of a message over this transport.
    pub(crate) fn read(body: &'a [u8], transport: Transport) -> Result<Self, InvalidMessage> {
        #[cfg(terse_testing)]
        crate::work::Work::parsed_client_hello();
        let mut reader = Reader::new(body);
        let hello = Self::parse_as(&mut reader, transport)?;
        reader.finish()?;
        Ok(Self { legacy_version: transport.version(hello.legacy_version), ..hello })
    }

    fn parse_as(reader: &mut Reader<'a>, transport: Transport) -> Result<Self, InvalidMessage> {
        Ok(Self {
            legacy_version: ProtocolVersion::parse(reader)?,
            random: reader.array()?,
            legacy_session_id: session_id(reader)?,
            cookie: match transport {
                Transport::Stream => None,
                Transport::Datagram => Some(reader.vec8()?),
            },
            cipher_suites: CipherSuites::parse(reader)?,
            legacy_compression_methods: non_empty(reader.vec8()?)?,
            // Versions before TLS 1.3 allow the field to be absent.
            extensions: if reader.is_empty() { Extensions::EMPTY } else { Extensions::parse(reader)? },
        })
    }
}

impl<'a> Parse<'a> for ClientHello<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Self::parse_as(reader, Transport::Stream)
    }
}

impl Encode for ClientHello<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.legacy_version.encode(writer);
        writer.bytes(&self.random);
        writer.vec8(self.legacy_session_id);
        if let Some(cookie) = self.cookie {
            writer.vec8(cookie);
        }
        self.cipher_suites.encode(writer);
        writer.vec8(self.legacy_compression_methods);
        self.extensions.encode(writer);
    }
}

/// `ServerHello` (RFC 9846, 4.2.3), and HelloRetryRequest, which has the same structure (4.2.4).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerHello<'a> {
    pub(crate) legacy_version: ProtocolVersion,
    pub(crate) random: Random,
    pub(crate) legacy_session_id_echo: &'a [u8],
    pub(crate) cipher_suite: CipherSuite,
    pub(crate) legacy_compression_method: u8,
    pub(crate) extensions: Extensions<'a>,
}

impl ServerHello<'_> {
    /// The `random` of a HelloRetryRequest: SHA-256 of "HelloRetryRequest".
    pub(crate) const HELLO_RETRY_REQUEST: Random = [
        0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2,
        0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
    ];

    /// The last bytes of the `random` of a server that supports TLS 1.3 and negotiates TLS 1.2 (RFC 9846, 4.2.3).
    pub(crate) const DOWNGRADE: [u8; 8] = *b"DOWNGRD\x01";

    pub(crate) fn is_hello_retry_request(&self) -> bool {
        self.random == Self::HELLO_RETRY_REQUEST
    }

    /// Whether the `random` says that the server supports a newer version: TLS 1.3, or TLS 1.2.
    pub(crate) fn is_downgrade(&self) -> bool {
        self.random.ends_with(&Self::DOWNGRADE) || self.random.ends_with(b"DOWNGRD\x00")
    }
}

impl<'a> ServerHello<'a> {
    /// Parses the body of a message over this transport.
    pub(crate) fn read(body: &'a [u8], transport: Transport) -> Result<Self, InvalidMessage> {
        let hello = Self::parse_all(body)?;
        Ok(Self { legacy_version: transport.version(hello.legacy_version), ..hello })
    }
}

impl<'a> Parse<'a> for ServerHello<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            legacy_version: ProtocolVersion::parse(reader)?,
            random: reader.array()?,
            legacy_session_id_echo: session_id(reader)?,
            cipher_suite: CipherSuite::parse(reader)?,
            legacy_compression_method: reader.u8()?,
            extensions: if reader.is_empty() { Extensions::EMPTY } else { Extensions::parse(reader)? },
        })
    }
}

impl Encode for ServerHello<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.legacy_version.encode(writer);
        writer.bytes(&self.random);
        writer.vec8(self.legacy_session_id_echo);
        self.cipher_suite.encode(writer);
        writer.u8(self.legacy_compression_method);
        self.extensions.encode(writer);
    }
}

/// `HelloVerifyRequest` of DTLS 1.2 (RFC 6347, 4.2.1). Its version is unrelated to the version that will be negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HelloVerifyRequest<'a> {
    pub(crate) server_version: ProtocolVersion,
    pub(crate) cookie: &'a [u8],
}

impl<'a> Parse<'a> for HelloVerifyRequest<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { server_version: ProtocolVersion::parse(reader)?, cookie: reader.vec8()? })
    }
}

impl Encode for HelloVerifyRequest<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.server_version.encode(writer);
        writer.vec8(self.cookie);
    }
}

/// `opaque legacy_session_id<0..32>`
fn session_id<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], InvalidMessage> {
    let session_id = reader.vec8()?;
    if session_id.len() > 32 { Err(InvalidMessage::IllegalLength) } else { Ok(session_id) }
}

/// `EncryptedExtensions` (RFC 9846, 4.4.1).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EncryptedExtensions<'a>(pub(crate) Extensions<'a>);

impl<'a> Parse<'a> for EncryptedExtensions<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Extensions::parse(reader).map(Self)
    }
}

impl Encode for EncryptedExtensions<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.0.encode(writer);
    }
}

/// `CertificateRequest` (RFC 9846, 4.4.2).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CertificateRequest<'a> {
    pub(crate) certificate_request_context: &'a [u8],
    pub(crate) extensions: Extensions<'a>,
}

impl<'a> Parse<'a> for CertificateRequest<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { certificate_request_context: reader.vec8()?, extensions: Extensions::parse(reader)? })
    }
}

impl Encode for CertificateRequest<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec8(self.certificate_request_context);
        self.extensions.encode(writer);
    }
}

/// A CertificateRequest whose `cert_req` object was selected: the context, and then the fingerprint.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CachedCertificateRequest<'a> {
    pub(crate) certificate_request_context: &'a [u8],
    pub(crate) hash_value: &'a [u8],
}

impl<'a> Parse<'a> for CachedCertificateRequest<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { certificate_request_context: reader.vec8()?, hash_value: non_empty(reader.vec8()?)? })
    }
}

impl Encode for CachedCertificateRequest<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec8(self.certificate_request_context);
        writer.vec8(self.hash_value);
    }
}

/// `Certificate` (RFC 9846, 4.5.1).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Certificate<'a> {
    pub(crate) certificate_request_context: &'a [u8],
    pub(crate) certificate_list: List<'a, CertificateEntry<'a>>,
}

impl<'a> Parse<'a> for Certificate<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { certificate_request_context: reader.vec8()?, certificate_list: List::new(reader.vec24()?)? })
    }
}

impl Encode for Certificate<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec8(self.certificate_request_context);
        writer.vec::<3>(|writer| self.certificate_list.encode(writer));
    }
}

/// `CertificateEntry` (RFC 9846, 4.5.1). `cert_data` is empty only in the reduced Certificate of caching; in other
/// messages an empty one is refused later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CertificateEntry<'a> {
    pub(crate) cert_data: &'a [u8],
    pub(crate) extensions: Extensions<'a>,
}

impl<'a> CertificateEntry<'a> {
    pub(crate) const fn new(cert_data: &'a [u8]) -> Self {
        Self { cert_data, extensions: Extensions::EMPTY }
    }
}

impl<'a> Parse<'a> for CertificateEntry<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { cert_data: reader.vec24()?, extensions: Extensions::parse(reader)? })
    }
}

impl Encode for CertificateEntry<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec24(self.cert_data);
        self.extensions.encode(writer);
    }
}

/// `CertificateVerify` (RFC 9846, 4.5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CertificateVerify<'a> {
    pub(crate) algorithm: SignatureScheme,
    pub(crate) signature: &'a [u8],
}

impl<'a> Parse<'a> for CertificateVerify<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { algorithm: SignatureScheme::parse(reader)?, signature: reader.vec16()? })
    }
}

impl Encode for CertificateVerify<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.algorithm.encode(writer);
        writer.vec16(self.signature);
    }
}

/// `Finished` (RFC 9846, 4.5.3), whose length is that of the hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finished<'a>(pub(crate) &'a [u8]);

impl<'a> Parse<'a> for Finished<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self(reader.rest()))
    }
}

impl Encode for Finished<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.bytes(self.0);
    }
}

/// `KeyUpdate` (RFC 9846, 4.7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyUpdate {
    pub(crate) update_requested: bool,
}

impl Parse<'_> for KeyUpdate {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        match reader.u8()? {
            0 => Ok(Self { update_requested: false }),
            1 => Ok(Self { update_requested: true }),
            _ => Err(InvalidMessage::IllegalValue),
        }
    }
}

impl Encode for KeyUpdate {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u8(self.update_requested.into());
    }
}

/// `Alert` (RFC 9846, 6). The level has no meaning in TLS 1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alert {
    pub(crate) level: u8,
    pub(crate) description: AlertDescription,
}

impl Alert {
    pub(crate) const WARNING: u8 = 1;
    pub(crate) const FATAL: u8 = 2;
}

impl Parse<'_> for Alert {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(Self { level: reader.u8()?, description: AlertDescription::parse(reader)? })
    }
}

impl Encode for Alert {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u8(self.level);
        self.description.encode(writer);
    }
}
