use pki_types::pem::PemObject;
use tempfile::TempDir;

use super::*;
use crate::LeafOptions;
use crate::authority::tests::{NOW, options};

fn names(paths: &[PathBuf]) -> Vec<&str> {
    paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect()
}

#[test]
fn a_ca_is_read_as_editors_leave_it() {
    let scratch = TempDir::new().unwrap();
    let authority = Authority::new(&options("p256x2")).unwrap();
    authority.save(scratch.path(), false).unwrap();
    for file in fs::read_dir(scratch.path()).unwrap() {
        let path = file.unwrap().path();
        let pem = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("\u{feff}notes\n{}\n\n", pem.replace('\n', " \r\n"))).unwrap();
    }
    let loaded = Authority::load(scratch.path()).unwrap();
    assert_eq!(loaded.root(), authority.root());
    assert!(loaded.has_key(0));
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
    fs::create_dir(&key).unwrap();
    assert!(load().contains("intermediate1.key: cannot be read"), "{}", load());
    fs::write(scratch.path().join("intermediate1.key-uri"), "").unwrap();
    assert!(load().contains("intermediate1.key is there as well; remove one"), "{}", load());
}

/// A directory with a CA, and a device's certificate of it.
fn plant() -> (TempDir, Authority, crate::Credential) {
    let scratch = TempDir::new().unwrap();
    let authority = Authority::new(&options("p256x3")).unwrap();
    authority.save(scratch.path(), false).unwrap();
    let leaf = authority.issue(&LeafOptions::new("a.example", Validity::days(NOW, 9))).unwrap();
    (scratch, authority, leaf)
}

#[test]
fn the_key_of_the_root_can_be_elsewhere_until_it_is_needed() {
    let (scratch, authority, leaf) = plant();
    authority.revoke(scratch.path(), &[leaf.chain()[1].clone()], Validity::days(NOW, 365)).unwrap();
    let root_crl = fs::read_to_string(scratch.path().join("crl.pem")).unwrap();
    let root_crl = root_crl.split_inclusive("-----END X509 CRL-----\n").next().unwrap().to_owned();
    let (root, away) = (scratch.path().join("ca.key"), scratch.path().join("away"));
    fs::rename(&root, &away).unwrap();

    let loaded = Authority::load(scratch.path()).unwrap();
    assert_eq!((loaded.has_key(0), loaded.has_key(1), loaded.has_key(2)), (false, true, false));
    assert!(!loaded.signs_elsewhere());
    loaded.issue(&LeafOptions::new("b.example", Validity::days(NOW, 9))).unwrap();
    let error = loaded.crl(0, &[], Validity::days(NOW, 7)).unwrap_err().to_string();
    assert!(error.contains("the key of ca.pem is not here; put ca.key or ca.key-uri into"), "{error}");
    let error = loaded.revoke(scratch.path(), &[leaf.chain()[1].clone()], Validity::days(NOW, 7)).unwrap_err();
    assert!(matches!(error, Error::NoKey(name) if name == "ca"));

    // The root's CRL is kept to the byte, and so is what it says.
    let path = loaded.revoke(scratch.path(), &[leaf.leaf().clone()], Validity::days(NOW + 1, 7)).unwrap();
    let crls = fs::read_to_string(&path).unwrap();
    assert!(crls.starts_with(&root_crl) && crls.len() > root_crl.len(), "{crls}");
    assert_eq!(loaded.status(scratch.path(), &leaf.chain()[1]).unwrap(), OcspStatus::Revoked(NOW));
    assert_eq!(loaded.status(scratch.path(), leaf.leaf()).unwrap(), OcspStatus::Revoked(NOW + 1));

    // With its key the root signs again what it had.
    fs::rename(&away, &root).unwrap();
    let whole = Authority::load(scratch.path()).unwrap();
    whole.revoke(scratch.path(), &[], Validity::days(NOW + 2, 7)).unwrap();
    assert!(!fs::read_to_string(&path).unwrap().starts_with(&root_crl));
    assert_eq!(whole.status(scratch.path(), &leaf.chain()[1]).unwrap(), OcspStatus::Revoked(NOW));
}

#[test]
fn a_root_without_key_and_crl_is_left_out() {
    let (scratch, _, leaf) = plant();
    fs::remove_file(scratch.path().join("ca.key")).unwrap();
    let loaded = Authority::load(scratch.path()).unwrap();
    let path = loaded.revoke(scratch.path(), &[leaf.leaf().clone()], Validity::days(NOW, 7)).unwrap();
    let crls: Vec<_> = CertificateRevocationListDer::pem_file_iter(path).unwrap().collect();
    assert_eq!(crls.len(), 1);
    assert_eq!(loaded.read_crl(crls[0].as_ref().unwrap()).unwrap().0, 1);
}

#[test]
fn a_ca_without_its_key_issues_nothing_and_says_why() {
    let (scratch, _, leaf) = plant();
    fs::remove_file(scratch.path().join("intermediate1.key")).unwrap();
    let loaded = Authority::load(scratch.path()).unwrap();
    let error = loaded.issue(&LeafOptions::new("b.example", Validity::days(NOW, 9))).unwrap_err().to_string();
    assert!(error.contains("intermediate1.key or intermediate1.key-uri"), "{error}");
    assert!(loaded.ocsp_response(leaf.leaf(), &crate::OcspOptions::good(NOW, 7)).is_err());
    assert_eq!(loaded.algorithm(), Some(crate::KeyAlgorithm::P256));

    // Without a key it can be written as it is, also over another one.
    let (other, ..) = plant();
    fs::write(other.path().join("ca.key-uri"), "pkcs11:").unwrap();
    assert_eq!(names(&loaded.save(other.path(), true).unwrap()), ["ca.pem", "ca.key", "intermediate1.pem"]);
    assert!(Authority::load(other.path()).unwrap().certificates().eq(loaded.certificates()));
    assert!(!other.path().join("intermediate1.key").exists());
}

#[test]
fn secret_files_are_keys_and_pins() {
    let (scratch, ..) = plant();
    let named = |files: Vec<PathBuf>| names(&files).into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(named(Authority::secret_files(scratch.path())), ["ca.key", "intermediate1.key"]);
    fs::remove_file(scratch.path().join("intermediate1.key")).unwrap();
    let uri = "pkcs11:object=a?module-path=/a.so&pin-source=pin\n";
    fs::write(scratch.path().join("intermediate1.key-uri"), uri).unwrap();
    let expected: &[&str] = if cfg!(feature = "pkcs11") { &["ca.key", "pin"] } else { &["ca.key"] };
    assert_eq!(named(Authority::secret_files(scratch.path())), expected);
    let error = Authority::load(scratch.path()).unwrap_err().to_string();
    let part = if cfg!(feature = "pkcs11") { "pin: the PIN cannot be read" } else { "built without PKCS #11" };
    assert!(error.contains(part), "{error}");
}
