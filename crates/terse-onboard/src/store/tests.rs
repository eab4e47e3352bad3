use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sqlx::Row as _;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use super::*;

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

fn server(url: &str) -> Result<Server, InvalidServer> {
    url.parse()
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

#[test]
fn a_configuration_names_a_file_or_a_server() {
    let config = Path::new("/etc/terse/registrar.toml");
    let database = |text: &str| Database::try_from(text.to_owned()).unwrap().beside(config).to_string();
    assert_eq!(database("registrar.db"), "/etc/terse/registrar.db");
    assert_eq!(database("/var/lib/registrar.db"), "/var/lib/registrar.db");
    assert_eq!(database("postgres://plant:secret@db.example/registrar"), "postgres://db.example/registrar");
    assert_eq!(database("postgresql://plant@%2Frun%2Fpg/registrar"), "postgres:///run/pg/registrar");
    assert_eq!(database("postgres:///registrar?host=/run/pg"), "postgres:///run/pg/registrar");
}

#[test]
fn what_is_wrong_with_a_url_is_said_without_a_word_of_it() {
    for (url, expected) in [
        ("postgres://", InvalidServer::Name),
        ("postgres://plant:hunter2@db.example", InvalidServer::Name),
        ("postgres://plant:12/hunter2@db.example/name", InvalidServer::Name),
        ("postgres://plant:hun/ter2@db.example/name", InvalidServer::Url),
        ("postgres://plant:1?hunter2@db.example/name", InvalidServer::Name),
        ("postgres://plant:1#hunter2@db.example/name", InvalidServer::Fragment),
        ("mysql://plant:hunter2@db.example/name", InvalidServer::Scheme),
        ("sqlite://hunter2.db", InvalidServer::Scheme),
        ("postgres://plant@db.example/name?password=hunter2", InvalidServer::Parameter),
        ("postgres://plant@db.example/name?pasword=hunter2", InvalidServer::Parameter),
        ("postgres://plant@db.example/name?sslmode=disable&sslmode=require", InvalidServer::Parameter),
        ("postgres://plant@db.example/name?sslmode=hunter2", InvalidServer::Value),
    ] {
        assert_eq!(server(url), Err(expected), "{url}");
        let text = format!("database = \"{url}\"");
        let error = crate::config::parse::<Settings>(Path::new("a.toml"), &text).unwrap_err().to_string();
        assert!(error.starts_with("a.toml: line 1: ") && !error.contains("hunter2"), "{error}");
    }
}

#[derive(Debug, Deserialize)]
struct Settings {
    database: Database,
}

#[test]
fn a_password_is_neither_displayed_nor_debugged() {
    let text = "database = \"postgres://plant:hunter2@db.example/name?application_name=hunter2\"";
    let settings: Settings = crate::config::parse(Path::new("a.toml"), text).unwrap();
    let shown = format!("{settings:?} {} {}", settings.database, settings.database.error("is wrong"));
    assert!(shown.contains("db.example/name: is wrong") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn a_server_elsewhere_is_verified_unless_the_configuration_says_otherwise() {
    for (url, mode, is_protected) in [
        ("postgres://plant@db.example/name", Some("verify-full"), true),
        ("postgres://plant@192.0.2.1/name?application_name=a", Some("verify-full"), true),
        ("postgres://plant@db.example/name?sslmode=verify-full", Some("verify-full"), true),
        ("postgres://plant@db.example/name?sslmode=verify-ca", Some("verify-ca"), false),
        ("postgres://plant@db.example/name?sslmode=disable", Some("disable"), false),
        ("postgres://plant@localhost/name", None, true),
        ("postgres://plant@[::1]/name", None, true),
        ("postgres://plant@%2Frun%2Fpg/name", None, true),
    ] {
        let server = server(url).unwrap();
        let url_with = server.options().unwrap().database_url;
        let modes: Vec<_> = url_with.query_pairs().filter(|(key, _)| key == "sslmode").map(|(_, mode)| mode).collect();
        assert_eq!(modes, Vec::from_iter(mode), "{url}");
        assert_eq!(server.is_protected(), is_protected, "{url}");
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
        for pool in pools.iter().cycle().take(32).cloned() {
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

/// Between a service and its server: it carries bytes as long as it may.
struct Between {
    folder: tempfile::TempDir,
    is_open: Arc<AtomicBool>,
}

impl Between {
    fn new(server: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let is_open = Arc::new(AtomicBool::new(true));
        let is_open_for_all = is_open.clone();
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                tokio::spawn(carry(client, UnixStream::connect(&server).await.unwrap(), is_open_for_all.clone()));
            }
        });
        Self { folder, is_open }
    }
}

async fn carry(mut client: UnixStream, mut server: UnixStream, is_open: Arc<AtomicBool>) {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let answers = tokio::io::copy(&mut from_server, &mut to_client);
    let questions = async {
        let mut bytes = [0; 4_096];
        loop {
            use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
            let count = from_client.read(&mut bytes).await.unwrap_or(0);
            if count == 0 {
                return;
            }
            // What came while it is closed never arrives, and nobody is told.
            if is_open.load(Ordering::SeqCst) {
                to_server.write_all(&bytes[..count]).await.unwrap();
            }
        }
    };
    tokio::select! {
        _ = answers => {}
        () = questions => {}
    }
}

#[tokio::test]
async fn a_connection_that_does_not_answer_is_given_up() {
    let Some(url) = postgres::try_new() else { return };
    let server = url.split_once('@').unwrap().1.split_once('/').unwrap().0.replace("%2F", "/");
    let between = Between::new(Path::new(&server).join(SOCKET));
    let folder = between.folder.path().display().to_string().replace('/', "%2F");
    let name = url.rsplit_once('/').unwrap().1;
    let database = Database::try_from(format!("postgres://postgres@{folder}/{name}")).unwrap();
    let pool = database.open(&migrations()).await.unwrap();
    let mut transaction = pool.begin().await.unwrap();
    let query = "SELECT COUNT(*) FROM requests";
    sqlx::query(query).fetch_one(&pool).await.unwrap();

    between.is_open.store(false, Ordering::SeqCst);
    tokio::time::pause(); // from here on nobody answers, and the time goes by at once
    let gave_up = |error: sqlx::Error| match error {
        sqlx::Error::Io(error) => error.kind() == std::io::ErrorKind::TimedOut,
        error => matches!(error, sqlx::Error::PoolTimedOut),
    };
    assert!(gave_up(sqlx::query(query).execute(&mut *transaction).await.unwrap_err()));
    assert!(gave_up(transaction.commit().await.unwrap_err()));
    assert!(gave_up(sqlx::query(query).execute(&pool).await.unwrap_err()));
    assert!(gave_up(pool.begin().await.map(drop).unwrap_err()));
    assert!(gave_up(database.open(&migrations()).await.map(drop).unwrap_err()));
    tokio::time::resume();

    between.is_open.store(true, Ordering::SeqCst);
    // The others were closed, or are closed now; the lock of the lost transaction ends with its connection.
    let count = loop {
        match sqlx::query(query).fetch_one(&pool).await {
            Ok(row) => break row.get::<i64, _>(0),
            Err(error) => assert!(gave_up(error)),
        }
    };
    assert_eq!(count, 0);
    pool.begin().await.unwrap().commit().await.unwrap();
}

/// The name of PostgreSQL's socket in its folder.
const SOCKET: &str = ".s.PGSQL.5432";
