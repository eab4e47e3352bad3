//! The ticket file keeps tickets until they are taken. The cache file's tests cover what all saved files share.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;

use super::*;

const ID: SecretTicketId = SecretTicketId([1; 16]);

/// A private key that is easily found in a file.
const SECRET: [u8; 32] = *b"the private half of an ephemeral";

/// A record with this last byte of its private key.
fn record(last: u8) -> SecretTicketRecord {
    let mut secret = SECRET;
    secret[31] = last;
    let client = b"\x02pump";
    let fields: [&[u8]; 9] =
        [&[1], &[7; 32], &[0, 0, 0, 0, 0, 0, 1, 0], &[client.len() as u8], client, &[0], &[32], &secret, &[0]];
    SecretTicketRecord::from_bytes(&fields.concat()).expect("well-formed")
}

fn opened(path: &Path) -> SecretTicketFile {
    let (file, damage) = SecretTicketFile::open(path, 4).expect("a usable path");
    assert_eq!(damage, None);
    file
}

fn has_secret(path: &Path) -> bool {
    fs::read(path).expect("readable").windows(31).any(|window| window == &SECRET[..31])
}

#[test]
fn tickets_survive_a_restart_until_they_are_taken() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("tickets");
    let file = opened(&path);
    for number in 1..4 {
        file.put(SecretTicketId([number; 16]), record(number), 0).expect("saved");
    }
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    let again = opened(&path);
    assert_eq!(again.len(), 3);
    let kept = again.find(&ID).expect("it is kept");
    assert_eq!(*kept.to_bytes(), *record(1).to_bytes());
    assert!(again.take(&ID) && !again.take(&ID));
    let last = opened(&path);
    assert!(last.find(&ID).is_none() && !last.take(&ID));
    assert_eq!(last.len(), 2);
}

/// Whoever reads the file later finds nothing of a ticket that was taken.
#[test]
fn a_taken_ticket_is_not_in_the_file() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("tickets");
    let file = opened(&path);
    file.put(ID, record(1), 0).expect("saved");
    assert!(has_secret(&path));
    assert!(file.take(&ID));
    assert!(!has_secret(&path));
}

/// A ticket whose end cannot be saved could come back after a restart: it is not taken.
#[test]
fn without_a_file_nothing_is_taken() {
    let directory = TempDir::new().expect("a directory");
    let inner = directory.path().join("inner");
    fs::create_dir(&inner).expect("a directory");
    let file = opened(&inner.join("tickets"));
    file.put(ID, record(1), 0).expect("saved");
    fs::remove_dir_all(&inner).expect("removed");
    assert!(!file.take(&ID));
    assert!(file.take_error().is_some());
}

/// A file that others could have read gives away the early data to come.
#[test]
fn a_file_that_others_can_read_is_not_used() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("tickets");
    opened(&path).put(ID, record(1), 0).expect("saved");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("its owner may");
    let (file, damage) = SecretTicketFile::open(&path, 4).expect("a usable path");
    assert!(damage.expect("damage").to_string().contains("other users can read the secrets in it"));
    assert!(file.is_empty());
}

#[test]
fn no_secret_is_printed() {
    let directory = TempDir::new().expect("a directory");
    let file = opened(&directory.path().join("tickets"));
    file.put(ID, record(1), 0).expect("saved");
    let printed = format!("{file:?} {:?} {ID:?}", file.find(&ID));
    assert!(!printed.contains("116, 104") && !printed.contains("the private"), "{printed}");
}
