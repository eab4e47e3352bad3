//! Tests of the key log's format, of appending, and of its mode.

use std::fs;

use super::*;

#[test]
fn appends_lines_in_the_nss_format() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys.log");
    for secret in [0xab, 0xcd] {
        let log = KeyLogFile::append(&path).unwrap();
        log.log("CLIENT_TRAFFIC_SECRET_0", &[0x0f; 32], &[secret; 48]);
    }
    let random = "0f".repeat(32);
    let expected = format!(
        "CLIENT_TRAFFIC_SECRET_0 {random} {}\nCLIENT_TRAFFIC_SECRET_0 {random} {}\n",
        "ab".repeat(48),
        "cd".repeat(48)
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}

#[cfg(unix)]
#[test]
fn a_new_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys.log");
    KeyLogFile::append(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
