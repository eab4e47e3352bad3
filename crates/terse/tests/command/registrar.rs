//! `terse registrar`: a registrar is set up, checked, served and operated, from the command line.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::json;

use crate::common::{Outcome, Patience, Server, connect, mode, run, terse};

/// A directory in which the command runs, with the CA of a manufacturer in `maker`.
struct Place(tempfile::TempDir);

const INIT: &str =
    "registrar init --out plant --name registrar.plant.example --manufacturer-ca maker/ca.pem --listen 127.0.0.1:0";

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let outcome = place.run("pki init --key-identifiers --no-expiry --chain 2 --out maker");
        assert_eq!(outcome.code, Some(0), "{outcome:#?}");
        place
    }

    /// Returns a directory with a registrar in `plant`, too.
    fn with_registrar() -> Self {
        let place = Self::new();
        let outcome = place.run(INIT);
        assert_eq!(outcome.code, Some(0), "{outcome:#?}");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs `terse` with words that are separated by spaces.
    fn run(&self, words: &str) -> Outcome {
        let mut command = terse();
        command.args(words.split_whitespace()).current_dir(self.0.path());
        run(command)
    }

    /// Runs `terse registrar` with the configuration.
    fn registrar(&self, words: &str) -> Outcome {
        self.run(&format!("registrar {words} --config plant/registrar.toml"))
    }

    fn serve(&self) -> Server {
        let mut command = terse();
        Server::start({
            command.args(["registrar", "--config", "plant/registrar.toml"]).current_dir(self.0.path());
            command
        })
    }
}

#[test]
fn init_makes_what_a_registrar_needs_once() {
    let place = Place::new();
    let written = place.run(&format!("{INIT} --json")).object();
    assert_eq!(written["written"][0], "plant/registrar.toml");
    for file in written["written"].as_array().unwrap() {
        let file = file.as_str().unwrap();
        assert_eq!(mode(place.path(file)), if file.ends_with(".key") { 0o600 } else { 0o644 }, "{file}");
    }
    place.run(INIT).refused(1, &["plant/registrar.toml", "exists already"]);
    let check = place.registrar("check --json").object();
    assert_eq!(check, json!({ "ok": true, "warnings": [] }));
}

#[test]
fn init_says_what_is_wrong() {
    let place = Place::new();
    place.run(&INIT.replace("maker/ca.pem", "none.pem")).refused(1, &["none.pem"]);
    place.run(&INIT.replace("registrar.plant.example", "a/b")).refused(2, &["a/b"]);
    place.run(&format!("{INIT} --manufacturer a\"b")).refused(2, &["quotation mark"]);
    place.run("registrar init").refused(2, &["required arguments"]);
    assert!(!place.path("plant").exists());
}

#[test]
fn check_says_what_is_wrong() {
    let place = Place::with_registrar();
    fs::write(place.path("plant/registrar.key"), "").unwrap();
    place.registrar("check").refused(1, &["registrar.key"]);
    place.registrar("").refused(1, &["registrar.key"]);
    let place = Place::with_registrar();
    let path = place.path("plant/registrar.toml");
    fs::write(&path, fs::read_to_string(&path).unwrap() + "colour = 1\n").unwrap();
    place.registrar("check").refused(1, &["registrar.toml: line", "colour"]);
    // In place of the own CA, an EST server.
    let est_server = "est_server = { url = \"http://est.example\", anchors = \"manufacturer-ca.pem\" }";
    let config =
        fs::read_to_string(&path).unwrap().replace("colour = 1\n", "").replace("ca = \"ca\"\ndays = 365", est_server);
    fs::write(&path, &config).unwrap();
    place.registrar("check").refused(1, &["http://est.example", "is no https URL"]);
    fs::write(&path, config.replace("http:", "https:")).unwrap();
    assert_eq!(place.registrar("check --json").object(), json!({ "ok": true, "warnings": [] }));
    place.run("registrar check --config none.toml").refused(1, &["none.toml"]);
}

#[test]
fn a_server_that_is_not_there_is_named_without_its_password() {
    let place = Place::with_registrar();
    let path = place.path("plant/registrar.toml");
    let text = fs::read_to_string(&path).unwrap();
    let configure = |database: &str| fs::write(&path, text.replace("registrar.db", database)).unwrap();
    for (database, part) in [
        ("postgres://plant:hunter2@127.0.0.1:1/registrar", "postgres://127.0.0.1/registrar: "),
        ("postgres://plant:12/hunter2@127.0.0.1:1/registrar", "registrar.toml: line "),
        ("mysql://plant:hunter2@127.0.0.1/registrar", "postgres://USER@HOST/NAME"),
    ] {
        configure(database);
        for command in ["check", "check --json", "pending", ""] {
            let outcome = place.registrar(command);
            assert!(!format!("{outcome:?}").contains("hunter2"), "{outcome:#?}");
            outcome.refused(1, &[part]);
        }
    }
}

#[cfg(unix)]
#[test]
fn check_warns_of_what_others_can_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::with_registrar();
    fs::set_permissions(place.path("plant/registrar.key"), fs::Permissions::from_mode(0o644)).unwrap();
    let check = place.registrar("check --json").object();
    assert_eq!(check["warnings"].as_array().unwrap().len(), 1);
    assert!(check["warnings"][0].as_str().unwrap().contains("chmod 600"), "{check}");
}

impl Place {
    /// Returns a directory with a manufacturer in `maker` as well, whose MASA gives vouchers without a nonce to this domain,
    /// and with a device of it; and the MASA.
    fn with_masa() -> (Self, Server) {
        let place = Self(tempfile::tempdir().unwrap());
        for words in [
            "masa init --out maker --name localhost --listen 127.0.0.1:0",
            "masa make-idevid WI-3005 --config maker/masa.toml --out device",
            "masa make-idevid WI-3006 --config maker/masa.toml --out device",
            &INIT.replace("maker/ca.pem", "maker/ca/ca.pem"),
        ] {
            let outcome = place.run(words);
            assert_eq!(outcome.code, Some(0), "{words}: {outcome:#?}");
        }
        let customer = "\n[policy.nonceless]\nlifetime = 2592000\npin = \"highest\"\n\
                        [[customer]]\nname = \"plant\"\nca = \"../plant/ca/ca.pem\"\n";
        let path = place.path("maker/masa.toml");
        fs::write(&path, fs::read_to_string(&path).unwrap() + customer).unwrap();
        let mut command = terse();
        command.args(["masa", "--config"]).arg(&path);
        let masa = Server::start(command);
        let path = place.path("plant/registrar.toml");
        let text = fs::read_to_string(&path).unwrap().replace("devices = \"ask\"", "devices = \"all\"");
        let port = masa.address.rsplit(':').next().unwrap();
        fs::write(&path, format!("{text}masa_url = \"localhost:{port}\"\n")).unwrap();
        (place, masa)
    }

    fn pledge(&self, serial: &str, registrar: &Server) -> Outcome {
        self.run(&format!(
            "pledge --idevid device/{serial}.pem --key device/{serial}.key --masa-ca device/{serial}-anchors.pem \
             --registrar {} --out credential-{serial} --once --json",
            registrar.address
        ))
    }
}

#[test]
fn a_device_joins_without_the_masa_by_a_voucher_that_was_fetched() {
    let (place, mut masa) = Place::with_masa();
    let fetched = place.registrar("fetch WI-3005 --json").object();
    assert_eq!((&fetched["serial"], &fetched["manufacturer"]), (&json!("WI-3005"), &json!("manufacturer")));
    assert_eq!((&fetched["audit"], &fetched["audit_reason"]), (&json!("good"), &json!(null)));
    let listed = place.registrar("vouchers --json").objects();
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["serial_number"], &listed[0]["expires_on"]), (&json!("WI-3005"), &fetched["expires_on"]));
    // In words, and with the issuer.
    let again = place.registrar("fetch WI-3005 --manufacturer manufacturer --idevid-issuer maker/ca/ca.pem");
    assert_eq!(again.code, Some(0), "{again:#?}");
    assert!(again.stdout.contains("is stored, and ends 2") && again.stdout.contains("without the MASA"), "{again:#?}");
    let table = place.registrar("vouchers").stdout;
    assert_eq!(table.lines().count(), 2, "{table}");
    assert!(table.contains("WI-3005") && table.contains("good"), "{table}");

    masa.end();
    let registrar = place.serve();
    let joined = place.pledge("WI-3005", &registrar).object();
    assert_eq!((&joined["enrolled"], &joined["reported"]), (&json!(true), &json!(true)), "{joined}");
    assert!(place.path("credential-WI-3005/ldevid.pem").exists());
}

/// A registrar whose LDevIDs are valid for five days reminds of all that it has issued.
#[test]
fn certificates_that_end_are_listed_and_the_log_reminds_of_them() {
    let (place, _masa) = Place::with_masa();
    let path = place.path("plant/registrar.toml");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("days = 365", "days = 5")).unwrap();
    let registrar = place.serve();
    assert_eq!(place.registrar("ending").stdout, "");
    for serial in ["WI-3005", "WI-3006"] {
        assert_eq!(place.pledge(serial, &registrar).object()["enrolled"], json!(true));
    }
    let (_, log) = registrar.terminate();
    assert!(!log.contains("end within"), "{log}");

    let table = place.registrar("ending").stdout;
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(lines[1].contains("WI-300") && lines[1].contains("manufacturer") && lines[1].ends_with("ends"), "{table}");
    let listed = place.registrar("ending --days 6 --json").objects();
    assert_eq!((listed.len(), &listed[0]["has_ended"]), (2, &json!(false)), "{listed:?}");
    assert!(place.registrar("ending --days 4 --json").objects().is_empty());
    place.registrar("ending --days 0").refused(2, &["--days"]);

    let log = place.path("log");
    let mut command = terse();
    command.args(["registrar", "--config", "plant/registrar.toml"]).current_dir(place.0.path());
    let mut registrar = command.stdout(Stdio::null()).stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
    let patience = Patience::new();
    let reminded = loop {
        let written = fs::read_to_string(&log).unwrap();
        if written.contains("terse registrar ending") {
            break written;
        }
        patience.wait(written);
    };
    registrar.kill().unwrap();
    registrar.wait().unwrap();
    assert!(reminded.contains("2 LDevIDs end within 7 days and were not renewed: WI-300"), "{reminded}");
}

#[test]
fn fetch_says_what_is_wrong() {
    let (place, mut masa) = Place::with_masa();
    place.registrar("fetch").refused(2, &["required arguments"]);
    place.registrar("fetch WI-9999").refused(1, &["it says: "]);
    place.registrar("fetch WI-3005 --manufacturer other").refused(1, &["--manufacturer with one of: manufacturer"]);
    place.registrar("fetch WI-3005 --idevid-issuer none.pem").refused(1, &["none.pem"]);
    place.registrar("fetch WI-3005 --idevid-issuer maker/masa.toml").refused(1, &["maker/masa.toml"]);
    masa.end();
    place.registrar("fetch WI-3005").refused(1, &["the MASA cannot be asked"]);
    assert!(place.registrar("vouchers --json").objects().is_empty());
}

#[test]
fn both_services_say_where_their_health_is() {
    let (place, _masa) = Place::with_masa();
    for file in ["plant/registrar.toml", "maker/masa.toml"] {
        let path = place.path(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("health = \"127.0.0.1:0\"\n{text}")).unwrap();
    }
    let mut command = terse();
    command.args(["masa", "--config"]).arg(place.path("maker/masa.toml"));
    for server in [place.serve(), Server::start(command)] {
        let line = server.line();
        let address = line.strip_prefix("health ").unwrap();
        let mut stream = connect(address);
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
}

#[test]
fn both_services_have_status_pages_and_hash_passwords() {
    let (place, _masa) = Place::with_masa();
    for (service, file) in [("registrar", "plant/registrar.toml"), ("masa", "maker/masa.toml")] {
        let hash = |password: &str, options: &[&str]| {
            fs::write(place.path("password"), password).unwrap();
            let mut command = terse();
            command.args([service, "hash-password"]).args(options);
            command.stdin(fs::File::open(place.path("password")).unwrap()).output().unwrap()
        };
        let short = hash("too short\n", &[]);
        assert_eq!(short.status.code(), Some(1));
        assert!(String::from_utf8(short.stderr).unwrap().contains("12 characters"));
        let hashed = String::from_utf8(hash("correct horse battery\n", &["--json"]).stdout).unwrap();
        let hashed: serde_json::Value = serde_json::from_str(&hashed).unwrap();
        assert!(hashed["password_hash"].as_str().unwrap().starts_with("$argon2id$"));
        let hashed = String::from_utf8(hash("correct horse battery\r\nnot this", &[]).stdout).unwrap();
        let path = place.path(file);
        let text = fs::read_to_string(&path).unwrap();
        let user = format!("[[pages.user]]\nname = \"alice\"\npassword_hash = \"{}\"", hashed.trim());
        fs::write(&path, format!("{text}\n[pages]\nlisten = \"127.0.0.1:0\"\n{user}\n")).unwrap();
    }
    let mut command = terse();
    command.args(["masa", "--config"]).arg(place.path("maker/masa.toml"));
    for server in [place.serve(), Server::start(command)] {
        let line = server.line();
        let address = line.strip_prefix("pages ").unwrap();
        let mut stream = connect(address);
        stream.write_all(b"GET /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("<h1>Log in</h1>"), "{answer}");
    }
    assert_eq!(place.registrar("check").code, Some(0));
}

#[test]
fn the_registrar_serves_until_it_is_asked_to_end() {
    let place = Place::with_registrar();
    place.registrar("devices").refused(1, &["registrar.db", "start the registrar first"]);
    let server = place.serve();
    assert!(server.address.starts_with("127.0.0.1:"));
    assert!(place.registrar("pending --json").objects().is_empty());
    assert!(place.registrar("devices --json").objects().is_empty());
    assert_eq!(place.registrar("pending").stdout.lines().count(), 1);
    place.registrar("accept WI-3005").refused(1, &["WI-3005", "terse registrar pending"]);
    place.registrar("reject WI-3005").refused(1, &["WI-3005", "terse registrar pending"]);
    let (code, log) = server.terminate();
    assert_eq!((code, log.as_str()), (Some(0), ""));
}

/// All by default: a hash as proximity, DTLS 1.3, and CoAPS before HTTPS.
#[test]
fn one_registrar_serves_devices_of_both_forms_and_one_that_speaks_any() {
    let (place, _masa) = Place::with_masa();
    let path = place.path("plant/registrar.toml");
    let text = fs::read_to_string(&path).unwrap();
    let coaps = "[coaps]\nlisten = \"127.0.0.1:0\"\njpy = \"127.0.0.1:0\"\n\n[enrolment]";
    fs::write(&path, text.replace("[enrolment]", coaps)).unwrap();
    let registrar = place.serve();
    let coaps = registrar.line().strip_prefix("coaps ").unwrap().to_owned();
    assert!(registrar.line().starts_with("jpy 127.0.0.1:"));
    let joined = place.pledge("WI-3005", &registrar).object();
    assert_eq!((&joined["enrolled"], &joined["form"]), (&json!(true), &json!("https")), "{joined}");
    let joined = place.run(&format!(
        "pledge --idevid device/WI-3006.pem --key device/WI-3006.key --masa-ca device/WI-3006-anchors.pem --form any \
         --registrar {coaps} --out credential --once --json"
    ));
    let joined = joined.object();
    assert_eq!((&joined["enrolled"], &joined["form"]), (&json!(true), &json!("coaps")), "{joined}");
    let renewed =
        place.run(&format!("pledge --renew --form coaps --registrar {coaps} --out credential --json")).object();
    assert_eq!(renewed["renewed"], json!(true), "{renewed}");
    place.run(&format!("pledge --renew --form any --registrar {coaps} --out credential")).refused(2, &["--form https"]);
}

/// A join proxy needs no credential of its own: what makes a device one is that it is in the network.
#[test]
fn an_enrolled_device_is_a_join_proxy_for_the_next_one() {
    let (place, _masa) = Place::with_masa();
    let path = place.path("plant/registrar.toml");
    let text = fs::read_to_string(&path).unwrap();
    let coaps = "[coaps]\nlisten = \"127.0.0.1:0\"\njpy = \"127.0.0.1:0\"\n\n[enrolment]";
    fs::write(&path, text.replace("[enrolment]", coaps)).unwrap();
    let registrar = place.serve();
    let coaps = registrar.line().strip_prefix("coaps ").unwrap().to_owned();
    let jpy = registrar.line().strip_prefix("jpy ").unwrap().to_owned();
    let join = |serial: &str, through: &str| {
        let joined = place.run(&format!(
            "pledge --idevid device/{serial}.pem --key device/{serial}.key --masa-ca device/{serial}-anchors.pem \
             --form coaps --registrar {through} --out credential-{serial} --once --json"
        ));
        assert_eq!(joined.object()["reported"], json!(true), "{joined:?}");
    };
    join("WI-3005", &coaps);
    for (serial, mode, leads_to) in [("WI-3006", "stateful", &coaps), ("WI-3007", "stateless", &jpy)] {
        if !place.path(&format!("device/{serial}.pem")).exists() {
            let made = place.run(&format!("masa make-idevid {serial} --config maker/masa.toml --out device"));
            assert_eq!(made.code, Some(0), "{made:?}");
        }
        let mut command = terse();
        let options = "join-proxy --listen 127.0.0.1:0 --registrar 127.0.0.1:1 --udp 127.0.0.1:0 --on-link 127.0.0.0/8";
        command.args(options.split(' ')).args(["--udp-mode", mode, "--udp-registrar", leads_to]);
        let proxy = Server::start(command);
        join(serial, proxy.line().strip_prefix("udp ").unwrap());
    }
}

/// The key is good for a handshake with a server of the same generator.
#[test]
fn a_device_gets_an_identity_key_beside_its_certificate() {
    let (place, _masa) = Place::with_masa();
    assert_eq!(place.run("pkg init --out pkg").code, Some(0));
    let path = place.path("plant/registrar.toml");
    let text = fs::read_to_string(&path).unwrap();
    let coaps = "[coaps]\nlisten = \"127.0.0.1:0\"\n\n[identity]\npkg = \"../pkg\"\n\n[enrolment]";
    fs::write(&path, text.replace("[enrolment]", coaps)).unwrap();
    let registrar = place.serve();
    let coaps = registrar.line().strip_prefix("coaps ").unwrap().to_owned();
    let joined = place.run(&format!(
        "pledge --idevid device/WI-3006.pem --key device/WI-3006.key --masa-ca device/WI-3006-anchors.pem --form coaps \
         --credentials certificate-and-identity-key --registrar {coaps} --out credential --once --json"
    ));
    let joined = joined.object();
    assert_eq!((&joined["enrolled"], &joined["identity"]), (&json!(true), &json!("device:WI-3006")), "{joined}");
    assert!(joined["ldevid"].is_string(), "{joined}");
    assert_eq!(joined["identity_key"], json!("credential/device.id"));
    // With the key of the broker, of the same generator, the device connects without any certificate.
    let extracted = place.run("pkg extract dns:broker.example --pkg pkg --out broker.id");
    assert_eq!(extracted.code, Some(0), "{extracted:?}");
    let mut command = terse();
    command.args("server --listen 127.0.0.1:0 --echo --json --identity-key broker.id".split(' '));
    let broker = Server::start({
        command.current_dir(place.0.path());
        command
    });
    let met = place.run(&format!(
        "client --connect {} --server-name broker.example --json --send x --expect 1 --identity-key credential/device.id",
        broker.address
    ));
    assert_eq!(met.object()["mode"], json!("identity"), "{met:?}");
}

/// The manufacturer knows that the device supports raw public keys alone, and its configuration says what it wants.
#[test]
fn a_device_without_certificates_gets_an_identity_key() {
    let (place, _masa) = Place::with_masa();
    let made = place.run("masa make-idevid WI-3007 --raw-public-keys --config maker/masa.toml --out device");
    assert_eq!(made.code, Some(0), "{made:?}");
    assert_eq!(place.run("pkg init --out pkg").code, Some(0));
    let path = place.path("plant/registrar.toml");
    let text = fs::read_to_string(&path).unwrap();
    let coaps = "[coaps]\nlisten = \"127.0.0.1:0\"\n\n[identity]\npkg = \"../pkg\"\n\n[enrolment]";
    fs::write(&path, text.replace("[enrolment]", coaps)).unwrap();
    let registrar = place.serve();
    let coaps = registrar.line().strip_prefix("coaps ").unwrap().to_owned();
    let joined =
        place.run(&format!("pledge --config device/WI-3007.toml --registrar {coaps} --out credential --once --json"));
    let joined = joined.object();
    assert_eq!((&joined["enrolled"], &joined["identity"]), (&json!(true), &json!("device:WI-3007")), "{joined}");
    assert_eq!((&joined["reported"], &joined["ldevid"]), (&json!(true), &json!(null)), "{joined}");
    assert!(place.path("credential/device.id").exists() && !place.path("credential/ldevid.pem").exists());
    let devices = place.registrar("devices");
    assert!(devices.stdout.contains("WI-3007") && devices.stdout.contains("identity key"), "{devices:?}");
    // In words, for the next device.
    let again = place.run(&format!("pledge --config device/WI-3007.toml --registrar {coaps} --out next --once"));
    assert!(again.stdout.contains("identity key") && again.stdout.contains("next/device.id"), "{again:?}");
}

/// The first place fails at once, so that the second one has its turn before all time for a handshake is over.
#[test]
fn a_device_that_speaks_any_form_joins_over_https_where_nobody_speaks_coaps() {
    let (place, _masa) = Place::with_masa();
    let registrar = place.serve();
    let joined = place.run(&format!(
        "pledge --idevid device/WI-3005.pem --key device/WI-3005.key --masa-ca device/WI-3005-anchors.pem --form any \
         --registrar [fe80::1%nowhere]:5684 --registrar {} --out credential --once --json",
        registrar.address
    ));
    let joined = joined.object();
    assert_eq!((&joined["enrolled"], &joined["form"]), (&json!(true), &json!("https")), "{joined}");
}

#[test]
fn check_warns_of_answers_that_come_from_elsewhere() {
    let place = Place::new();
    assert_eq!(place.run(&format!("{INIT} --coaps [::]:5684 --jpy 127.0.0.1:5685")).code, Some(0));
    let check = place.registrar("check --json").object();
    assert_eq!(check["warnings"].as_array().unwrap().len(), 1, "{check}");
    assert!(check["warnings"][0].as_str().unwrap().contains("[::]:5684"), "{check}");
}

#[test]
fn a_registrar_for_both_forms_is_set_up() {
    let place = Place::new();
    place.run(&format!("{INIT} --jpy 127.0.0.1:0")).refused(2, &["required arguments"]);
    assert_eq!(place.run(&format!("{INIT} --coaps 127.0.0.1:0 --jpy 127.0.0.1:0")).code, Some(0));
    let registrar = place.serve();
    assert!(registrar.line().starts_with("coaps 127.0.0.1:") && registrar.line().starts_with("jpy 127.0.0.1:"));
}

#[test]
fn the_certificates_of_a_device_are_revoked_and_listed() {
    let (place, _masa) = Place::with_masa();
    place.registrar("revoke WI-3005").refused(1, &["start the registrar first"]);
    place.registrar("crl").refused(1, &["start the registrar first"]);
    let path = place.path("plant/registrar.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("[enrolment]", "[enrolment]\ncrl_listen = \"127.0.0.1:0\"")).unwrap();
    let registrar = place.serve();
    let address = registrar.line().strip_prefix("crl ").unwrap().to_owned();
    place.registrar("revoke WI-3005").refused(1, &["WI-3005", "terse registrar pending"]);
    for serial in ["WI-3005", "WI-3006"] {
        assert_eq!(place.pledge(serial, &registrar).object()["enrolled"], json!(true));
    }
    let rejected = place.registrar("reject WI-3006").stdout;
    assert!(
        rejected.contains("is rejected") && rejected.contains("`terse registrar revoke WI-3006` revokes it"),
        "{rejected}"
    );

    place.registrar("revoke WI-3005 --reason lost").refused(2, &["lost", "key-compromise"]);
    let revoked = place.registrar("revoke WI-3005 --reason key-compromise --json").object();
    let expected = json!({ "serial": "WI-3005", "manufacturer": "manufacturer", "revoked": 1, "revoked_before": 0, "of_another_ca": 0 });
    assert_eq!(revoked, expected);
    let again = place.registrar("revoke WI-3005").stdout;
    assert_eq!(again, "WI-3005 of manufacturer: its certificates were revoked before\n");
    let other = place.registrar("revoke WI-3006").stdout;
    assert_eq!(
        other,
        "WI-3006 of manufacturer: 1 certificate is revoked, and listed by the registrar within seconds\n"
    );
    let rejected = place.registrar("reject WI-3006").stdout;
    assert_eq!(rejected, "WI-3006 of manufacturer is rejected\n");

    let devices = place.registrar("devices --json").objects();
    assert!(devices.len() == 2 && devices.iter().all(|device| device["is_revoked"] == json!(true)), "{devices:?}");
    let table = place.registrar("devices").stdout;
    assert!(table.contains("revoked") && table.contains("rejected"), "{table}");

    // The list comes within seconds, with both.
    let revoked = |file: &str| {
        let crl = fs::read(place.path(file)).unwrap();
        let ca = terse_pki::Authority::load(&place.path("plant/ca")).unwrap();
        ca.read_crl(&crl.into()).unwrap().1.len()
    };
    let patience = Patience::new();
    loop {
        let written = place.registrar("crl --der --out domain.crl --json").object();
        assert_eq!((&written["written"], written["number"].is_u64()), (&json!(["domain.crl"]), true), "{written}");
        if revoked("domain.crl") == 2 {
            break;
        }
        patience.wait(written);
    }
    let printed = place.registrar("crl").stdout;
    assert!(
        printed.starts_with("-----BEGIN X509 CRL-----\n") && printed.ends_with("-----END X509 CRL-----\n"),
        "{printed}"
    );
    assert_eq!(place.registrar("crl --json").object()["crl"].as_str(), Some(printed.as_str()));
    let written = place.registrar("crl --out domain.pem");
    assert!(written.stdout.starts_with("domain.pem  the next one comes before 20"), "{written:?}");
    assert_eq!(fs::read_to_string(place.path("domain.pem")).unwrap(), printed);
    place.registrar("crl --der").refused(2, &["required arguments"]);
    let mut stream = connect(&address);
    stream.write_all(b"GET /crl/domain.crl HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));

    // An EST server in place of the CA revokes by itself.
    let own = "ca = \"ca\"\ndays = 365";
    let est_server = "est_server = { url = \"https://est.example\", anchors = \"manufacturer-ca.pem\" }";
    fs::write(&path, text.replace(own, est_server)).unwrap();
    place.registrar("revoke WI-3005").refused(1, &["the CA behind the EST server", "revoke them there"]);
    place.registrar("crl").refused(1, &["the CA behind the EST server"]);
}
