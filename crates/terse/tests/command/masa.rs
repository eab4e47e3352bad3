//! `terse masa`: a MASA is set up, checked and served, and makes devices, from the command line.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use terse_pki::pki_types::CertificateDer;
use terse_pki::pki_types::pem::PemObject;
use terse_pki::{Authority, Subject};

use crate::common::{Outcome, Server, mode, run, terse};

/// A directory in which the command runs.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Returns a directory with a MASA in `maker`.
    pub(crate) fn new() -> Self {
        let place = Self::empty();
        place.succeeds("init --out maker --listen 127.0.0.1:0");
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs `terse masa` with words that are separated by spaces.
    pub(crate) fn run(&self, words: &str) -> Outcome {
        let mut command = terse();
        command.arg("masa").args(words.split_whitespace()).current_dir(self.0.path());
        run(command)
    }

    #[track_caller]
    pub(crate) fn succeeds(&self, words: &str) -> String {
        let outcome = self.run(words);
        assert_eq!(outcome.code, Some(0), "{outcome:#?}");
        outcome.stdout
    }

    /// Starts the MASA.
    pub(crate) fn serve(&self) -> Server {
        let mut command = terse();
        command.args(["masa", "--config"]).arg(self.path("maker/masa.toml"));
        Server::start(command)
    }

    /// Replaces text in the configuration.
    #[track_caller]
    pub(crate) fn configure(&self, from: &str, to: &str) {
        let path = self.path("maker/masa.toml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).unwrap();
    }
}

const CHECK: &str = "check --config maker/masa.toml";

#[test]
fn init_makes_what_a_masa_needs_once() {
    let place = Place::empty();
    let printed = place.succeeds("init --out maker --name masa.maker.example");
    let keys =
        ["ca/ca.pem", "ca/ca.key", "voucher-ca/ca.pem", "voucher-ca/ca.key", "masa.pem", "masa.key", "voucher.pem"];
    for file in keys.into_iter().chain(["voucher.key", "masa.db", "masa.toml"]) {
        assert!(printed.contains(&format!("maker/{file} ")), "{printed}");
        let secret = file.ends_with(".key") || file == "masa.db";
        assert_eq!(mode(place.path("maker").join(file)) == 0o600, secret, "{file}");
    }
    let configuration = fs::read_to_string(place.path("maker/masa.toml")).unwrap();
    assert!(configuration.contains("listen = \"[::]:9443\""), "{configuration}");
    assert!(configuration.contains("masa_url = \"masa.maker.example:9443\""), "{configuration}");
    assert_eq!(place.succeeds(CHECK), "maker/masa.toml: good; customers: 0; IDevIDs can be made\n");
    let expected = json!({ "ok": true, "customers": 0, "factory": true, "warnings": [] });
    assert_eq!(place.run(&format!("{CHECK} --json")).object(), expected);

    // The CAs have no end, and key identifiers, which become the idevid-issuer of voucher requests.
    let [devices, signers] = ["maker/ca", "maker/voucher-ca"].map(|path| Authority::load(&place.path(path)).unwrap());
    for authority in [&devices, &signers] {
        assert!(authority.has_key_identifiers().unwrap());
        assert_eq!(authority.not_after().unwrap(), 253_402_300_799); // 9999-12-31T23:59:59Z
    }
    // Nothing but the voucher signer is issued by the second one.
    let issuer = |file: &str| {
        let leaf = CertificateDer::from_pem_file(place.path("maker").join(file)).unwrap();
        terse_brski::certificate::issuer(&leaf).unwrap().to_vec()
    };
    let subject = |authority: &Authority| terse_brski::certificate::subject(authority.root()).unwrap().to_vec();
    assert_eq!((issuer("masa.pem"), issuer("voucher.pem")), (subject(&devices), subject(&signers)));
    assert_ne!(subject(&devices), subject(&signers));

    place.run("init --out maker").refused(1, &["maker/masa.toml"]);
    assert_eq!(fs::read_to_string(place.path("maker/masa.toml")).unwrap(), configuration);
}

#[test]
fn wrong_options_of_init_write_nothing() {
    let cases = [
        ("init", 2, "--out"),
        ("init --out maker --name not/a/name", 2, "not/a/name"),
        ("init --out maker --listen nowhere", 2, "nowhere"),
        ("init --out maker --algorithm dsa", 2, "p256, p384, ed25519"),
    ];
    for (words, code, part) in cases {
        let place = Place::empty();
        let outcome = place.run(words);
        assert_eq!(outcome.code, Some(code), "{outcome:#?}");
        assert!(outcome.stderr.contains(part), "{outcome:#?}");
        assert!(!place.path("maker").exists());
    }
}

#[test]
fn a_device_is_made_and_registered() {
    let place = Place::new();
    let made = place.run("make-idevid WI-3005 --config maker/masa.toml --out device --json").object();
    let files = ["device/WI-3005.pem", "device/WI-3005.key", "device/WI-3005-anchors.pem", "device/WI-3005.toml"];
    assert_eq!(made, json!({ "written": files }));
    assert_eq!(mode(place.path("device/WI-3005.key")), 0o600);
    let idevid = CertificateDer::from_pem_file(place.path("device/WI-3005.pem")).unwrap();
    assert_eq!(Subject::of(&idevid).unwrap().to_string(), "SERIALNUMBER=WI-3005");
    let url = b"localhost";
    assert!(idevid.windows(url.len()).any(|window| window == url), "the MASA URL");
    let anchors = fs::read(place.path("device/WI-3005-anchors.pem")).unwrap();
    let signer = fs::read_to_string(place.path("maker/voucher.pem")).unwrap();
    let end = signer.find("-----END CERTIFICATE-----\n").unwrap() + "-----END CERTIFICATE-----\n".len();
    let expected = fs::read_to_string(place.path("maker/voucher-ca/ca.pem")).unwrap() + &signer[..end];
    assert_eq!(String::from_utf8(anchors).unwrap(), expected, "the CA of voucher signers, and the signer");

    let audit = "audit WI-3005 --config maker/masa.toml";
    assert_eq!(place.succeeds(audit), "WI-3005: owned by nobody; vouchers: 0\n");
    let object = place.run(&format!("{audit} --json")).object();
    assert_eq!(object["serial_number"], "WI-3005");
    assert_eq!(object["owner"], json!(null));
    assert_eq!(object["audit_log"], json!({ "version": 1, "events": [] }));

    // The device is there already, also for another directory.
    let again = place.run("make-idevid WI-3005 --config maker/masa.toml --out elsewhere");
    again.refused(1, &["WI-3005 is registered already"]);
    assert!(!place.path("elsewhere").exists());
    // Its files are there already, and so is not registered what has none.
    fs::write(place.path("device/WI-3006.key"), "").unwrap();
    let other = place.run("make-idevid WI-3006 --config maker/masa.toml --out device");
    other.refused(1, &["device/WI-3006.key"]);
    assert!(!place.path("device/WI-3006.pem").exists());
    place.run("audit WI-3006 --config maker/masa.toml").refused(1, &["no device \"WI-3006\" is known"]);
}

#[test]
fn a_serial_number_is_a_file_name_that_stays_in_its_directory() {
    let place = Place::new();
    place.succeeds("make-idevid ../../x --config maker/masa.toml --out device");
    assert!(place.path("device/_.._.._x.pem").exists());
    place.succeeds("audit ../../x --config maker/masa.toml");
    let outcome = place.run("make-idevid a*b --config maker/masa.toml --out device");
    outcome.refused(2, &["a*b"]);
}

#[test]
fn devices_are_sold_to_customers_that_are_known() {
    let place = Place::new();
    let words = "make-idevid WI-3005 --config maker/masa.toml --sold-to plant";
    place.run(words).refused(2, &["maker/masa.toml: there is no customer \"plant\""]);
    fs::write(place.path("maker/plant.secret"), "0123456789abcdef\n").unwrap();
    place.configure("[limits]", "[[customer]]\nname = \"plant\"\nsecret_file = \"plant.secret\"\n[limits]");
    place.succeeds(words);
    assert_eq!(place.succeeds(CHECK), "maker/masa.toml: good; customers: 1; IDevIDs can be made\n");
}

#[test]
fn a_device_with_raw_public_keys_alone_is_made_and_shown() {
    let place = Place::new();
    place.succeeds("make-idevid WI-3005 --raw-public-keys --config maker/masa.toml --out device");
    let config = fs::read_to_string(place.path("device/WI-3005.toml")).unwrap();
    assert!(config.contains("\nform = \"coaps\"\ncredentials = \"identity-key\"\n"), "{config}");
    let audit = "audit WI-3005 --config maker/masa.toml";
    assert_eq!(place.succeeds(audit), "WI-3005: owned by nobody; vouchers: 0; raw public keys alone\n");
    assert_eq!(place.run(&format!("{audit} --json")).object()["raw_public_keys_only"], true);
    place.succeeds("make-idevid WI-3006 --config maker/masa.toml --out device");
    assert_eq!(place.run("audit WI-3006 --config maker/masa.toml --json").object()["raw_public_keys_only"], false);
}

#[test]
fn a_device_is_blocked_and_released() {
    let place = Place::new();
    place.succeeds("make-idevid WI-3005 --config maker/masa.toml --out device");
    let state = |words| place.succeeds(&format!("{words} WI-3005 --config maker/masa.toml"));
    assert_eq!(state("block"), "WI-3005: owned by nobody; vouchers: 0; blocked\n");
    assert_eq!(state("release"), "WI-3005: owned by nobody; vouchers: 0; blocked\n");
    assert_eq!(state("unblock"), "WI-3005: owned by nobody; vouchers: 0\n");
    let object = place.run("block WI-3005 --config maker/masa.toml --json").object();
    assert_eq!(object["blocked"], true);
    place.run("release WI-3006 --config maker/masa.toml").refused(1, &["no device \"WI-3006\""]);
}

/// Writes something else over the database, and removes what it could be restored from.
fn ruin_database(place: &Place) {
    fs::write(place.path("maker/masa.db"), "x".repeat(4_096)).unwrap();
    let log = place.path("maker/masa.db-wal");
    if log.exists() {
        fs::remove_file(log).unwrap();
    }
}

#[test]
fn check_says_what_is_wrong_and_where() {
    type Harm = fn(&Place);
    let cases: [(Harm, &str); 15] = [
        (|place| fs::remove_file(place.path("maker/masa.toml")).unwrap(), "maker/masa.toml: "),
        (|place| place.configure("listen", "lisen"), "maker/masa.toml: line 2: unknown field `lisen`"),
        (|place| place.configure("first-come", "whoever"), "maker/masa.toml: line 32: unknown variant `whoever`"),
        (|place| place.configure("masa.key", "nowhere.key"), "maker/nowhere.key: cannot be read"),
        (|place| place.configure("masa.key", "voucher.key"), "maker/masa.pem: the private key does not belong"),
        (
            |place| place.configure("\"voucher.key\"", "\"masa.key\""),
            "maker/voucher.pem: the private key does not belong",
        ),
        (|place| place.configure("\"masa.pem\"", "\"masa.toml\""), "maker/masa.toml: holds no certificate"),
        (
            |place| {
                place.succeeds("init --out other");
                place.configure("\"voucher-ca/ca.pem\"", "\"../other/voucher-ca/ca.pem\"");
            },
            "maker/voucher.pem: ",
        ),
        (
            |place| place.configure("\"voucher-ca/ca.pem\"", "\"ca/ca.pem\""),
            "maker/ca/ca.pem: a CA of devices is among",
        ),
        (
            |place| place.configure("voucher_anchors", "# voucher_anchors"),
            "maker/voucher.pem: the voucher signer was issued by none of the anchors; give",
        ),
        (
            // The web server is below the CA of the devices, and signs no vouchers all the same.
            |place| {
                place.configure("voucher_anchors", "# voucher_anchors");
                place.configure("\"voucher.pem\"", "\"masa.pem\"");
                place.configure("\"voucher.key\"", "\"masa.key\"");
            },
            "maker/masa.pem: ",
        ),
        (
            |place| {
                place.succeeds("init --out other");
                place.configure("ca = \"ca\"", "ca = \"../other/ca\"");
            },
            "maker/ca/ca.pem: the root of the CA is not among the anchors",
        ),
        (|place| place.configure("ca = \"ca\"", "ca = \"nowhere\""), "maker/nowhere: holds no CA"),
        (|place| fs::remove_file(place.path("maker/masa.db")).unwrap(), "maker/masa.db: there is no such database"),
        (|place| ruin_database(place), "maker/masa.db: the database cannot"),
    ];
    for (harm, expected) in cases {
        let place = Place::new();
        harm(&place);
        let outcome = place.run(CHECK);
        assert_ne!(outcome.code, Some(0), "{expected}");
        outcome.refused(1, &[expected]);
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:#?}");
        assert_eq!(outcome.stdout, "");
        // What cannot be checked cannot be served, but for a CA, which only the factory needs, and a new database.
        if !expected.contains("CA") && !expected.contains("no such database") {
            place.run("--config maker/masa.toml").refused(1, &[expected]);
        }
    }
}

#[test]
fn a_masa_serves_until_it_is_told_to_stop() {
    let place = Place::new();
    let server = place.serve();
    assert!(server.address.starts_with("127.0.0.1:"), "{}", server.address);
    // The HTTPS certificate is the manufacturer's, and has the name.
    let mut client = terse();
    client.args(["client", "--connect", &server.address, "--server-name", "localhost", "--json", "--ca"]);
    let outcome = run({
        client.arg(place.path("maker/ca/ca.pem"));
        client
    });
    assert_eq!(outcome.object()["error"], json!(null));
    let (code, log) = server.terminate();
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(log, "");
}
