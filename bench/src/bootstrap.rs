//! `terse-bench bootstrap` measures the whole onboarding of a device on loopback (RFC 8995), by phase: a MASA, a registrar, a
//! join proxy and the device are tasks of one process, each with its files, databases and TLS connections.
//!
//! What must always hold: each round is a new device of the factory, which ends with a stored LDevID and a registrar that knows
//! of it; the phases of a round are together its whole time.

use core::net::{Ipv4Addr, SocketAddr};
use core::num::NonZeroU32;
use core::time::Duration;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use terse_net::Clock;
use terse_onboard::discovery::{Fixed, Place};
use terse_onboard::join_proxy::{JoinProxy, Limits};
use terse_onboard::masa::{self, MasaConfig, MasaService, make_idevid};
use terse_onboard::pledge::{CredentialDirectory, Device, Settings, Stage, Timings, onboard};
use terse_onboard::registrar::{self, Service};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::table::lay_out;
use crate::web::text;

/// Onboards so many devices, one after the other, and one before that does not count. Returns the table, in milliseconds.
pub fn measure(rounds: usize) -> Result<String, String> {
    let folder = Folder::new()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(text)?;
    let runs = runtime.block_on(run(folder.path(), rounds))?;
    Ok(render(&runs))
}

async fn run(folder: &Path, rounds: usize) -> Result<Vec<Timings>, String> {
    let serial_numbers: Vec<_> = (0..=rounds).map(|round| format!("WI-{round:04}")).collect();
    let (stop, stopped) = watch::channel(false);
    let proxy = start(folder, &serial_numbers, &stopped).await?;
    let mut runs = Vec::new();
    for (round, serial_number) in serial_numbers.iter().enumerate() {
        eprintln!("device {round} of {rounds}");
        let file = |ending: &str| folder.join("devices").join(format!("{serial_number}{ending}"));
        let device = Device::read(&file(".pem"), &file(".key"), &file("-anchors.pem")).map_err(text)?;
        let credentials = CredentialDirectory::new(folder.join("credentials").join(serial_number));
        let settings = Settings { max_failures: NonZeroU32::new(1), ..Settings::default() };
        let onboarded = onboard(&device, Fixed::new([proxy.clone()]), &credentials, &settings, |_| {}).await;
        let onboarded = onboarded.map_err(text)?;
        if !onboarded.is_reported || !credentials.has_credential() {
            return Err(format!("{serial_number} is not enrolled"));
        }
        runs.extend((round > 0).then_some(onboarded.timings));
    }
    stop.send_replace(true);
    Ok(runs)
}

/// Makes the devices, and starts the services. Returns where the join proxy is.
async fn start(folder: &Path, serial_numbers: &[String], stopped: &watch::Receiver<bool>) -> Result<Place, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(text)?.as_secs();
    let maker = folder.join("maker");
    let options = masa::InitOptions {
        out: maker.clone(),
        name: "localhost".into(),
        listen: LOOPBACK,
        chain: "p256x2".parse().map_err(text)?,
        ca_name: "Maker".into(),
        days: 30,
        now,
    };
    masa::init(&options).await.map_err(text)?;
    let config = MasaConfig::read(&maker.join("masa.toml")).map_err(text)?;
    for serial_number in serial_numbers {
        make_idevid(&config, serial_number, &[], &folder.join("devices"), now).await.map_err(text)?;
    }
    let listener = TcpListener::bind(LOOPBACK).await.map_err(text)?;
    let port = listener.local_addr().map_err(text)?.port();
    let service = MasaService::open(&config).await.map_err(text)?;
    tokio::spawn(service.serve(listener, stopped.clone()));

    let plant = folder.join("plant");
    let options = registrar::InitOptions::new(plant.clone(), "registrar.example".into(), maker.join("ca/ca.pem"));
    registrar::init(&options, Clock::new()).map_err(text)?;
    let config = plant.join("registrar.toml");
    let written = fs::read_to_string(&config).map_err(text)?;
    let written = written.replace("[::]:8443", "127.0.0.1:0").replace("devices = \"ask\"", "devices = \"all\"");
    fs::write(&config, format!("{written}masa_url = \"localhost:{port}\"\n")).map_err(text)?;
    let listening = Service::open(&config, Clock::new()).await.map_err(text)?.listen().await.map_err(text)?;
    let registrar = listening.address();
    tokio::spawn(listening.run(stopped.clone()));

    let listener = TcpListener::bind(LOOPBACK).await.map_err(text)?;
    let proxy = listener.local_addr().map_err(text)?;
    let place = |address: SocketAddr| Place::new(address.ip().to_string(), address.port());
    let (_, known) = watch::channel(Some(place(registrar))); // it does not move
    tokio::spawn(JoinProxy::new(listener, known, Limits::default()).run(stopped.clone()));
    Ok(place(proxy))
}

/// Returns the table: a line for each stage in the order of the first round, and the sums of the paper's two stretches.
fn render(runs: &[Timings]) -> String {
    let stages: Vec<Stage> = runs.first().map(|run| run.stages().map(|(stage, _)| stage).collect()).unwrap_or_default();
    let of = |run: &Timings, wanted: &dyn Fn(Stage) -> bool| -> Duration {
        run.stages().filter(|(stage, _)| wanted(*stage)).map(|(_, time)| time).sum()
    };
    let mut rows = vec![["phase, in ms", "median", "mean", "deviation"].map(str::to_owned).to_vec()];
    let mut row = |name: &str, wanted: &dyn Fn(Stage) -> bool| {
        rows.push(cells(name, runs.iter().map(|run| of(run, wanted).as_secs_f64() * 1e3).collect()));
    };
    for stage in &stages {
        row(stage.name(), &|other| other == *stage);
    }
    let voucher = stages.iter().position(|stage| stage.name() == "request_voucher").map_or(0, |place| place + 1);
    row("to the voucher", &|other| stages.iter().take(voucher).any(|stage| *stage == other));
    row("to enrolled, and reported", &|_| true);
    lay_out(&rows)
}

fn cells(name: &str, mut times: Vec<f64>) -> Vec<String> {
    times.sort_by(f64::total_cmp);
    let count = times.len().max(1) as f64;
    let mean = times.iter().sum::<f64>() / count;
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let middle = |place: usize| times.get(place).copied().unwrap_or_default();
    let median = (middle(times.len().saturating_sub(1) / 2) + middle(times.len() / 2)) / 2.0;
    let cell = |value: f64| format!("{value:.2}");
    vec![name.to_owned(), cell(median), cell(mean), cell(variance.sqrt())]
}

/// A new folder, which is removed at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new() -> Result<Self, String> {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).map_err(text)?;
        let name = format!("terse-bootstrap-{}-{}", std::process::id(), since_1970.as_nanos());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).map_err(text)?;
        Ok(Self(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // what is left there is small
    }
}

/// A port of loopback that the system picks.
const LOOPBACK: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
