use terse_pki::{
    Authority, AuthorityOptions, KeyAlgorithm, LdevidPolicy, NewRequest, RequestOptions, Subject, Validity,
};

use super::*;

struct Issued {
    chain: Vec<CertificateDer<'static>>,
    key: Zeroizing<PrivateKeyDer<'static>>,
    anchors: Vec<CertificateDer<'static>>,
}

fn issue(algorithm: KeyAlgorithm) -> Issued {
    let validity = Validity::without_end(0);
    let authority = Authority::new(&AuthorityOptions::new("p256x3".parse().unwrap(), validity)).unwrap();
    let key = algorithm.new_key().unwrap();
    let subject = Subject::common_name("device").unwrap();
    let request = NewRequest::for_key(&key, &RequestOptions::new(subject.clone())).unwrap();
    let chain = authority.issue_ldevid(request.request(), &LdevidPolicy::new(subject, validity)).unwrap();
    Issued { chain, key, anchors: vec![authority.root().clone()] }
}

fn contents(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_credential_is_stored_as_a_whole_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let directory = CredentialDirectory::new(folder.path().join("new/device"));
    assert!(!directory.has_credential());
    assert!(directory.read().is_err());
    directory.check().unwrap();
    for algorithm in [KeyAlgorithm::P256, KeyAlgorithm::Ed25519, KeyAlgorithm::P384] {
        let Issued { chain, key, anchors } = issue(algorithm);
        directory.store(&chain, key, &anchors).await.unwrap();
        let (credential, read) = directory.read().unwrap();
        assert_eq!((credential.chain(), &read), (&chain[..], &anchors));
        assert!(directory.has_credential());
        assert_eq!(contents(&directory.path), ["domain-ca.pem", "ldevid.pem"], "nothing temporary is left");
    }
}

#[test]
fn a_check_touches_no_file_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["probe".into(), format!("probe.{}.tmp", std::process::id())];
    names.iter().for_each(|name| fs::write(folder.path().join(name), "mine").unwrap());
    CredentialDirectory::new(folder.path()).check().unwrap();
    assert_eq!(contents(folder.path()), names);
    assert!(names.iter().all(|name| fs::read(folder.path().join(name)).unwrap() == b"mine"));
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_key() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let directory = CredentialDirectory::new(folder.path());
    let Issued { chain, key, anchors } = issue(KeyAlgorithm::P256);
    directory.store(&chain, key, &anchors).await.unwrap();
    let mode = fs::metadata(directory.ldevid()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_found_before() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let directory = CredentialDirectory::new(&file);
    let problem = directory.check().unwrap_err().to_string();
    assert!(problem.contains(&file.display().to_string()) && !problem.contains('\n'), "{problem}");
    let Issued { chain, key, anchors } = issue(KeyAlgorithm::P256);
    assert!(directory.store(&chain, key, &anchors).await.is_err());
}

/// The key of one credential never stands beside the certificate of another one.
#[tokio::test]
async fn a_credential_with_another_key_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let directory = CredentialDirectory::new(folder.path());
    let (one, other) = (issue(KeyAlgorithm::P256), issue(KeyAlgorithm::P256));
    directory.store(&one.chain, other.key, &one.anchors).await.unwrap();
    assert!(directory.read().unwrap_err().to_string().contains("ldevid.pem"));
}
