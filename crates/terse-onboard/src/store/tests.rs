use sqlx::Row as _;
use sqlx::migrate::{Migration, Migrator};
use tokio::task::JoinSet;

use super::migrations::Files;
use super::*;

mod network;
#[path = "../../tests/databases/postgres.rs"]
pub(crate) mod postgres;

/// A new database of each kind that is here.
pub(crate) fn new_databases(folder: &Path) -> Vec<Database> {
    let server = postgres::try_new().map(|url| url.try_into().unwrap());
    [Database::File(folder.join("a ?#%.db"))].into_iter().chain(server).collect()
}

/// What a file is named is what a database keeps of it: names and hashes.
#[tokio::test]
async fn all_files_are_migrations_and_both_kinds_have_the_same_versions() {
    for (service, Migrations { sqlite, postgres }) in [("masa", Migrations::MASA), ("registrar", Migrations::REGISTRAR)]
    {
        let mut versions = Vec::new();
        for (kind, files) in [("sqlite", sqlite), ("postgres", postgres)] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(kind).join(service);
            let there = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
            let mut there: Vec<_> = there.collect();
            there.sort();
            let listed: Vec<_> = files.0.iter().map(|(name, _)| format!("{name}.sql")).collect();
            assert_eq!(listed, there);
            let migrator = files.migrator().await.unwrap();
            let known = |one: &Migration| (one.version, one.description.clone().into_owned());
            versions.push(migrator.iter().map(known).collect::<Vec<_>>());
        }
        assert_eq!(versions[0], versions[1]);
        assert!(versions[0].iter().map(|(version, _)| *version).eq(1..=versions[0].len() as i64));
    }
}

/// Whatever the umask: a service that no unit of systemd starts has 022. A file that others could read is taken from them.
#[cfg(unix)]
#[tokio::test]
async fn nobody_else_can_read_the_files_of_a_database() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("service.db");
    let files = ["service.db", "service.db-wal", "service.db-shm"].map(|name| folder.path().join(name));
    let mode = |path: &PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for expected in [0o600, 0o640] {
        let pool = Database::File(path.clone()).open(&Migrations::REGISTRAR).await.unwrap();
        pool.begin().await.unwrap().commit().await.unwrap();
        assert_eq!(files.each_ref().map(mode), [expected; 3]);
        let earlier = std::fs::Permissions::from_mode(0o644);
        files.iter().for_each(|file| std::fs::set_permissions(file, earlier.clone()).unwrap());
        pool.close().await;
        std::fs::set_permissions(&path, earlier).unwrap();
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_to_no_file_makes_no_database_that_others_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let (link, target) = (folder.path().join("link.db"), folder.path().join("target.db"));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let error = Database::File(link).open(&Migrations::REGISTRAR).await.unwrap_err().to_string();
    assert!(error.contains("create the file with mode 0600"), "{error}");
    assert!(!target.exists());
}

/// Databases of an earlier build, whose migrations `sqlx::migrate!` had read, are taken.
#[tokio::test]
async fn migrations_are_what_sqlx_reads_of_the_folder() {
    for (kind, files) in [("sqlite", Migrations::REGISTRAR.sqlite), ("postgres", Migrations::REGISTRAR.postgres)] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(kind).join("registrar");
        let (read, ours) = (Migrator::new(folder).await.unwrap(), files.migrator().await.unwrap());
        let known = |one: &Migration| (one.version, one.description.clone(), one.checksum.clone());
        assert!(read.iter().map(known).eq(ours.iter().map(known)));
    }
}

#[tokio::test]
async fn connections_are_told_what_must_hold() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        let pool = database.open(&Migrations::REGISTRAR).await.unwrap();
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
            tasks.spawn(async move { database.open(&Migrations::REGISTRAR).await.map(drop) });
        }
        tasks.join_all().await.into_iter().collect::<Result<(), _>>().unwrap();
    }
}

#[tokio::test]
async fn a_snapshot_is_one_state_and_holds_up_nobody() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        let pool = database.open(&Migrations::REGISTRAR).await.unwrap();
        for statement in ["CREATE TABLE counter (n BIGINT NOT NULL)", "INSERT INTO counter VALUES (0)"] {
            sqlx::query(statement).execute(&pool).await.unwrap();
        }
        let mut snapshot = pool.snapshot().await.unwrap();
        for number in 1..4 {
            let row = sqlx::query("SELECT n FROM counter").fetch_one(&mut *snapshot).await.unwrap();
            assert_eq!(row.get::<i64, _>(0), 0);
            let mut transaction = pool.begin().await.unwrap();
            sqlx::query("UPDATE counter SET n = $1").bind(number).execute(&mut *transaction).await.unwrap();
            transaction.commit().await.unwrap();
        }
        drop(snapshot);
        let row = sqlx::query("SELECT n FROM counter").fetch_one(&pool).await.unwrap();
        assert_eq!(row.get::<i64, _>(0), 3);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_are_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        let pools = [
            database.open(&Migrations::REGISTRAR).await.unwrap(),
            database.open(&Migrations::REGISTRAR).await.unwrap(),
        ];
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
        let pool = database.open(&Migrations::REGISTRAR).await.unwrap();
        let error = database.open(&Migrations::MASA).await.unwrap_err().to_string();
        assert!(error.contains("give each one its own") || error.contains("newer version"), "{error}");
        let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                     SELECT 9999, 'later', success, checksum, 0 FROM _sqlx_migrations WHERE version = 1";
        sqlx::query(newer).execute(&pool).await.unwrap();
        let error = database.open(&Migrations::REGISTRAR).await.unwrap_err().to_string();
        assert!(error.contains("of a newer version (9999)"), "{error}");
    }
}

#[tokio::test]
async fn what_is_no_database_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.db");
    std::fs::write(&path, "this is a text, and it is long enough to be none of the headers that SQLite may write")
        .unwrap();
    let error = Database::File(path).open(&Migrations::REGISTRAR).await.unwrap_err().to_string();
    assert!(error.contains("not a database"), "{error}");
    let url = format!("postgres://plant:hunter2@{}/none", folder.path().display().to_string().replace('/', "%2F"));
    let error = Database::try_from(url).unwrap().open(&Migrations::REGISTRAR).await.unwrap_err().to_string();
    assert!(!error.contains("hunter2"), "{error}");
}

#[tokio::test]
async fn a_check_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        assert_eq!(database.check().await.unwrap(), None);
        assert!(matches!(database, Database::Server(_)) || database.is_missing());
        let pool = database.open(&NONE).await.unwrap();
        sqlx::query("SELECT request FROM requests").execute(&pool).await.unwrap_err();
    }
    let nobody = Database::try_from("postgres://plant:hunter2@127.0.0.1:1/registrar".to_owned()).unwrap();
    let error = nobody.check().await.unwrap_err().to_string();
    assert!(error.starts_with("postgres://127.0.0.1/registrar: ") && error.contains("check the server"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
}

const NONE: Migrations = Migrations { sqlite: Files(&[]), postgres: Files(&[]) };
