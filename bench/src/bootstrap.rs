//! `terse-bench bootstrap` measures the whole onboarding of a device on loopback (RFC 8995), from the start of its process: MASA,
//! registrar, join proxy and pledge are processes of the `terse` command.
//!
//! Every round has new keys of all parties, new databases and new processes. A first device warms the services up, and a second one
//! is measured. What must always hold: a device counts only if it has a stored LDevID, if its registrar knows that, and if the audit
//! log of its MASA has one entry for it; the phases of a device are together the time of its process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

mod file_system;
pub(crate) mod process;
mod relay;
mod scene;
mod table;

use scene::Scene;

/// What a device speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// RFC 8995 over HTTPS, through a join proxy for TCP.
    Https,
    /// Constrained BRSKI over CoAPS with DTLS 1.3, through a stateless join proxy.
    Coaps13,
    /// The same with DTLS 1.2.
    Coaps12,
}

/// What is measured.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    /// What the devices speak.
    pub form: Form,
    /// How many devices there are.
    pub rounds: usize,
    /// The directory for all files; by default that of temporary files.
    pub directory: Option<PathBuf>,
}

/// All devices.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// What the devices speak.
    pub form: Form,
    /// The kind of file system of the databases, and of the device's files.
    pub file_system: String,
    /// The devices that were measured.
    pub devices: Vec<Device>,
    /// Milliseconds of the first device of each round, whose services do everything for the first time.
    pub first_ms: Vec<f64>,
}

/// One device.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    /// Milliseconds from the start of the process to the voucher, which is verified by then.
    pub voucher_ms: f64,
    /// Milliseconds from the start of the process to its report that it is enrolled, and that the registrar knows.
    pub enrolled_ms: f64,
    /// Milliseconds of CPU time of the process.
    pub cpu_ms: f64,
    /// Milliseconds of CPU time of MASA, registrar and join proxy meanwhile, where the system tells.
    pub services_cpu_ms: Option<f64>,
    /// What the process did, in order: its start, and the phases that it reports.
    pub phases: Vec<Phase>,
    /// The connections of the registrar to the MASA.
    pub masa: Vec<Leg>,
}

/// A phase of a pledge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Phase {
    /// Its name in the report of `terse pledge`.
    pub phase: String,
    /// How long it took.
    pub ms: f64,
    /// The bytes that TCP or UDP carried for the pledge.
    pub sent: u64,
    /// The bytes that TCP or UDP carried to the pledge.
    pub received: u64,
}

/// A connection of the registrar to the MASA.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Leg {
    /// How long it was open.
    pub ms: f64,
    /// The bytes that TCP carried for the registrar.
    pub sent: u64,
    /// The bytes that TCP carried to the registrar.
    pub received: u64,
}

impl Bootstrap {
    /// Onboards the devices, one after the other. Cargo builds the command first, as this program was built.
    pub fn measure(&self) -> Result<Measured, String> {
        let program = terse_interop::compile::built_by_cargo("terse")?;
        let directory = self.directory.clone().unwrap_or_else(std::env::temp_dir);
        let file_system = file_system::of(&directory);
        let mut measured = Measured { form: self.form, file_system, devices: Vec::new(), first_ms: Vec::new() };
        for round in 1..=self.rounds {
            eprintln!("device {round} of {}", self.rounds);
            let scene = Scene::start(&program, &directory, self.form)?;
            measured.first_ms.push(scene.onboard(0)?.enrolled_ms);
            measured.devices.push(scene.onboard(1)?);
        }
        Ok(measured)
    }
}

impl Measured {
    /// Returns the tables: of times in milliseconds, and of bytes.
    pub fn render(&self) -> String {
        table::render(self)
    }
}
