//! `terse pki`: what a manufacturer and a domain need for onboarding, from the command line.

use std::fs;
use std::path::Path;
use std::process::Command;

use terse_pki::pki_types::CertificateDer;
use terse_pki::pki_types::pem::PemObject;
use terse_pki::{CertificationRequest, KeyAlgorithm, NameAttribute, NewRequest, RequestOptions, Subject};

use crate::common::{Outcome, Server, run, terse};

/// A directory in which the command runs.
struct Place(tempfile::TempDir);

impl Place {
    /// Returns a directory with a CA in `ca`.
    fn with_ca() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.succeeds("init --key-identifiers");
        place
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// Returns a directory with a second CA, for voucher signers, in `voucher-ca`.
    fn with_voucher_ca() -> Self {
        let place = Self::with_ca();
        place.succeeds("init --key-identifiers --out voucher-ca");
        place
    }

    /// Runs `terse pki` with words that are separated by spaces.
    fn run(&self, words: &str) -> Outcome {
        let mut command = terse();
        command.arg("pki").args(words.split_whitespace()).current_dir(self.0.path());
        run(command)
    }

    #[track_caller]
    fn succeeds(&self, words: &str) -> String {
        let outcome = self.run(words);
        assert_eq!(outcome.code, Some(0), "{outcome:#?}");
        outcome.stdout
    }

    fn certificates(&self, name: &str) -> Vec<CertificateDer<'static>> {
        let pem = fs::read(self.path(name)).unwrap();
        CertificateDer::pem_slice_iter(&pem).map(Result::unwrap).collect()
    }

    fn subject(&self, name: &str) -> String {
        Subject::of(&self.certificates(name)[0]).unwrap().to_string()
    }

    /// Whether the first certificate of a file has these bytes.
    fn has(&self, name: &str, bytes: &[u8]) -> bool {
        self.certificates(name)[0].windows(bytes.len()).any(|window| window == bytes)
    }

    /// Writes a request with this subject and names.
    fn request(&self, file: &str, subject: &Subject, names: &[&str], algorithm: KeyAlgorithm) {
        let names = names.iter().map(|name| (*name).into()).collect();
        let made = NewRequest::new(&RequestOptions { subject: subject.clone(), names, algorithm }).unwrap();
        fs::write(self.path(file), made.request().to_pem()).unwrap();
    }

    fn files(&self) -> Vec<String> {
        let mut files: Vec<_> =
            fs::read_dir(self.0.path()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        files
    }
}

const CMC_RA: [u8; 10] = [6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 28];
const SERVER_AUTH: [u8; 10] = [6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 1];
const CLIENT_AUTH: [u8; 10] = [6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 2];
const SUBJECT_KEY_IDENTIFIER: [u8; 5] = [6, 3, 0x55, 29, 14];
const AUTHORITY_KEY_IDENTIFIER: [u8; 5] = [6, 3, 0x55, 29, 35];

#[test]
fn a_ca_has_key_identifiers_and_no_end_if_asked() {
    let place = Place(tempfile::tempdir().unwrap());
    place.succeeds("init --out plain");
    place.succeeds("init --out maker --key-identifiers --no-expiry");
    assert!(!place.has("plain/ca.pem", &SUBJECT_KEY_IDENTIFIER));
    assert!(place.has("maker/ca.pem", &SUBJECT_KEY_IDENTIFIER));
    assert!(place.has("maker/ca.pem", b"99991231235959Z") && !place.has("plain/ca.pem", b"99991231235959Z"));
    assert!(place.has("maker/intermediate1.pem", &AUTHORITY_KEY_IDENTIFIER));
    place.succeeds("issue a.example --ca maker");
    assert!(place.has("a.example.pem", &AUTHORITY_KEY_IDENTIFIER));
    assert_eq!(place.run("init --out x --no-expiry --days 3").code, Some(2));
}

#[test]
fn a_manufacturer_issues_idevids() {
    let place = Place::with_ca();
    let written = place.succeeds("idevid WI-3005 --masa masa.maker.example:9443 --subject O=Maker --subject CN=Fühler");
    assert!(written.contains("WI-3005.pem  certificate chain, without the root"), "{written}");
    assert!(written.contains("WI-3005.key  private key"), "{written}");
    assert_eq!(place.subject("WI-3005.pem"), "O=Maker, CN=Fühler, SERIALNUMBER=WI-3005");
    for bytes in [&b"masa.maker.example:9443"[..], b"99991231235959Z", &AUTHORITY_KEY_IDENTIFIER] {
        assert!(place.has("WI-3005.pem", bytes));
    }
    assert!(!place.has("WI-3005.pem", &CLIENT_AUTH));

    place.run("idevid WI-3005").refused(1, &["exists already; use --force"]);
    place.run("idevid a_b").refused(2, &["cannot be the serial number of a device"]);
    place.run("idevid 1 --subject X=1").refused(2, &["cannot stand in a subject; use CN"]);
    place.run("idevid 1 --subject O").refused(2, &["cannot stand in a subject; use CN"]);
    assert_eq!(place.run("idevid 1 --masa http://masa.maker.example/").code, Some(2));
    // What a shell would expand, or take for a directory, is no part of the names of files.
    place.succeeds("idevid ../?(a)");
    assert!(place.path("..___a_.pem").exists(), "{:?}", place.files());
}

#[test]
fn a_device_keeps_the_key_that_it_made() {
    let place = Place::with_ca();
    place.request("device.csr", &Subject::empty(), &[], KeyAlgorithm::Ed25519);
    place.succeeds("idevid WI-3005 --csr device.csr");
    assert!(place.path("WI-3005.pem").exists() && !place.path("WI-3005.key").exists());
    assert_eq!(place.subject("WI-3005.pem"), "SERIALNUMBER=WI-3005");
    let request = fs::read(place.path("device.csr")).unwrap();
    let request = CertificationRequest::from_file_contents(&request).unwrap();
    assert!(place.has("WI-3005.pem", &request.subject_public_key_info()));
    assert_eq!(place.run("idevid 2 --csr device.csr --algorithm p256").code, Some(2));
}

#[test]
fn a_masa_has_a_key_for_https_and_one_for_vouchers() {
    let place = Place::with_voucher_ca();
    let written = place.succeeds("masa masa.maker.example --voucher-ca voucher-ca --name 192.0.2.7 --algorithm p384");
    assert!(written.contains("certificate chain for HTTPS") && written.contains("certificate chain for vouchers"));
    assert!(place.has("masa.maker.example.pem", &SERVER_AUTH));
    assert!(!place.has("masa.maker.example.pem", &CLIENT_AUTH));
    assert!(!place.has("masa.maker.example-voucher.pem", &SERVER_AUTH));
    assert!(place.has("masa.maker.example-voucher.pem", &SUBJECT_KEY_IDENTIFIER));
    assert_eq!(place.subject("masa.maker.example-voucher.pem"), "CN=masa.maker.example vouchers");
    let keys =
        ["masa.maker.example.key", "masa.maker.example-voucher.key"].map(|key| fs::read(place.path(key)).unwrap());
    assert_ne!(keys[0], keys[1]);
    let one = place.run("masa other.example --voucher-ca ca");
    one.refused(1, &["ca: a CA that issues web servers issues no voucher signers; make another one"]);
}

#[test]
fn either_all_files_are_written_or_none() {
    let place = Place::with_voucher_ca();
    fs::write(place.path("m.example-voucher.key"), "old").unwrap();
    let before = place.files();
    place.run("masa m.example --voucher-ca voucher-ca").refused(1, &["m.example-voucher.key: exists already"]);
    assert_eq!(place.files(), before);
    place.succeeds("masa m.example --voucher-ca voucher-ca --force");
    assert_eq!(place.files().len(), before.len() + 3);
}

#[test]
fn a_registrar_may_be_server_client_and_registration_authority() {
    let place = Place::with_ca();
    place.succeeds("registrar r.example --name 192.0.2.8");
    for bytes in [&CMC_RA[..], &SERVER_AUTH, &CLIENT_AUTH, &SUBJECT_KEY_IDENTIFIER, &AUTHORITY_KEY_IDENTIFIER] {
        assert!(place.has("r.example.pem", bytes), "{bytes:02x?}");
    }
    assert!(place.has("r.example.pem", &[0x87, 4, 192, 0, 2, 8]));
    place.run("registrar other.example --days 36500").refused(1, &["outlive its CA; give fewer --days"]);
    place.run("registrar a/b").refused(2, &["cannot be a name here"]);
}

#[test]
fn a_device_and_a_registrar_connect_with_what_they_have() {
    let place = Place(tempfile::tempdir().unwrap());
    place.succeeds("init --key-identifiers --no-expiry --out maker --name Maker");
    place.succeeds("init --key-identifiers --out plant --name Plant");
    place.succeeds("idevid WI-3005 --ca maker");
    place.succeeds("registrar r.example --ca plant");
    place.succeeds("csr sensor.example");
    place.succeeds("sign-csr sensor.example.csr --as-requested --ca plant");
    let command = |words: &str| {
        let mut command = terse();
        command.args(words.split_whitespace()).arg("--json").current_dir(place.0.path());
        command
    };
    for (device, anchor) in [("WI-3005", "maker"), ("sensor.example", "plant")] {
        for dtls in ["", "--dtls"] {
            let server = Server::start(command(&format!(
                "server --listen 127.0.0.1:0 --cert r.example.pem --key r.example.key --client-ca {anchor}/ca.pem \
                 --require-client-cert --echo {dtls}"
            )));
            let address = &server.address;
            let outcome = run(command(&format!(
                "client --connect {address} --server-name r.example --ca plant/ca.pem --cert {device}.pem --key {device}.key \
                 --send hello --expect 5 {dtls}"
            )));
            assert_eq!(outcome.object()["error"], serde_json::Value::Null);
            assert_eq!(server.report()["peer"]["authenticated_by"], "certificate");
        }
    }
}

#[test]
fn a_request_is_made_and_signed() {
    let place = Place::with_ca();
    let written = place.succeeds("csr sensor1.plant.example --name 192.0.2.7");
    assert!(written.contains("sensor1.plant.example.csr  certification request, for the CA"), "{written}");
    // No operator said yet what may be certified.
    let sign = "sign-csr sensor1.plant.example.csr";
    let asks =
        "asks for the subject \"CN=sensor1.plant.example\" and sensor1.plant.example, 192.0.2.7; give --as-requested";
    place.run(sign).refused(2, &[asks]);

    let written = place.succeeds(&format!("{sign} --as-requested"));
    assert!(written.contains("certificate chain of CN=sensor1.plant.example, without the root"), "{written}");
    assert_eq!(place.certificates("sensor1.plant.example.pem").len(), 2);
    assert!(
        place.has("sensor1.plant.example.pem", &CLIENT_AUTH) && !place.has("sensor1.plant.example.pem", &SERVER_AUTH)
    );
    place.run(&format!("{sign} --as-requested")).refused(1, &["exists already"]);

    place.succeeds(&format!("{sign} --name b.example --name c.example --server --out b.pem"));
    assert_eq!(place.subject("b.pem"), "CN=b.example");
    assert!(
        place.has("b.pem", b"\x82\x09c.example") && !place.has("b.pem", b"sensor1") && place.has("b.pem", &SERVER_AUTH)
    );
    place.succeeds(&format!("{sign} --subject O=Plant --subject OU=a --subject OU=b --out c.pem"));
    assert_eq!(place.subject("c.pem"), "O=Plant, OU=a, OU=b");

    let json = place.run(&format!("{sign} --name d.example --out d.pem --json")).object();
    assert_eq!(json, serde_json::json!({ "written": ["d.pem"] }));
}

/// The label of Java's keytool and Windows's certreq, and a request as editors leave it (RFC 7468, 2 and 7).
#[test]
fn a_request_is_signed_as_other_programs_write_it() {
    let place = Place::with_ca();
    let edits =
        [KEYTOOL_CSR.to_owned(), format!("\u{feff}Alias name: dev-1\r\n{}\r\n\r\n", KEYTOOL_CSR.replace('\r', " \r"))];
    for contents in edits {
        fs::write(place.path("keytool.csr"), &contents).unwrap();
        place.succeeds("sign-csr keytool.csr --as-requested --force --out kt.pem");
        assert_eq!(place.subject("kt.pem"), "CN=dev-1.plant.example");
    }
    fs::write(place.path("keytool.csr"), KEYTOOL_CSR.replace("END NEW ", "END ")).unwrap();
    place
        .run("sign-csr keytool.csr --as-requested --out other.pem")
        .refused(1, &["keytool.csr: the certification request is"]);
}

/// A request that `keytool -certreq` has written.
const KEYTOOL_CSR: &str = "\
    -----BEGIN NEW CERTIFICATE REQUEST-----\n\
    MIIBKTCB0AIBADAeMRwwGgYDVQQDExNkZXYtMS5wbGFudC5leGFtcGxlMFkwEwYH\r\n\
    KoZIzj0CAQYIKoZIzj0DAQcDQgAEdGOh+E6LNr14xl7DtBq3UnkzqA/BjMXi4Klp\r\n\
    yog10wtBd3Q1tqV7T9KhOhk1L/q4Ym4FVKb77iA7SKnrwubUjqBQME4GCSqGSIb3\r\n\
    DQEJDjFBMD8wHQYDVR0OBBYEFFqsbWy6JT/3ZSP7bdFHphoLPtTbMB4GA1UdEQQX\r\n\
    MBWCE2Rldi0xLnBsYW50LmV4YW1wbGUwCgYIKoZIzj0EAwIDSAAwRQIhAOUJyfTn\r\n\
    N5vyrv0NYtQOD6HyRL55WmV3x4UXdH1rhqb8AiBLzsO7n5GZtUEnCjJGafv4C9en\r\n\
    UsFElO0sbVR0EiNXJQ==\n\
    -----END NEW CERTIFICATE REQUEST-----\n";

#[test]
fn a_certificate_is_renewed_for_the_same_names() {
    let place = Place::with_ca();
    place.succeeds("csr a.example");
    place.succeeds("sign-csr a.example.csr --as-requested");
    place.succeeds("sign-csr a.example.csr --renew a.example.pem --out new.pem");
    assert_eq!(place.subject("new.pem"), "CN=a.example");
    place.succeeds("csr b.example");
    let refused = place.run("sign-csr b.example.csr --renew a.example.pem --out other.pem");
    refused.refused(
        1,
        &["b.example.csr: the certification request is refused: its subject is \"CN=b.example\" and must be"],
    );
    place.succeeds("init --out other-ca");
    let refused = place.run("sign-csr a.example.csr --renew a.example.pem --out other.pem --ca other-ca");
    refused.refused(1, &["a.example.pem: was not issued by this CA"]);
    assert!(!place.path("other.pem").exists());
}

#[test]
fn bad_requests_are_refused_with_a_reason() {
    let place = Place::with_ca();
    place.run("sign-csr nothing.csr --as-requested").refused(1, &["nothing.csr: cannot be read"]);
    fs::write(place.path("x.csr"), "nonsense").unwrap();
    place.run("sign-csr x.csr --as-requested").refused(1, &["x.csr: the certification request is refused"]);
    fs::write(place.path("x.csr"), vec![b'-'; 1 << 20]).unwrap();
    place.run("sign-csr x.csr --as-requested").refused(1, &["x.csr: the certification request is refused: it has"]);

    let subject = Subject::empty().with(NameAttribute::CommonName, "sensor").unwrap();
    place.request("x.csr", &subject, &[], KeyAlgorithm::Rsa2048);
    place
        .run("sign-csr x.csr --as-requested --algorithm p256 --algorithm ed25519")
        .refused(1, &["rsa2048 keys are not allowed"]);
    place
        .run("sign-csr x.csr --as-requested --out x.csr --force")
        .refused(2, &["take the place of the request; give --out"]);
    place.request("x.csr", &Subject::empty(), &[], KeyAlgorithm::P256);
    place.run("sign-csr x.csr").refused(2, &["asks for the subject \"\" and no other names"]);
    place.run("sign-csr x.csr --as-requested").refused(1, &["it has no subject and no other name"]);
    for wrong in ["--as-requested --name a.example", "--renew ca/ca.pem --name a.example"] {
        assert_eq!(place.run(&format!("sign-csr x.csr {wrong}")).code, Some(2));
    }
    assert!(!place.path("x.pem").exists());
}

#[test]
fn keys_are_secret_and_encrypted_if_asked() {
    let place = Place::with_voucher_ca();
    fs::write(place.path("pass"), "correct horse\n").unwrap();
    for command in ["idevid 1", "registrar r.example", "masa m.example --voucher-ca voucher-ca", "csr c.example"] {
        place.succeeds(&format!("{command} --passphrase-file pass --out encrypted"));
    }
    let keys = fs::read_dir(place.path("encrypted")).unwrap().map(|file| file.unwrap().path());
    let keys: Vec<_> = keys.filter(|path| path.extension().is_some_and(|kind| kind == "key")).collect();
    assert_eq!(keys.len(), 5);
    for key in keys {
        assert!(fs::read_to_string(&key).unwrap().starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----"));
        check_mode(&key);
    }
}

#[cfg(unix)]
fn check_mode(key: &Path) {
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(key).unwrap().permissions().mode() & 0o777, 0o600);
}

#[cfg(not(unix))]
fn check_mode(_: &Path) {}

#[test]
fn every_command_shows_an_example() {
    for command in ["init", "issue", "idevid", "masa", "registrar", "csr", "sign-csr", "revoke", "crl", "ocsp"] {
        let outcome = run({
            let mut terse: Command = terse();
            terse.args(["pki", command, "--help"]);
            terse
        });
        assert!(outcome.stdout.contains(&format!("Example: terse pki {command} ")), "{outcome:#?}");
    }
}

#[test]
fn the_examples_of_the_help_run_one_after_the_other() {
    let place = Place(tempfile::tempdir().unwrap());
    for words in [
        "init --algorithm p256 --chain 3 --out plant-ca",
        "init --key-identifiers --no-expiry --out maker-ca",
        "init --key-identifiers --no-expiry --out voucher-ca",
        "issue broker.plant.example --server --ca plant-ca",
        "idevid WI-3005 --masa masa.maker.example:9443 --ca maker-ca",
        "masa masa.maker.example --ca maker-ca --voucher-ca voucher-ca",
        "registrar registrar.plant.example --ca plant-ca",
        "csr sensor1.plant.example",
    ] {
        place.succeeds(words);
    }
    fs::rename(place.path("sensor1.plant.example.csr"), place.path("sensor1.csr")).unwrap();
    place.succeeds("sign-csr sensor1.csr --name sensor1.plant.example --ca plant-ca");
    fs::rename(place.path("sensor1.pem"), place.path("sensor1.plant.example.pem")).unwrap();
    for words in [
        "revoke sensor1.plant.example --ca plant-ca",
        "crl --ca plant-ca --days 7",
        "ocsp broker.plant.example --ca plant-ca --days 7",
    ] {
        place.succeeds(words);
    }
}
