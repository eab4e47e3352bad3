//! A backup of a database of PostgreSQL, while the MASA serves, exactly as docs/operating.md says it; and what is there after it
//! was restored.

use std::path::Path;
use std::process::Command;

use terse_onboard::store::Database;

use super::scene::{Scene, soon};

/// A database by its URL: where the server is, and its name.
#[derive(Clone)]
struct Place {
    folder: String,
    port: String,
    name: String,
}

impl Place {
    fn of(url: &str) -> Self {
        let (folder, rest) = url.strip_prefix("postgres://postgres@").unwrap().split_once(':').unwrap();
        let (port, name) = rest.split_once('/').unwrap();
        Self { folder: folder.replace("%2F", "/"), port: port.into(), name: name.into() }
    }

    fn restored(&self) -> String {
        format!("{}_restored", self.name)
    }

    /// Runs the line of the page that begins with this program, with the names of this database, in a folder.
    fn run(&self, program: &str, folder: &Path) {
        let page = include_str!("../../../../docs/operating.md");
        let line = page.lines().find(|line| line.starts_with(program)).unwrap();
        let word = |word: &str| match word {
            "masa" => self.name.clone(),
            "masa_restored" => self.restored(),
            "--dbname=masa_restored" => format!("--dbname={}", self.restored()),
            "--owner=masa" => "--owner=postgres".into(),
            other => other.into(),
        };
        let mut command = Command::new(super::database::program(program));
        command.args(line.split(' ').skip(1).map(word)).current_dir(folder);
        command.envs([("PGHOST", &self.folder), ("PGPORT", &self.port)]).env("PGUSER", "postgres");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dump_while_it_serves_is_restored_with_the_same_vouchers() {
    let mut scene = Scene::new().await;
    let url = scene.database_url();
    let (place, folder) = (Place::of(&url), tempfile::tempdir().unwrap());
    let masa = scene.start().await;
    let request = scene.request("a nonce");
    let first = scene.ask(masa.address, &request).await;
    assert_eq!(first.status, 200);

    // Others ask while the backup is made.
    let under_way = scene.ask_often(masa.address);
    let (from, to) = (place.clone(), folder.path().to_owned());
    let backup = tokio::task::spawn_blocking(move || from.run("pg_dump", &to));
    soon(async { tokio::join!(under_way, backup) }).await.1.unwrap();
    let later = scene.request("after the backup");
    let lost = scene.ask(masa.address, &later).await;
    assert_eq!(lost.status, 200);
    masa.stop().await;

    place.run("createdb", folder.path());
    place.run("pg_restore", folder.path());
    let restored = url.replace(&place.name, &place.restored());
    scene.config.database = Database::try_from(restored).unwrap();
    let masa = scene.start().await;
    assert_eq!(scene.ask(masa.address, &request).await, first, "the same voucher");
    let log = scene.log().await;
    assert!((1..=21).contains(&log.len()), "{}", log.len());
    // What came after the backup is not known: the same bytes get another voucher.
    let again = scene.ask(masa.address, &later).await;
    assert_eq!(again.status, 200);
    assert_ne!(again.body, lost.body);
    masa.stop().await;
}
