//! Errors of connections over sockets.

use core::fmt;
use std::io::{self, ErrorKind};

use terse_tls::{ApiMisuse, Error};

mod no_answer;

pub use no_answer::NoAnswer;

/// Why a connection over a socket failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum NetError {
    /// The socket failed.
    Io(io::Error),
    /// The protocol failed, on this side or the other.
    Tls(Error),
    /// The peer closed the connection before the handshake was complete.
    ClosedInHandshake,
    /// A time limit that was set on the socket passed.
    TimedOut {
        /// Whether the handshake was not complete yet.
        in_handshake: bool,
    },
    /// Over datagrams, the peer did not answer within the time limit or after the last retransmission.
    NoAnswer(NoAnswer),
}

impl NetError {
    /// Whether a time limit or the number of retransmissions was the cause.
    pub const fn is_timeout(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::NoAnswer(_))
    }
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the connection failed: {error}"),
            Self::Tls(error) => error.fmt(f),
            Self::ClosedInHandshake => f.write_str("the peer closed the connection during the handshake"),
            Self::TimedOut { in_handshake: true } => f.write_str("the peer did not finish the handshake in time"),
            Self::TimedOut { in_handshake: false } => f.write_str("the peer did not answer in time"),
            Self::NoAnswer(no_answer) => write!(f, "the peer {no_answer}"),
        }
    }
}

impl core::error::Error for NetError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Tls(error) => Some(error),
            Self::ClosedInHandshake | Self::TimedOut { .. } | Self::NoAnswer(_) => None,
        }
    }
}

impl From<Error> for NetError {
    fn from(error: Error) -> Self {
        Self::Tls(error)
    }
}

impl From<NetError> for io::Error {
    fn from(error: NetError) -> Self {
        match error {
            NetError::Io(error) => error,
            NetError::Tls(Error::Truncated) | NetError::ClosedInHandshake => Self::new(ErrorKind::UnexpectedEof, error),
            // This side has closed the connection, or it has failed before.
            NetError::Tls(Error::ApiMisuse(ApiMisuse::Closed)) => Self::new(ErrorKind::BrokenPipe, error),
            NetError::Tls(_) => Self::new(ErrorKind::InvalidData, error),
            NetError::TimedOut { .. } | NetError::NoAnswer(_) => Self::new(ErrorKind::TimedOut, error),
        }
    }
}
