//! A manufacturer, a domain and a device, each with files of its own.

use core::time::Duration;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use super::records;
use super::relay::Relay;
use super::service::{Ended, FULL, Fault, HIT, Role, Service};
use crate::common::{Outcome, Patience, Server, run, terse};

pub(crate) const SERIAL: &str = "WI-3005";

/// What all runs begin with.
pub(crate) struct Factory {
    folder: tempfile::TempDir,
}

impl Factory {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        ok(&["masa", "init", "--out", &at("maker"), "--name", "localhost", "--listen", "127.0.0.1:0"]);
        ok(&["masa", "make-idevid", SERIAL, "--config", &at("maker/masa.toml"), "--out", &at("device")]);
        let ca = at("maker/ca/ca.pem");
        ok(&["registrar", "init", "--out", &at("plant"), "--name", "registrar.example", "--manufacturer-ca", &ca]);
        let config = folder.path().join("plant/registrar.toml");
        let text = fs::read_to_string(&config).unwrap();
        let text = text.replace("[::]:8443", "127.0.0.1:0").replace("devices = \"ask\"", "devices = \"all\"");
        fs::write(&config, text).unwrap();
        // Its tables are made once, in one transaction.
        let mut command = terse();
        command.arg("registrar").arg("--config").arg(config);
        assert_eq!(Server::start(command).terminate().0, Some(0));
        Self { folder }
    }

    /// Copies the files, for a registrar whose MASA is at this port.
    fn copy(&self, masa_port: u16) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let copied = Command::new("cp").arg("-R").arg(self.folder.path().join(".")).arg(folder.path()).status();
        assert!(copied.unwrap().success());
        let config = folder.path().join("plant/registrar.toml");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(config, format!("{text}masa_url = \"localhost:{masa_port}\"\n")).unwrap();
        folder
    }
}

/// The services that run, one of them with a fault.
pub(crate) struct Plant {
    folder: tempfile::TempDir,
    masa: Relay,
    registrar: Relay,
    /// The one with the fault comes first.
    services: [Service; 2],
}

impl Plant {
    pub(crate) fn start(factory: &Factory, role: Role, fault: Fault) -> Self {
        let (masa, registrar) = (Relay::start(), Relay::start());
        let folder = factory.copy(masa.address.port());
        let (relay, other, other_relay) = match role {
            Role::Masa => (&masa, Role::Registrar, &registrar),
            Role::Registrar => (&registrar, Role::Masa, &masa),
        };
        let services = [
            Service::start(role, folder.path(), relay, fault),
            Service::start(other, folder.path(), other_relay, Fault::None),
        ];
        Self { folder, masa, registrar, services }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Onboards the device, however long it has to try.
    pub(crate) fn join(&self) -> Result<(), Outcome> {
        let device = |ending: &str| self.path(&format!("device/{SERIAL}{ending}"));
        let mut command = terse();
        command.args(["pledge", "--json", "--registrar", &self.registrar.address.to_string(), "--out"]);
        command.arg(self.path("credential")).arg("--idevid").arg(device(".pem")).arg("--key").arg(device(".key"));
        command.arg("--masa-ca").arg(device("-anchors.pem"));
        let outcome = run(command);
        let is_joined = outcome.code == Some(0)
            && outcome.lines().last().is_some_and(|report| report["enrolled"] == true && report["reported"] == true);
        if is_joined { Ok(()) } else { Err(outcome) }
    }

    /// Onboards the device while the disk is full at first. Returns whether a write was refused because of that.
    pub(crate) fn join_while_the_disk_is_full(&self) -> Result<bool, Outcome> {
        let patience = Patience::new();
        while self.masa.is_closed() || self.registrar.is_closed() {
            assert!(!self.services.iter().any(Service::has_ended), "a service has not started");
            patience.wait((self.masa.is_closed(), self.registrar.is_closed()));
        }
        let (full, hit) = (self.path(FULL), self.path(HIT));
        fs::write(&full, "").unwrap();
        thread::scope(|scope| {
            let joining = scope.spawn(|| self.join());
            let patience = Patience::new();
            while !hit.exists() && !joining.is_finished() {
                patience.wait("no write was refused");
            }
            thread::sleep(WHILE);
            fs::remove_file(&full).unwrap();
            joining.join().unwrap().map(|()| hit.exists())
        })
    }

    /// Stops the services, and checks what they have on the disk. Returns how the one with the fault has ended.
    pub(crate) fn stop(self, context: &str) -> Ended {
        let [ended, other] = self.services.map(Service::stop);
        assert!(!other.was_killed);
        let logs = format!("{context}\n{}\n{}", ended.log, other.log);
        records::check(self.folder.path(), &logs);
        ended
    }
}

/// How long a disk stays full when a service has noticed it.
const WHILE: Duration = Duration::from_millis(500);

fn ok(arguments: &[&str]) {
    let mut command = terse();
    command.args(arguments);
    let outcome = run(command);
    assert_eq!(outcome.code, Some(0), "{arguments:?}: {outcome:#?}");
}
