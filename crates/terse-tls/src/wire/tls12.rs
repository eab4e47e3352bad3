//! The handshake messages that differ in TLS 1.2, without their headers: RFC 5246, 7.4; ECDHE (RFC 8422, 5.4 and 5.7),
//! pre-shared keys (RFC 4279, 2; RFC 5489, 2), tickets (RFC 5077, 3.3), raw public keys (RFC 7250, 3) and cached
//! objects (RFC 7924, 4). The names end in `12` where TLS 1.3 has a message of the same name. CertificateVerify and
//! Finished have the same structure as in TLS 1.3.
//!
//! The cipher suite determines the structure of the key exchange messages.

use super::InvalidMessage;
use super::codec::{Encode, List, Parse, Reader, Writer, empty, non_empty};
use super::{ClientCertificateType, DistinguishedName, NamedGroup, SignatureAlgorithms, SignatureScheme};

empty! {
    /// `HelloRequest` (RFC 5246, 7.4.1.1).
    HelloRequest
    /// `ServerHelloDone` (RFC 5246, 7.4.5).
    ServerHelloDone
}

/// `Certificate`: `ASN.1Cert certificate_list<0..2^24-1>` (RFC 5246, 7.4.2).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Certificate12<'a>(pub(crate) List<'a, Asn1Cert<'a>>);

impl<'a> Parse<'a> for Certificate12<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        List::new(reader.vec24()?).map(Self)
    }
}

impl Encode for Certificate12<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec::<3>(|writer| self.0.encode(writer));
    }
}

/// `opaque ASN.1Cert<1..2^24-1>`, an X.509 certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asn1Cert<'a>(pub(crate) &'a [u8]);

impl<'a> Parse<'a> for Asn1Cert<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        non_empty(reader.vec24()?).map(Self)
    }
}

impl Encode for Asn1Cert<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec24(self.0);
    }
}

/// A Certificate of type RawPublicKey: `opaque ASN.1_subjectPublicKeyInfo<1..2^24-1>` (RFC 7250, 3). It is empty only
/// if a client has no key to send, which has the same bytes as an empty `certificate_list`; where a key is required, an
/// empty one is refused later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawPublicKey12<'a>(pub(crate) &'a [u8]);

impl<'a> Parse<'a> for RawPublicKey12<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        reader.vec24().map(Self)
    }
}

impl Encode for RawPublicKey12<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec24(self.0);
    }
}

/// A Certificate or CertificateRequest that was selected as cached: `opaque hash_value<1..255>` (RFC 7924, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CachedMessage12<'a>(pub(crate) &'a [u8]);

impl<'a> Parse<'a> for CachedMessage12<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        non_empty(reader.vec8()?).map(Self)
    }
}

impl Encode for CachedMessage12<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec8(self.0);
    }
}

/// `CertificateRequest` (RFC 5246, 7.4.4).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CertificateRequest12<'a> {
    pub(crate) certificate_types: List<'a, ClientCertificateType>,
    pub(crate) signature_algorithms: SignatureAlgorithms<'a>,
    pub(crate) certificate_authorities: List<'a, DistinguishedName<'a>>,
}

impl CertificateRequest12<'_> {
    /// Whether the server accepts certificates of this type.
    pub(crate) fn accepts(&self, kind: ClientCertificateType) -> bool {
        self.certificate_types.iter().any(|accepted| accepted == kind)
    }
}

impl<'a> Parse<'a> for CertificateRequest12<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            certificate_types: List::new(non_empty(reader.vec8()?)?)?,
            signature_algorithms: SignatureAlgorithms::parse(reader)?,
            certificate_authorities: List::new(reader.vec16()?)?,
        })
    }
}

impl Encode for CertificateRequest12<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec::<1>(|writer| self.certificate_types.encode(writer));
        self.signature_algorithms.encode(writer);
        writer.vec::<2>(|writer| self.certificate_authorities.encode(writer));
    }
}

/// `ServerECDHParams` (RFC 8422, 5.4): a named group, and the server's `opaque point<1..2^8-1>` in it. A signature
/// covers the two randoms and this encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EcdheParams<'a> {
    pub(crate) group: NamedGroup,
    pub(crate) public: &'a [u8],
}

impl EcdheParams<'_> {
    /// ECCurveType `named_curve`; the others are deprecated.
    const NAMED_CURVE: u8 = 3;
}

impl<'a> Parse<'a> for EcdheParams<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        if reader.u8()? != Self::NAMED_CURVE {
            return Err(InvalidMessage::IllegalValue);
        }
        Ok(Self { group: NamedGroup::parse(reader)?, public: non_empty(reader.vec8()?)? })
    }
}

impl Encode for EcdheParams<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u8(Self::NAMED_CURVE);
        self.group.encode(writer);
        writer.vec8(self.public);
    }
}

/// `ServerKeyExchange` of ECDHE with a certificate (RFC 8422, 5.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerKeyExchangeEcdhe<'a> {
    pub(crate) params: EcdheParams<'a>,
    pub(crate) algorithm: SignatureScheme,
    pub(crate) signature: &'a [u8],
}

impl<'a> Parse<'a> for ServerKeyExchangeEcdhe<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            params: EcdheParams::parse(reader)?,
            algorithm: SignatureScheme::parse(reader)?,
            signature: reader.vec16()?,
        })
    }
}

impl Encode for ServerKeyExchangeEcdhe<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.params.encode(writer);
        self.algorithm.encode(writer);
        writer.vec16(self.signature);
    }
}

/// `ServerKeyExchange` of PSK: `opaque psk_identity_hint<0..2^16-1>` (RFC 4279, 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerKeyExchangePsk<'a> {
    pub(crate) hint: &'a [u8],
}

impl<'a> Parse<'a> for ServerKeyExchangePsk<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { hint: reader.vec16()? })
    }
}

impl Encode for ServerKeyExchangePsk<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec16(self.hint);
    }
}

/// `ServerKeyExchange` of ECDHE with PSK (RFC 5489, 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerKeyExchangeEcdhePsk<'a> {
    pub(crate) hint: &'a [u8],
    pub(crate) params: EcdheParams<'a>,
}

impl<'a> Parse<'a> for ServerKeyExchangeEcdhePsk<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { hint: reader.vec16()?, params: EcdheParams::parse(reader)? })
    }
}

impl Encode for ServerKeyExchangeEcdhePsk<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec16(self.hint);
        self.params.encode(writer);
    }
}

/// `ClientKeyExchange` of ECDHE: `opaque point<1..2^8-1>` (RFC 8422, 5.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientKeyExchangeEcdhe<'a> {
    pub(crate) public: &'a [u8],
}

impl<'a> Parse<'a> for ClientKeyExchangeEcdhe<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { public: non_empty(reader.vec8()?)? })
    }
}

impl Encode for ClientKeyExchangeEcdhe<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec8(self.public);
    }
}

/// `ClientKeyExchange` of PSK: `opaque psk_identity<0..2^16-1>` (RFC 4279, 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientKeyExchangePsk<'a> {
    pub(crate) identity: &'a [u8],
}

impl<'a> Parse<'a> for ClientKeyExchangePsk<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { identity: reader.vec16()? })
    }
}

impl Encode for ClientKeyExchangePsk<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec16(self.identity);
    }
}

/// `ClientKeyExchange` of ECDHE with PSK (RFC 5489, 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientKeyExchangeEcdhePsk<'a> {
    pub(crate) identity: &'a [u8],
    pub(crate) public: &'a [u8],
}

impl<'a> Parse<'a> for ClientKeyExchangeEcdhePsk<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { identity: reader.vec16()?, public: non_empty(reader.vec8()?)? })
    }
}

impl Encode for ClientKeyExchangeEcdhePsk<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec16(self.identity);
        writer.vec8(self.public);
    }
}

/// `NewSessionTicket` (RFC 5077, 3.3). An empty ticket means that the server issues none after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NewSessionTicket12<'a> {
    /// The lifetime in seconds; 0 means that it is unspecified.
    pub(crate) lifetime_hint: u32,
    pub(crate) ticket: &'a [u8],
}

impl<'a> Parse<'a> for NewSessionTicket12<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self { lifetime_hint: reader.u32()?, ticket: reader.vec16()? })
    }
}

impl Encode for NewSessionTicket12<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u32(self.lifetime_hint);
        writer.vec16(self.ticket);
    }
}
