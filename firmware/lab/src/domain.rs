//! A manufacturer with its MASA, and a domain with its registrar and a server, all by the `terse` command.

use std::fs;

use pki_types::PrivatePkcs8KeyDer;
use pki_types::pem::PemObject as _;
use serde_json::Value;

use crate::Failed;
use crate::device::{certificates, item};
use crate::plant::Plant;

/// The services of both, which live as long as this.
pub(crate) struct Domain {
    plant: Plant,
    /// The ports of the registrar and of the server over DTLS and over TLS.
    pub(crate) ports: [Ports; 2],
}

/// The ports of the services for devices that speak in one way.
pub(crate) struct Ports {
    /// The registrar.
    pub(crate) registrar: u16,
    /// A server of the domain, which takes nobody without an LDevID.
    pub(crate) server: u16,
}

impl Domain {
    /// Starts the services, with new keys.
    pub(crate) fn new() -> Result<Self, Failed> {
        let mut plant = Plant::empty()?;
        plant.terse(&["masa", "init", "--out", "maker", "--name", "localhost", "--listen", ANYWHERE])?;
        let [masa] = plant.start(&["masa", "--config", MASA])?;
        let init = ["registrar", "init", "--out", "plant", "--name", "registrar.example", "--listen", ANYWHERE];
        let coaps = ["--manufacturer-ca", "maker/ca/ca.pem", "--coaps", ANYWHERE, "--jpy", ANYWHERE];
        plant.terse(&[&init[..], &coaps].concat())?;
        // All devices of the manufacturer may join, and its MASA is on this computer.
        let config = plant.path(REGISTRAR);
        let text = fs::read_to_string(&config)?.replace("devices = \"ask\"", "devices = \"all\"");
        fs::write(&config, format!("{text}masa_url = \"localhost:{masa}\"\n"))?;
        let [https, coaps, _] = plant.start(&["registrar", "--config", REGISTRAR])?;
        plant.terse(&["pki", "issue", SERVER, "--server", "--ca", "plant/ca"])?;
        let (certificate, key) = (format!("{SERVER}.pem"), format!("{SERVER}.key"));
        let serve = ["server", "--listen", ANYWHERE, "--echo", "--cert", &certificate, "--key", &key];
        let serve = [&serve[..], &["--client-ca", "plant/ca/ca.pem", "--require-client-cert"]].concat();
        let [dtls] = plant.start(&[&serve[..], &["--dtls"]].concat())?;
        let [tls] = plant.start(&serve)?;
        let ports = [Ports { registrar: coaps, server: dtls }, Ports { registrar: https, server: tls }];
        Ok(Self { plant, ports })
    }

    /// Makes a device as the factory does, which finds the registrar and the server at these ports. Returns its file.
    pub(crate) fn device(&self, serial_number: &str, ports: &Ports) -> Result<Vec<u8>, Failed> {
        self.plant.terse(&["masa", "make-idevid", serial_number, "--config", MASA, "--out", "devices"])?;
        let read = |ending: &str| self.plant.read(&format!("devices/{serial_number}{ending}"));
        let settings = format!("registrar={}\nport={}\nname={SERVER}\n", ports.registrar, ports.server);
        let key = PrivatePkcs8KeyDer::from_pem_slice(&read(".key")?)?;
        let (anchors, chain) = (certificates(&read("-anchors.pem")?)?, certificates(&read(".pem")?)?);
        let (end, none) = (item(&[])?, [item(&[])?, item(&[])?, item(&[])?].concat());
        let file = [item(settings.as_bytes())?, anchors, end.clone(), chain, end, item(key.secret_pkcs8_der())?, none];
        Ok(file.concat())
    }

    /// Returns what the registrar says of a device.
    pub(crate) fn knows(&self, serial_number: &str) -> Result<Value, Failed> {
        let devices = self.plant.terse(&["registrar", "devices", "--json", "--config", REGISTRAR])?;
        let devices: Vec<Value> = devices.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let device = devices.into_iter().find(|device| device["serial_number"] == serial_number);
        device.ok_or_else(|| format!("the registrar does not know {serial_number}").into())
    }

    /// Returns the path of a file or a folder.
    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.plant.path(name)
    }
}

const MASA: &str = "maker/masa.toml";
const REGISTRAR: &str = "plant/registrar.toml";
const SERVER: &str = "broker.plant.example";

/// A port that the system chooses.
const ANYWHERE: &str = "127.0.0.1:0";
