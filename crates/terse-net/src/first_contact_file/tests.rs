//! The horizon of first contacts outlives a restart. The cache file's tests cover what all saved files share.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;

use super::*;

fn opened(path: &Path) -> FirstContactFile {
    let (file, damage) = FirstContactFile::open(path).expect("a usable path");
    assert_eq!(damage, None);
    file
}

#[test]
fn the_latest_horizon_survives_a_restart() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("horizon");
    let file = opened(&path);
    assert_eq!(file.saved(), 0);
    assert!(!path.exists());
    for (horizon, saved) in [(1_000, 1_000), (900, 1_000), (1_060, 1_060)] {
        file.save(horizon).expect("saved");
        assert_eq!((file.saved(), opened(&path).saved()), (saved, saved));
    }
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
}

/// Whatever may have been in it, nothing is accepted, and nobody else's file is overwritten.
#[test]
fn a_file_that_cannot_be_relied_on_lets_nothing_be_accepted() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("horizon");
    opened(&path).save(1_000).expect("saved");
    let whole = fs::read(&path).expect("readable");
    let mut damages = vec![(whole[..whole.len() - 1].to_vec(), 0o600), (whole.clone(), 0o622)];
    for place in 8..whole.len() {
        let mut changed = whole.clone();
        changed[place] ^= 1;
        damages.push((changed, 0o600));
    }
    for (bytes, mode) in damages {
        fs::write(&path, &bytes).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its owner may");
        let (file, damage) = FirstContactFile::open(&path).expect("a usable path");
        assert!(damage.is_some());
        assert_eq!((file.saved(), file.save(2_000)), (u64::MAX, Err(NotSaved)));
        assert_eq!(fs::read(&path).expect("readable"), bytes);
    }
}

#[test]
fn without_a_disk_the_horizon_is_not_saved() {
    let directory = TempDir::new().expect("a directory");
    let inner = directory.path().join("inner");
    fs::create_dir(&inner).expect("a directory");
    let file = opened(&inner.join("horizon"));
    fs::remove_dir_all(&inner).expect("removed");
    assert_eq!(file.save(1_000), Err(NotSaved));
    assert!(file.take_error().is_some());
}
