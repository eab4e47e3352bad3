//! The connections to a database, and what each of them is told first.
//!
//! What must always hold: no statement waits longer for its answer than [`ANSWER_TIME`]; a connection that has not answered
//! is used no more; SQLite and PostgreSQL order the transactions of all processes in the same way: one after the other.

use core::fmt;
use core::ops::{Deref, DerefMut};
use core::pin::Pin;
use core::time::Duration;
use std::io;
use std::path::Path;

use futures_util::{Stream, TryFutureExt as _, TryStreamExt as _, stream};
use prometheus_client::metrics::counter::Counter;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions, AnyQueryResult, AnyRow, AnyStatement, AnyTypeInfo};
use sqlx::migrate::MigrateError;
use sqlx::{Any, AnyConnection, AnyPool, Connection as _, Describe, Either, Error, Execute, Executor};

use super::{Database, Migrations, Server, UNPROTECTED};

/// The connections to a database. A clone uses the same ones. Each statement is a transaction of its own.
#[derive(Clone)]
pub struct Pool {
    connections: AnyPool,
    kind: Kind,
    errors: Counter,
}

/// A transaction that writes, or one that reads alone. It is rolled back unless it is committed.
#[derive(Debug)]
pub struct Transaction(Connection);

/// The connection of a transaction.
#[derive(Debug)]
pub struct Connection {
    transaction: sqlx::Transaction<'static, Any>,
    errors: Counter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Postgres,
}

impl Pool {
    pub(super) async fn open(database: &Database, migrations: &Migrations) -> Result<Self, Error> {
        sqlx::any::install_default_drivers();
        let (kind, options) = match database {
            Database::File(path) => {
                keep_private(path)?;
                (Kind::Sqlite, sqlite_options(path)?)
            }
            Database::Server(server) => (Kind::Postgres, server.options()?),
        };
        if matches!(database, Database::Server(server) if !server.is_protected()) {
            tracing::warn!(%database, "{UNPROTECTED}");
        }
        // The first connection is no one of the pool, which would try again for a while and not say what is wrong.
        kind.migrate(&options, migrations).await?;
        let pool = AnyPoolOptions::new()
            .max_connections(MAX_CONNECTIONS)
            .acquire_timeout(WAITING_TIME)
            .after_connect(move |connection, _| Box::pin(async move { kind.set_up(connection).await }))
            .after_release(|connection, _| {
                Box::pin(async move {
                    // A statement may have been given up, and its answer may never come.
                    within(PING_TIME, connection.ping()).await?;
                    // A full disk ends a transaction, which the connection takes for open: it would begin none any more.
                    Ok(!connection.is_in_transaction())
                })
            });
        Ok(Self { connections: pool.connect_lazy_with(options), kind, errors: Counter::default() })
    }

    /// Returns the number of statements that the database did not carry out.
    pub(crate) const fn errors(&self) -> &Counter {
        &self.errors
    }

    /// Begins a transaction that writes: it waits for others at its beginning, and not in its middle, where it would fail.
    /// Reading alone waits for nobody.
    pub async fn begin(&self) -> Result<Transaction, Error> {
        let begun = counted(&self.errors, self.connections.begin_with(self.kind.begin())).await?;
        let mut transaction = Transaction(Connection { transaction: begun, errors: self.errors.clone() });
        if let Some(lock) = self.kind.lock() {
            transaction.execute(lock).await?;
        }
        Ok(transaction)
    }

    /// Begins a transaction that reads one state of the database, whatever others write meanwhile. It waits for nobody, and nobody
    /// waits for it.
    pub async fn snapshot(&self) -> Result<Transaction, Error> {
        let begun = counted(&self.errors, self.connections.begin_with(self.kind.snapshot())).await?;
        Ok(Transaction(Connection { transaction: begun, errors: self.errors.clone() }))
    }

    /// Closes all connections, once they are not used any more.
    pub async fn close(&self) {
        // What does not end by itself ends with the process.
        let _ = tokio::time::timeout(ANSWER_TIME, self.connections.close()).await;
    }
}

impl Transaction {
    /// Commits the transaction. If this fails, it may have been committed nonetheless.
    pub async fn commit(self) -> Result<(), Error> {
        let Connection { transaction, errors } = self.0;
        counted(&errors, transaction.commit()).await
    }
}

impl Kind {
    /// Brings the tables to this version, in one transaction: of two processes that start at once, one waits.
    async fn migrate(self, options: &AnyConnectOptions, migrations: &Migrations) -> Result<(), Error> {
        let mut connection = in_time(self.connect(options)).await?;
        let mut transaction = in_time(connection.begin_with(self.begin())).await?;
        if let Some(lock) = self.lock() {
            in_time(transaction.execute(lock)).await?;
        }
        // Large tables take their time.
        let migrations = match self {
            Self::Sqlite => migrations.sqlite,
            Self::Postgres => {
                in_time(transaction.execute("SET LOCAL statement_timeout = 0")).await?;
                migrations.postgres
            }
        };
        let done = async {
            let migrator = migrations.migrator().await?;
            migrator.run_direct(&mut *transaction).await.map_err(other_tables)
        };
        within(MIGRATION_TIME, done).await?;
        in_time(transaction.commit()).await?;
        in_time(connection.close()).await
    }

    async fn connect(self, options: &AnyConnectOptions) -> Result<AnyConnection, Error> {
        let mut connection = AnyConnection::connect_with(options).await?;
        self.set_up(&mut connection).await?;
        Ok(connection)
    }

    /// Tells a new connection what must hold.
    async fn set_up(self, connection: &mut AnyConnection) -> Result<(), Error> {
        let statements = match self {
            Self::Sqlite => SET_UP_SQLITE,
            Self::Postgres => SET_UP_POSTGRES,
        };
        connection.execute(statements).await.map(drop)
    }

    const fn begin(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN IMMEDIATE",
            Self::Postgres => "BEGIN",
        }
    }

    const fn snapshot(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN DEFERRED",
            Self::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        }
    }

    /// What a transaction waits for after its beginning: SQLite has waited with that.
    const fn lock(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some("SELECT pg_advisory_xact_lock(8995)"),
        }
    }
}

/// Connects to a server once.
pub(super) async fn reach(server: &Server) -> Result<(), Error> {
    sqlx::any::install_default_drivers();
    let options = server.options()?;
    let connection = in_time(Kind::Postgres.connect(&options)).await?;
    in_time(connection.close()).await
}

/// Returns the options for the file at `path`. In the URL all but letters and digits is escaped, so that nothing has a
/// meaning there.
fn sqlite_options(path: &Path) -> Result<AnyConnectOptions, Error> {
    let path = path.to_str().ok_or_else(|| Error::Configuration("the path is not UTF-8; choose another one".into()))?;
    let mut url = String::from("sqlite:");
    for byte in path.bytes() {
        match byte.is_ascii_alphanumeric() {
            true => url.push(byte.into()),
            false => url.push_str(&format!("%{byte:02x}")),
        }
    }
    url.push_str("?mode=rwc");
    url.parse()
}

/// Creates the file with mode 0600 if it is not there, and takes what others may do with one that is there: it has keys, and who has
/// which device. SQLite gives `-wal` and `-shm` the mode of the file when it creates them.
#[cfg(unix)]
fn keep_private(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};

    // A file that is there must not be opened: if it is closed again, SQLite's locks in this process are gone.
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.into()),
    }
    // SQLite follows links, and names the other two files after what it has found.
    let Ok(path) = path.canonicalize() else {
        return Err(Error::Configuration(
            "it is a link to a file that is not there; create the file with mode 0600".into(),
        ));
    };
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let Ok(metadata) = std::fs::metadata(&name) else { continue };
        let mode = metadata.permissions().mode();
        if mode & 0o007 != 0
            && let Err(error) = std::fs::set_permissions(&name, std::fs::Permissions::from_mode(mode & 0o770))
        {
            tracing::warn!(file = ?name, %error, "others can use the database, and this cannot be changed; run chmod o-rwx");
        }
    }
    Ok(())
}

#[cfg(not(unix))]
const fn keep_private(_: &Path) -> Result<(), Error> {
    Ok(())
}

/// Says what to do if the tables are of another version, or of another service.
fn other_tables(error: MigrateError) -> Error {
    let problem = match error {
        MigrateError::VersionMissing(version) => {
            format!("its tables are of a newer version ({version}); use the newest program of those that share it")
        }
        MigrateError::VersionMismatch(_) => "its tables are those of another service; give each one its own".into(),
        other => return other.into(),
    };
    Error::Configuration(problem.into())
}

/// Waits for an answer of the database.
async fn in_time<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    within(ANSWER_TIME, answer).await
}

/// The same, and counts what fails.
async fn counted<T>(errors: &Counter, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    in_time(answer).await.inspect_err(|error| {
        if !matches!(error, Error::RowNotFound) {
            errors.inc();
        }
    })
}

async fn within<T>(limit: Duration, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let late = || Error::Io(io::Error::new(io::ErrorKind::TimedOut, "the database has not answered in time"));
    tokio::time::timeout(limit, answer).await.unwrap_or_else(|_| Err(late()))
}

impl Deref for Transaction {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.0
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.0
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Runs statements on `$inner` of `$Self`, each in time, and counts in `$errors` what fails.
macro_rules! executor {
    ($Self:ty, $lifetime:lifetime, |$this:ident| $inner:expr, $errors:expr) => {
        impl<$lifetime> Executor<$lifetime> for $Self {
            type Database = Any;

            fn fetch_many<'e, 'q: 'e, E>(
                self,
                query: E,
            ) -> Pin<Box<dyn Stream<Item = Result<Either<AnyQueryResult, AnyRow>, Error>> + Send + 'e>>
            where
                $lifetime: 'e,
                E: 'q + Execute<'q, Any>,
            {
                let $this = self;
                let errors = $errors.clone();
                let all = async move {
                    counted(&errors, async move { $inner.fetch_many(query).try_collect::<Vec<_>>().await }).await
                };
                Box::pin(all.map_ok(|all| stream::iter(all.into_iter().map(Ok))).try_flatten_stream())
            }

            fn fetch_optional<'e, 'q: 'e, E>(
                self,
                query: E,
            ) -> Pin<Box<dyn Future<Output = Result<Option<AnyRow>, Error>> + Send + 'e>>
            where
                $lifetime: 'e,
                E: 'q + Execute<'q, Any>,
            {
                let $this = self;
                let errors = $errors.clone();
                Box::pin(async move { counted(&errors, async move { $inner.fetch_optional(query).await }).await })
            }

            fn prepare_with<'e, 'q: 'e>(
                self,
                sql: &'q str,
                parameters: &'e [AnyTypeInfo],
            ) -> Pin<Box<dyn Future<Output = Result<AnyStatement<'q>, Error>> + Send + 'e>>
            where
                $lifetime: 'e,
            {
                let $this = self;
                Box::pin(in_time(async move { $inner.prepare_with(sql, parameters).await }))
            }

            fn describe<'e, 'q: 'e>(
                self,
                sql: &'q str,
            ) -> Pin<Box<dyn Future<Output = Result<Describe<Any>, Error>> + Send + 'e>>
            where
                $lifetime: 'e,
            {
                let $this = self;
                Box::pin(in_time(async move { $inner.describe(sql).await }))
            }
        }
    };
}

executor!(&'c Pool, 'c, |pool| (&pool.connections), pool.errors);
executor!(&'c mut Connection, 'c, |connection| (&mut *connection.transaction), connection.errors);

/// The journal lets others read while one writes, and is on the disk when a transaction is committed.
const SET_UP_SQLITE: &str = "PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
                             PRAGMA foreign_keys = ON;";

/// Whatever the server's own configuration says. A transaction whose process or machine is gone holds up others no longer
/// than the last one says.
const SET_UP_POSTGRES: &str = "SET synchronous_commit = on; SET default_transaction_isolation = 'read committed'; \
                               SET lock_timeout = '10s'; SET statement_timeout = '20s'; \
                               SET idle_in_transaction_session_timeout = '30s';";

/// The most connections of one process.
const MAX_CONNECTIONS: u32 = 8;

/// How long a free connection is waited for.
const WAITING_TIME: Duration = Duration::from_secs(10);

/// How long the answer to a statement is waited for. The database itself gives up earlier, if it can.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// How long it may take to bring the tables to another version.
const MIGRATION_TIME: Duration = Duration::from_secs(3_600);

/// How long a connection that is free again has to show that it works.
const PING_TIME: Duration = Duration::from_secs(5);
