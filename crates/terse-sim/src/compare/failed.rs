//! The reasons why a row cannot be measured.

use core::fmt;

use terse_tls::ApiMisuse;

use crate::computing::NoTime;

/// Why a row could not be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// No connection came to its end. The text is the cause at each side of the first connection.
    Connection(String),
    /// The handshake was of another mode than was asked for.
    OtherMode {
        /// The mode of the handshake.
        was: &'static str,
        /// The reason, if the engine gives one.
        because: Option<&'static str>,
    },
    /// Early data was asked for, and the server accepted none. The text is what became of it: `none` or `rejected`.
    NoEarlyData(&'static str),
    /// An IP packet of the link's MTU has no room for a datagram that DTLS can use.
    MtuTooSmall,
    /// The configurations of the parties cannot be used in this setting.
    Configuration(ApiMisuse),
    /// A device has no time for an operation that the connection needs.
    NoTime(NoTime),
    /// The parties compute on devices, but with a provider or a key whose operations are
    /// [not counted](crate::computing::counting).
    NotCounted,
}

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(cause) => write!(out, "no connection came to its end: {cause}"),
            Self::OtherMode { was, because } => {
                write!(out, "the handshake was {was}")?;
                because.map_or(Ok(()), |because| write!(out, ": {because}"))
            }
            Self::NoEarlyData(status) => write!(out, "no early data was accepted: its status was {status}"),
            Self::MtuTooSmall => out.write_str("the MTU leaves no room for DTLS; take a larger one"),
            Self::Configuration(error) => error.fmt(out),
            Self::NoTime(error) => error.fmt(out),
            Self::NotCounted => out.write_str(
                "the sides compute on devices, but not all of their operations are counted: make their configurations and \
                 keys with a counting provider",
            ),
        }
    }
}

impl core::error::Error for Failed {}
