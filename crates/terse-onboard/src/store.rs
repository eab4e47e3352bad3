//! The database of a service: one SQLite file, or a database of a PostgreSQL server.
//!
//! What must always hold: a transaction that was committed is on the disk; a transaction waits for others at its beginning,
//! also for those of other processes and machines; the tables are those of this version or newer ones are refused; a
//! database that does not answer is given up after a bounded time; a password is neither displayed nor logged.

use core::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::config::{ConfigError, beside};

mod migrations;
mod pool;
mod server;

pub(crate) use migrations::Migrations;
pub use pool::{Connection, Pool, Transaction};
pub use server::{InvalidServer, Server};

/// Where a service has its tables, as its configuration says it: `database = "service.db"` is a file of SQLite, and
/// `database = "postgres://user@host/name"` a database of a PostgreSQL server. It displays without user and password.
///
/// ```
/// use terse_onboard::store::Database;
///
/// let database: Database = "postgres://masa:secret@db.maker.example/masa".to_owned().try_into()?;
/// assert_eq!(database.to_string(), "postgres://db.maker.example/masa");
/// # Ok::<_, terse_onboard::store::InvalidServer>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Database {
    /// A file of SQLite.
    File(PathBuf),
    /// A database of a PostgreSQL server.
    Server(Server),
}

impl Database {
    /// Opens the database, creates the file if it is not there, and brings the tables to this version.
    pub(crate) async fn open(&self, migrations: &Migrations) -> Result<Pool, sqlx::Error> {
        Pool::open(self, migrations).await
    }

    /// Connects to the server, if it is one, and changes nothing. Returns what works, and should be different.
    pub(crate) async fn check(&self) -> Result<Option<String>, ConfigError> {
        let Self::Server(server) = self else { return Ok(None) };
        pool::reach(server).await.map_err(|error| self.error(format_args!("{error}; check the server and the URL")))?;
        Ok((!server.is_protected()).then(|| format!("{self}: {UNPROTECTED}")))
    }

    /// Returns the database as the configuration at `config` means it: a file is relative to its folder.
    #[must_use]
    pub fn beside(&self, config: &Path) -> Self {
        match self {
            Self::File(path) => Self::File(beside(config, path)),
            Self::Server(_) => self.clone(),
        }
    }

    /// Whether it is a file that is not there. What a server has shows when it is asked.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::File(path) if !path.exists())
    }

    /// Creates the error about this database.
    pub fn error(&self, problem: impl fmt::Display) -> ConfigError {
        ConfigError::new(Path::new(&self.to_string()), problem)
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Server(server) => server.fmt(f),
        }
    }
}

impl From<PathBuf> for Database {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl TryFrom<String> for Database {
    type Error = InvalidServer;

    fn try_from(text: String) -> Result<Self, InvalidServer> {
        match text.contains("://") {
            true => text.parse().map(Self::Server),
            false => Ok(Self::File(text.into())),
        }
    }
}

/// What is wrong with some connections to a server.
const UNPROTECTED: &str = "who is on the way can read and change what is sent; write sslmode=verify-full";

#[cfg(test)]
pub(crate) mod tests;
