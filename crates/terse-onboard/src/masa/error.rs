//! Why something that an operator wants of a MASA cannot be done.

use core::fmt;
use std::io;

use terse_pki::Error;

use super::log::Finding;
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
    /// The audit log, or an export of it, is not as it was issued.
    Log(Box<Finding>),
    /// An export was not signed.
    NotSigned(String),
    /// An export cannot be written.
    Output(io::Error),
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
            Self::Log(finding) => finding.fmt(f),
            Self::NotSigned(problem) => write!(f, "the export was not signed: {problem}; try again"),
            Self::Output(error) => {
                write!(f, "the export cannot be written: {error}; make room, or choose another file")
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

impl From<Finding> for MasaError {
    fn from(finding: Finding) -> Self {
        Self::Log(Box::new(finding))
    }
}
