use tempfile::TempDir;

use super::*;
use crate::LeafOptions;
use crate::authority::tests::{NOW, options};

fn names(paths: &[PathBuf]) -> Vec<&str> {
    paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect()
}

#[test]
fn an_authority_survives_its_directory() {
    let scratch = TempDir::new().unwrap();
    for chain in ["p256x3", "p384x2", "ed25519x3", "rsa2048x2"] {
        let directory = scratch.path().join(chain);
        let made = Authority::new(&options(chain)).unwrap();
        made.save(&directory, false).unwrap();
        let loaded = Authority::load(&directory).unwrap();
        assert!(made.certificates().eq(loaded.certificates()));
        assert!(made.certificates().eq(&ca_certificates(&directory).unwrap()));
        assert_eq!(loaded.algorithm(), made.algorithm());
        assert_eq!(loaded.not_after().unwrap(), NOW + 365 * 86_400);
        loaded.issue(&LeafOptions::new("a.example", Validity::days(NOW, 9))).unwrap();
    }
}

#[test]
fn a_temporary_file_that_was_left_behind_is_no_hindrance() {
    let scratch = TempDir::new().unwrap();
    let path = scratch.path().join("a.pem");
    write_file(&path, b"old", false, true).unwrap();
    fs::write(scratch.path().join(format!("a.pem.{}.tmp", std::process::id())), "half of ").unwrap();
    write_file(&path, b"new", false, true).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
}

#[test]
fn key_identifiers_survive_a_directory() {
    let scratch = TempDir::new().unwrap();
    for key_identifiers in [true, false] {
        let options = crate::AuthorityOptions { key_identifiers, ..options("p256x3") };
        Authority::new(&options).unwrap().save(scratch.path(), true).unwrap();
        let loaded = Authority::load(scratch.path()).unwrap();
        assert_eq!(loaded.has_key_identifiers().unwrap(), key_identifiers);
        let leaf = loaded.issue(&LeafOptions::new("a.example", Validity::days(NOW, 9))).unwrap();
        let leaf = crate::authority::parse(leaf.leaf()).unwrap();
        let names_issuer = leaf.iter_extensions().any(|one| one.oid.to_id_string() == "2.5.29.35");
        assert_eq!(names_issuer, key_identifiers);
    }
}

#[test]
fn the_key_identifier_that_a_ca_carries_is_the_one_that_is_named() {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyIdMethod, KeyUsagePurpose};
    let scratch = TempDir::new().unwrap();
    let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.key_identifier_method = KeyIdMethod::PreSpecified(vec![7; 8]); // of another length and method than ours
    fs::write(scratch.path().join("ca.pem"), to_pem("CERTIFICATE", params.self_signed(&key).unwrap().der())).unwrap();
    fs::write(scratch.path().join("ca.key"), to_pem("PRIVATE KEY", key.serialized_der())).unwrap();

    let loaded = Authority::load(scratch.path()).unwrap();
    let leaf = loaded.issue_idevid(&crate::IdevidOptions::new("1", NOW)).unwrap();
    let leaf = crate::authority::parse(leaf.leaf()).unwrap();
    let found = leaf.iter_extensions().find(|one| one.oid.to_id_string() == "2.5.29.35").map(|one| one.value);
    assert_eq!(found, Some(&[&[0x30, 10, 0x80, 8][..], &[7; 8]].concat()[..]));
}

#[cfg(unix)]
#[test]
fn keys_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = TempDir::new().unwrap();
    let authority = Authority::new(&options("p256x3")).unwrap();
    for overwrite in [false, true] {
        for path in authority.save(scratch.path(), overwrite).unwrap() {
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            let is_key = path.extension().unwrap() == "key";
            assert_eq!(mode & 0o077 == 0, is_key, "{}: {mode:o}", path.display());
        }
    }
}

#[test]
fn a_ca_is_replaced_only_when_asked() {
    let scratch = TempDir::new().unwrap();
    let [long, short] = ["p256x4", "p256x2"].map(|chain| Authority::new(&options(chain)).unwrap());
    let files = long.save(scratch.path(), false).unwrap();
    let expected =
        ["ca.pem", "ca.key", "intermediate1.pem", "intermediate1.key", "intermediate2.pem", "intermediate2.key"];
    assert_eq!(names(&files), expected);
    long.revoke(scratch.path(), &[], Validity::days(NOW, 7)).unwrap();

    assert!(matches!(short.save(scratch.path(), false), Err(Error::Exists(_))));
    assert!(Authority::load(scratch.path()).unwrap().certificates().eq(long.certificates()));
    short.save(scratch.path(), true).unwrap();
    assert!(Authority::load(scratch.path()).unwrap().certificates().eq(short.certificates()));
    let mut left: Vec<_> = fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    left.sort();
    assert_eq!(names(&left), ["ca.key", "ca.pem"]);
}

#[test]
fn revocations_add_up() {
    let scratch = TempDir::new().unwrap();
    let authority = Authority::new(&options("p256x3")).unwrap();
    let issue = |name| authority.issue(&LeafOptions::new(name, Validity::days(NOW, 9))).unwrap();
    let (one, two) = (issue("one.example"), issue("two.example"));
    for (certificate, time) in [(one.leaf(), NOW), (two.leaf(), NOW + 1), (one.leaf(), NOW + 2)] {
        authority.revoke(scratch.path(), core::slice::from_ref(certificate), Validity::days(time, 7)).unwrap();
    }
    let path = authority.revoke(scratch.path(), &[one.chain()[1].clone()], Validity::days(NOW + 3, 7)).unwrap();

    let crls = CertificateRevocationListDer::pem_file_iter(path).unwrap();
    let crls: Vec<_> = crls.map(|crl| authority.read_crl(&crl.unwrap()).unwrap()).collect();
    let revoked = |certificate, time| Revocation::new(certificate, time).unwrap();
    let by_root = vec![revoked(&one.chain()[1], NOW + 3)];
    let by_intermediate = vec![revoked(one.leaf(), NOW), revoked(two.leaf(), NOW + 1)];
    assert_eq!(crls, [(0, by_root), (1, by_intermediate)]);
}

#[test]
fn only_what_this_ca_issued_can_be_revoked() {
    let scratch = TempDir::new().unwrap();
    let [authority, namesake] = [(); 2].map(|()| Authority::new(&options("p256x3")).unwrap());
    let revoke = |certificate: &CertificateDer<'_>| {
        authority.revoke(scratch.path(), core::slice::from_ref(certificate), Validity::days(NOW, 7))
    };
    let foreign = namesake.issue(&LeafOptions::new("a.example", Validity::days(NOW, 9))).unwrap();
    assert!(matches!(revoke(foreign.leaf()), Err(Error::ForeignIssuer)));
    assert!(matches!(revoke(namesake.root()), Err(Error::ForeignIssuer)));
    assert!(matches!(revoke(authority.root()), Err(Error::Root)));
    assert!(!scratch.path().join("crl.pem").exists());

    namesake.revoke(scratch.path(), &[], Validity::days(NOW, 7)).unwrap();
    let own = authority.issue(&LeafOptions::new("a.example", Validity::days(NOW, 9))).unwrap();
    let error = revoke(own.leaf()).unwrap_err().to_string();
    assert!(error.contains("crl.pem: was not issued by this CA"), "{error}");
}

#[test]
fn damage_is_named() {
    let scratch = TempDir::new().unwrap();
    let load = || Authority::load(scratch.path()).unwrap_err().to_string();
    assert!(load().ends_with("holds no CA; make one with `terse pki init`"), "{}", load());

    let authority = Authority::new(&options("p256x3")).unwrap();
    authority.save(scratch.path(), false).unwrap();
    let key = scratch.path().join("intermediate1.key");
    let good = fs::read(&key).unwrap();
    fs::copy(scratch.path().join("ca.key"), &key).unwrap();
    assert!(load().contains("is damaged: the private key does not belong to the certificate"), "{}", load());
    fs::write(&key, &good[..good.len() / 2]).unwrap();
    assert!(load().contains("intermediate1.key: is not valid PEM"), "{}", load());
    fs::write(&key, "").unwrap();
    assert!(load().contains("intermediate1.key: does not hold what its name says"), "{}", load());
    // The intermediate of another CA of the same name, with its key.
    let namesake = TempDir::new().unwrap();
    Authority::new(&options("p256x3")).unwrap().save(namesake.path(), false).unwrap();
    for file in ["intermediate1.pem", "intermediate1.key"] {
        fs::copy(namesake.path().join(file), scratch.path().join(file)).unwrap();
    }
    assert!(load().contains("is damaged: was not issued by this CA"), "{}", load());
    fs::remove_file(&key).unwrap();
    assert!(load().contains("intermediate1.key: cannot be read"), "{}", load());
}
