//! Errors, by who is to blame, and the one place that maps them to alerts (RFC 9846, 6.2).

use core::fmt;

use pki_types::UnixTime;

use crate::crypto::CryptoError;
use crate::wire::{AlertDescription, ContentType, EncodeError, ExtensionType, HandshakeType, ProtocolVersion};

/// Why a connection is over, or a call was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The peer sent bytes that do not parse.
    InvalidMessage(InvalidMessage),
    /// The peer sent something well-formed that the protocol forbids.
    PeerMisbehaved(PeerMisbehaved),
    /// The peer is honest, but has nothing in common with this side.
    PeerIncompatible(PeerIncompatible),
    /// The peer's certificate is missing or was not accepted.
    Certificate(CertificateError),
    /// The peer ended the connection with this alert.
    AlertReceived(AlertDescription),
    /// A cryptographic operation of this side failed.
    Crypto(CryptoError),
    /// The caller broke the contract of a call; the connection is as it was.
    ApiMisuse(ApiMisuse),
    /// The peer closed the transport without `close_notify`: what it sent may be cut short (RFC 9846, 6.1).
    Truncated,
}

impl Error {
    /// The alert that tells the peer, if one is due; in TLS 1.2 `handshake_failure` stands for `certificate_required`.
    pub fn alert(&self) -> Option<AlertDescription> {
        Some(match self {
            Self::InvalidMessage(error) => error.alert(),
            Self::PeerMisbehaved(error) => error.alert(),
            Self::PeerIncompatible(error) => error.alert(),
            Self::Certificate(error) => error.alert(),
            Self::Crypto(CryptoError::DecryptFailed) => AlertDescription::BAD_RECORD_MAC,
            Self::Crypto(CryptoError::InvalidKeyShare) => AlertDescription::ILLEGAL_PARAMETER,
            Self::Crypto(_) => AlertDescription::INTERNAL_ERROR,
            Self::AlertReceived(_) | Self::ApiMisuse(_) | Self::Truncated => return None,
        })
    }
}

impl Error {
    /// The alert for a peer of `version`, which may not know the alerts of TLS 1.3: RFC 5246, 7.4.6 for the missing
    /// certificate, RFC 7627, 5.2 and 5.3 for the missing extension.
    pub(crate) fn alert_in(&self, version: Option<ProtocolVersion>) -> Option<AlertDescription> {
        match (self.alert()?, version) {
            (
                AlertDescription::CERTIFICATE_REQUIRED | AlertDescription::MISSING_EXTENSION,
                Some(ProtocolVersion::TLS_1_2),
            ) => Some(AlertDescription::HANDSHAKE_FAILURE),
            (alert, _) => Some(alert),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidMessage(error) => write!(f, "the peer sent a message that does not parse: {error}"),
            Self::PeerMisbehaved(error) => write!(f, "the peer broke the protocol: {error}"),
            Self::PeerIncompatible(error) => write!(f, "nothing in common with the peer: {error}"),
            Self::Certificate(error) => write!(f, "{error}"),
            Self::AlertReceived(alert) => write!(f, "the peer refused with the alert {alert}"),
            Self::Crypto(error) => write!(f, "{error}"),
            Self::ApiMisuse(error) => write!(f, "{error}"),
            Self::Truncated => f.write_str("the peer closed the connection without close_notify: data may be missing"),
        }
    }
}

impl core::error::Error for Error {}

/// Bytes that do not parse. Each is a `decode_error`, but for those that RFC 9846 gives an alert of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidMessage {
    /// A value ends before it should.
    Truncated,
    /// Bytes are left over after a value.
    TrailingData,
    /// A vector shorter or longer than its type allows.
    IllegalLength,
    /// A record longer than the protocol, `record_size_limit` or `max_fragment_length` allows (RFC 9846, 5.1 and 5.2).
    RecordTooLarge,
    /// A handshake message longer than this side accepts.
    HandshakeTooLarge,
    /// A record of an unknown type (RFC 9846, 5).
    UnknownContentType,
    /// A value outside the range of its type, such as a compression method other than null.
    IllegalValue,
    /// The same extension twice in one message (RFC 9846, 4.3).
    DuplicateExtension,
}

impl InvalidMessage {
    const fn alert(self) -> AlertDescription {
        match self {
            Self::RecordTooLarge => AlertDescription::RECORD_OVERFLOW,
            Self::UnknownContentType => AlertDescription::UNEXPECTED_MESSAGE,
            Self::IllegalValue | Self::DuplicateExtension => AlertDescription::ILLEGAL_PARAMETER,
            Self::Truncated | Self::TrailingData | Self::IllegalLength | Self::HandshakeTooLarge => {
                AlertDescription::DECODE_ERROR
            }
        }
    }
}

impl fmt::Display for InvalidMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "it ends too early",
            Self::TrailingData => "bytes are left over",
            Self::IllegalLength => "a vector has a length that its type does not allow",
            Self::RecordTooLarge => "a record is larger than allowed",
            Self::HandshakeTooLarge => "a handshake message is larger than this side accepts",
            Self::UnknownContentType => "a record has an unknown type (is the peer speaking TLS?)",
            Self::IllegalValue => "a field has a value that its type does not allow",
            Self::DuplicateExtension => "an extension appears twice",
        })
    }
}

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
    /// The server knows a newer version than the one that it selected: on the way, the ClientHello was made to look older
    /// (RFC 9846, 4.2.3).
    Downgrade,
    /// The client fell back to an older version though this side has a newer one (RFC 7507).
    InappropriateFallback,
    /// A session is resumed with another cipher suite, or without its extended master secret (RFC 5246, 7.4.1.3; RFC 7627,
    /// 5.3).
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
    const fn alert(self) -> AlertDescription {
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
            Self::UnexpectedHandshakeMessage(message) => write!(f, "{message} is not due now"),
            Self::UnexpectedRecord(record) => write!(f, "a record of type {record} is not due now"),
            Self::MessageCrossesKeyChange => f.write_str("a handshake message crosses a change of keys"),
            Self::EmptyFragment => f.write_str("a handshake or alert record is empty"),
            Self::InterleavedRecord => f.write_str("another record interrupts a handshake message"),
            Self::BadChangeCipherSpec => f.write_str("a ChangeCipherSpec is malformed or not due"),
            Self::TooManyEmptyRecords => f.write_str("too many records without content"),
            Self::TooManyKeyUpdates => f.write_str("too many KeyUpdates without data"),
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
    /// The server chose TLS 1.2 although early data was sent (RFC 9846, E.3): connect again without.
    NoEarlyData,
}

impl PeerIncompatible {
    const fn alert(self) -> AlertDescription {
        match self {
            Self::NoCommonVersion | Self::NoEarlyData => AlertDescription::PROTOCOL_VERSION,
            Self::UnknownPskIdentity => AlertDescription::UNKNOWN_PSK_IDENTITY,
            Self::NoCommonPsk => AlertDescription::DECRYPT_ERROR,
            Self::NoCommonApplicationProtocol => AlertDescription::NO_APPLICATION_PROTOCOL,
            Self::NoCommonCertificateType => AlertDescription::UNSUPPORTED_CERTIFICATE,
            Self::NoCommonCipherSuite
            | Self::NoCommonGroup
            | Self::NoCommonSignatureScheme
            | Self::NoExtendedMasterSecret
            | Self::NoSecureRenegotiation => AlertDescription::HANDSHAKE_FAILURE,
        }
    }
}

impl fmt::Display for PeerIncompatible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCommonVersion => "no protocol version",
            Self::NoCommonCipherSuite => "no cipher suite",
            Self::NoCommonGroup => "no key exchange group",
            Self::NoCommonSignatureScheme => "no signature scheme for the key of this side's certificate",
            Self::NoExtendedMasterSecret => "no extended master secret, which is required",
            Self::NoSecureRenegotiation => "no secure renegotiation, which is required of servers",
            Self::UnknownPskIdentity => "no pre-shared key of that identity",
            Self::NoCommonApplicationProtocol => "no application protocol (ALPN)",
            Self::NoCommonCertificateType => "no type of certificate (X.509 or raw public key)",
            Self::NoCommonPsk => "no pre-shared key",
            Self::NoEarlyData => "no version with early data, and some may have been sent",
        })
    }
}

/// Why a certificate was not accepted. `depth` counts from the leaf, which is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateError {
    /// The client sent none, and one is required (RFC 9846, 4.5.1).
    Required,
    /// A certificate does not parse as X.509.
    Malformed,
    /// The validity ended at `not_after`.
    Expired {
        /// Which certificate of the chain.
        depth: usize,
        /// The end of its validity.
        not_after: UnixTime,
    },
    /// The validity begins at `not_before`.
    NotYetValid {
        /// Which certificate of the chain.
        depth: usize,
        /// The beginning of its validity.
        not_before: UnixTime,
    },
    /// The device has no wall-clock time, and the configuration does not accept certificates without it.
    NoTime,
    /// No path leads to a trust anchor.
    UnknownIssuer,
    /// Valid, but not for the name that was asked for.
    WrongName,
    /// Revoked by a configured CRL.
    Revoked,
    /// Revocation is required, and no configured CRL covers the certificate.
    UnknownRevocationStatus,
    /// A configured CRL is past its nextUpdate.
    CrlExpired,
    /// Not for this use: key usage, extended key usage, a CA where an end entity is due or the reverse.
    WrongUsage,
    /// Breaks a constraint of its issuer: path length, names.
    ConstraintViolated,
    /// A signature in the chain is wrong.
    BadSignature,
    /// A signature or key in the chain, or a raw public key, is of a kind that is not supported or too weak.
    UnsupportedAlgorithm,
    /// A raw public key that is not among those configured (RFC 7250, 4.3 and 4.4).
    UnknownPublicKey {
        /// Its last bytes, to find it again.
        end: [u8; 4],
    },
    /// Anything else that path validation (RFC 5280) refuses.
    Invalid,
}

impl CertificateError {
    const fn alert(self) -> AlertDescription {
        match self {
            Self::Required => AlertDescription::CERTIFICATE_REQUIRED,
            Self::Expired { .. } | Self::NotYetValid { .. } | Self::CrlExpired => AlertDescription::CERTIFICATE_EXPIRED,
            Self::UnknownIssuer => AlertDescription::UNKNOWN_CA,
            Self::Revoked => AlertDescription::CERTIFICATE_REVOKED,
            // RFC 7250 names no alert for a key that is not known.
            Self::NoTime | Self::UnknownRevocationStatus | Self::UnknownPublicKey { .. } => {
                AlertDescription::CERTIFICATE_UNKNOWN
            }
            Self::UnsupportedAlgorithm | Self::WrongUsage => AlertDescription::UNSUPPORTED_CERTIFICATE,
            Self::Malformed | Self::WrongName | Self::ConstraintViolated | Self::BadSignature | Self::Invalid => {
                AlertDescription::BAD_CERTIFICATE
            }
        }
    }

    /// The message for `name`, the peer whose certificate it is: "the certificate of broker.plant.example expired on
    /// 2026-03-01".
    pub fn of<'a>(&'a self, name: &'a dyn fmt::Display) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| match self {
            Self::Required => write!(f, "{name} sent no certificate, and one is required"),
            Self::Malformed => write!(f, "a certificate of {name} does not parse"),
            Self::Expired { depth: 0, not_after } => {
                write!(f, "the certificate of {name} expired on {}", Date(*not_after))
            }
            Self::Expired { depth, not_after } => {
                write!(f, "a CA certificate (number {depth} above the leaf) of {name} expired on {}", Date(*not_after))
            }
            Self::NotYetValid { depth: 0, not_before } => {
                write!(f, "the certificate of {name} is valid from {} on; is the clock right?", Date(*not_before))
            }
            Self::NotYetValid { depth, not_before } => write!(
                f,
                "a CA certificate (number {depth} above the leaf) of {name} is valid from {} on; is the clock right?",
                Date(*not_before)
            ),
            Self::NoTime => write!(f, "the certificate of {name} cannot be checked without wall-clock time"),
            Self::UnknownIssuer => write!(f, "the certificate of {name} was issued by no CA that is trusted here"),
            Self::WrongName => write!(f, "the certificate of the peer is not valid for {name}"),
            Self::Revoked => write!(f, "the certificate of {name} was revoked"),
            Self::UnknownRevocationStatus => write!(f, "no CRL covers the certificate of {name}"),
            Self::CrlExpired => write!(f, "the CRL for the certificate of {name} is out of date"),
            Self::WrongUsage => write!(f, "the certificate of {name} is not meant for this use"),
            Self::ConstraintViolated => write!(f, "the certificate of {name} breaks a constraint of its issuer"),
            Self::BadSignature => write!(f, "a signature in the certificate chain of {name} is wrong"),
            Self::UnsupportedAlgorithm => {
                write!(f, "the chain of {name} uses an algorithm or key size that is refused")
            }
            Self::UnknownPublicKey { end } => {
                write!(f, "the raw public key …{:08x} of {name} is none that is trusted here", u32::from_be_bytes(*end))
            }
            Self::Invalid => write!(f, "the certificate chain of {name} is not valid"),
        })
    }
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.of(&"the peer").fmt(f)
    }
}

/// A day, as `2026-03-01`.
struct Date(UnixTime);

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match x509_cert::der::DateTime::from_unix_duration(core::time::Duration::from_secs(self.0.as_secs())) {
            Ok(date) => write!(f, "{:04}-{:02}-{:02}", date.year(), date.month(), date.day()),
            Err(_) => f.write_str("a date after the year 9999"),
        }
    }
}

/// The caller's mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApiMisuse {
    /// Application data or keys were asked for before the handshake was finished.
    HandshakeNotFinished,
    /// The connection is closed or has failed.
    Closed,
    /// The configuration offers nothing of this kind, so that no handshake could succeed.
    EmptyConfiguration(&'static str),
    /// The configuration names something of this kind that the crypto provider does not have.
    Unsupported(&'static str),
    /// A credential without certificates.
    EmptyChain,
    /// The private key does not belong to the first certificate of the chain.
    KeyDoesNotMatchCertificate,
    /// No trust anchor or raw public key is configured, so that no peer could be accepted.
    NoTrustAnchors,
    /// A certificate given as trust anchor or own chain does not parse.
    MalformedCertificate,
    /// A public key given as trusted, or that of an own key, does not parse.
    MalformedPublicKey,
    /// A public key given as trusted is of a kind that the crypto provider does not verify.
    UnsupportedPublicKey,
    /// A CRL does not parse.
    MalformedCrl,
    /// A limit is outside the range of its type: `record_size_limit` 64 to 16,385.
    LimitOutOfRange,
    /// A name is longer than the protocol can carry.
    NameTooLong,
    /// A ticket lives for 1 second to 7 days (RFC 9846, 4.7.1).
    TicketLifetime,
    /// This side does not send early data.
    NoEarlyData,
    /// A pre-shared key with fewer than 128 bits (RFC 9257, 6).
    ShortPsk,
    /// The identity of a pre-shared key is empty, or it or the importer's context is longer than 4,096 bytes.
    PskIdentity,
    /// A signature that was not asked for.
    NoSignatureDue,
    /// A label for exported keys that the protocol uses itself (RFC 5705, 4).
    ReservedLabel,
    /// Keying material of a TLS 1.2 connection without the extended master secret, which another connection may have as well
    /// (RFC 7627, 5.4).
    NoExporter,
    /// TLS 1.2 has no KeyUpdate.
    NoKeyUpdate,
    /// The key has protected as many records as it may, and TLS 1.2 cannot replace it (RFC 9846, 5.5): a new connection is
    /// due.
    KeyExhausted,
}

impl fmt::Display for ApiMisuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HandshakeNotFinished => f.write_str("the handshake is not finished yet"),
            Self::Closed => f.write_str("the connection is closed"),
            Self::Unsupported(what) => write!(f, "the configuration names a {what} that the crypto provider lacks"),
            Self::EmptyConfiguration(what) => write!(f, "the configuration leaves no {what} to offer"),
            Self::EmptyChain => f.write_str("the credential has no certificate"),
            Self::KeyDoesNotMatchCertificate => f.write_str("the private key does not belong to the certificate"),
            Self::NoTrustAnchors => f.write_str("no trust anchor (CA certificate) or public key is configured"),
            Self::MalformedCertificate => f.write_str("a configured certificate does not parse"),
            Self::MalformedPublicKey => f.write_str("a configured public key does not parse"),
            Self::UnsupportedPublicKey => {
                f.write_str("a configured public key is of a kind that the crypto provider does not verify")
            }
            Self::MalformedCrl => f.write_str("a configured CRL does not parse"),
            Self::LimitOutOfRange => f.write_str("record_size_limit must be between 64 and 16385"),
            Self::NameTooLong => f.write_str("a name is too long"),
            Self::NoExporter => f.write_str("without the extended master secret nothing may be exported"),
            Self::NoKeyUpdate => f.write_str("TLS 1.2 cannot replace keys"),
            Self::KeyExhausted => f.write_str("the keys of this connection are used up: connect again"),
            Self::TicketLifetime => f.write_str("the lifetime of tickets must be between 1 second and 7 days"),
            Self::NoEarlyData => f.write_str("this side is not configured to send early data"),
            Self::ShortPsk => f.write_str("a pre-shared key must have 16 bytes or more, at random"),
            Self::PskIdentity => {
                f.write_str("the identity of a pre-shared key must have 1 to 4096 bytes, and a context no more")
            }
            Self::NoSignatureDue => f.write_str("no signature is waited for"),
            Self::ReservedLabel => f.write_str("the label is one that the protocol uses itself"),
        }
    }
}

impl From<InvalidMessage> for Error {
    fn from(error: InvalidMessage) -> Self {
        Self::InvalidMessage(error)
    }
}

impl From<PeerMisbehaved> for Error {
    fn from(error: PeerMisbehaved) -> Self {
        Self::PeerMisbehaved(error)
    }
}

impl From<PeerIncompatible> for Error {
    fn from(error: PeerIncompatible) -> Self {
        Self::PeerIncompatible(error)
    }
}

impl From<CertificateError> for Error {
    fn from(error: CertificateError) -> Self {
        Self::Certificate(error)
    }
}

impl From<CryptoError> for Error {
    fn from(error: CryptoError) -> Self {
        Self::Crypto(error)
    }
}

impl From<ApiMisuse> for Error {
    fn from(error: ApiMisuse) -> Self {
        Self::ApiMisuse(error)
    }
}

/// Only a configured value can be too long for its field; what a peer sent is bounded by the field it came in.
impl From<EncodeError> for Error {
    fn from(_: EncodeError) -> Self {
        Self::ApiMisuse(ApiMisuse::NameTooLong)
    }
}

impl core::error::Error for InvalidMessage {}
impl core::error::Error for PeerMisbehaved {}
impl core::error::Error for PeerIncompatible {}
impl core::error::Error for CertificateError {}
impl core::error::Error for ApiMisuse {}
