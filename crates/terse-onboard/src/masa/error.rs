//! Why something that an operator wants of a MASA cannot be done.

use core::fmt;

use terse_pki::Error;

use crate::config::ConfigError;

/// Why the factory or an operator fails. It displays as one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum MasaError {
    /// The CA cannot do it.
    Pki(Error),
    /// The configuration, or what it names, cannot be used.
    Config(ConfigError),
    /// The database failed.
    Database(sqlx::Error),
    /// There is such a device already.
    Registered(String),
    /// There is no device with this serial number.
    UnknownDevice(String),
}

impl fmt::Display for MasaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pki(error) => error.fmt(f),
            Self::Config(error) => error.fmt(f),
            Self::Database(error) => write!(f, "the database failed: {error}"),
            Self::Registered(serial_number) => {
                write!(f, "a device {serial_number} is registered already; give each device its own serial number")
            }
            // A serial number from the command line can have any characters.
            Self::UnknownDevice(serial_number) => {
                write!(
                    f,
                    "no device {serial_number:?} is known; `terse masa make-idevid` makes one, `terse masa register` takes one"
                )
            }
        }
    }
}

impl core::error::Error for MasaError {}

impl From<Error> for MasaError {
    fn from(error: Error) -> Self {
        Self::Pki(error)
    }
}

impl From<ConfigError> for MasaError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<sqlx::Error> for MasaError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}
