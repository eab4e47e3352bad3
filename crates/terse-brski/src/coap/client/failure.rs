//! Why a request has no response.

use core::fmt;

use terse_tls::crypto::CryptoError;

/// Why a request has no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The server has acknowledged nothing, however often the request was sent (RFC 7252, 4.2).
    Unreachable,
    /// The server has acknowledged the request, and sent no response.
    NoResponse,
    /// The request has taken longer than the configuration allows, although the server has answered its blocks.
    TimedOut,
    /// The server has rejected the message (RFC 7252, 4.2).
    Reset,
    /// The response is longer than is taken: the limit.
    TooLong(usize),
    /// The response has a critical option that is not understood (RFC 7252, 5.4.1): its number.
    CriticalOption(u16),
    /// The representation has changed while it was fetched, more than once, or where the request must not be repeated.
    Changed,
    /// The server has broken the rules of block-wise transfer (RFC 7959, 2): which.
    Misbehaved(&'static str),
    /// The source of randomness has failed.
    Crypto(CryptoError),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable => f.write_str("the server does not answer: check that it runs and can be reached"),
            Self::NoResponse => f.write_str("the server has taken the request and sent no response: try again later"),
            Self::TimedOut => f.write_str("the request has taken too long with all its blocks: try again later"),
            Self::Reset => f.write_str("the server has rejected the request: check that it is a registrar"),
            Self::TooLong(limit) => write!(f, "the response is longer than {limit} bytes"),
            Self::CriticalOption(number) => {
                write!(f, "the response has the critical option {number}, which is unknown")
            }
            Self::Changed => f.write_str("the response has changed while it was fetched: try again"),
            Self::Misbehaved(what) => write!(f, "the server breaks the rules of block-wise transfer: {what}"),
            Self::Crypto(error) => write!(f, "the cryptography failed: {error}"),
        }
    }
}

impl core::error::Error for Failure {}
