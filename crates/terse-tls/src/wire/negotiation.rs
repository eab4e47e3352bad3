//! The lists by which a side says what it supports, and the cookie of a HelloRetryRequest (RFC 9846, 4.3.1 to 4.3.7).

use super::InvalidMessage;
use super::codec::{Encode, List, Parse, Reader, Writer, non_empty};
use super::{CipherSuite, Extension, ExtensionType, NamedGroup, ProtocolVersion, SignatureScheme};

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
