use sqlx::Row as _;
use tokio::task::JoinSet;

use super::*;

mod network;
#[path = "../../tests/databases/postgres.rs"]
pub(crate) mod postgres;

/// A new database of each kind that is here.
pub(crate) fn new_databases(folder: &Path) -> Vec<Database> {
    let server = postgres::try_new().map(|url| url.try_into().unwrap());
    [Database::File(folder.join("a ?#%.db"))].into_iter().chain(server).collect()
}

fn migrations() -> Migrations {
    let [sqlite, postgres] =
        [sqlx::migrate!("migrations/sqlite/registrar"), sqlx::migrate!("migrations/postgres/registrar")];
    Migrations { sqlite, postgres }
}

#[test]
fn both_kinds_have_the_same_versions() {
    let others = Migrations {
        sqlite: sqlx::migrate!("migrations/sqlite/masa"),
        postgres: sqlx::migrate!("migrations/postgres/masa"),
    };
    for Migrations { sqlite, postgres } in [migrations(), others] {
        let names = |migrator: &Migrator| -> Vec<_> {
            migrator.iter().map(|one| (one.version, one.description.clone().into_owned())).collect()
        };
        assert_eq!(names(&sqlite), names(&postgres));
        assert!(!names(&sqlite).is_empty());
    }
}

#[tokio::test]
async fn connections_are_told_what_must_hold() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        let pool = database.open(&migrations()).await.unwrap();
        let expected = match &database {
            Database::File(_) => {
                [("PRAGMA journal_mode", "wal"), ("PRAGMA foreign_keys", "1"), ("PRAGMA synchronous", "2")]
            }
            // The server's own configuration says the opposite of the last two.
            Database::Server(_) => [
                ("SHOW lock_timeout", "10s"),
                ("SHOW synchronous_commit", "on"),
                ("SHOW default_transaction_isolation", "read committed"),
            ],
        };
        for (query, value) in expected {
            let row = sqlx::query(query).fetch_one(&pool).await.unwrap();
            let found = row.try_get(0).or_else(|_| row.try_get::<i64, _>(0).map(|number| number.to_string()));
            assert_eq!(found.unwrap(), value, "{query}");
        }
        pool.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_processes_that_start_at_once_one_makes_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        let mut tasks = JoinSet::new();
        for _ in 0..4 {
            let database = database.clone();
            tasks.spawn(async move { database.open(&migrations()).await.map(drop) });
        }
        tasks.join_all().await.into_iter().collect::<Result<(), _>>().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_are_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        let pools = [database.open(&migrations()).await.unwrap(), database.open(&migrations()).await.unwrap()];
        for statement in ["CREATE TABLE counter (n BIGINT NOT NULL)", "INSERT INTO counter VALUES (0)"] {
            sqlx::query(statement).execute(&pools[0]).await.unwrap();
        }
        let mut tasks = JoinSet::new();
        for number in 0..32 {
            let pool = pools[number % 2].clone();
            tasks.spawn(async move {
                let mut transaction = pool.begin().await.unwrap();
                let row = sqlx::query("SELECT n FROM counter").fetch_one(&mut *transaction).await.unwrap();
                let next = row.get::<i64, _>(0) + 1;
                sqlx::query("UPDATE counter SET n = $1").bind(next).execute(&mut *transaction).await.unwrap();
                transaction.commit().await.unwrap();
            });
        }
        tasks.join_all().await;
        // One that is dropped has done nothing.
        let mut transaction = pools[0].begin().await.unwrap();
        sqlx::query("UPDATE counter SET n = 0").execute(&mut *transaction).await.unwrap();
        drop(transaction);
        let row = sqlx::query("SELECT n FROM counter").fetch_one(&pools[1]).await.unwrap();
        assert_eq!(row.get::<i64, _>(0), 32);
    }
}

#[tokio::test]
async fn tables_of_another_service_or_a_newer_version_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        let pool = database.open(&migrations()).await.unwrap();
        let masa = Migrations {
            sqlite: sqlx::migrate!("migrations/sqlite/masa"),
            postgres: sqlx::migrate!("migrations/postgres/masa"),
        };
        let error = database.open(&masa).await.unwrap_err().to_string();
        assert!(error.contains("give each one its own") || error.contains("newer version"), "{error}");
        let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                     SELECT 9999, 'later', success, checksum, 0 FROM _sqlx_migrations WHERE version = 1";
        sqlx::query(newer).execute(&pool).await.unwrap();
        let error = database.open(&migrations()).await.unwrap_err().to_string();
        assert!(error.contains("of a newer version (9999)"), "{error}");
    }
}

#[tokio::test]
async fn what_is_no_database_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.db");
    std::fs::write(&path, "this is a text, and it is long enough to be none of the headers that SQLite may write")
        .unwrap();
    let error = Database::File(path).open(&migrations()).await.unwrap_err().to_string();
    assert!(error.contains("not a database"), "{error}");
    let url = format!("postgres://plant:hunter2@{}/none", folder.path().display().to_string().replace('/', "%2F"));
    let error = Database::try_from(url).unwrap().open(&migrations()).await.unwrap_err().to_string();
    assert!(!error.contains("hunter2"), "{error}");
}

#[tokio::test]
async fn a_check_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        assert_eq!(database.check().await.unwrap(), None);
        assert!(matches!(database, Database::Server(_)) || database.is_missing());
        let pool = database.open(&Migrations { sqlite: none(), postgres: none() }).await.unwrap();
        sqlx::query("SELECT request FROM requests").execute(&pool).await.unwrap_err();
    }
    let nobody = Database::try_from("postgres://plant:hunter2@127.0.0.1:1/registrar".to_owned()).unwrap();
    let error = nobody.check().await.unwrap_err().to_string();
    assert!(error.starts_with("postgres://127.0.0.1/registrar: ") && error.contains("check the server"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
}

fn none() -> Migrator {
    Migrator::DEFAULT
}
