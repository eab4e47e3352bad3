//! What is wrong with what the peer sent.

use core::fmt;

use crate::wire::{AlertDescription, ContentType, ExtensionType, HandshakeType, NamedGroup};

/// Well-formed, but forbidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerMisbehaved {
    /// A handshake message that is not due now (RFC 9846, 4).
    UnexpectedHandshakeMessage(HandshakeType),
    /// A record of a type that is not due now (RFC 9846, 5).
    UnexpectedRecord(ContentType),
    /// A handshake message crosses a change of keys (RFC 9846, 5.1).
    MessageCrossesKeyChange,
    /// A handshake or alert record without content (RFC 9846, 5.1).
    EmptyFragment,
    /// Handshake messages interleaved with another record type (RFC 9846, 5.1).
    InterleavedRecord,
    /// A ChangeCipherSpec other than the one of compatibility mode, or at the wrong time (RFC 9846, 5).
    BadChangeCipherSpec,
    /// More empty or ignored records in a row than a working peer sends.
    TooManyEmptyRecords,
    /// More KeyUpdates in a row, without data, than a working peer sends (RFC 9846, 4.7.3).
    TooManyKeyUpdates,
    /// More RequestConnectionIds than a peer needs that uses what it gets (RFC 9147, 9).
    TooManyCidsRequested,
    /// A ClientHello or ServerHello whose fixed fields are not those of RFC 9846, 4.2.2 and 4.2.3.
    IllegalLegacyField,
    /// An extension that this message may not carry (RFC 9846, 4.3).
    MisplacedExtension(ExtensionType),
    /// An answer to an extension that was not offered (RFC 9846, 4.3).
    UnsolicitedExtension(ExtensionType),
    /// A required extension is missing (RFC 9846, 9.2).
    MissingExtension(ExtensionType),
    /// The server selected something that was not offered: version, suite, group, protocol, size.
    SelectedUnoffered(ExtensionType),
    /// The server selected a cipher suite that was not offered, or another one after HelloRetryRequest
    /// (RFC 9846, 4.2.3 and 4.2.4).
    SelectedUnofferedSuite,
    /// A second HelloRetryRequest, or one that changes nothing (RFC 9846, 4.2.4).
    IllegalHelloRetryRequest,
    /// The server knows a newer version than the one that it selected: on the way, the ClientHello was made to look
    /// older (RFC 9846, 4.2.3).
    Downgrade,
    /// The client fell back to an older version though this side has a newer one (RFC 7507).
    InappropriateFallback,
    /// A session is resumed with another cipher suite, or without its extended master secret (RFC 5246, 7.4.1.3; RFC
    /// 7627, 5.3).
    ChangedSession,
    /// A `renegotiation_info` that is not empty, though there was no handshake before (RFC 5746, 3.4 and 3.6).
    IllegalRenegotiationInfo,
    /// The peer keeps asking for a renegotiation.
    TooManyRenegotiations,
    /// The second ClientHello differs from the first where it must not (RFC 9846, 4.2.2).
    ChangedClientHello,
    /// A key share for a group that was not offered, or two for one group (RFC 9846, 4.3.8).
    IllegalKeyShare,
    /// A signature with a scheme that was not offered, or that TLS 1.3 forbids (RFC 9846, 4.5.2).
    IllegalSignatureScheme,
    /// The signature of CertificateVerify (RFC 9846, 4.5.2) or ServerKeyExchange (RFC 8422, 5.4) is wrong.
    BadSignature,
    /// The MAC of Finished is wrong (RFC 9846, 4.5.3).
    BadFinished,
    /// The binder of a pre-shared key is wrong (RFC 9846, 4.3.11).
    BadBinder,
    /// The server selected a pre-shared key that was not offered, that does not fit the suite, or without a key share
    /// (RFC 9846, 4.3.11).
    IllegalPskSelection,
    /// The server takes early data that it must not: with another key than the first one, or with another suite or
    /// application protocol than those of the key (RFC 9846, 4.3.10).
    IllegalEarlyData,
    /// More early data than the ticket allows (RFC 9846, 4.7.1).
    TooMuchEarlyData,
    /// The server sent no certificate (RFC 9846, 4.5.1).
    EmptyServerCertificate,
    /// More than one raw public key (RFC 9846, 4.5.1).
    SeveralRawPublicKeys,
    /// A `certificate_request_context` that this side did not choose, or that must be empty (RFC 9846, 4.4.2, 4.5.1).
    IllegalRequestContext,
    /// A caching reply that contradicts the offer: an unoffered object, an index out of range, undefined bits, content
    /// where none is due.
    IllegalCachingReply,
    /// A message that was selected as cached does not have the form or the fingerprint that this requires.
    IllegalCachedMessage,
}

impl PeerMisbehaved {
    pub(super) const fn alert(self) -> AlertDescription {
        match self {
            Self::UnexpectedHandshakeMessage(_)
            | Self::UnexpectedRecord(_)
            | Self::MessageCrossesKeyChange
            | Self::EmptyFragment
            | Self::InterleavedRecord
            | Self::BadChangeCipherSpec
            | Self::TooManyEmptyRecords
            | Self::TooManyRenegotiations
            | Self::TooManyKeyUpdates
            | Self::TooMuchEarlyData => AlertDescription::UNEXPECTED_MESSAGE,
            Self::TooManyCidsRequested => AlertDescription::TOO_MANY_CIDS_REQUESTED,
            Self::IllegalRenegotiationInfo | Self::ChangedSession => AlertDescription::HANDSHAKE_FAILURE,
            Self::InappropriateFallback => AlertDescription::INAPPROPRIATE_FALLBACK,
            Self::MissingExtension(_) => AlertDescription::MISSING_EXTENSION,
            Self::UnsolicitedExtension(_) => AlertDescription::UNSUPPORTED_EXTENSION,
            Self::BadSignature | Self::BadFinished | Self::BadBinder => AlertDescription::DECRYPT_ERROR,
            Self::EmptyServerCertificate => AlertDescription::DECODE_ERROR,
            Self::IllegalHelloRetryRequest
            | Self::IllegalLegacyField
            | Self::MisplacedExtension(_)
            | Self::SelectedUnoffered(_)
            | Self::SelectedUnofferedSuite
            | Self::ChangedClientHello
            | Self::Downgrade
            | Self::IllegalKeyShare
            | Self::IllegalSignatureScheme
            | Self::IllegalRequestContext
            | Self::SeveralRawPublicKeys
            | Self::IllegalPskSelection
            | Self::IllegalEarlyData
            | Self::IllegalCachingReply
            | Self::IllegalCachedMessage => AlertDescription::ILLEGAL_PARAMETER,
        }
    }
}

impl fmt::Display for PeerMisbehaved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnexpectedHandshakeMessage(message) => write!(f, "the message {message} is not due now"),
            Self::UnexpectedRecord(record) => write!(f, "a record of type {record} is not due now"),
            Self::MessageCrossesKeyChange => f.write_str("a handshake message crosses a change of keys"),
            Self::EmptyFragment => f.write_str("a handshake or alert record is empty"),
            Self::InterleavedRecord => f.write_str("another record interrupts a handshake message"),
            Self::BadChangeCipherSpec => f.write_str("a ChangeCipherSpec is malformed or not due"),
            Self::TooManyEmptyRecords => f.write_str("too many records without content"),
            Self::TooManyKeyUpdates => f.write_str("too many KeyUpdates without data"),
            Self::TooManyCidsRequested => f.write_str("too many requests for connection IDs that are not used"),
            Self::IllegalLegacyField => f.write_str("a legacy field of a hello has a forbidden value"),
            Self::MisplacedExtension(extension) => write!(f, "the extension {extension} does not belong there"),
            Self::UnsolicitedExtension(extension) => write!(f, "the extension {extension} was not offered"),
            Self::MissingExtension(extension) => write!(f, "the extension {extension} is missing"),
            Self::SelectedUnoffered(extension) => write!(f, "what {extension} selects was not offered"),
            Self::SelectedUnofferedSuite => f.write_str("the selected cipher suite was not offered"),
            Self::IllegalHelloRetryRequest => f.write_str("a HelloRetryRequest is repeated, or changes nothing"),
            Self::Downgrade => f.write_str("the version was lowered on the way (downgrade attack)"),
            Self::InappropriateFallback => f.write_str("the client fell back to an older version without need"),
            Self::ChangedSession => f.write_str("a session is resumed with other parameters"),
            Self::IllegalRenegotiationInfo => f.write_str("renegotiation_info is not empty in a first handshake"),
            Self::TooManyRenegotiations => f.write_str("too many attempts at renegotiation"),
            Self::ChangedClientHello => f.write_str("the second ClientHello differs from the first"),
            Self::IllegalKeyShare => f.write_str("a key share is for a group that was not offered"),
            Self::IllegalSignatureScheme => f.write_str("a signature scheme was not offered or is forbidden"),
            Self::BadSignature => f.write_str("the signature of CertificateVerify or ServerKeyExchange is wrong"),
            Self::BadFinished => f.write_str("the Finished message is wrong"),
            Self::BadBinder => f.write_str("the proof that the client has its pre-shared key is wrong"),
            Self::IllegalPskSelection => f.write_str("the server selects a pre-shared key that it must not"),
            Self::IllegalEarlyData => f.write_str("the server takes early data that it must not"),
            Self::TooMuchEarlyData => f.write_str("the client sends more early data than its ticket allows"),
            Self::EmptyServerCertificate => f.write_str("the server sent no certificate"),
            Self::SeveralRawPublicKeys => f.write_str("a Certificate has more than one raw public key"),
            Self::IllegalRequestContext => f.write_str("a certificate_request_context is wrong"),
            Self::IllegalCachingReply => f.write_str("a caching reply contradicts the offer"),
            Self::IllegalCachedMessage => f.write_str("a message selected as cached is not in its cached form"),
        }
    }
}

/// Honest, but with nothing in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerIncompatible {
    /// No protocol version.
    NoCommonVersion,
    /// No cipher suite.
    NoCommonCipherSuite,
    /// No key exchange group.
    NoCommonGroup,
    /// No signature scheme that this side's key can sign with.
    NoCommonSignatureScheme,
    /// The client of TLS 1.2 does not support the curve of this side's key (RFC 8422, 5.3).
    NoCommonCurve(NamedGroup),
    /// No CA that the client names issued a certificate of this side's, which are for those that name theirs (RFC 9846,
    /// 4.3.4).
    NoCommonAuthority,
    /// The peer does not know the extended master secret, which is required (RFC 7627, 5.2).
    NoExtendedMasterSecret,
    /// The server does not know secure renegotiation, so that an attacker could go before this client (RFC 5746, 4.1).
    NoSecureRenegotiation,
    /// The client names a pre-shared key that this side does not have (RFC 4279, 2; RFC 9846, 6.2).
    UnknownPskIdentity,
    /// No application protocol (RFC 7301, 3.2).
    NoCommonApplicationProtocol,
    /// Neither certificates nor raw public keys would be accepted (RFC 7250, 4.2).
    NoCommonCertificateType,
    /// No pre-shared key, where there is no certificate (RFC 9846, 4.3.11). The peer cannot tell this from a wrong key
    /// under a known name.
    NoCommonPsk,
    /// No pre-shared key with (EC)DHE, where there is no certificate (RFC 9846, 4.3.9).
    NoCommonPskMode,
    /// The server chose TLS 1.2 although early data was sent (RFC 9846, E.3): connect again without.
    NoEarlyData,
}

impl PeerIncompatible {
    pub(super) const fn alert(self) -> AlertDescription {
        match self {
            Self::NoCommonVersion | Self::NoEarlyData => AlertDescription::PROTOCOL_VERSION,
            Self::UnknownPskIdentity => AlertDescription::UNKNOWN_PSK_IDENTITY,
            Self::NoCommonPsk => AlertDescription::DECRYPT_ERROR,
            Self::NoCommonApplicationProtocol => AlertDescription::NO_APPLICATION_PROTOCOL,
            Self::NoCommonCertificateType => AlertDescription::UNSUPPORTED_CERTIFICATE,
            Self::NoCommonCipherSuite
            | Self::NoCommonGroup
            | Self::NoCommonSignatureScheme
            | Self::NoCommonCurve(_)
            | Self::NoCommonAuthority
            | Self::NoCommonPskMode
            | Self::NoExtendedMasterSecret
            | Self::NoSecureRenegotiation => AlertDescription::HANDSHAKE_FAILURE,
        }
    }
}

impl fmt::Display for PeerIncompatible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCommonCurve(curve) => {
                return write!(
                    f,
                    "the client does not offer the group {curve}, which the key of this side's certificate is of"
                );
            }
            Self::NoCommonVersion => "no protocol version",
            Self::NoCommonCipherSuite => "no cipher suite",
            Self::NoCommonGroup => "no key exchange group",
            Self::NoCommonSignatureScheme => "no signature scheme for the key of this side's certificate",
            Self::NoCommonAuthority => "no CA that issued a certificate of this side's",
            Self::NoExtendedMasterSecret => "no extended master secret, which is required",
            Self::NoSecureRenegotiation => "no secure renegotiation, which is required of servers",
            Self::UnknownPskIdentity => "no pre-shared key of that identity",
            Self::NoCommonApplicationProtocol => "no application protocol (ALPN)",
            Self::NoCommonCertificateType => "no type of certificate (X.509 or raw public key)",
            Self::NoCommonPsk => "no pre-shared key",
            Self::NoCommonPskMode => "no pre-shared key with (EC)DHE",
            Self::NoEarlyData => "no version with early data, and some may have been sent",
        })
    }
}

impl core::error::Error for PeerMisbehaved {}
impl core::error::Error for PeerIncompatible {}
