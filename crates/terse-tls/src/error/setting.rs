//! What an [`ApiMisuse`](super::ApiMisuse) is about.

use core::fmt;

/// A setting, or what is named in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Setting {
    /// The versions of the protocol.
    ProtocolVersion,
    /// The cipher suites.
    CipherSuite,
    /// The groups.
    Group,
    /// The group X25519MLKEM768.
    HybridGroup,
    /// The signature schemes.
    SignatureScheme,
    /// The signature schemes of chains (RFC 9846, 4.3.3).
    SignatureSchemeOfChains,
    /// The signature schemes that sign handshakes of the versions that are enabled.
    SignatureSchemeOfVersions,
    /// The types of certificates.
    CertificateType,
    /// What a peer may prove itself with to a client: a trust anchor, a trusted public key, a pre-shared key or an identity.
    ProofOfServer,
    /// What a server may prove itself with: a credential, a pre-shared key or an identity key.
    OwnProof,
    /// The hash of a pre-shared key.
    PskHash,
    /// The algorithm for tickets, which has a tag of 16 bytes.
    TicketAlgorithm,
    /// TLS 1.3, DTLS 1.3.
    Tls13,
    /// TLS 1.2, DTLS 1.2.
    Tls12,
    /// TLS, over streams.
    Streams,
    /// DTLS, over datagrams.
    Datagrams,
    /// `max_handshake_message`.
    MaxHandshakeMessage,
    /// `max_send_buffer`.
    MaxSendBuffer,
    /// `max_connections`.
    MaxConnections,
    /// `max_half_open`.
    MaxHalfOpen,
    /// `max_received`.
    MaxReceived,
    /// The cache of handshakes.
    Cache,
    /// The resumption of sessions.
    Resumption,
    /// Early data.
    EarlyData,
    /// Pre-shared keys.
    PreSharedKeys,
    /// Identities.
    Identity,
    /// The usage that is expected of a server's certificate.
    ServerUsage,
    /// What verifies peers: trusted public keys, CRLs or stapling.
    Verification,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ProtocolVersion => "protocol version",
            Self::CipherSuite => "cipher suite",
            Self::Group => "group",
            Self::HybridGroup => "group X25519MLKEM768",
            Self::SignatureScheme => "signature scheme",
            Self::SignatureSchemeOfChains => "signature scheme for chains",
            Self::SignatureSchemeOfVersions => "signature scheme for the versions that are enabled",
            Self::CertificateType => "certificate type",
            Self::ProofOfServer => "trust anchor, trusted public key, pre-shared key or identity",
            Self::OwnProof => "credential, pre-shared key or identity key",
            Self::PskHash => "hash of a pre-shared key",
            Self::TicketAlgorithm => "algorithm for tickets with a tag of 16 bytes",
            Self::Tls13 => "TLS 1.3",
            Self::Tls12 => "TLS 1.2",
            Self::Streams => "streams",
            Self::Datagrams => "datagrams",
            Self::MaxHandshakeMessage => "max_handshake_message",
            Self::MaxSendBuffer => "max_send_buffer",
            Self::MaxConnections => "max_connections",
            Self::MaxHalfOpen => "max_half_open",
            Self::MaxReceived => "max_received",
            Self::Cache => "cache",
            Self::Resumption => "resumption",
            Self::EarlyData => "early data",
            Self::PreSharedKeys => "pre-shared keys",
            Self::Identity => "identity",
            Self::ServerUsage => "expected usage",
            Self::Verification => "trusted public keys, CRLs or stapling",
        })
    }
}
