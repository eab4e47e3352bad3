//! The wire format: parses bytes into types and encodes them back. It has no state and makes no decisions.
//!
//! What must always hold: parsing borrows, never panics, and refuses trailing bytes; code points preserve unknown
//! values; an encoded value parses again to an equal value.

mod application_protocols;
mod caching;
mod certificate_types;
mod code_points;
mod codec;
mod connection_ids;
mod extensions;
mod extensions12;
mod identity;
mod invalid;
mod key_share;
mod messages;
mod negotiation;
mod record_sizes;
mod resumption;
mod return_routability_check;
mod server_name;
mod status_request;
mod tls12;
mod transport;

#[cfg(test)]
mod tests;

pub(crate) use application_protocols::{ProtocolName, ProtocolNameList};
pub(crate) use caching::{
    CachedClientObject, CachedInformation, CachedObject, ClientCachedInfo, CompactOffer, CompactSelection,
    SelectedClientInfo, SelectedClientObject, SelectedInformation,
};
pub(crate) use certificate_types::{
    ClientCertificateTypeSelected, ClientCertificateTypes, ServerCertificateTypeSelected, ServerCertificateTypes,
};
pub use code_points::{
    AlertDescription, CachedInformationType, CertificateStatusType, CertificateType, CipherSuite,
    ClientCertificateType, ContentType, ExtensionType, HandshakeType, NamedGroup, ProtocolVersion, PskKeyExchangeMode,
    SignatureScheme,
};
pub(crate) use codec::{Encode, EncodeError, Encoded, List, Parse, Reader, Writer, non_empty};
pub use connection_ids::ConnectionIdUsage;
pub(crate) use connection_ids::{ConnectionId, NewConnectionId, RequestConnectionId};
pub(crate) use extensions::{Extension, ExtensionError, ExtensionMessage, Extensions, ExtensionsBuilder};
pub(crate) use extensions12::{EcPointFormats, ExtendedMasterSecret, RenegotiationInfo};
pub(crate) use identity::{
    IdentityShareClientHello, IdentityShareHelloRetryRequest, IdentityShareNewSessionTicket, IdentityShareServerHello,
};
pub use invalid::InvalidMessage;
pub(crate) use key_share::{KeyShareClientHello, KeyShareEntry, KeyShareHelloRetryRequest, KeyShareServerHello};
pub(crate) use messages::{
    Alert, CachedCertificateRequest, Certificate, CertificateEntry, CertificateRequest, CertificateVerify, ClientHello,
    EncryptedExtensions, Finished, HelloVerifyRequest, KeyUpdate, Random, ServerHello,
};
pub(crate) use negotiation::{
    CertificateAuthorities, CipherSuites, Cookie, DistinguishedName, SelectedVersion, SignatureAlgorithms,
    SignatureAlgorithmsCert, SupportedGroups, SupportedVersions,
};
pub use record_sizes::MaxFragmentLength;
pub(crate) use record_sizes::RecordSizeLimit;
pub(crate) use resumption::{
    EarlyData, EndOfEarlyData, MaxEarlyDataSize, NewSessionTicket, PreSharedKeyClientHello, PreSharedKeyServerHello,
    PskBinder, PskIdentity, PskKeyExchangeModes, SessionTicket,
};
pub(crate) use return_routability_check::{PathCookie, ReturnRoutabilityCheck, Rrc};
pub(crate) use server_name::{ServerName, ServerNameList};
pub(crate) use status_request::{CertificateStatus, CertificateStatusRequest, StatusRequested};
pub(crate) use tls12::{
    Asn1Cert, CachedMessage12, Certificate12, CertificateRequest12, ClientKeyExchangeEcdhe, ClientKeyExchangeEcdhePsk,
    ClientKeyExchangePsk, EcdheParams, HelloRequest, NewSessionTicket12, RawPublicKey12, ServerHelloDone,
    ServerKeyExchangeEcdhe, ServerKeyExchangeEcdhePsk, ServerKeyExchangePsk,
};
pub use transport::Transport;
