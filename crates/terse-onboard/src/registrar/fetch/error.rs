//! Why no voucher is fetched, and what an operator can do about it.

use core::fmt;

use terse_brski::registrar::Refusal;

use super::super::StartError;
use super::super::masa::MasaError;
use crate::config::ConfigError;

/// Why no voucher was fetched. It displays as one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum FetchError {
    /// The configuration, a file that it names, or the database.
    Start(StartError),
    /// The certificate of the issuer cannot be used.
    Issuer(ConfigError),
    /// There are several manufacturers, with these names, and none was given; or none has the name that was given.
    Manufacturer(Vec<String>),
    /// So many of the manufacturer's anchors can be the issuer: none, or several.
    Issuers(usize),
    /// An operator has rejected the device.
    Rejected,
    /// The serial number is empty, too long, or has control characters.
    SerialNumber,
    /// There were too many requests for the device of late.
    TooMany,
    /// This registrar or the MASA refuses.
    Refused {
        /// Why.
        refusal: Refusal,
        /// What the MASA says.
        said: Option<String>,
        /// Whether a voucher for the device was fetched earlier, which stays usable.
        has_earlier: bool,
    },
    /// The MASA cannot be asked.
    Masa(String),
    /// The MASA has no answer yet.
    Later,
    /// The database fails.
    Database(sqlx::Error),
}

impl From<Refusal> for FetchError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused { refusal, said: None, has_earlier: false }
    }
}

impl From<sqlx::Error> for FetchError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl From<MasaError> for FetchError {
    fn from(error: MasaError) -> Self {
        Self::Masa(error.to_string())
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => error.fmt(f),
            Self::Issuer(error) => error.fmt(f),
            Self::Manufacturer(names) => write!(f, "give --manufacturer with one of: {}", names.join(", ")),
            Self::Issuers(0) => f.write_str(
                "the manufacturer's anchors do not say who issues IDevIDs; give --idevid-issuer with the CA's certificate",
            ),
            Self::Issuers(count) => write!(
                f,
                "{count} of the manufacturer's anchors can be the issuer of the IDevID; give --idevid-issuer with the CA's \
                 certificate"
            ),
            Self::Rejected => f.write_str("the device is rejected; accept it first, by `terse registrar accept`"),
            Self::SerialNumber => f.write_str("the serial number must have 1 to 64 characters that can be printed"),
            Self::TooMany => f.write_str("too many vouchers were asked for today for this device; go on tomorrow"),
            Self::Refused { refusal, said, has_earlier } => {
                refusal.fmt(f)?;
                if *has_earlier {
                    let problem = "; the voucher that was fetched earlier stays usable, unless the device is rejected by \
                                   `terse registrar reject`";
                    f.write_str(problem)?;
                }
                said.as_ref().map_or(Ok(()), |said| write!(f, "; it says: {said}"))
            }
            Self::Masa(problem) => write!(f, "the MASA cannot be asked: {problem}"),
            Self::Later => f.write_str("the MASA has no answer yet; run the same command again later"),
            Self::Database(error) => write!(f, "the database fails: {error}; check the file and its folder"),
        }
    }
}

impl core::error::Error for FetchError {}
