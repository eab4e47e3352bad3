//! A maker with a MASA, a domain with a registrar and a join proxy, and devices, made by the command and with new keys.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;
use terse_interop::compile::run;

use super::process::Process;
use super::relay::Relay;
use super::{Device, Form, Phase};
use crate::probe::children_seconds;
use crate::web::text;

/// The services that run, and their files.
pub(super) struct Scene {
    services: [Process; 3],
    relay: Relay,
    /// Where the join proxy listens.
    proxy: String,
    form: Form,
    program: PathBuf,
    folder: TempDir,
}

/// What `terse pledge` reports.
#[derive(Deserialize)]
struct Report {
    enrolled: bool,
    reported: bool,
    /// Milliseconds of all phases.
    ms: f64,
    phases: Vec<Phase>,
}

/// The serial numbers of the devices.
const DEVICES: [&str; 2] = ["WI-0000", "WI-0001"];

impl Scene {
    /// Makes all files in a new folder of `directory`, and starts the services.
    pub(super) fn start(program: &Path, directory: &Path, form: Form) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("terse-bootstrap-").tempdir_in(directory).map_err(text)?;
        let at = |name: &str| folder.path().join(name).display().to_string();
        let call = |words: &[&str]| run(Command::new(program).args(words), "it is part of this benchmark").map(drop);
        let start = |name: &str, words: &[&str]| {
            let mut command = Command::new(program);
            command.args(words);
            Process::start(command, &folder.path().join(format!("{name}.errors")))
        };
        let config = at("maker/masa.toml");
        call(&["masa", "init", "--out", &at("maker"), "--name", "localhost", "--listen", "127.0.0.1:0"])?;
        for serial_number in DEVICES {
            call(&["masa", "make-idevid", serial_number, "--config", &config, "--out", &at("devices")])?;
        }
        let masa = start("masa", &["masa", "--config", &config])?;
        let relay = Relay::start(masa.address()?.parse().map_err(text)?)?;

        let (config, ca) = (at("plant/registrar.toml"), at("maker/ca/ca.pem"));
        let init = ["registrar", "init", "--out", &at("plant"), "--name", "registrar.example"];
        let coaps: &[&str] = match form {
            Form::Https => &[],
            Form::Coaps13 | Form::Coaps12 => &["--coaps", "127.0.0.1:0", "--jpy", "127.0.0.1:0"],
        };
        call(&[&init[..], &["--manufacturer-ca", &ca, "--listen", "127.0.0.1:0"], coaps].concat())?;
        configure(Path::new(&config), relay.port())?;
        let registrar = start("registrar", &["registrar", "--config", &config])?;
        let address = registrar.address()?;
        let (proxy, address) = match form {
            Form::Https => {
                let proxy = start("join-proxy", &["join-proxy", "--listen", "127.0.0.1:0", "--registrar", &address])?;
                let address = proxy.address()?;
                (proxy, address)
            }
            Form::Coaps13 | Form::Coaps12 => {
                registrar.address_of("coaps")?;
                let jpy = registrar.address_of("jpy")?;
                let udp = ["join-proxy", "--udp", "127.0.0.1:0", "--udp-mode", "stateless", "--udp-registrar", &jpy];
                let proxy = start("join-proxy", &[&udp[..], &["--on-link", "127.0.0.0/8"]].concat())?;
                let address = proxy.address_of("udp")?;
                (proxy, address)
            }
        };
        Ok(Self { services: [masa, registrar, proxy], relay, proxy: address, form, program: program.into(), folder })
    }

    /// Onboards a device.
    pub(super) fn onboard(&self, device: usize) -> Result<Device, String> {
        let serial_number = DEVICES[device];
        let out = self.path(&format!("credentials/{serial_number}"));
        let services_before = self.services_cpu_ms();
        let before = children_seconds();
        let pledge = Process::start(self.pledge(serial_number, &out), &self.path(&format!("{serial_number}.errors")))?;
        let (enrolled_ms, report) = pledge.line()?;
        pledge.end()?;
        let cpu_ms = (children_seconds() - before) * 1e3;
        let services_cpu_ms = self.services_cpu_ms().zip(services_before).map(|(after, before)| after - before);
        let report: Report = serde_json::from_str(&report).map_err(text)?;
        self.check(serial_number, &report, &out)?;
        let start = Phase { phase: START.into(), ms: enrolled_ms - report.ms, sent: 0, received: 0 };
        let phases: Vec<Phase> = core::iter::once(start).chain(report.phases).collect();
        let voucher_ms = phases.iter().take_while(|phase| phase.phase != "voucher_status").map(|phase| phase.ms).sum();
        Ok(Device { voucher_ms, enrolled_ms, cpu_ms, services_cpu_ms, phases, masa: self.relay.take()? })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn pledge(&self, serial_number: &str, out: &Path) -> Command {
        let file = |ending: &str| self.path(&format!("devices/{serial_number}{ending}"));
        let mut command = Command::new(&self.program);
        command.args(["pledge", "--once", "--json", "--registrar", &self.proxy]).arg("--out").arg(out);
        command.arg("--idevid").arg(file(".pem")).arg("--key").arg(file(".key"));
        command.arg("--masa-ca").arg(file("-anchors.pem"));
        match self.form {
            Form::Https => {}
            Form::Coaps13 => drop(command.args(["--form", "coaps"])),
            Form::Coaps12 => drop(command.args(["--form", "coaps", "--dtls", "1.2"])),
        }
        command
    }

    /// Checks that the device has its LDevID, that the registrar knows, and that the MASA has noted it once.
    fn check(&self, serial_number: &str, report: &Report, out: &Path) -> Result<(), String> {
        let mut audit = Command::new(&self.program);
        audit.args(["masa", "audit", serial_number, "--json", "--config"]).arg(self.path("maker/masa.toml"));
        let log: Value = serde_json::from_str(&run(&mut audit, "it is part of this benchmark")?).map_err(text)?;
        let entries = log["audit_log"]["events"].as_array().map_or(0, Vec::len);
        match report.enrolled && report.reported && out.join("ldevid.pem").exists() && entries == 1 {
            true => Ok(()),
            false => Err(format!("{serial_number} is not enrolled, and has {entries} entries in the audit log")),
        }
    }

    fn services_cpu_ms(&self) -> Option<f64> {
        self.services.iter().map(Process::cpu_ms).sum()
    }
}

/// Lets the registrar take all devices, and the MASA in the own network.
fn configure(config: &Path, masa_port: u16) -> Result<(), String> {
    let written = fs::read_to_string(config).map_err(text)?;
    let written = written.replace("devices = \"ask\"", "devices = \"all\"");
    fs::write(config, format!("{written}masa_url = \"localhost:{masa_port}\"\n")).map_err(text)
}

/// The name of what comes before the phases: the process starts, and reads its files.
pub(super) const START: &str = "start";
