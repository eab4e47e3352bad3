//! TLS for devices that pay for every byte: an engine without sockets, clock or randomness of its own, `no_std`, with
//! handshake caching in both directions (RFC 7924 and paper 000, BiTHaC).
//!
//! [`Connection`] is the face, [`ClientConfig`] and [`ServerConfig`] say what it may do, [`Summary`] what it did.
//! The cryptography comes from a [`crypto::CryptoProvider`], such as `terse-rustcrypto` or `terse-aws-lc`.
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

extern crate alloc;
#[cfg(any(test, terse_testing))]
extern crate std;

/// In every binary that has test code: `make product` looks for it.
#[cfg(terse_testing)]
#[used]
static MARK_OF_TEST_CODE: [u8; 34] = *b"terse-tls with --cfg terse_testing";

pub mod cache;
mod cert;
mod config;
mod connection;
pub mod crypto;
mod endpoint;
mod error;
mod fallback_reason;
#[cfg(terse_testing)]
pub mod fuzzing;
mod handshake;
mod link;
mod lru;
mod memory;
mod peer_name;
mod proof;
mod record;
pub mod resume;
mod schedule;
pub mod summary;
#[cfg(test)]
mod test_crypto;
mod time;
mod wire;
#[cfg(terse_testing)]
mod work;

#[cfg(terse_testing)]
pub use cache::CacheDefence;
pub use cert::{
    CertificateIdentity, Credential, LearnedIssuers, PeerIdentity, Revocation, Stapling, Trust, Validity, VerifiedPeer,
};
pub use config::{
    ClientAuthentication, ClientConfig, Common, ConfigBuilder, Configuration, Datagrams, KeyLog, ServerAddress,
    ServerConfig, Trace, TraceEvent,
};
#[cfg(terse_testing)]
pub use config::{Defence, Fault};
pub use connection::{Connection, Event};
#[cfg(terse_testing)]
pub use endpoint::Undefended;
pub use endpoint::{AddressChange, ConnectionHandle, Endpoint, EndpointCounters, EndpointEvent, EndpointLimits};
pub use error::{ApiMisuse, CertificateError, Error, InvalidMessage, PeerIncompatible, PeerMisbehaved, StapleError};
pub use fallback_reason::FallbackReason;
pub use handshake::SignatureRequest;
pub use memory::Memory;
pub use peer_name::PeerName;
pub use record::datagram12::HEADER_LEN as DTLS_RECORD_HEADER_LEN;
pub use summary::Summary;
pub use time::{Instant, Now};
pub use wire::{
    AlertDescription, CachedInformationType, CertificateStatusType, CertificateType, CipherSuite,
    ClientCertificateType, ConnectionIdUsage, ContentType, ExtensionType, HandshakeType, MaxFragmentLength, NamedGroup,
    ProtocolVersion, PskKeyExchangeMode, SignatureScheme,
};
#[cfg(terse_testing)]
pub use work::Work;
