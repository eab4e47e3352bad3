//! The errors of the caller.

use core::fmt;

use super::Setting;

/// A mistake of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApiMisuse {
    /// Application data was sent, or keys were requested, before the handshake was finished.
    HandshakeNotFinished,
    /// The connection is closed or has failed.
    Closed,
    /// The configuration offers nothing of this kind, so that no handshake could succeed.
    EmptyConfiguration(Setting),
    /// The configuration names something of this kind that the crypto provider does not have.
    Unsupported(Setting),
    /// The configuration wants a part of the engine that the client was built without ([`crate::ClientParts`]).
    MissingPart(Setting),
    /// A credential has no certificates.
    EmptyChain,
    /// A server that accepts early data, but resumes no session that it could come in.
    EarlyDataWithoutResumption,
    /// A server that names certificate authorities, but asks no client for a certificate.
    NoClientIsAsked,
    /// More than 16 credentials.
    TooManyCredentials,
    /// The private key does not belong to the first certificate of the chain.
    KeyDoesNotMatchCertificate,
    /// No trust anchor or raw public key is configured, so that no peer could be accepted.
    NoTrustAnchors,
    /// A certificate of the trust anchors or of the own chain does not parse.
    MalformedCertificate,
    /// A trust anchor has name constraints, which [`Trust::without_path_building`](crate::Trust::without_path_building)
    /// does not process.
    ConstrainedTrustAnchor,
    /// A trusted public key, or that of an own key, does not parse.
    MalformedPublicKey,
    /// A trusted public key is of a kind that the crypto provider does not verify, or an RSA key of fewer than 2,048
    /// bits.
    UnsupportedPublicKey,
    /// A CRL does not parse.
    MalformedCrl,
    /// An OCSP response that was to be stapled does not parse, or is longer than 16,384 bytes.
    MalformedStaple,
    /// An OCSP response that was to be stapled is not about the certificate of the credential.
    StapleOfOtherCertificate,
    /// A limit is outside the range of its type: `record_size_limit` 64 to 16,385.
    LimitOutOfRange,
    /// This limit is 0, which allows nothing at all.
    ZeroLimit(Setting),
    /// `max_record` is outside of 64 to 16,384, or `record_size_limit` or `max_fragment_length` allows larger records.
    MaxRecordOutOfRange,
    /// A name is longer than the protocol allows.
    NameTooLong,
    /// The lifetime of tickets is outside of 1 second to 7 days (RFC 9846, 4.7.1).
    TicketLifetime,
    /// This side does not send early data.
    NoEarlyData,
    /// A pre-shared key has fewer than 128 bits (RFC 9257, 6).
    ShortPsk,
    /// The identity of a pre-shared key is empty, or it or the importer's context is longer than 4,096 bytes.
    PskIdentity,
    /// A client with an identity key connects to an IP address, and is not told which identity the server has.
    NoExpectedIdentity,
    /// An identity is configured beside pre-shared keys, or without TLS 1.3.
    IdentityConfiguration,
    /// A client with early data at first contact falls back to TLS 1.2, which cannot refuse early data.
    FirstContactWithTls12,
    /// Peers that are taken unverified go with nothing of this kind, which would keep what is known of a peer, or let
    /// another one in.
    UnverifiedWith(Setting),
    /// A signature was provided that was not requested.
    NoSignatureDue,
    /// A store's answer was provided that was not requested.
    NoStoreAnswerDue,
    /// A label for exported keys is one of the protocol's own (RFC 5705, 4).
    ReservedLabel,
    /// Keys cannot be exported from a TLS 1.2 connection without the extended master secret, since another connection
    /// may have the same ones (RFC 7627, 5.4).
    NoExporter,
    /// TLS 1.2 has no KeyUpdate.
    NoKeyUpdate,
    /// The peer has not acknowledged the previous KeyUpdate, or the end of the handshake, yet (RFC 9147, 8).
    KeyUpdateUnderWay,
    /// New connection IDs require DTLS 1.3, negotiated connection IDs, and an ID of the handshake that is not empty
    /// (RFC 9147, 9).
    NoConnectionIds,
    /// The peer has not answered the request for connection IDs, or not acknowledged new ones, yet.
    ConnectionIdsUnderWay,
    /// The connection belongs to an endpoint, which must provide its connection IDs.
    OfEndpoint,
    /// The key has reached its limit of records (RFC 9846, 5.5) and TLS 1.2 cannot replace it, so a new connection is
    /// needed.
    KeyExhausted,
    /// The message does not fit into one protected datagram: [`crate::Connection::max_message`] returns its maximum
    /// length.
    MessageTooLong,
    /// Too much waits to be sent to the peer ([`crate::Common::max_send_buffer`]), for example because its new address
    /// is not validated yet. Nothing was taken, and the call may be repeated once some of it was sent.
    SendBufferFull,
    /// `max_datagram` is outside of 50 to 65,507 bytes, or too small for the connection IDs.
    DatagramOutOfRange,
    /// The configuration is for a stream, and an endpoint or a setting needs datagrams.
    NoDatagrams,
    /// A retransmission timeout is 0, or the order is wrong: `min`, `initial` and `max` must not decrease.
    TimeoutsOutOfRange,
}

impl ApiMisuse {
    /// Refuses a limit of 0, with which a connection would wait for ever.
    pub(crate) const fn check_limit(setting: Setting, limit: usize) -> Result<(), Self> {
        if limit == 0 { Err(Self::ZeroLimit(setting)) } else { Ok(()) }
    }
}

impl fmt::Display for ApiMisuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HandshakeNotFinished => f.write_str("the handshake is not finished yet"),
            Self::Closed => f.write_str("the connection is closed"),
            Self::Unsupported(what) => write!(f, "the configuration names a {what} that the crypto provider lacks"),
            Self::MissingPart(what) => write!(f, "the client is built without {what}: name it in its ClientParts"),
            Self::EmptyConfiguration(what) => write!(f, "the configuration leaves no {what} to offer"),
            Self::EmptyChain => f.write_str("the credential has no certificate"),
            Self::EarlyDataWithoutResumption => {
                f.write_str("early data comes in resumed sessions: configure resumption as well, or no early_data")
            }
            Self::NoClientIsAsked => f.write_str(
                "certificate_authorities are named to clients that are asked for a certificate: configure \
                 client_authentication as well",
            ),
            Self::TooManyCredentials => f.write_str("more than 16 credentials"),
            Self::KeyDoesNotMatchCertificate => f.write_str("the private key does not belong to the certificate"),
            Self::NoTrustAnchors => f.write_str("no trust anchor (CA certificate) or public key is configured"),
            Self::MalformedCertificate => f.write_str("a configured certificate does not parse"),
            Self::ConstrainedTrustAnchor => f.write_str(
                "a trust anchor has name constraints, which are only processed with path building: use Trust::new",
            ),
            Self::MalformedPublicKey => f.write_str("a configured public key does not parse"),
            Self::UnsupportedPublicKey => {
                f.write_str("a configured public key is of a kind or size that the crypto provider does not verify")
            }
            Self::MalformedCrl => f.write_str("a configured CRL does not parse"),
            Self::MalformedStaple => {
                f.write_str("the OCSP response to be stapled is not a successful one in DER, of 16384 bytes at most")
            }
            Self::StapleOfOtherCertificate => {
                f.write_str("the OCSP response to be stapled is about another certificate than the first one of the chain")
            }
            Self::LimitOutOfRange => f.write_str("record_size_limit must be between 64 and 16385"),
            Self::ZeroLimit(name) => write!(f, "{name} must not be 0, which allows nothing"),
            Self::MaxRecordOutOfRange => f.write_str(
                "max_record must be between 64 and 16384, and peers must be told of less than 16384: set record_size_limit to \
                 it or less, or on a client max_fragment_length",
            ),
            Self::NameTooLong => f.write_str("a name is too long"),
            Self::NoExporter => f.write_str("without the extended master secret nothing may be exported"),
            Self::NoKeyUpdate => f.write_str("TLS 1.2 cannot replace keys"),
            Self::KeyUpdateUnderWay => f.write_str("keys are being replaced already: try again when the peer has answered"),
            Self::NoConnectionIds => f.write_str("there are no connection IDs of which there could be more"),
            Self::ConnectionIdsUnderWay => {
                f.write_str("connection IDs are under way already: try again when the peer has answered")
            }
            Self::OfEndpoint => f.write_str("the connection is an endpoint's, which is to be asked for that"),
            Self::KeyExhausted => f.write_str("the keys of this connection are used up: connect again"),
            Self::MessageTooLong => f.write_str("the data does not fit into one datagram: send less at once"),
            Self::SendBufferFull => f.write_str("too much waits to be sent to the peer already: try again later"),
            Self::DatagramOutOfRange => {
                f.write_str("max_datagram must be between 50 and 65507 bytes, and leave room for the connection IDs")
            }
            Self::NoDatagrams => f.write_str("an endpoint and connection IDs are for datagrams: set datagrams"),
            Self::TimeoutsOutOfRange => {
                f.write_str("the timeouts of retransmission must be 1 ms or more, the smallest first and the largest last")
            }
            Self::TicketLifetime => f.write_str("the lifetime of tickets must be between 1 second and 7 days"),
            Self::NoEarlyData => f.write_str("this side is not configured to send early data"),
            Self::ShortPsk => f.write_str("a pre-shared key must have 16 bytes or more, at random"),
            Self::PskIdentity => {
                f.write_str("the identity of a pre-shared key must have 1 to 4096 bytes, and a context no more")
            }
            Self::NoExpectedIdentity => {
                f.write_str("the server has no DNS name: say which identity it must have")
            }
            Self::IdentityConfiguration => {
                f.write_str("an identity key needs TLS 1.3, and goes with no pre-shared key")
            }
            Self::FirstContactWithTls12 => f.write_str(
                "a server of TLS 1.2 cannot refuse early data: enable TLS 1.3 only, or no early data at first contact",
            ),
            Self::UnverifiedWith(what) => write!(
                f,
                "peers are taken unverified, which goes with no {what}: verify peers, or leave that out"
            ),
            Self::NoSignatureDue => f.write_str("no signature is waited for"),
            Self::NoStoreAnswerDue => f.write_str("no such answer of a store is waited for"),
            Self::ReservedLabel => f.write_str("the label is one that the protocol uses itself"),
        }
    }
}

impl core::error::Error for ApiMisuse {}
