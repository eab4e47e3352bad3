//! Extensions that have a meaning only in TLS 1.2: `extended_master_secret`, `renegotiation_info`, `ec_point_formats`.
//! A ClientHello has them if it offers TLS 1.2. `session_ticket` is in `resumption`.

use super::InvalidMessage;
use super::codec::{Encode, Parse, Reader, Writer, empty, non_empty};
use super::{Extension, ExtensionType};

empty! {
    /// `extended_master_secret` (RFC 7627, 5.1).
    ExtendedMasterSecret
}

impl Extension<'_> for ExtendedMasterSecret {
    const TYPE: ExtensionType = ExtensionType::EXTENDED_MASTER_SECRET;
}

/// `renegotiation_info`: `opaque renegotiated_connection<0..255>`, empty in a first handshake (RFC 5746, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RenegotiationInfo<'a>(pub(crate) &'a [u8]);

impl<'a> Parse<'a> for RenegotiationInfo<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        reader.vec8().map(Self)
    }
}

impl Encode for RenegotiationInfo<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec8(self.0);
    }
}

impl<'a> Extension<'a> for RenegotiationInfo<'a> {
    const TYPE: ExtensionType = ExtensionType::RENEGOTIATION_INFO;
}

/// `ec_point_formats`: `ECPointFormat ec_point_format_list<1..2^8-1>`. It must have `uncompressed`, the only format
/// that is not deprecated (RFC 8422, 5.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EcPointFormats<'a>(&'a [u8]);

impl EcPointFormats<'_> {
    /// ECPointFormat `uncompressed`.
    const UNCOMPRESSED: u8 = 0;

    /// The only list that is sent (RFC 8422, 5.1.2).
    pub(crate) const fn uncompressed() -> Self {
        Self(&[Self::UNCOMPRESSED])
    }
}

impl<'a> Parse<'a> for EcPointFormats<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let formats = non_empty(reader.vec8()?)?;
        if formats.contains(&Self::UNCOMPRESSED) { Ok(Self(formats)) } else { Err(InvalidMessage::IllegalValue) }
    }
}

impl Encode for EcPointFormats<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec8(self.0);
    }
}

impl<'a> Extension<'a> for EcPointFormats<'a> {
    const TYPE: ExtensionType = ExtensionType::EC_POINT_FORMATS;
}
