//! The services of a manufacturer and of a domain, each with files of its own, on ports that the system picks.

use core::net::SocketAddr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use terse_net::Clock;
use terse_onboard::discovery::Place;
use terse_onboard::join_proxy::{JoinProxy, Limits};
use terse_onboard::masa::{self, DeviceOptions, MasaConfig, MasaService, MasaStore, make_idevid};
use terse_onboard::pledge::Device;
use terse_onboard::registrar::{self, Operator, Service};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::deadline::{Deadline, soon};
use crate::vacant::Vacant;

pub(crate) struct World {
    pub(crate) masa: Masa,
    /// Where the registrar listens itself.
    pub(crate) registrar: Place,
    /// Where the join proxy listens.
    pub(crate) proxy: Place,
    folder: tempfile::TempDir,
    stop: watch::Sender<bool>,
    services: Vec<JoinHandle<()>>,
}

/// A MASA, in a runtime of its own, with which all of its tasks die.
pub(crate) struct Masa {
    config: MasaConfig,
    /// Keeps the address while the MASA is away.
    _place: Vacant,
    runtime: Mutex<Option<Runtime>>,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

impl World {
    /// Starts all services, and makes devices with these serial numbers.
    pub(crate) async fn start(serial_numbers: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let config = factory(&at("masa"), &at("devices"), serial_numbers).await;
        let masa = Masa::start(config);
        let (stop, stopped) = watch::channel(false);

        domain(&at("domain"), &at("masa/ca/ca.pem"), masa.address());
        let service = Service::open(&at("domain/registrar.toml"), Clock::new()).await.unwrap();
        let listening = service.listen().await.unwrap();
        let registrar = place(listening.address());
        let registrar_service = tokio::spawn(listening.run(stopped.clone()));

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = place(listener.local_addr().unwrap());
        let (sender, known) = watch::channel(Some(registrar.clone()));
        // All devices of the tests have one address.
        let limits = Limits { per_address: 256, ..Limits::default() };
        let join_proxy = tokio::spawn(async move {
            JoinProxy::new(listener, known, limits).run(stopped).await;
            drop(sender);
        });
        Self { masa, registrar, proxy, folder, stop, services: vec![registrar_service, join_proxy] }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a device as the factory has made it.
    pub(crate) fn device(&self, serial_number: &str) -> Device {
        let file = |ending: &str| self.folder().join("devices").join(format!("{serial_number}{ending}"));
        Device::read(&file(".pem"), &file(".key"), &file("-anchors.pem")).unwrap()
    }

    pub(crate) async fn operator(&self) -> Operator {
        Operator::open(&self.folder().join("domain/registrar.toml"), Clock::new()).await.unwrap()
    }

    /// Returns how many entries the audit log of a device has.
    pub(crate) async fn audit_entries(&self, serial_number: &str) -> i64 {
        let store = MasaStore::open(&self.masa.config.database).await.unwrap();
        let records = store.devices(serial_number).await.unwrap();
        store.close().await;
        records.iter().map(|record| record.entries).sum()
    }

    pub(crate) async fn stop(self) {
        self.stop.send(true).unwrap();
        for service in self.services {
            soon(service).await.unwrap();
        }
        self.masa.kill();
    }
}

impl Masa {
    /// Starts at a port that the system picks, and keeps it.
    fn start(mut config: MasaConfig) -> Self {
        let place = Vacant::new();
        config.listen = place.address;
        let listener = std::net::TcpListener::bind(config.listen).unwrap();
        let this = Self { config, _place: place, runtime: Mutex::new(None) };
        this.run(listener);
        this
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.config.listen
    }

    fn run(&self, listener: std::net::TcpListener) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let config = self.config.clone();
        listener.set_nonblocking(true).unwrap();
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            let service = MasaService::open(&config).await.unwrap();
            let (_stop, stopped) = watch::channel(false);
            service.serve(listener, stopped).await;
        });
        *self.runtime.lock().unwrap() = Some(runtime);
    }

    /// Ends all that runs, wherever it is.
    pub(crate) fn kill(&self) {
        if let Some(runtime) = self.runtime.lock().unwrap().take() {
            runtime.shutdown_background();
        }
    }

    /// Starts again at the same address.
    pub(crate) fn restart(&self) {
        let deadline = Deadline::new();
        let listener = loop {
            match std::net::TcpListener::bind(self.config.listen) {
                Ok(listener) => break listener,
                Err(error) => deadline.check(error), // the old one is being closed
            }
        };
        self.run(listener);
    }
}

async fn factory(masa: &Path, devices: &Path, serial_numbers: &[&str]) -> MasaConfig {
    let options = masa::InitOptions {
        out: masa.into(),
        name: "localhost".into(),
        listen: "127.0.0.1:0".parse().unwrap(),
        chain: "p256x2".parse().unwrap(),
        ca_name: "Maker".into(),
        days: 30,
        now: now(),
    };
    masa::init(&options).await.unwrap();
    let config = MasaConfig::read(&masa.join("masa.toml")).unwrap();
    for serial_number in serial_numbers {
        make_idevid(&config, serial_number, &DeviceOptions::default(), devices, now()).await.unwrap();
    }
    config
}

/// Makes a registrar whose MASA is in the own network.
fn domain(out: &Path, manufacturer_ca: &Path, masa: SocketAddr) {
    let options = registrar::InitOptions::new(out.into(), "registrar.example".into(), manufacturer_ca.into());
    let config: PathBuf = registrar::init(&options, Clock::new()).unwrap().swap_remove(0); // it comes first
    let text = fs::read_to_string(&config).unwrap();
    let text = text.replace("[::]:8443", "127.0.0.1:0").replace("devices = \"ask\"", "devices = \"all\"");
    fs::write(&config, format!("{text}masa_url = \"localhost:{}\"\n", masa.port())).unwrap();
}

fn place(address: SocketAddr) -> Place {
    Place::new(address.ip().to_string(), address.port())
}
