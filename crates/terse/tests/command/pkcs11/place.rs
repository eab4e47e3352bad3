//! A manufacturer with its MASA and devices, and a registrar whose CA has its key in a token.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::hsm::{self, Hsm};
use super::{Server, Service, run, terse};
use crate::common::{Outcome, Said, ended, json};

/// A directory in which the command runs.
pub(super) struct Place {
    folder: tempfile::TempDir,
    pub(super) hsm: Hsm,
    _masa: Option<Server>,
}

impl Place {
    /// Returns a directory with a manufacturer in `maker`, with its MASA that runs, devices of it in `device`, and a registrar in
    /// `plant`.
    pub(super) fn new(hsm: Hsm) -> Self {
        let mut place = Self { folder: tempfile::tempdir().unwrap(), hsm, _masa: None };
        place.ok("masa init --out maker --name localhost --listen 127.0.0.1:0");
        for serial in 3005..=3012 {
            place.ok(&format!("masa make-idevid WI-{serial} --config maker/masa.toml --out device"));
        }
        place.ok(
            "registrar init --out plant --name registrar.plant.example --manufacturer-ca maker/ca/ca.pem --listen 127.0.0.1:0",
        );
        let masa = Server::start(place.command("masa --config maker/masa.toml"));
        let path = place.path("plant/registrar.toml");
        let text = fs::read_to_string(&path).unwrap().replace("devices = \"ask\"", "devices = \"all\"");
        let port = masa.address.rsplit(':').next().unwrap();
        fs::write(&path, format!("{text}masa_url = \"localhost:{port}\"\n")).unwrap();
        place._masa = Some(masa);
        place
    }

    /// Returns a directory with a CA in `ca` alone.
    pub(super) fn with_ca(hsm: Hsm, algorithm: &str) -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), hsm, _masa: None };
        place.ok(&format!("pki init --algorithm {algorithm} --key-identifiers"));
        place
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns `terse` with words that are separated by spaces.
    pub(super) fn command(&self, words: &str) -> Command {
        let mut command = terse();
        self.hsm.configure(command.args(words.split_whitespace()).current_dir(self.folder.path()));
        command
    }

    pub(super) fn run(&self, words: &str) -> Outcome {
        run(self.command(words))
    }

    #[track_caller]
    pub(super) fn ok(&self, words: &str) {
        let outcome = self.run(words);
        assert_eq!(outcome.code, Some(0), "{words}: {outcome:#?}");
    }

    /// Runs `terse registrar` with the configuration.
    pub(super) fn registrar(&self, words: &str) -> Outcome {
        self.run(&format!("registrar {words} --config plant/registrar.toml"))
    }

    pub(super) fn serve(&self) -> Service {
        Service::start_with(self.command("registrar --config plant/registrar.toml"))
    }

    /// Starts a device, which repeats what was answered with 503.
    pub(super) fn pledge(&self, serial: &str, registrar: &str) -> Pledge {
        let mut command = self.command(&format!(
            "pledge --idevid device/{serial}.pem --key device/{serial}.key --masa-ca device/{serial}-anchors.pem --registrar \
             {registrar} --out credential-{serial} --once --json"
        ));
        Pledge(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap())
    }

    /// Starts a device that renews its certificate.
    pub(super) fn renew(&self, serial: &str, registrar: &str) -> Pledge {
        let mut command = self.command(&format!("pledge --renew --registrar {registrar} --out credential-{serial}"));
        Pledge(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap())
    }

    /// Has a device join.
    #[track_caller]
    pub(super) fn joins(&self, serial: &str, registrar: &str) {
        self.pledge(serial, registrar).joins();
    }

    /// Imports the key of a CA whose files have this name into the token.
    #[track_caller]
    pub(super) fn import(&self, name: &str, label: &str) {
        self.import_file(&self.path(&format!("{name}.key")), label, "01");
    }

    #[track_caller]
    pub(super) fn import_file(&self, file: &Path, label: &str, id: &str) {
        let pin = hsm::PIN;
        let words = format!("--import {} --token plant --label {label} --id {id} --pin {pin}", file.display());
        self.hsm.ok("softhsm2-util", &words);
    }

    /// Makes a key in the token.
    #[track_caller]
    pub(super) fn make_key(&self, label: &str, kind: &str) {
        self.hsm.tool(&format!("--keypairgen --key-type {kind} --label {label} --id 09"));
    }

    /// Names the key of a CA by the path of a URI, in place of its file, which is removed, and writes the PIN beside it.
    #[track_caller]
    pub(super) fn name_key(&self, name: &str, uri: &str, pin: &str) {
        let module = hsm::module().unwrap();
        self.write_uri(name, &format!("pkcs11:{uri}?module-path={}&pin-source=file:pin\n", module.display()));
        write_pin(&self.path(name).with_file_name("pin"), pin);
        let _ = fs::remove_file(self.path(&format!("{name}.key"))); // it may have been removed before
    }

    pub(super) fn write_uri(&self, name: &str, uri: &str) {
        fs::write(self.path(&format!("{name}.key-uri")), uri).unwrap();
    }

    /// Writes the PIN of the registrar's CA.
    pub(super) fn write_pin(&self, pin: &str) {
        write_pin(&self.path("plant/ca/pin"), pin);
    }

    /// Runs `openssl`, and checks that it says `part`.
    #[track_caller]
    pub(super) fn openssl(&self, words: &str, part: &str) {
        let mut command = Command::new("openssl");
        command.args(words.split_whitespace()).current_dir(self.folder.path());
        let outcome = run(command);
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(outcome.code == Some(0) && said.contains(part), "openssl {words}: {outcome:#?}");
    }
}

/// A device that joins. It ends when this is dropped.
pub(super) struct Pledge(Child);

impl Pledge {
    /// Waits until the device has joined.
    #[track_caller]
    pub(super) fn joins(mut self) {
        let report = Said::by(self.0.stdout.take().unwrap());
        let status = ended(&mut self.0);
        let report = report.all();
        assert!(status.is_some_and(|status| status.success()), "{status:?}: {report}");
        let report = json(report.trim());
        assert_eq!((&report["enrolled"], &report["reported"]), (&true.into(), &true.into()), "{report}");
    }
}

impl Drop for Pledge {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn write_pin(path: &Path, pin: &str) {
    fs::write(path, format!("{pin}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}
