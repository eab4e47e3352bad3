//! The identity file survives restarts and damage. The cache file's tests cover what all saved files share.

use std::fs;

use tempfile::TempDir;
use terse_tls::identity::{Authority, Identity};

use super::*;

fn peer(name: &str) -> Identity {
    format!("device:{name}").parse().expect("an identity")
}

const AUTHORITY: Authority = Authority([1; 8]);

#[test]
fn public_parts_survive_a_restart() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("identities");
    let (file, damage) = IdentityFile::open(&path, 8).expect("a usable path");
    assert_eq!(damage, None);
    file.save();
    assert!(!path.exists(), "nothing has changed");
    file.peers().provide(AUTHORITY, &peer("pump"), &[7; 32]);
    file.save();
    let (again, damage) = IdentityFile::open(&path, 8).expect("a usable path");
    assert_eq!((damage, again.peers().snapshot()), (None, file.peers().snapshot()));
    let written = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("a file");
    again.save();
    assert_eq!(fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("a file"), written);
    assert!(again.take_error().is_none());
}

#[test]
fn damage_is_reported_and_replaced() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("identities");
    let (file, _) = IdentityFile::open(&path, 8).expect("a usable path");
    file.peers().provide(AUTHORITY, &peer("pump"), &[7; 32]);
    file.save();
    let mut bytes = fs::read(&path).expect("readable");
    *bytes.last_mut().expect("not empty") ^= 1;
    fs::write(&path, bytes).expect("writable");
    let (file, damage) = IdentityFile::open(&path, 8).expect("a usable path");
    assert!(damage.expect("damage").to_string().contains("its checksum does not match"));
    assert!(file.peers().is_empty());
    file.peers().provide(AUTHORITY, &peer("valve"), &[8; 32]);
    file.save();
    let (file, damage) = IdentityFile::open(&path, 8).expect("a usable path");
    assert_eq!((damage, file.peers().len()), (None, 1));
}
