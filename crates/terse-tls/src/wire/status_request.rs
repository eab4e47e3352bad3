//! OCSP stapling on the wire: `status_request` and its answers (RFC 6066, 8; RFC 9846, 4.4.2.1).

use super::InvalidMessage;
use super::codec::{Encode, Parse, Reader, Writer, empty, non_empty};
use super::{CertificateStatusType, Extension, ExtensionType};

/// `CertificateStatusRequest` in a ClientHello. The body of an unknown type is not parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificateStatusRequest<'a> {
    Ocsp {
        /// `ResponderID responder_id_list<0..2^16-1>`. An empty list means any responder that the server knows.
        responder_id_list: &'a [u8],
        /// `Extensions request_extensions<0..2^16-1>`, DER.
        request_extensions: &'a [u8],
    },
    Other(CertificateStatusType, &'a [u8]),
}

impl CertificateStatusRequest<'_> {
    /// The shortest request, for any responder and without extensions.
    pub(crate) const ANY: Self = Self::Ocsp { responder_id_list: &[], request_extensions: &[] };
}

impl<'a> Parse<'a> for CertificateStatusRequest<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        match CertificateStatusType::parse(reader)? {
            CertificateStatusType::OCSP => {
                let responder_id_list = reader.vec16()?;
                let mut responders = Reader::new(responder_id_list);
                while !responders.is_empty() {
                    non_empty(responders.vec16()?)?; // `opaque ResponderID<1..2^16-1>`
                }
                Ok(Self::Ocsp { responder_id_list, request_extensions: reader.vec16()? })
            }
            other => Ok(Self::Other(other, reader.rest())),
        }
    }
}

impl Encode for CertificateStatusRequest<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Ocsp { responder_id_list, request_extensions } => {
                CertificateStatusType::OCSP.encode(writer);
                writer.vec16(responder_id_list);
                writer.vec16(request_extensions);
            }
            Self::Other(kind, request) => {
                kind.encode(writer);
                writer.bytes(request);
            }
        }
    }
}

impl<'a> Extension<'a> for CertificateStatusRequest<'a> {
    const TYPE: ExtensionType = ExtensionType::STATUS_REQUEST;
}

empty! {
    /// `status_request` without a body. In a ServerHello of TLS 1.2 it announces that CertificateStatus may follow; in
    /// a CertificateRequest of TLS 1.3 it asks for a response.
    StatusRequested
}

impl Extension<'_> for StatusRequested {
    const TYPE: ExtensionType = ExtensionType::STATUS_REQUEST;
}

/// `CertificateStatus`, with an `opaque OCSPResponse<1..2^24-1>`: a message of TLS 1.2, an extension of a
/// CertificateEntry in TLS 1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CertificateStatus<'a>(pub(crate) &'a [u8]);

impl<'a> Parse<'a> for CertificateStatus<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        match CertificateStatusType::parse(reader)? {
            CertificateStatusType::OCSP => non_empty(reader.vec24()?).map(Self),
            _ => Err(InvalidMessage::IllegalValue), // no other type was requested
        }
    }
}

impl Encode for CertificateStatus<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        CertificateStatusType::OCSP.encode(writer);
        writer.vec24(self.0);
    }
}

impl<'a> Extension<'a> for CertificateStatus<'a> {
    const TYPE: ExtensionType = ExtensionType::STATUS_REQUEST;
}
