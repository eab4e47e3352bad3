//! The cache file survives restarts, damage at every byte, and unusual permissions, and refuses paths that cannot be
//! used.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use terse_tls::LearnedIssuers;
use terse_tls::cache::{
    AddressId, ClientStore, Commit, Fingerprint, MemoryClientStore, MemoryServerStore, NotSaved, Row, Save, Scope,
    ScopeRecord, ServerId, ServerStore, Ticket, snapshot,
};
use terse_tls::summary::Transport;

use super::{CacheFile, Damage, FORMAT};
use crate::saved_file::MAX_LEN;

#[cfg(target_os = "linux")]
mod disk;

fn vector<const N: usize>(content: &[u8]) -> Vec<u8> {
    [&(content.len() as u64).to_be_bytes()[8 - N..], content].concat()
}

fn scope() -> Scope {
    let server = ServerId::new(&"device.example".try_into().expect("a name"));
    Scope::new(server, 443, Transport::Stream, Some(Fingerprint([1; 32])))
}

/// Returns a record with the numbers of its shared values.
fn record(shared: &[u8], body: &[u8]) -> Vec<u8> {
    let len = (2 + shared.len() + body.len()) as u16;
    [&len.to_be_bytes(), shared, body].concat()
}

/// Returns a record of [`scope`] with a confirmed ticket, and a row under ticket 1, as a snapshot writes them.
fn example() -> (ScopeRecord, Row) {
    let server = vector::<1>(b"\x01device.example");
    let times = [0; 8];
    let scope = [&[0, 2, 0][..], &443_u16.to_be_bytes(), &server, &times, &[0], &[9; 8]].concat();
    let identity = [vector::<1>(&[0x30; 20]), vector::<1>(&[])].concat();
    let validity = [&0_u32.to_be_bytes()[..], &u32::MAX.to_be_bytes(), &[1, 2]].concat();
    let peer = [vec![0], vector::<2>(&[4; 91]), validity, identity].concat();
    let client = [&[2][..], &times, &ticket(1).0, &server, &[1; 32], &peer].concat();
    let trust_id = [&[7; 8][..], &[0; 24]].concat();
    let table = |shared: &[u8], record: &[u8]| [&[1], shared, &vector::<4>(record)].concat();
    let scopes = table(&[1; 32], &record(&[0, 1], &scope));
    let clients = table(&trust_id, &record(&[1, 0, 0, 0, 0], &client));
    let bytes = [scopes, clients, vec![0; 5], vec![0]].concat(); // no tickets without a client, and no issuers

    let (client, server, _) = snapshot::decode(&bytes, 1).expect("written by hand as it should be");
    (record_of(&client), server.find(&ticket(1)).expect("it is there"))
}

const fn ticket(n: u64) -> Ticket {
    Ticket(n.to_be_bytes())
}

fn record_of(store: &dyn ClientStore) -> ScopeRecord {
    let mut found = ScopeRecord::default();
    let updated = store.update(&self::scope(), &mut |record| {
        found = record.clone();
        Save::Later
    });
    assert_eq!(updated, Ok(()));
    found
}

fn open(path: &Path) -> (CacheFile, Option<Damage>) {
    CacheFile::open(path, 8).expect("a usable path")
}

/// Returns a directory with a cache file that holds the example, and tickets 1 and 2.
fn filled() -> (TempDir, PathBuf) {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("cache");
    let (file, damage) = open(&path);
    assert_eq!(damage, None);
    let (example, row) = example();
    file.update(&scope(), &mut |record| {
        *record = example.clone();
        Save::Now
    })
    .expect("writable");
    file.commit(Commit::new(ticket(1), row.clone(), None, None)).expect("writable");
    file.commit(Commit::new(ticket(2), row, Some(ticket(1)), None)).expect("writable");
    (directory, path)
}

fn names(directory: &TempDir) -> BTreeSet<String> {
    let entries = fs::read_dir(directory.path()).expect("readable");
    entries.map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8")).collect()
}

#[test]
fn both_tables_survive_a_restart() {
    let (directory, path) = filled();
    let (file, damage) = open(&path);
    assert_eq!(damage, None);
    let (record, row) = example();
    assert_eq!(record_of(&file), record);
    assert_eq!([1, 2, 3].map(|n| file.find(&ticket(n))), [Some(row.clone()), Some(row), None]);
    file.remove(&ticket(1)).expect("writable");
    let (file, _) = open(&path);
    assert_eq!([1, 2].map(|n| file.find(&ticket(n)).is_some()), [false, true]);
    assert_eq!(names(&directory), BTreeSet::from(["cache".to_owned()]));
}

#[test]
fn new_file_appears_with_the_first_change_that_matters() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("cache");
    let (file, damage) = open(&path);
    assert_eq!(damage, None);
    assert!(!path.exists());
    file.update(&scope(), &mut |record| {
        *record = example().0;
        Save::Later
    })
    .expect("in memory");
    assert!(!path.exists());
    file.update(&scope(), &mut |_| Save::Now).expect("writable");
    assert_eq!(record_of(&open(&path).0), example().0);
}

#[cfg(unix)]
#[test]
fn file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (_directory, path) = filled();
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("own file");
    let (file, damage) = open(&path);
    assert_eq!(damage, None, "others could read it, not write");
    file.remove(&ticket(1)).expect("writable");
    assert_eq!(mode(&path), 0o600);
}

#[cfg(unix)]
#[test]
fn content_that_others_can_write_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    for mode in [0o620, 0o602] {
        let (_directory, path) = filled();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("own file");
        let (file, damage) = open(&path);
        assert!(damage.expect("reported").to_string().ends_with("other users can write to it; starting afresh"));
        assert!(record_of(&file).is_empty());
    }
}

/// Asserts that `bytes` are not used, and that the report names the file.
fn assert_damaged(path: &Path, bytes: &[u8], what: &str) {
    fs::write(path, bytes).expect("writable");
    let (file, damage) = open(path);
    let report = damage.unwrap_or_else(|| panic!("{what}: not reported")).to_string();
    assert!(report.starts_with(&format!("cache file {}: ", path.display())), "{report}");
    assert!(record_of(&file).is_empty() && file.find(&ticket(1)).is_none(), "{what}");
}

/// Returns where the journal begins in `bytes`, a cache file.
fn journal_of(bytes: &[u8]) -> usize {
    let len: [u8; 4] = bytes[10..14].try_into().expect("its length");
    10 + 4 + 32 + u32::from_be_bytes(len) as usize
}

/// Asserts that the file has an earlier state: none of the tickets 1 and 2, then the first, then both.
fn assert_earlier(path: &Path, bytes: &[u8], what: &str) {
    fs::write(path, bytes).expect("writable");
    let (file, damage) = open(path);
    assert_eq!(damage, None, "{what}");
    assert_eq!(record_of(&file), example().0, "{what}");
    let found = [1, 2].map(|n| file.find(&ticket(n)).is_some());
    assert!([[false, false], [true, false], [true, true]].contains(&found), "{what}: {found:?}");
}

/// Damage in the contents is reported; before damage in the journal, the earlier changes count.
#[test]
fn damage_at_every_byte_is_noticed() {
    let (_directory, path) = filled();
    let bytes = fs::read(&path).expect("readable");
    let journal = journal_of(&bytes);
    assert!(journal < bytes.len(), "two commits are in the journal");
    for place in FORMAT.magic.len()..bytes.len() {
        for bit in [0x01, 0x80] {
            let mut damaged = bytes.clone();
            damaged[place] ^= bit;
            let what = format!("byte {place}");
            if place < journal {
                assert_damaged(&path, &damaged, &what);
            } else {
                assert_earlier(&path, &damaged, &what);
            }
        }
    }
}

/// Power that is lost while an entry is appended leaves an earlier state, and the next change is saved.
#[test]
fn every_shorter_file_has_an_earlier_state() {
    let (_directory, path) = filled();
    let bytes = fs::read(&path).expect("readable");
    let journal = journal_of(&bytes);
    for len in FORMAT.magic.len()..journal {
        assert_damaged(&path, &bytes[..len], &format!("{len} bytes"));
    }
    for len in journal..bytes.len() {
        assert_earlier(&path, &bytes[..len], &format!("{len} bytes"));
        open(&path).0.commit(Commit::new(ticket(3), example().1, None, None)).expect("writable");
        assert!(open(&path).0.find(&ticket(3)).is_some(), "{len} bytes");
    }
    assert_earlier(&path, &[bytes.as_slice(), &[0]].concat(), "one byte more");
}

/// Asserts that a file with these bytes cannot be opened, and stays as it is.
fn assert_left_alone(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("writable");
    let error = CacheFile::open(path, 8).expect_err("something else").to_string();
    let expected =
        format!("{} is no cache file but something else, and is left as it is; name another file", path.display());
    assert_eq!(error, expected);
    assert_eq!(fs::read(path).expect("there"), bytes);
}

/// A mistyped path may name a private key, which must not be overwritten.
#[test]
fn what_is_something_else_is_never_overwritten() {
    let (directory, path) = filled();
    assert_left_alone(&path, b"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n");
    assert_left_alone(&path, b"terse$c");
    assert_left_alone(&path, b"terse$s\n of sessions");
    fs::write(&path, b"").expect("writable");
    assert_eq!(open(&path).1, None, "nothing is lost of an empty file");
    // The file becomes something else while it is in use, both where the journal could be appended to and where it
    // could not.
    let (directory_2, path_2) = filled();
    for (path, _directory) in [(path, directory), (path_2, directory_2)] {
        let (file, _) = open(&path);
        fs::write(&path, b"a letter").expect("writable");
        assert!(file.commit(Commit::new(ticket(3), example().1, None, None)).is_err());
        let report = file.take_error().expect("a reason").to_string();
        assert!(report.contains("it has become something else than a cache file"), "{report}");
        assert_eq!(fs::read(&path).expect("there"), b"a letter");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_waited_for() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    let error = CacheFile::open(&path, 8).expect_err("a pipe").to_string();
    assert!(error.contains("it is not a regular file"), "{error}");
}

/// The test measures how many bytes a commit adds to the file, and whether the file is still the same one.
#[test]
fn what_a_change_costs_does_not_grow_with_the_contents() {
    let directory = TempDir::new().expect("a directory");
    let row = example().1;
    for clients in [1, 100, 2_000] {
        let path = directory.path().join(clients.to_string());
        let (file, _) = CacheFile::open(&path, 20_000).expect("usable");
        let commit = |n| file.commit(Commit::new(ticket(n), row.clone(), None, None));
        let mut written = 0;
        let mut before = 0;
        for n in 1..=clients {
            commit(n).expect("writable");
            let bytes = fs::metadata(&path).expect("there").len();
            // A file that is shorter, or much longer, was written as a whole.
            written += if bytes > before && bytes - before < 0x1000 { bytes - before } else { bytes };
            before = bytes;
        }
        let each = written / clients;
        assert!(each < 1_500, "{each} bytes a commit beside {clients} clients");
        let (file, damage) = CacheFile::open(&path, 20_000).expect("usable");
        assert_eq!((damage, file.server().len() as u64), (None, clients));
    }
}

/// A client without a certificate causes no writes.
#[test]
fn strangers_cost_no_writes() {
    let (_directory, path) = filled();
    let (file, _) = open(&path);
    let before = (fs::read(&path).expect("there"), fs::metadata(&path).expect("there").modified().expect("a time"));
    let address = AddressId([1; 4]);
    let row = Row::new(None, None, Some(address));
    for n in 1_000..1_100 {
        let commit = Commit::new(ticket(n), row.clone(), None, None);
        file.commit(commit).expect("in memory");
    }
    assert_eq!(file.spend(&ticket(1_099), address), Ok(true));
    assert_eq!(file.spend(&ticket(1_099), address), Ok(false), "once");
    file.remove(&ticket(1_099)).expect("in memory");
    let after = (fs::read(&path).expect("there"), fs::metadata(&path).expect("there").modified().expect("a time"));
    assert_eq!(before, after);
    file.commit(Commit::new(ticket(3), example().1, None, None)).expect("writable");
    assert!(open(&path).0.find(&ticket(1_098)).is_none(), "nor with others' changes");
}

/// The journal and the contents give the same state.
#[test]
fn the_journal_has_every_kind_of_change() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("cache");
    let (file, _) = open(&path);
    let (record, row) = example();
    let here = AddressId([1; 4]);
    let row = Row::new(row.entry, row.seen, Some(here));
    let commit = |n, parent| file.commit(Commit::new(ticket(n), row.clone(), parent, None));
    for n in 1..5 {
        commit(n, None).expect("writable");
    }
    commit(5, Some(ticket(4))).expect("writable");
    assert_eq!(file.spend(&ticket(2), here), Ok(true));
    file.remove(&ticket(3)).expect("writable");
    for saved in [record, ScopeRecord::default()] {
        let change = &mut |record: &mut ScopeRecord| {
            record.clone_from(&saved);
            Save::Now
        };
        file.update(&scope(), change).expect("writable");
        let bytes = fs::read(&path).expect("there");
        assert!(bytes.len() > journal_of(&bytes) + 100, "it is the journal that is read");
        let (again, damage) = open(&path);
        assert_eq!(damage, None);
        assert_eq!(record_of(&again), saved);
        assert_eq!(again.server().lineages(), file.server().lineages());
    }
}

#[test]
fn reports_say_what_is_wrong() {
    let (_directory, path) = filled();
    let report = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("writable");
        open(&path).1.map(|damage| damage.to_string().replace(path.to_str().expect("UTF-8"), "FILE"))
    };
    let good = fs::read(&path).expect("readable");
    let nothing = snapshot::encode(&MemoryClientStore::new(0), &MemoryServerStore::new(0), &LearnedIssuers::new())
        .expect("small");
    let len = (nothing.len() as u32).to_be_bytes();
    let other = [&FORMAT.magic[..], &[0, 9], &len, &FORMAT.checksum([0, 9], &nothing), &nothing].concat();
    let mut flipped = good.clone();
    flipped[60] ^= 1; // in the contents
    assert_eq!(report(&good), None);
    assert_eq!(report(&FORMAT.wrap(&nothing)), None);
    for (bytes, expected) in [
        (
            other.as_slice(),
            format!("cache file FILE: its format is version 9, not {}; starting afresh", snapshot::VERSION),
        ),
        (&flipped, "cache file FILE: its checksum does not match; starting afresh".into()),
        (&FORMAT.wrap(&[1]), "cache file FILE: its content makes no sense; starting afresh".into()),
    ] {
        assert_eq!(report(bytes), Some(expected));
    }
}

#[test]
fn longer_files_are_not_read() {
    let (_directory, path) = filled();
    let file = fs::OpenOptions::new().write(true).open(&path).expect("writable");
    file.set_len(MAX_LEN + 1).expect("sparse");
    let (_, damage) = open(&path);
    assert!(damage.expect("reported").to_string().contains("longer than 64 MiB"));
}

#[test]
fn damaged_file_is_replaced_by_the_next_change() {
    let (_directory, path) = filled();
    fs::write(&path, [&FORMAT.magic[..], b"rubbish"].concat()).expect("writable");
    let (file, damage) = open(&path);
    assert!(damage.is_some());
    file.commit(Commit::new(ticket(5), example().1, None, None)).expect("writable");
    let (file, damage) = open(&path);
    assert_eq!(damage, None);
    assert!(file.find(&ticket(5)).is_some());
}

/// Lost power can leave any part of the new file under its temporary name, and the old file in place.
#[test]
fn power_lost_at_any_byte_leaves_the_old_file() {
    let (directory, path) = filled();
    let old = fs::read(&path).expect("readable");
    let temporary = directory.path().join(".cache.1-0.tmp");
    for len in 0..old.len() {
        fs::write(&temporary, &old[..len]).expect("writable");
        let (file, damage) = open(&path);
        assert_eq!(damage, None);
        assert_eq!(record_of(&file), example().0);
    }
    assert_eq!(fs::read(&path).expect("readable"), old);
}

/// A reader sees only whole files at any time.
#[test]
fn replacing_is_atomic() {
    let (_directory, path) = filled();
    let (file, _) = open(&path);
    let row = example().1;
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for n in 10..100 {
                file.commit(Commit::new(ticket(n), row.clone(), None, None)).expect("writable");
            }
            done.store(true, Ordering::SeqCst);
        });
        while !done.load(Ordering::SeqCst) {
            assert_eq!(open(&path).1, None);
        }
    });
}

#[test]
fn parallel_changes_are_all_saved() {
    let (_directory, path) = filled();
    let (file, _) = CacheFile::open(&path, 1000).expect("usable");
    let row = example().1;
    std::thread::scope(|threads| {
        for thread in 1..5 {
            let (file, row) = (&file, &row);
            threads.spawn(move || {
                for n in 0..20 {
                    let commit = Commit::new(ticket(thread * 100 + n), row.clone(), None, None);
                    file.commit(commit).expect("writable");
                    // Another process would find the row by now.
                    let (saved, _) = CacheFile::open(file.path(), 1000).expect("usable");
                    assert!(saved.find(&ticket(thread * 100 + n)).is_some());
                }
            });
        }
    });
}

#[test]
fn old_temporary_files_are_cleared_away() {
    let (directory, path) = filled();
    let hour_ago = std::time::SystemTime::now() - core::time::Duration::from_secs(3700);
    for (name, old) in [(".cache.1-0.tmp", true), (".cache.2-0.tmp", false), (".other.1-0.tmp", true)] {
        let file = fs::File::create(directory.path().join(name)).expect("writable");
        if old {
            file.set_modified(hour_ago).expect("own file");
        }
    }
    open(&path);
    assert_eq!(names(&directory), [".cache.2-0.tmp", ".other.1-0.tmp", "cache"].map(str::to_owned).into());
}

#[test]
fn unusable_paths_are_errors_with_advice() {
    let (directory, path) = filled();
    for (bad, expected) in [
        (directory.path().join("missing/cache"), "cannot be written: "),
        (path.join("cache"), "cannot be written: "),
        (PathBuf::from("/"), "cannot be written: it names no file"),
        (directory.path().to_owned(), "cannot be read: it is not a regular file; "),
    ] {
        let error = CacheFile::open(&bad, 8).expect_err("unusable").to_string();
        assert!(error.starts_with(&format!("cache file {} {expected}", bad.display())), "{error}");
        assert!(!error.contains('\n') && error.contains("; "), "{error}");
    }
}

#[test]
fn failed_save_keeps_the_change_and_its_reason() {
    let (directory, path) = filled();
    let (file, _) = open(&path);
    fs::remove_dir_all(directory.path()).expect("own directory");
    let commit = |n| file.commit(Commit::new(ticket(n), example().1, None, None));
    assert!(commit(3).is_err());
    assert!(file.find(&ticket(3)).is_some());
    assert!(file.take_error().expect("a reason").to_string().contains("cannot be written: "));
    assert!(file.take_error().is_none());
    fs::create_dir(directory.path()).expect("writable");
    assert!(commit(4).is_ok());
    let (file, _) = open(&path);
    assert!([3, 4].map(|n| file.find(&ticket(n)).is_some()).into_iter().all(|found| found));
}

#[test]
fn spent_ticket_stays_spent() {
    let (directory, path) = filled();
    let (here, elsewhere) = (AddressId([1; 4]), AddressId([2; 4]));
    let (file, _) = open(&path);
    for n in 2..5 {
        let row = Row::new(example().1.entry, example().1.seen, Some(here));
        file.commit(Commit::new(ticket(n), row, None, None)).expect("writable");
    }
    assert_eq!(
        [elsewhere, here, here].map(|address| file.spend(&ticket(2), address)),
        [Ok(false), Ok(true), Ok(false)]
    );
    let saved = fs::read(&path).expect("there");
    let (file, _) = open(&path);
    assert_eq!([2, 3].map(|n| file.spend(&ticket(n), here)), [Ok(false), Ok(true)]);
    assert_ne!(fs::read(&path).expect("there"), saved);
    // A change that cannot be saved proves nothing, and is not tried again.
    fs::remove_dir_all(directory.path()).expect("own directory");
    assert_eq!([4, 4].map(|n| file.spend(&ticket(n), here)), [Err(NotSaved), Ok(false)]);
    assert!(file.find(&ticket(4)).is_some(), "it still leaves out");
}

#[cfg(unix)]
#[test]
fn link_stays_a_link() {
    let (directory, path) = filled();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&path, &link).expect("a file system with links");
    let (file, _) = open(&link);
    file.commit(Commit::new(ticket(7), example().1, None, None)).expect("writable");
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert!(open(&path).0.find(&ticket(7)).is_some());
}

#[test]
fn least_recently_used_goes_first_over_restarts() {
    let (_directory, path) = filled();
    let (file, _) = CacheFile::open(&path, 2).expect("usable");
    let commit = |n| file.commit(Commit::new(ticket(n), example().1, None, None));
    let known = || [1, 2, 3, 4].map(|n| file.find(&ticket(n)).is_some());
    commit(3).expect("writable");
    assert_eq!(known(), [true, true, true, false], "two clients");
    commit(4).expect("writable");
    assert_eq!(known(), [false, false, true, true]);
}

#[test]
fn serves_both_sides_at_once() {
    let (_directory, path) = filled();
    let file = Arc::new(open(&path).0);
    let (client, server): (Arc<dyn ClientStore>, Arc<dyn ServerStore>) = (file.clone(), file);
    assert!(!record_of(&*client).is_empty() && server.find(&ticket(1)) != core::task::Poll::Ready(None));
}
