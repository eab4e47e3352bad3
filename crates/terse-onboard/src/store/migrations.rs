//! What makes the tables of a service, step by step, from the files in `migrations`.
//!
//! The macro of `sqlx` that does the same has all databases and their cryptography compiled a second time.
//!
//! What must always hold: the versions are those of the files' names; both kinds of database have the same ones; a file that
//! was released never changes, which a database with its tables notices by the hash.

use core::future::Future;
use core::pin::Pin;

use sqlx::error::BoxDynError;
use sqlx::migrate::{MigrateError, Migration, MigrationSource, MigrationType, Migrator};

/// The migrations of a service, for both kinds of database.
pub(crate) struct Migrations {
    pub(crate) sqlite: Files,
    pub(crate) postgres: Files,
}

/// Migrations in the order of their versions: the name of each file without `.sql`, and its content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files(pub(crate) &'static [(&'static str, &'static str)]);

/// The [`Files`] of a folder.
macro_rules! files {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        Files(&[$((
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/", $folder, "/", $name, ".sql")),
        )),+])
    };
}

/// The [`Migrations`] whose files have these names in both folders.
macro_rules! migrations {
    ($sqlite:literal, $postgres:literal: $($name:literal),+ $(,)?) => {
        Migrations { sqlite: files!($sqlite: $($name),+), postgres: files!($postgres: $($name),+) }
    };
}

impl Migrations {
    /// Those of a MASA.
    pub(crate) const MASA: Self = migrations!(
        "sqlite/masa", "postgres/masa":
        "0001_devices_and_vouchers",
        "0002_raw_public_keys",
        "0003_audit_chain",
        "0004_status_pages",
    );

    /// Those of a registrar.
    pub(crate) const REGISTRAR: Self = migrations!(
        "sqlite/registrar", "postgres/registrar":
        "0001_tables",
        "0002_joinings_by_request",
        "0003_est_server",
        "0004_fetched_vouchers",
        "0005_history",
        "0006_refusals",
        "0007_old_certificates",
        "0008_identity_keys",
        "0009_status_pages",
    );
}

impl Files {
    /// Returns what brings a database to the last version.
    pub(super) async fn migrator(self) -> Result<Migrator, MigrateError> {
        Migrator::new(self).await
    }
}

impl MigrationSource<'static> for Files {
    fn resolve(self) -> Pin<Box<dyn Future<Output = Result<Vec<Migration>, BoxDynError>> + Send>> {
        Box::pin(async move { self.0.iter().map(|(name, sql)| migration(name, sql)).collect() })
    }
}

/// `0002_second_step` is version 2, "second step".
fn migration(name: &'static str, sql: &'static str) -> Result<Migration, BoxDynError> {
    let (version, description) = name.split_once('_').ok_or("a migration has no version")?;
    let description = description.replace('_', " ");
    Ok(Migration::new(version.parse()?, description.into(), MigrationType::Simple, sql.into(), false))
}
