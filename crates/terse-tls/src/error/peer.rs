//! The errors of the peer.

use core::fmt;

use crate::wire::{AlertDescription, ContentType, ExtensionType, HandshakeType, NamedGroup};

/// Why a well-formed message or record of the peer is forbidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerMisbehaved {
    /// A handshake message came at the wrong time (RFC 9846, 4).
    UnexpectedHandshakeMessage(HandshakeType),
    /// A record came with a type that is not allowed at this time (RFC 9846, 5).
    UnexpectedRecord(ContentType),
    /// A handshake message spans a key change (RFC 9846, 5.1).
    MessageCrossesKeyChange,
    /// A handshake or alert record has no content (RFC 9846, 5.1).
    EmptyFragment,
    /// A handshake message is interleaved with another record type (RFC 9846, 5.1).
    InterleavedRecord,
    /// A ChangeCipherSpec is malformed, or came at the wrong time (RFC 9846, 5).
    BadChangeCipherSpec,
    /// More empty or ignored records came in a row than a correct peer sends.
    TooManyEmptyRecords,
    /// More KeyUpdates came in a row, without data, than a correct peer sends (RFC 9846, 4.7.3).
    TooManyKeyUpdates,
    /// More RequestConnectionIds came than a peer needs that uses the IDs (RFC 9147, 9).
    TooManyCidsRequested,
    /// A ClientHello or ServerHello has other fixed fields than those of RFC 9846, 4.2.2 and 4.2.3.
    IllegalLegacyField,
    /// The message must not have this extension (RFC 9846, 4.3).
    MisplacedExtension(ExtensionType),
    /// The message answers an extension that was not offered (RFC 9846, 4.3).
    UnsolicitedExtension(ExtensionType),
    /// A required extension is missing (RFC 9846, 9.2).
    MissingExtension(ExtensionType),
    /// The server selected something that was not offered: version, suite, group, protocol, size.
    SelectedUnoffered(ExtensionType),
    /// The server selected a cipher suite that was not offered, or another one after HelloRetryRequest
    /// (RFC 9846, 4.2.3 and 4.2.4).
    SelectedUnofferedSuite,
    /// The server sent a second HelloRetryRequest, or one that changes nothing (RFC 9846, 4.2.4).
    IllegalHelloRetryRequest,
    /// The server supports a newer version than the selected one: an attacker has changed the ClientHello (RFC 9846,
    /// 4.2.3).
    Downgrade,
    /// The client fell back to an older version, although this side supports a newer one (RFC 7507).
    InappropriateFallback,
    /// The server resumed a session with another cipher suite, or without its extended master secret (RFC 5246,
    /// 7.4.1.3; RFC 7627, 5.3).
    ChangedSession,
    /// `renegotiation_info` is not empty, although there was no handshake before (RFC 5746, 3.4 and 3.6).
    IllegalRenegotiationInfo,
    /// The peer has requested too many renegotiations.
    TooManyRenegotiations,
    /// The second ClientHello differs from the first one in a field that must not change (RFC 9846, 4.2.2).
    ChangedClientHello,
    /// A key share is for a group that was not offered, or one group has two (RFC 9846, 4.3.8).
    IllegalKeyShare,
    /// A signature has a scheme that was not offered, or that TLS 1.3 forbids (RFC 9846, 4.5.2).
    IllegalSignatureScheme,
    /// The signature of CertificateVerify (RFC 9846, 4.5.2) or ServerKeyExchange (RFC 8422, 5.4) is wrong.
    BadSignature,
    /// The MAC of Finished is wrong (RFC 9846, 4.5.3).
    BadFinished,
    /// The binder of a pre-shared key is wrong (RFC 9846, 4.3.11).
    BadBinder,
    /// The server selected a pre-shared key that was not offered, does not fit the suite, or has no key share (RFC
    /// 9846, 4.3.11).
    IllegalPskSelection,
    /// The server accepted early data with another key than the first one, or with another suite or application
    /// protocol than those of the key (RFC 9846, 4.3.10).
    IllegalEarlyData,
    /// The client sent more early data than the ticket allows (RFC 9846, 4.7.1).
    TooMuchEarlyData,
    /// The server sent no certificate (RFC 9846, 4.5.1).
    EmptyServerCertificate,
    /// The peer sent more than one raw public key (RFC 9846, 4.5.1).
    SeveralRawPublicKeys,
    /// A `certificate_request_context` is not the value that this side has chosen, or not empty where it must be (RFC
    /// 9846, 4.4.2, 4.5.1).
    IllegalRequestContext,
    /// A caching reply contradicts the offer: an unoffered object, an index out of range, undefined bits, or unexpected
    /// content.
    IllegalCachingReply,
    /// A message that was selected as cached has a wrong format or fingerprint.
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

/// Why a peer that follows the protocol has nothing in common with this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerIncompatible {
    /// There is no common protocol version.
    NoCommonVersion,
    /// There is no common cipher suite.
    NoCommonCipherSuite,
    /// There is no common key exchange group.
    NoCommonGroup,
    /// The peer accepts no signature scheme of this side's keys.
    NoCommonSignatureScheme,
    /// The client of TLS 1.2 does not support the curve of this side's key (RFC 8422, 5.3).
    NoCommonCurve(NamedGroup),
    /// No CA that the client names has issued a certificate of this side, which are only for clients that name their CA
    /// (RFC 9846, 4.3.4).
    NoCommonAuthority,
    /// The peer does not support the extended master secret, which is required (RFC 7627, 5.2).
    NoExtendedMasterSecret,
    /// The server does not support secure renegotiation, so that an attacker could prepend data to that of this client
    /// (RFC 5746, 4.1).
    NoSecureRenegotiation,
    /// The client names a pre-shared key that this side does not have (RFC 4279, 2; RFC 9846, 6.2).
    UnknownPskIdentity,
    /// There is no common application protocol (RFC 7301, 3.2).
    NoCommonApplicationProtocol,
    /// There is no common certificate type, X.509 or raw public key (RFC 7250, 4.2).
    NoCommonCertificateType,
    /// There is no common pre-shared key, and no certificate (RFC 9846, 4.3.11). The peer cannot distinguish this from
    /// a wrong key with a known identity.
    NoCommonPsk,
    /// The client does not offer pre-shared keys with (EC)DHE, and there is no certificate (RFC 9846, 4.3.9).
    NoCommonPskMode,
    /// The server selected TLS 1.2 although early data was sent (RFC 9846, E.3). The client should connect again
    /// without early data.
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
