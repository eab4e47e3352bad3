//! The address of a database of a PostgreSQL server.
//!
//! What must always hold: what displays has neither user nor password; whoever is on the way to a server on another machine
//! can neither read nor change anything, unless the configuration says otherwise.

use core::fmt;
#[cfg(feature = "postgres")]
use core::net::IpAddr;
use core::str::FromStr;

use sqlx::any::AnyConnectOptions;
#[cfg(feature = "postgres")]
use sqlx::postgres::{PgConnectOptions, PgSslMode};

/// A database of a PostgreSQL server: `postgres://USER@HOST/NAME`, or `postgres://USER@%2Frun%2Fpostgresql/NAME` over a Unix
/// socket. It displays without user and password.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    url: String,
    displayed: String,
    is_protected: bool,
}

/// What is wrong with the URL of a database. It displays as one line, and repeats nothing of the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidServer {
    /// It is no URL.
    Url,
    /// It has another scheme than `postgres`.
    Scheme,
    /// The database has no name, or one that looks like a part of a password.
    Name,
    /// There is a fragment.
    Fragment,
    /// A parameter is not one that is known, or is there twice.
    Parameter,
    /// A parameter has a value that it cannot have.
    Value,
    /// This program was built without the feature `postgres`.
    Absent,
}

impl Server {
    /// Returns the options with which the database is connected to.
    pub(super) fn options(&self) -> Result<AnyConnectOptions, sqlx::Error> {
        self.url.parse()
    }

    /// Whether nobody on the way can read or change what goes to the server: it is on this machine, or its certificate and
    /// its name are verified.
    pub const fn is_protected(&self) -> bool {
        self.is_protected
    }
}

impl FromStr for Server {
    type Err = InvalidServer;

    fn from_str(text: &str) -> Result<Self, InvalidServer> {
        let options = text.parse::<AnyConnectOptions>().map_err(|_| InvalidServer::Url)?;
        let url = &options.database_url;
        if !matches!(url.scheme(), "postgres" | "postgresql") {
            return Err(InvalidServer::Scheme);
        }
        if url.fragment().is_some() {
            return Err(InvalidServer::Fragment);
        }
        let name = url.path().trim_start_matches('/');
        if name.is_empty() || name.contains(['/', '@', ':']) {
            return Err(InvalidServer::Name);
        }
        let mut given = Vec::new();
        for (key, _) in url.query_pairs() {
            if !PARAMETERS.contains(&&*key) || given.contains(&key) {
                return Err(InvalidServer::Parameter);
            }
            given.push(key);
        }
        let says_how = given.iter().any(|key| key == "sslmode");
        Self::with_options(options, says_how)
    }
}

impl Server {
    #[cfg(feature = "postgres")]
    fn with_options(options: AnyConnectOptions, says_how: bool) -> Result<Self, InvalidServer> {
        let mut url = options.database_url;
        // With the files and variables that PostgreSQL's own programs look at.
        let options: PgConnectOptions = url.as_str().parse().map_err(|_| InvalidServer::Value)?;
        let is_local = options.get_socket().is_some() || is_of_this_machine(options.get_host());
        if !is_local && !says_how {
            url.query_pairs_mut().append_pair("sslmode", "verify-full");
        }
        let host = options.get_socket().map_or(options.get_host().into(), |path| path.display().to_string());
        let displayed = format!("postgres://{host}/{}", options.get_database().unwrap_or_default());
        let is_verified = !says_how || matches!(options.get_ssl_mode(), PgSslMode::VerifyFull);
        Ok(Self { url: url.into(), displayed, is_protected: is_local || is_verified })
    }

    #[cfg(not(feature = "postgres"))]
    fn with_options(_: AnyConnectOptions, _: bool) -> Result<Self, InvalidServer> {
        Err(InvalidServer::Absent)
    }
}

#[cfg(feature = "postgres")]
fn is_of_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || host.starts_with('/') || address.is_ok_and(|address| address.is_loopback())
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.displayed)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.displayed).finish()
    }
}

impl fmt::Display for InvalidServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url => f.write_str(
                "the database has \"://\" and is no URL; write postgres://USER@HOST/NAME, and marks in a password as % and \
                 two hexadecimal digits",
            ),
            Self::Scheme => f.write_str("a database is postgres://USER@HOST/NAME, or the path of a file of SQLite"),
            Self::Name => f.write_str(
                "the URL of the database must end with the name of one; write postgres://USER@HOST/NAME, and marks in a \
                 password as % and two hexadecimal digits",
            ),
            Self::Fragment => f.write_str("the URL of the database has a #; write %23 for one in a password"),
            Self::Parameter => {
                write!(f, "the URL of the database has a parameter twice, or another one than {}", PARAMETERS.join(", "))
            }
            Self::Value => f.write_str(
                "a parameter in the URL of the database has a value that it cannot have; sslmode is disable, prefer, \
                 require, verify-ca or verify-full",
            ),
            Self::Absent => f.write_str(
                "this program was built without PostgreSQL; build it with the feature `postgres`, which is on by default, \
                 or write the path of a file of SQLite",
            ),
        }
    }
}

impl core::error::Error for InvalidServer {}

/// The parameters that a URL may have. Those with user and password are not among them: they are in one place.
const PARAMETERS: [&str; 8] =
    ["host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "application_name", "options"];

#[cfg(test)]
mod tests;
