//! How the sensor of `terse demo` earns its certificate (RFC 8995): the MASA of its maker, the registrar and a join proxy of the
//! plant, and the sensor itself are four processes of this command, on loopback.
//!
//! What must always hold: at the end none of the processes is left, nor their folder; also if SIGTERM or
//! Ctrl-C ends it.

use core::net::SocketAddr;
use core::time::Duration;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use terse_onboard::masa::{DeviceOptions, InitOptions, MasaConfig, init, make_idevid};
use terse_onboard::pledge::CredentialDirectory;
use terse_pki::{Authority, KeyAlgorithm, RegistrarOptions, Validity, write_file};
use terse_tls::Credential;

use super::failed;
use super::processes::Process;
use crate::failure::Failure;

/// The serial number of the sensor. The plant gives it the name that is made of it.
pub(super) const SERIAL: &str = "sensor17";

/// The subcommands that run, each as a process of its own.
pub(super) const PROCESSES: [&str; 4] = ["masa", "registrar", "join-proxy", "pledge"];

/// The time limit of the onboarding: it does not take as long on any machine.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// What the sensor has earned, and how.
pub(super) struct Onboarded {
    /// The LDevID with its key.
    pub(super) credential: Credential,
    pub(super) report: Report,
}

/// What `terse pledge` reports.
#[derive(Deserialize)]
pub(super) struct Report {
    /// What the voucher says about the plant.
    pub(super) assertion: String,
    /// Milliseconds from the beginning of discovery.
    pub(super) ms: f64,
    pub(super) phases: Vec<Phase>,
}

/// How long a phase took.
#[derive(Deserialize, Serialize)]
pub(super) struct Phase {
    phase: String,
    ms: f64,
}

/// Onboards the sensor into the plant, with a key of this algorithm, which is none of RSA. Whoever drops the future ends it.
pub(super) async fn run(
    plant: &Authority,
    algorithm: KeyAlgorithm,
    validity: Validity,
    now: u64,
) -> Result<Onboarded, Failure> {
    let folder = tempfile::Builder::new().prefix("terse-demo-").tempdir().map_err(failed)?;
    let scene = Scene { folder: folder.path(), plant, validity, now };
    let joining = tokio::time::timeout(TIME_LIMIT, scene.join(algorithm)).await;
    joining.map_err(|_| Failure::Failed("step onboard: the registrar or the MASA does not answer".into()))?
}

/// A maker and a plant, with their files.
struct Scene<'a> {
    folder: &'a Path,
    plant: &'a Authority,
    validity: Validity,
    now: u64,
}

impl Scene<'_> {
    async fn join(&self, algorithm: KeyAlgorithm) -> Result<Onboarded, Failure> {
        self.make_sensor().await?;
        let [masa, registrar, join_proxy, pledge] = PROCESSES;
        let config = self.folder.join("maker/masa.toml");
        let mut masa = self.start(masa, &["--config".as_ref(), config.as_ref()])?;
        let config = self.folder.join("registrar.toml");
        self.write_registrar(&config, &masa.address().await?)?;
        let mut registrar = self.start(registrar, &["--config".as_ref(), config.as_ref()])?;
        let address = registrar.address().await?;
        let arguments = ["--listen", "127.0.0.1:0", "--registrar", &address].map(OsStr::new);
        let mut join_proxy = self.start(join_proxy, &arguments)?;

        let proxy = join_proxy.address().await?;
        let report = self.start_pledge(pledge, algorithm, &proxy)?.report().await;
        // The end of a service says more than what comes of it.
        let report = report.map_err(|why| {
            [&mut masa, &mut registrar, &mut join_proxy].into_iter().find_map(Process::ended).unwrap_or(why)
        })?;
        let report = serde_json::from_str(&report).map_err(failed)?;
        let (credential, _) = CredentialDirectory::new(self.folder.join("sensor")).read().map_err(failed)?;
        Ok(Onboarded { credential, report })
    }

    /// Makes the manufacturer's files, and the sensor.
    async fn make_sensor(&self) -> Result<(), Failure> {
        let maker = self.folder.join("maker");
        let options = InitOptions {
            out: maker.clone(),
            name: "localhost".into(),
            listen: SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::LOCALHOST), 0),
            chain: "p256x2".parse().map_err(failed)?,
            ca_name: "Sensor Maker CA".into(),
            days: 30,
            now: self.now,
        };
        init(&options).await.map_err(failed)?;
        let config = MasaConfig::read(&maker.join("masa.toml")).map_err(failed)?;
        make_idevid(&config, SERIAL, &DeviceOptions::default(), self.folder, self.now).await.map_err(failed)?;
        Ok(())
    }

    /// Writes the files of the plant's registrar, which takes all sensors of the manufacturer.
    fn write_registrar(&self, config: &Path, masa: &str) -> Result<(), Failure> {
        let Self { folder, plant, validity, .. } = *self;
        // Voucher requests are signed with ECDSA, whatever the plant's CA signs with.
        let options = RegistrarOptions::new("registrar.plant.example", validity);
        let options = RegistrarOptions { algorithm: Some(KeyAlgorithm::P256), ..options };
        let registrar = plant.issue_registrar(&options).map_err(failed)?;
        plant.save(&folder.join("ca"), false).map_err(failed)?;
        write_file(&folder.join("registrar.key"), registrar.key_pem().as_bytes(), true, false).map_err(failed)?;
        fs::write(folder.join("registrar.pem"), registrar.chain_pem() + &plant.root_pem()).map_err(failed)?;
        let masa: SocketAddr = masa.parse().map_err(failed)?;
        let text = format!(
            r#"listen = "127.0.0.1:0"
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

    /// Switches the sensor on.
    fn start_pledge(&self, name: &'static str, algorithm: KeyAlgorithm, proxy: &str) -> Result<Process, Failure> {
        let file = |ending: &str| self.folder.join(format!("{SERIAL}{ending}"));
        let (idevid, key, anchors) = (file(".pem"), file(".key"), file("-anchors.pem"));
        let (out, algorithm) = (self.folder.join("sensor"), algorithm.to_string());
        let arguments: [&OsStr; 14] = [
            "--idevid".as_ref(),
            idevid.as_ref(),
            "--key".as_ref(),
            key.as_ref(),
            "--masa-ca".as_ref(),
            anchors.as_ref(),
            "--out".as_ref(),
            out.as_ref(),
            "--registrar".as_ref(),
            proxy.as_ref(),
            "--algorithm".as_ref(),
            algorithm.as_ref(),
            "--once".as_ref(),
            "--json".as_ref(),
        ];
        self.start(name, &arguments)
    }

    /// Starts this command once more, with a subcommand.
    fn start(&self, name: &'static str, arguments: &[&OsStr]) -> Result<Process, Failure> {
        let program = std::env::current_exe().map_err(failed)?;
        let arguments = [&[OsStr::new(name)], arguments].concat();
        Process::start(&program, name, &arguments, self.folder)
    }
}
