//! The errors of parsing.

use core::fmt;

use super::AlertDescription;

/// The reasons why bytes do not parse. The alert is `decode_error` unless RFC 9846 requires another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidMessage {
    /// A value ends before it should.
    Truncated,
    /// Bytes are left over after a value.
    TrailingData,
    /// A vector is shorter or longer than its type allows.
    IllegalLength,
    /// A record is longer than the protocol, `record_size_limit` or `max_fragment_length` allows (RFC 9846, 5.1 and
    /// 5.2).
    RecordTooLarge,
    /// A handshake message is longer than this side accepts.
    HandshakeTooLarge,
    /// A record has an unknown type (RFC 9846, 5).
    UnknownContentType,
    /// A value is outside the range of its type, such as a compression method other than null.
    IllegalValue,
    /// A message has the same extension twice (RFC 9846, 4.3).
    DuplicateExtension,
}

impl InvalidMessage {
    pub(crate) const fn alert(self) -> AlertDescription {
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

impl core::error::Error for InvalidMessage {}
