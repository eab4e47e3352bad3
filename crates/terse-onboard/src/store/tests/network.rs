//! Servers that do not answer, or are not who they should be.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sqlx::Row as _;
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Usage, Validity};
use tokio::net::{UnixListener, UnixStream};

use super::{Database, Migrations, postgres};
use crate::deadline::Deadline;

/// Between a service and its server: it carries bytes as long as it may.
struct Between {
    folder: tempfile::TempDir,
    is_open: Arc<AtomicBool>,
}

impl Between {
    fn new(server: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(server.file_name().unwrap())).unwrap();
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
    let (server, port, name) = {
        let (server, rest) = url.strip_prefix("postgres://postgres@").unwrap().split_once(':').unwrap();
        let (port, name) = rest.split_once('/').unwrap();
        (server.replace("%2F", "/"), port, name)
    };
    let between = Between::new(Path::new(&server).join(format!(".s.PGSQL.{port}")));
    let folder = between.folder.path().display().to_string().replace('/', "%2F");
    let database = Database::try_from(format!("postgres://postgres@{folder}:{port}/{name}")).unwrap();
    let pool = database.open(&Migrations::REGISTRAR).await.unwrap();
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
    assert!(gave_up(database.open(&Migrations::REGISTRAR).await.map(drop).unwrap_err()));
    tokio::time::resume();

    between.is_open.store(true, Ordering::SeqCst);
    // The others were closed, or are closed now; the lock of the lost transaction ends with its connection.
    let deadline = Deadline::new();
    let count = loop {
        match sqlx::query(query).fetch_one(&pool).await {
            Ok(row) => break row.get::<i64, _>(0),
            Err(error) => {
                deadline.check(&error);
                assert!(gave_up(error));
            }
        }
    };
    assert_eq!(count, 0);
    pool.begin().await.unwrap().commit().await.unwrap();
}

#[tokio::test]
async fn a_server_is_verified_by_its_certificate_and_its_name() {
    let Some(url) = postgres::try_new() else { return };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let validity = Validity::days(now - 3_600, 2);
    let authority = Authority::new(&AuthorityOptions::new("p256x2".parse().unwrap(), validity)).unwrap();
    let options = LeafOptions { usage: Usage::Server, ..LeafOptions::new("localhost", validity) };
    let leaf = authority.issue(&LeafOptions { names: vec!["localhost".into()], ..options }).unwrap();
    let port = postgres::use_tls(&leaf.chain_pem(), &leaf.key_pem()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("ca.pem");
    std::fs::write(&root, authority.root_pem()).unwrap();
    let name = url.rsplit_once('/').unwrap().1;
    let database = |host: &str, rest: &str| {
        let url = format!("postgres://postgres@{host}:{port}/{name}?sslmode=verify-full{rest}");
        Database::try_from(url).unwrap()
    };
    let own_root = format!("&sslrootcert={}", root.display());
    // The server takes a moment to read its configuration again.
    let deadline = Deadline::new();
    while let Err(error) = database("localhost", &own_root).check().await {
        assert!(error.to_string().contains("does not support TLS"), "{error}");
        deadline.wait(error).await;
    }
    let pool = database("localhost", &own_root).open(&Migrations::REGISTRAR).await.unwrap();
    let query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    assert!(sqlx::query(query).fetch_one(&pool).await.unwrap().get::<bool, _>(0));
    for (host, rest, part) in [("127.0.0.1", &*own_root, "NotValidForName"), ("localhost", "", "UnknownIssuer")] {
        let error = database(host, rest).check().await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("postgres://{host}/{name}: ")), "{error}");
        assert!(error.contains(part) || error.contains("not valid for name"), "{error}");
    }
}
