use std::fs;

use terse_pki::{Authority, AuthorityOptions, IdevidOptions, Validity, to_pem};

use super::*;

const SERIAL: &str = "WI-3005";

/// Writes what a device is born with, and a configuration.
fn factory(configuration: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let options = AuthorityOptions::new("p256x2".parse().unwrap(), Validity::without_end(0));
    let maker = Authority::new(&AuthorityOptions { key_identifiers: true, ..options }).unwrap();
    let idevid = maker.issue_idevid(&IdevidOptions::new(SERIAL, 0)).unwrap();
    let chain: String = idevid.chain().iter().map(|certificate| to_pem("CERTIFICATE", certificate)).collect();
    fs::write(folder.path().join("idevid.pem"), chain).unwrap();
    fs::write(folder.path().join("idevid.key"), &*idevid.key_pem()).unwrap();
    fs::write(folder.path().join("ca.pem"), to_pem("CERTIFICATE", maker.root())).unwrap();
    let path = folder.path().join("pledge.toml");
    fs::write(&path, configuration).unwrap();
    (folder, path)
}

const GOOD: &str = r#"
idevid = "idevid.pem"
key = "idevid.key"
masa_ca = "ca.pem"
out = "credentials"
registrars = ["[fe80::1%eth0]:8443", "registrar.plant.example:443"]
"#;

#[test]
fn a_configuration_names_files_beside_it() {
    let (folder, path) = factory(GOOD);
    let file = PledgeFile::read(&path).unwrap();
    assert_eq!(file.out, folder.path().join("credentials"));
    assert_eq!(file.registrars, [Place::new("fe80::1%eth0", 8443), Place::new("registrar.plant.example", 443)]);
    assert!(file.accept_nonceless);
    assert_eq!(file.device().unwrap().serial_number(), SERIAL);
}

#[test]
fn a_wrong_configuration_is_refused_with_its_line() {
    for (wrong, line) in [
        (format!("{GOOD}masa = \"x\"\n"), "line 7"),
        (GOOD.replace("registrar.plant.example:443", "registrar.plant.example"), "line 6"),
        (GOOD.replace("out =", "ou ="), "line 5"),
        (GOOD.replace("key = \"idevid.key\"\n", ""), ""),
        (format!("{GOOD}form = \"http\"\n"), "line 7: unknown variant `http`, expected one of `https`, `coaps`, `any`"),
        (format!("{GOOD}form = \"coaps\"\ndtls = \"1.1\"\n"), "line 8: unknown variant `1.1`, expected `1.2` or `1.3`"),
        (format!("{GOOD}form = \"coaps\"\nproximity = \"key\"\n"), "expected one of `pubk-sha256`, `pubk`, `cert`"),
        (format!("{GOOD}dtls = \"1.2\"\n"), "add form = \"coaps\""),
        (format!("{GOOD}credentials = \"identity-key\"\n"), "set form = \"coaps\""),
        (format!("{GOOD}form = \"any\"\ncredentials = \"identity-key\"\n"), "set form = \"coaps\""),
        (format!("{GOOD}form = \"coaps\"\ncredentials = \"key\"\n"), "`certificate-and-identity-key`, `identity-key`"),
        (
            format!("{GOOD}form = \"coaps\"\nproximity = \"cert\"\ncredentials = \"identity-key\"\n"),
            "remove proximity = \"cert\"",
        ),
        (format!("{GOOD}proximity = \"pubk\"\n"), "add form = \"coaps\""),
    ] {
        let (_folder, path) = factory(&wrong);
        let problem = PledgeFile::read(&path).unwrap_err().to_string();
        assert!(problem.contains("pledge.toml") && problem.contains(line) && !problem.contains('\n'), "{problem}");
    }
}

#[test]
fn a_configuration_says_which_form_it_is() {
    let keys = "form = \"coaps\"\nproximity = \"pubk\"\ndtls = \"1.2\"\ncredentials = \"identity-key\"\n";
    let (_folder, path) = factory(&format!("{GOOD}{keys}"));
    let file = PledgeFile::read(&path).unwrap();
    assert_eq!(
        (file.form, file.dtls, file.proximity, file.credentials),
        (FormName::Coaps, Some(DtlsVersion::Dtls12), Some(Proximity::PublicKey), Some(Credentials::IdentityKey))
    );
    let device = file.device().unwrap().with_form(file.coaps()).unwrap();
    assert_eq!(device.serial_number(), SERIAL);
    let (_folder, path) = factory(GOOD);
    assert_eq!(PledgeFile::read(&path).unwrap().form, FormName::Https);
}

#[test]
fn files_that_are_no_idevid_are_refused_by_their_name() {
    for (file, is_at_fault) in [("idevid.pem", "idevid.pem"), ("idevid.key", "idevid.key"), ("ca.pem", "ca.pem")] {
        let (folder, path) = factory(GOOD);
        fs::write(folder.path().join(file), "nonsense").unwrap();
        let problem = PledgeFile::read(&path).unwrap().device().unwrap_err().to_string();
        assert!(problem.contains(is_at_fault) && !problem.contains('\n'), "{problem}");
    }
    // A certificate without a serial number is no IDevID.
    let (folder, path) = factory(GOOD);
    let options = AuthorityOptions::new("p256x2".parse().unwrap(), Validity::without_end(0));
    let issued = Authority::new(&options).unwrap();
    let issued = issued.issue(&terse_pki::LeafOptions::new("x.example", Validity::without_end(0))).unwrap();
    fs::write(folder.path().join("idevid.pem"), to_pem("CERTIFICATE", &issued.chain()[0])).unwrap();
    fs::write(folder.path().join("idevid.key"), &*issued.key_pem()).unwrap();
    let problem = PledgeFile::read(&path).unwrap().device().unwrap_err().to_string();
    assert!(problem.contains("idevid.pem") && problem.contains("serialNumber"), "{problem}");
}
