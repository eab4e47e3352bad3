//! The extensions `client_certificate_type` and `server_certificate_type` (RFC 7250, 3): the types that a client can
//! send and accepts, and those that the server selects.

use super::InvalidMessage;
use super::codec::{Encode, List, Parse, Reader, Writer, non_empty};
use super::{CertificateType, Extension, ExtensionType};

/// An extension in its two forms: a list in a ClientHello, one value from the server.
macro_rules! certificate_type {
    ($extension:ident: $(#[$list_doc:meta])* $list:ident, $(#[$selected_doc:meta])* $selected:ident) => {
        $(#[$list_doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $list<'a>(pub(crate) List<'a, CertificateType>);

        impl<'a> Parse<'a> for $list<'a> {
            fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
                List::new(non_empty(reader.vec8()?)?).map(Self)
            }
        }

        impl Encode for $list<'_> {
            fn encode(&self, writer: &mut Writer<'_>) {
                writer.vec::<1>(|writer| self.0.encode(writer));
            }
        }

        impl<'a> Extension<'a> for $list<'a> {
            const TYPE: ExtensionType = ExtensionType::$extension;
        }

        $(#[$selected_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $selected(pub(crate) CertificateType);

        impl Parse<'_> for $selected {
            fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
                CertificateType::parse(reader).map(Self)
            }
        }

        impl Encode for $selected {
            fn encode(&self, writer: &mut Writer<'_>) {
                self.0.encode(writer);
            }
        }

        impl Extension<'_> for $selected {
            const TYPE: ExtensionType = ExtensionType::$extension;
        }
    };
}

certificate_type! {
    CLIENT_CERTIFICATE_TYPE:
    /// The types that the client can send: `CertificateType client_certificate_types<1..2^8-1>`, best first.
    ClientCertificateTypes,
    /// The type that the server asks the client for.
    ClientCertificateTypeSelected
}
certificate_type! {
    SERVER_CERTIFICATE_TYPE:
    /// The types that the client accepts: `CertificateType server_certificate_types<1..2^8-1>`, best first.
    ServerCertificateTypes,
    /// The type that the server sends.
    ServerCertificateTypeSelected
}
