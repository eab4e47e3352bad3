//! The database of a service: one SQLite file.
//!
//! What must always hold: a transaction that was committed is on the disk; two processes may use one file; the tables are
//! those of this version or newer ones are refused.

use core::time::Duration;
use std::path::Path;

use sqlx::Connection as _;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};

/// Opens the database at `path`, creates it if it is not there, and brings its tables to this version.
pub async fn open(path: &Path, migrations: &Migrator) -> Result<SqlitePool, sqlx::Error> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(10));
    let pool = SqlitePoolOptions::new()
        .max_connections(8)
        // A full disk ends a transaction, which the connection then takes for open: it would begin none any more.
        .after_release(|connection, _| Box::pin(async { Ok(!connection.is_in_transaction()) }))
        .connect_with(options)
        .await?;
    migrations.run(&pool).await?;
    Ok(pool)
}
