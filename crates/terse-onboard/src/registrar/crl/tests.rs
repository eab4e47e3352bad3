//! CRLs in a file that changes.

use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};

use super::*;

const VALIDITY: Validity = Validity { not_before: 1_760_000_000, not_after: 1_860_000_000 };

/// The CRLs of a CA in which a certificate is revoked.
fn crls(ca: &Authority, revoked: &CertificateDer<'static>) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    ca.save(folder.path(), false).unwrap();
    ca.revoke(folder.path(), std::slice::from_ref(revoked), VALIDITY).unwrap();
    std::fs::read(folder.path().join("crl.pem")).unwrap()
}

/// Writes a file that has this stamp.
fn write(path: &Path, contents: &[u8], time: SystemTime) {
    std::fs::write(path, contents).unwrap();
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_file_that_could_not_be_read_is_read_again_with_the_same_stamp() {
    let ca = Authority::new(&AuthorityOptions::new("p256x2".parse().unwrap(), VALIDITY)).unwrap();
    let leaf = |name| ca.issue(&LeafOptions::new(name, VALIDITY)).unwrap().leaf().clone();
    let (one, other) = (leaf("one.example"), leaf("other.example"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("crl.pem");
    write(&path, &crls(&ca, &one), SystemTime::UNIX_EPOCH);
    let anchors: Vec<_> = ca.certificates().cloned().collect();
    let trust = DomainTrust::new(&anchors, Some(path.clone())).unwrap();
    let revoked = async |certificate: &CertificateDer<'_>| trust.revoked().await.unwrap()(certificate);
    assert!(revoked(&one).await && !revoked(&other).await);

    let (time, next) = (SystemTime::UNIX_EPOCH + AFTER_FAILURE, crls(&ca, &other));
    write(&path, &vec![b'!'; next.len()], time);
    assert!(revoked(&one).await && !revoked(&other).await, "the last ones stay in force");
    write(&path, &next, time);
    assert!(revoked(&one).await, "a damaged file is not read all the time");
    tokio::time::advance(AFTER_FAILURE).await;
    assert!(!revoked(&one).await && revoked(&other).await);
    std::fs::remove_file(&path).unwrap();
    assert!(revoked(&other).await);
}
