//! A hand in the database of a MASA: SQL that nothing keeps from being wrong.

use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Connection as _, Row as _};
use terse_onboard::masa::{Finding, LogHead, MasaError, VerifyOptions, verify_log};

use super::scene::Scene;

/// A connection that checks no foreign keys.
pub(crate) struct Hand {
    connection: AnyConnection,
    is_postgres: bool,
}

impl Hand {
    pub(crate) async fn new(scene: &Scene) -> Self {
        let text = std::fs::read_to_string(scene.directory.path().join("masa/masa.toml")).unwrap();
        let line = text.lines().find(|line| line.starts_with("database")).unwrap();
        let database = line.split('"').nth(1).unwrap();
        let is_postgres = database.contains("://");
        let url = match is_postgres {
            true => database.to_owned(),
            false => format!("sqlite:{}", scene.directory.path().join("masa").join(database).display()),
        };
        sqlx::any::install_default_drivers();
        let mut hand = Self { connection: AnyConnection::connect(&url).await.unwrap(), is_postgres };
        let free = if is_postgres { "SET session_replication_role = replica" } else { "PRAGMA foreign_keys = OFF" };
        hand.run(free).await;
        hand
    }

    /// Runs statements that are separated by semicolons.
    pub(crate) async fn run(&mut self, statements: &str) {
        let done = sqlx::raw_sql(statements).execute(&mut self.connection).await;
        done.unwrap_or_else(|error| panic!("{statements}: {error}"));
    }

    pub(crate) async fn try_run(&mut self, statement: &str) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(statement).execute(&mut self.connection).await.map(drop)
    }

    pub(crate) async fn rows(&mut self, query: &str) -> Vec<AnyRow> {
        sqlx::query(query).fetch_all(&mut self.connection).await.unwrap()
    }

    /// Lets entries be inserted that have no link.
    pub(crate) async fn allow_entries_without_links(&mut self) {
        self.run(match self.is_postgres {
            true => "ALTER TABLE audit_log DROP CONSTRAINT audit_log_is_linked",
            false => "DROP TRIGGER audit_log_is_linked",
        })
        .await;
    }

    /// Makes the database one of the version before the chain.
    pub(crate) async fn forget_the_chain(&mut self) {
        self.allow_entries_without_links().await;
        self.run("DROP TABLE audit_head; DROP INDEX audit_log_by_position").await;
        for column in ["position", "hash", "request", "voucher_sha256", "expires_on"] {
            self.run(&format!("ALTER TABLE audit_log DROP COLUMN {column}")).await;
        }
        self.run("DELETE FROM _sqlx_migrations WHERE version = 3").await;
    }

    /// Keeps a copy of all tables.
    pub(crate) async fn keep(&mut self) {
        for table in TABLES {
            self.run(&format!("CREATE TABLE kept_{table} AS SELECT * FROM {table}")).await;
        }
    }

    /// Makes the tables what they were when they were kept.
    pub(crate) async fn restore(&mut self) {
        for table in TABLES {
            self.run(&format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM kept_{table}")).await;
        }
    }

    /// Gives an entry the link that its fields make after another one.
    pub(crate) async fn link(&mut self, position: i64, after: i64) -> String {
        let before = self.rows(&format!("SELECT hash FROM audit_log WHERE position = {after}")).await;
        let before = before[0].get::<Vec<u8>, _>(0).try_into().unwrap();
        let rows = self.rows(&format!("SELECT * FROM audit_log WHERE position = {position}")).await;
        let hash = self.bytes(&digits(&link(&before, &rows[0])));
        self.run(&format!("UPDATE audit_log SET hash = {hash} WHERE position = {position}")).await;
        hash
    }

    /// Links all entries from a position on anew, as somebody does who knows how, and the head as well.
    pub(crate) async fn link_again(&mut self, positions: core::ops::RangeInclusive<i64>) {
        for position in positions {
            let hash = self.link(position, position - 1).await;
            self.run(&format!("UPDATE audit_head SET hash = {hash}")).await;
        }
    }

    /// Returns the literal of bytes.
    pub(crate) fn bytes(&self, digits: &str) -> String {
        if self.is_postgres { format!("'\\x{digits}'") } else { format!("x'{digits}'") }
    }
}

const TABLES: [&str; 4] = ["audit_head", "issued_vouchers", "audit_log", "devices"];

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The link of a row, made once more by the documentation alone.
fn link(previous: &[u8; 32], row: &AnyRow) -> [u8; 32] {
    let number = |column: &str| row.get::<i64, _>(column).to_be_bytes().to_vec();
    let with_length = |bytes: Vec<u8>| [(bytes.len() as u64).to_be_bytes().to_vec(), bytes].concat();
    let bytes = |column: &str| with_length(row.get(column));
    let text = |column: &str| with_length(row.get::<String, _>(column).into_bytes());
    let optional = |column: &str| match row.get::<Option<Vec<u8>>, _>(column) {
        Some(value) => [vec![1], with_length(value)].concat(),
        None => vec![0],
    };
    let expires_on = match row.get::<Option<i64>, _>("expires_on") {
        Some(value) => [vec![1], value.to_be_bytes().to_vec()].concat(),
        None => vec![0],
    };
    let message = [
        b"terse masa audit log 1\0".to_vec(),
        previous.to_vec(),
        text("serial_number"),
        bytes("idevid_issuer"),
        number("number"),
        number("date"),
        bytes("domain_id"),
        bytes("domain_key"),
        optional("nonce"),
        text("assertion"),
        optional("request"),
        optional("voucher_sha256"),
        expires_on,
    ];
    terse_brski::digest::sha256(&terse_aws_lc::PROVIDER, &message.concat())
}

/// Verifies the audit log of a scene.
pub(crate) async fn verified(scene: &Scene) -> Result<LogHead, Box<Finding>> {
    verified_with(scene, &VerifyOptions::default()).await
}

pub(crate) async fn verified_with(scene: &Scene, options: &VerifyOptions<'_>) -> Result<LogHead, Box<Finding>> {
    match verify_log(&scene.config, options, &mut |_, _| ()).await {
        Ok(head) => Ok(head),
        Err(MasaError::Log(finding)) => Err(finding),
        Err(error) => panic!("{error}"),
    }
}
