//! How the sensor of `terse demo` earns its certificate: a manufacturer with its MASA, a plant with its registrar and a join
//! proxy, and the sensor itself, each as a task, with files in a folder that is removed at the end (RFC 8995).

use core::net::SocketAddr;
use core::time::Duration;
use std::fs;
use std::num::NonZeroU32;
use std::path::Path;

use terse_net::Clock;
use terse_onboard::discovery::{Fixed, Place};
use terse_onboard::join_proxy::{JoinProxy, Limits};
use terse_onboard::masa::{InitOptions, MasaConfig, MasaService, init, make_idevid};
use terse_onboard::pledge::{CredentialDirectory, Device, Onboarded, Settings, onboard};
use terse_onboard::registrar::Service;
use terse_pki::{Authority, KeyAlgorithm, RegistrarOptions, Validity, write_file};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::failed;
use crate::failure::Failure;
use crate::services;

/// The serial number of the sensor. The plant gives it the name that is made of it.
pub(super) const SERIAL: &str = "sensor17";

/// The time limit of the onboarding: it does not take as long on any machine.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Onboards the sensor into the plant, with a key of this algorithm, which is none of RSA.
pub(super) fn run(
    plant: &Authority,
    algorithm: KeyAlgorithm,
    validity: Validity,
    now: u64,
) -> Result<Onboarded, Failure> {
    let folder = tempfile::tempdir().map_err(failed)?;
    services::run(async {
        let joining = tokio::time::timeout(TIME_LIMIT, join(plant, algorithm, validity, now, folder.path()));
        joining.await.map_err(|_| Failure::Failed("step onboard: the registrar or the MASA does not answer".into()))?
    })
}

async fn join(
    plant: &Authority,
    algorithm: KeyAlgorithm,
    validity: Validity,
    now: u64,
    folder: &Path,
) -> Result<Onboarded, Failure> {
    let (stop, stopped) = watch::channel(false);

    // The manufacturer, who makes the sensor and vouches for it.
    let maker = folder.join("maker");
    let options = InitOptions {
        out: maker.clone(),
        name: "localhost".into(),
        listen: LOOPBACK,
        chain: "p256x2".parse().map_err(failed)?,
        ca_name: "Sensor Maker CA".into(),
        days: 30,
        now,
    };
    init(&options).await.map_err(failed)?;
    let config = MasaConfig::read(&maker.join("masa.toml")).map_err(failed)?;
    make_idevid(&config, SERIAL, &[], folder, now).await.map_err(failed)?;
    let listener = TcpListener::bind(LOOPBACK).await.map_err(failed)?;
    let masa = listener.local_addr().map_err(failed)?;
    let service = MasaService::open(&config).await.map_err(failed)?;
    let masa_task = tokio::spawn(service.serve(listener, stopped.clone()));

    // The plant, which takes sensors of this manufacturer.
    let config = folder.join("registrar.toml");
    write_registrar(plant, validity, folder, &config, masa)?;
    let service = Service::open(&config, Clock::new()).await.map_err(failed)?;
    let listening = service.listen().await.map_err(failed)?;
    let (_registrar, registrar) = watch::channel(Some(place(listening.address())));
    let registrar_task = tokio::spawn(listening.run(stopped.clone()));
    let listener = TcpListener::bind(LOOPBACK).await.map_err(failed)?;
    let proxy = place(listener.local_addr().map_err(failed)?);
    let proxy_task = tokio::spawn(JoinProxy::new(listener, registrar, Limits::default()).run(stopped));

    // The sensor, which is switched on.
    let file = |ending: &str| folder.join(format!("{SERIAL}{ending}"));
    let device = Device::read(&file(".pem"), &file(".key"), &file("-anchors.pem")).map_err(failed)?;
    let credentials = CredentialDirectory::new(folder.join("sensor"));
    let settings = Settings { max_failures: NonZeroU32::new(1), algorithm, ..Settings::default() };
    let onboarded = onboard(&device, Fixed::new([proxy]), &credentials, &settings, |_| {}).await;

    stop.send_replace(true);
    let _ = tokio::join!(masa_task, registrar_task, proxy_task); // what has failed there has failed the sensor
    onboarded.map_err(|why| Failure::Failed(format!("step onboard: {why}")))
}

fn write_registrar(
    plant: &Authority,
    validity: Validity,
    folder: &Path,
    config: &Path,
    masa: SocketAddr,
) -> Result<(), Failure> {
    // Voucher requests are signed with ECDSA, whatever the plant's CA signs with.
    let options = RegistrarOptions::new("registrar.plant.example", validity);
    let options = RegistrarOptions { algorithm: Some(KeyAlgorithm::P256), ..options };
    let registrar = plant.issue_registrar(&options).map_err(failed)?;
    plant.save(&folder.join("ca"), false).map_err(failed)?;
    write_file(&folder.join("registrar.key"), registrar.key_pem().as_bytes(), true, false).map_err(failed)?;
    fs::write(folder.join("registrar.pem"), registrar.chain_pem() + &plant.root_pem()).map_err(failed)?;
    let text = format!(
        r#"listen = "{LOOPBACK}"
chain = "registrar.pem"
key = "registrar.key"
database = "registrar.db"
[enrolment]
ca = "ca"
days = 30
names = ["{{serial}}.plant.example"]
[[manufacturer]]
name = "Sensor Maker"
anchors = "maker/ca/ca.pem"
devices = "all"
masa_url = "localhost:{}"
"#,
        masa.port()
    );
    fs::write(config, text).map_err(failed)
}

fn place(address: SocketAddr) -> Place {
    Place::new(address.ip().to_string(), address.port())
}

/// A port of loopback that the system picks.
const LOOPBACK: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::LOCALHOST), 0);
