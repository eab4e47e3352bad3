//! A backup of a database that is a file, while the MASA serves, exactly as docs/operating.md says it; and what is there after
//! it was restored.

use std::fs;
use std::path::Path;

use terse_onboard::store::Database;

use super::scene::{Domain, Scene, soon};

/// The path of the backup on the page.
const BACKUP: &str = "/var/lib/terse-masa/backup.db";

fn page() -> &'static str {
    include_str!("../../../../docs/operating.md")
}

/// The statement on the page, for another file.
fn statement(backup: &Path) -> String {
    let command = page().lines().find(|line| line.contains("VACUUM INTO")).unwrap();
    let statement = command.split('"').nth(1).unwrap();
    assert!(statement.contains(BACKUP), "{statement}");
    statement.replace(BACKUP, backup.to_str().unwrap())
}

/// Does the steps of the page between stop and start in this folder.
fn restore(folder: &Path) {
    let (_, steps) = page().split_once("systemctl stop terse-masa\n").unwrap();
    let (steps, _) = steps.split_once("systemctl start terse-masa\n").unwrap();
    for step in steps.lines().filter(|step| !step.starts_with("cd ")) {
        let words: Vec<_> = step.split(' ').collect();
        match words[..] {
            ["rm", "-f", ref files @ ..] => {
                for file in files {
                    let _ = fs::remove_file(folder.join(file)); // as -f
                }
            }
            ["install", "-m", "600", "-o", "terse-masa", "-g", "terse-masa", from, to] => {
                fs::copy(folder.join(from), folder.join(to)).unwrap();
            }
            _ => panic!("the page has a step that this test does not do: {step}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_while_it_serves_is_restored_with_the_same_vouchers() {
    let scene = Scene::new().await;
    let Database::File(database) = scene.config.database.clone() else { panic!("it is a file") };
    let folder = database.parent().unwrap();
    let masa = scene.start().await;
    let request = scene.request("a nonce");
    let first = scene.ask(masa.address, &request).await;
    assert_eq!(first.status, 200);

    // Others ask while the backup is made.
    let under_way = scene.ask_often(masa.address);
    let backup = async {
        sqlx::any::install_default_drivers();
        let pool = sqlx::AnyPool::connect(&format!("sqlite:{}", database.display())).await.unwrap();
        sqlx::query(&statement(&folder.join("backup.db"))).execute(&pool).await.unwrap();
        pool.close().await;
    };
    soon(async { tokio::join!(under_way, backup) }).await;
    let later = scene.request("after the backup");
    let lost = scene.ask(masa.address, &later).await;
    assert_eq!(lost.status, 200);
    masa.stop().await;

    // What is left of the old database must not be mixed with the new one.
    fs::write(folder.join("masa.db-wal"), "of the old database").unwrap();
    restore(folder);
    let masa = scene.start().await;
    assert_eq!(scene.ask(masa.address, &request).await, first, "the same voucher");
    let log = scene.log().await;
    assert!((1..=21).contains(&log.len()), "{}", log.len());
    // What came after the backup is not known: the same bytes get another voucher.
    let again = scene.ask(masa.address, &later).await;
    assert_eq!(again.status, 200);
    assert_ne!(again.body, lost.body);
    let rival = Domain::new("Rival");
    let refused = scene.ask(masa.address, &scene.request_of(&rival, "a nonce")).await;
    assert_eq!(refused.status, 403, "the owner is known");
    masa.stop().await;
}
