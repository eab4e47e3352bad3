//! Bytes to types and back, and nothing else.

mod code_points;
pub use code_points::{
    AlertDescription, CachedInformationType, CipherSuite, ContentType, ExtensionType, HandshakeType, NamedGroup,
    ProtocolVersion, SignatureScheme,
};
