//! The fuzz target `cache_file` takes any bytes for what a program finds in its files and stores after a restart. What
//! loads can be written, and then loads as the same bytes again.
//!
//! The first byte chooses what the rest is: contents, a file with or without a header and checksum that fit, or a
//! change in its journal.

use std::cell::OnceCell;
use std::fs;

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use terse_net::{CacheFile, SessionFile};
use terse_tls::LearnedIssuers;
use terse_tls::cache::{MemoryClientStore, MemoryServerStore, snapshot};
use terse_tls::resume::{MemoryClientSessions, SessionRecord, StoredSession};

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((what, bytes)) = data.split_first() else { return };
    match what % 8 {
        0 | 1 => {
            // The capacity may be less than the number of entries.
            let capacity = if what & 0x10 == 0 { 8 } else { 1 };
            let Ok((client, server, issuers)) = snapshot::decode(bytes, capacity) else { return };
            let written = snapshot::encode(&client, &server, &issuers).expect("less than 4 GiB");
            let (client, server, issuers) = snapshot::decode(&written, capacity).expect("what was written loads");
            assert_eq!(snapshot::encode(&client, &server, &issuers).as_deref(), Ok(&written[..]));
        }
        2 => {
            let Ok(sessions) = MemoryClientSessions::from_bytes(bytes, 8) else { return };
            let written = sessions.to_bytes();
            let again = MemoryClientSessions::from_bytes(&written, 8).expect("what was written loads");
            assert_eq!(again.to_bytes(), written);
        }
        3 => {
            let Ok(session) = StoredSession::from_bytes(bytes) else { return };
            assert!(!format!("{session:?}").is_empty());
            let again = StoredSession::from_bytes(&session.to_bytes()).expect("what was written loads");
            assert_eq!(again.to_bytes(), session.to_bytes());
        }
        4 => {
            let Ok(record) = SessionRecord::from_bytes(bytes) else { return };
            let again = SessionRecord::from_bytes(&record.to_bytes()).expect("what was written loads");
            assert_eq!(again.to_bytes(), record.to_bytes());
        }
        5 => open(bytes),
        6 if what & 0x10 == 0 => open(&framed(b"terse$c\n", snapshot::VERSION, bytes)),
        6 => {
            let (client, server) = (MemoryClientStore::new(0), MemoryServerStore::new(0));
            let empty = snapshot::encode(&client, &server, &LearnedIssuers::new()).expect("less than 4 GiB");
            open(&with_entry(framed(b"terse$c\n", snapshot::VERSION, &empty), bytes));
        }
        _ => open(&framed(b"terse$s\n", 3, bytes)),
    }
}

/// Returns a file with a header and a checksum that fit.
fn framed(magic: &[u8; 8], version: u16, body: &[u8]) -> Vec<u8> {
    let (version, len) = (version.to_be_bytes(), (body.len() as u32).to_be_bytes());
    let sum = Sha256::new().chain_update(magic).chain_update(version).chain_update(len).chain_update(body).finalize();
    [&magic[..], &version, &len, &sum, body].concat()
}

/// Returns this file with one change in its journal.
fn with_entry(file: Vec<u8>, entry: &[u8]) -> Vec<u8> {
    let place = (file.len() as u64).to_be_bytes();
    let sum = Sha256::new().chain_update(&file[14..46]).chain_update(place).chain_update(entry).finalize();
    [&file[..], &(entry.len() as u32).to_be_bytes(), &sum[..8], entry].concat()
}

/// Opens a file as either kind. A file of another kind is refused, and stays as it was.
fn open(contents: &[u8]) {
    thread_local!(static DIRECTORY: OnceCell<TempDir> = const { OnceCell::new() });
    DIRECTORY.with(|directory| {
        let path = directory.get_or_init(|| TempDir::new().expect("a directory")).path().join("file");
        fs::write(&path, contents).expect("a file");
        restrict(&path);
        let cache = CacheFile::open(&path, 8).map(|(cache, damage)| (format!("{cache:?}"), damage));
        let sessions = SessionFile::open(&path, 8).map(|(sessions, damage)| (format!("{sessions:?}"), damage));
        assert!(contents.is_empty() || cache.is_err() || sessions.is_err(), "it is one kind of file at most");
        for opened in [cache, sessions] {
            match opened {
                Ok((shown, damage)) => {
                    assert!(!shown.is_empty());
                    assert!(damage.is_none_or(|damage| !damage.to_string().is_empty()));
                }
                Err(error) => assert!(error.to_string().contains("something else"), "{error}"),
            }
        }
        assert_eq!(fs::read(&path).expect("a file"), contents);
    });
}

fn restrict(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("permissions");
}
