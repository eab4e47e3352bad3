//! `terse registrar`: a registrar is set up, checked, served and operated, from the command line.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::common::{Outcome, Server, mode, run, terse};

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
        ("postgres://plant:12/hunter2@127.0.0.1:1/registrar", "registrar.toml: line 6: "),
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
