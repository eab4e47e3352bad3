//! The manufacturer and the plant, each with two processes of its service on one database.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tempfile::TempDir;
use terse_interop::compile::run;
use terse_onboard::discovery::Place;
use terse_onboard::masa::{DeviceOptions, MasaConfig, make_idevid};
use terse_onboard::pledge::Device;
use tokio::runtime::Runtime;

use super::balancer::Balancer;
use super::link::Link;
use super::postgres::Postgres;
use crate::bootstrap::process::Process;
use crate::web::text;

/// The services that run, and their files.
pub(super) struct Scene {
    pub(super) postgres: Postgres,
    /// The one in which the devices and the balancers run.
    pub(super) runtime: Runtime,
    masas: Replicas,
    registrars: Replicas,
    program: PathBuf,
    folder: TempDir,
}

/// Two processes of a service.
struct Replicas {
    role: &'static str,
    balancer: Balancer,
    members: [Member; 2],
    /// Each with where it listens.
    processes: Mutex<[Option<(Process, SocketAddr)>; 2]>,
}

/// What belongs to one of them, however often it is started.
struct Member {
    config: PathBuf,
    to_clients: Link,
    to_database: Link,
}

/// From whom the second registrar and the second MASA are cut off.
#[derive(Clone, Copy, Debug)]
pub(super) enum From {
    Clients,
    Database,
}

impl Scene {
    /// Makes all files in a new folder of `directory`, and starts the services.
    pub(super) fn start(program: &Path, directory: &Path, pledges: usize) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("terse-plant-").tempdir_in(directory).map_err(text)?;
        let postgres = Postgres::start()?;
        let runtime = Runtime::new().map_err(text)?;
        let at = |name: &str| folder.path().join(name);
        let call = |words: &[&str]| {
            let mut command = Command::new(program);
            run(command.args(words).current_dir(folder.path()), "it is part of this benchmark").map(drop)
        };
        call(&["masa", "init", "--out", "maker", "--name", "localhost", "--listen", "127.0.0.1:0"])?;
        let maker = at("maker/masa.toml");
        edit(&maker, &[MASA_LIMITS], "")?;
        let members = Member::two(&postgres, "masa", &maker, &runtime)?;
        let config = MasaConfig::read(&members[0].config).map_err(text)?;
        let (options, now) = (DeviceOptions::default(), SystemTime::now().duration_since(UNIX_EPOCH).map_err(text)?);
        for number in 0..pledges {
            let (serial_number, devices) = (serial_number(number), at("devices"));
            let made = make_idevid(&config, &serial_number, &options, &devices, now.as_secs());
            runtime.block_on(made).map_err(text)?;
        }
        let masas = Replicas::start("masa", members, program, &runtime)?;

        let init = ["registrar", "init", "--out", "plant", "--name", "registrar.example", "--listen", "127.0.0.1:0"];
        call(&[&init[..], &["--manufacturer-ca", "maker/ca/ca.pem"]].concat())?;
        let plant = at("plant/registrar.toml");
        let masa = format!("masa_url = \"localhost:{}\"\n", masas.balancer.address().port());
        let more = masa + REGISTRAR_LIMITS; // the URL belongs to the manufacturer, which comes last
        edit(&plant, &[("devices = \"ask\"", "devices = \"all\"")], &more)?;
        let members = Member::two(&postgres, "registrar", &plant, &runtime)?;
        let registrars = Replicas::start("registrar", members, program, &runtime)?;
        Ok(Self { postgres, runtime, masas, registrars, program: program.into(), folder })
    }

    /// Where devices find a registrar.
    pub(super) fn place(&self) -> Place {
        let address = self.registrars.balancer.address();
        Place::new(address.ip().to_string(), address.port())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns a device as the factory has made it.
    pub(super) fn device(&self, number: usize) -> Result<Device, String> {
        let file = |ending: &str| self.path("devices").join(format!("{}{ending}", serial_number(number)));
        Device::read(&file(".pem"), &file(".key"), &file("-anchors.pem")).map_err(text)
    }

    /// Kills the first registrar and the first MASA.
    pub(super) fn kill(&self) {
        self.registrars.kill();
        self.masas.kill();
    }

    /// Starts again what was killed.
    pub(super) fn restart(&self) -> Result<(), String> {
        self.registrars.fill(&self.program)?;
        self.masas.fill(&self.program)
    }

    /// Cuts the second registrar and the second MASA off.
    pub(super) fn cut(&self, from: From) {
        for replicas in [&self.registrars, &self.masas] {
            replicas.members[1].link(from).cut();
        }
    }

    /// Lets them through again.
    pub(super) fn mend(&self, from: From) {
        for replicas in [&self.registrars, &self.masas] {
            replicas.members[1].link(from).mend();
        }
    }

    /// Returns how many bytes were kept back on the links of this kind.
    pub(super) fn kept_back(&self, from: From) -> u64 {
        [&self.registrars, &self.masas].iter().map(|replicas| replicas.members[1].link(from).kept_back()).sum()
    }

    /// Runs a command for the MASA, and returns what it prints.
    pub(super) fn masa(&self, words: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        run(command.args(words).arg("--config").arg(&self.masas.members[0].config), "it is part of this benchmark")
    }

    /// Returns the CPU time of the services that run.
    pub(super) fn cpu_seconds(&self) -> Option<f64> {
        let seconds = |replicas: &Replicas| -> Option<f64> {
            let processes = replicas.processes.lock().unwrap_or_else(PoisonError::into_inner);
            processes.iter().flatten().map(|(process, _)| Some(process.cpu_ms()? / 1e3)).sum()
        };
        Some(seconds(&self.registrars)? + seconds(&self.masas)?)
    }
}

impl Replicas {
    fn start(role: &'static str, members: [Member; 2], program: &Path, runtime: &Runtime) -> Result<Self, String> {
        let balancer = runtime.block_on(Balancer::start())?;
        let this = Self { role, balancer, members, processes: Mutex::default() };
        this.fill(program)?;
        Ok(this)
    }

    fn kill(&self) {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)[0] = None; // it is killed when it is dropped
    }

    /// Starts those that are not there.
    fn fill(&self, program: &Path) -> Result<(), String> {
        let mut processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut services = Vec::new();
        for (member, process) in self.members.iter().zip(processes.iter_mut()) {
            let address = match process {
                Some((_, address)) => *address,
                None => {
                    let mut command = Command::new(program);
                    command.arg(self.role).arg("--config").arg(&member.config);
                    let running = Process::start(command, &member.config.with_extension("errors"))?;
                    let address = running.address()?.parse().map_err(text)?;
                    *process = Some((running, address));
                    address
                }
            };
            services.push((address, member.to_clients.clone()));
        }
        self.balancer.lead_to(services);
        Ok(())
    }
}

impl Member {
    const fn link(&self, from: From) -> &Link {
        match from {
            From::Clients => &self.to_clients,
            From::Database => &self.to_database,
        }
    }

    /// Makes the database of a service, and a configuration beside `config` for each of two, with a link of its own to the database.
    fn two(postgres: &Postgres, role: &str, config: &Path, runtime: &Runtime) -> Result<[Self; 2], String> {
        postgres.create(role)?;
        let _runtime = runtime.enter();
        let member = |number: usize| {
            let own = config.with_file_name(format!("{role}-{number}.toml"));
            let to_database = Link::new();
            let url = postgres.url(role, &to_database, &own.with_extension("socket"))?;
            fs::copy(config, &own).map_err(text)?;
            edit(&own, &[(&format!("database = \"{role}.db\""), &format!("database = \"{url}\""))], "")?;
            Ok::<_, String>(Self { config: own, to_clients: Link::new(), to_database })
        };
        Ok([member(1)?, member(2)?])
    }
}

/// The serial number of a device.
pub(super) fn serial_number(number: usize) -> String {
    format!("WI-{number:05}")
}

/// Replaces texts of a configuration, each of which is there, and appends one.
fn edit(path: &Path, changes: &[(&str, &str)], more: &str) -> Result<(), String> {
    let mut written = fs::read_to_string(path).map_err(text)?;
    for (from, to) in changes {
        if !written.contains(from) {
            return Err(format!("{}: there is no {from}", path.display()));
        }
        written = written.replace(from, to);
    }
    fs::write(path, written + more).map_err(text)
}

/// All devices have one address here.
const MASA_LIMITS: (&str, &str) = ("requests_per_minute = 600", "requests_per_minute = 1000000");
const REGISTRAR_LIMITS: &str =
    "\n[limits]\nrequests_per_second = 100000\nrequests_at_once = 100000\nconnections = 4000\n";
