//! The session file survives restarts and damage, and is private. The cache file's tests cover what all saved files
//! share.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use terse_tls::cache::ServerId;
use terse_tls::summary::Transport;

use super::*;

fn scope(port: u16) -> Scope {
    let server = ServerId::new(&"broker.example".try_into().expect("a name"));
    Scope::new(server, port, Transport::Stream, None)
}

/// Returns an encoded session: TLS 1.2 with this ticket.
fn session(ticket: u8) -> Vec<u8> {
    let head = [&[2, 0xc0, 0x2b, 0x03, 0x03, 1, 0][..], &[48], &[0x5e; 48], &[0, 1, ticket]].concat();
    let times =
        [&1_772_323_200_u64.to_be_bytes()[..], &3600_u32.to_be_bytes(), &1_772_323_200_u64.to_be_bytes()].concat();
    let origin = [&[2; 8][..], &[0, 0, 2, 0x30, 0], &[0, 0], &[0; 9], &[0xff; 8], &[0, 2, 0, 0]].concat();
    [head, times, origin].concat()
}

fn put(file: &SessionFile, port: u16, ticket: u8) {
    file.put(&scope(port), StoredSession::from_bytes(&session(ticket)).expect("written by hand as it should be"));
}

/// Takes a session, and returns it encoded.
fn take(file: &SessionFile, port: u16) -> Option<Vec<u8>> {
    file.take(&scope(port)).map(|session| session.to_bytes().to_vec())
}

fn open(path: &Path) -> (SessionFile, Option<Damage>) {
    SessionFile::open(path, 8).expect("a usable path")
}

/// Returns a file with one session for each of two ports.
fn filled() -> (TempDir, PathBuf) {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("sessions");
    let (file, damage) = open(&path);
    assert_eq!(damage, None);
    assert!(!path.exists());
    put(&file, 443, 1);
    put(&file, 8883, 2);
    (directory, path)
}

#[test]
fn sessions_survive_a_restart() {
    let (_directory, path) = filled();
    let (file, damage) = open(&path);
    assert_eq!(damage, None);
    assert_eq!(take(&file, 8883), Some(session(2)));
    assert_eq!(take(&file, 443), Some(session(1)));
    assert_eq!(take(&file, 80), None);
    assert!(file.take_error().is_none());
}

#[test]
fn what_was_taken_is_gone_from_the_file_at_once() {
    let (_directory, path) = filled();
    let (file, _) = open(&path);
    assert!(take(&file, 443).is_some());
    let (again, _) = open(&path);
    assert_eq!(take(&again, 443), None);
    assert_eq!(take(&again, 8883), Some(session(2)));
}

#[test]
fn damage_is_reported_and_replaced() {
    let (_directory, path) = filled();
    let good = fs::read(&path).expect("readable");
    for (place, expected) in [
        (9, "its format is version 2, not 3"),
        (20, "its checksum does not match"),
        (good.len() - 1, "its checksum does not match"),
    ] {
        let mut damaged = good.clone();
        damaged[place] ^= 1;
        fs::write(&path, &damaged).expect("writable");
        let (file, damage) = open(&path);
        let report = damage.expect("reported").to_string();
        assert_eq!(report, format!("session file {}: {expected}; starting afresh", path.display()));
        assert_eq!(take(&file, 443), None);
    }
    fs::write(&path, FORMAT.wrap(&good)).expect("writable");
    let (file, damage) = open(&path);
    assert!(damage.expect("reported").to_string().contains("its content makes no sense"));
    put(&file, 443, 3);
    assert_eq!(take(&open(&path).0, 443), Some(session(3)));
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_or_write_it() {
    use std::os::unix::fs::PermissionsExt;
    let (_directory, path) = filled();
    let mode = || fs::metadata(&path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    for (wrong, expected) in [
        (0o640, "other users can read the secrets in it"),
        (0o604, "other users can read the secrets in it"),
        (0o622, "other users can write to it"),
    ] {
        let (_directory, path) = filled();
        fs::set_permissions(&path, fs::Permissions::from_mode(wrong)).expect("own file");
        let (file, damage) = open(&path);
        assert!(damage.expect("reported").to_string().contains(expected), "{wrong:o}");
        assert_eq!(take(&file, 443), None);
    }
}

#[test]
fn a_failed_save_is_remembered() {
    let (directory, path) = filled();
    let (file, _) = open(&path);
    fs::remove_dir_all(directory.path()).expect("own directory");
    assert_eq!(take(&file, 443), Some(session(1)));
    assert!(file.take_error().expect("a reason").to_string().contains("cannot be written: "));
}

#[test]
fn the_oldest_scope_goes_first() {
    let (_directory, path) = filled();
    let (file, _) = SessionFile::open(&path, 1).expect("usable");
    assert_eq!(take(&file, 443), None);
    assert_eq!(take(&file, 8883), Some(session(2)));
}

#[test]
fn debug_output_has_the_path_and_no_secret() {
    let (_directory, path) = filled();
    let text = format!("{:?}", open(&path).0);
    assert!(text.contains("sessions") && !text.contains("94, 94"), "{text}"); // 0x5e is 94
}
