//! A CA, a generator of identity keys, the keys of both sides, and servers, all by the `terse` command.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use pki_types::PrivatePkcs8KeyDer;
use pki_types::pem::PemObject as _;
use serde_json::Value;
use terse_ibc::files::{AnyKey, KeyFile};

use crate::Failed;
use crate::scenario::{Link, Proof, Scenario};

/// A folder with credentials, and the servers that are started there.
pub(crate) struct Plant {
    folder: PathBuf,
    servers: Vec<Server>,
}

/// A server.
struct Server {
    process: Child,
    /// One line of JSON for each connection that has ended.
    reports: Receiver<String>,
    /// The file with what it has said on its standard error.
    errors: PathBuf,
}

/// The server's name, and the device's names.
pub(crate) const SERVER: &str = "broker.example";
const DEVICE: &str = "device.example";
const DEVICE_IDENTITY: &str = "eui64:0200000000000017";
pub(crate) const PSK_IDENTITY: &str = "sensor-17";

impl Plant {
    /// Makes credentials in a new folder.
    pub(crate) fn new() -> Result<Self, Failed> {
        let plant = Self::empty()?;
        plant.terse(&["pki", "init"])?;
        plant.terse(&["pki", "issue", SERVER, "--server"])?;
        plant.terse(&["pki", "issue", DEVICE, "--client"])?;
        plant.terse(&["pkg", "init"])?;
        plant.terse(&["pkg", "extract", &format!("dns:{SERVER}"), "--out", "server.id"])?;
        plant.terse(&["pkg", "extract", DEVICE_IDENTITY, "--with", "server.id", "--out", "device.id"])?;
        let digits: String = PSK.iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(plant.path("sensor-17.psk"), digits)?;
        fs::write(plant.path(DEVICE_PUBLIC), plant.public_key(DEVICE_KEY)?)?;
        Ok(plant)
    }

    /// Makes the folder alone.
    pub(crate) fn empty() -> Result<Self, Failed> {
        let folder = env::temp_dir().join(format!("terse-lab.{}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { folder, servers: Vec::new() })
    }

    /// Returns the path of a file or a folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Reads a file with the private half of what a device has.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, Failed> {
        let path = self.path(name);
        fs::read(&path).map_err(|error| format!("{}: {error}", path.display()).into())
    }

    /// Returns the SubjectPublicKeyInfo of a private key on P-256 in PKCS #8, at whose end the public key stands.
    pub(crate) fn public_key(&self, name: &str) -> Result<Vec<u8>, Failed> {
        let key = PrivatePkcs8KeyDer::from_pem_slice(&self.read(name)?)?;
        let point = key.secret_pkcs8_der().last_chunk::<65>().filter(|point| point[0] == 4);
        Ok([&SPKI_OF_P256, &point.ok_or("a private key has no public key in it")?[..]].concat())
    }

    /// Returns the scalar of a private key on P-256 in PKCS #8, where it stands behind the version of an ECPrivateKey (RFC 5915, 3).
    pub(crate) fn scalar(&self, name: &str) -> Result<Vec<u8>, Failed> {
        let key = PrivatePkcs8KeyDer::from_pem_slice(&self.read(name)?)?;
        let key = key.secret_pkcs8_der();
        let start = key.windows(5).position(|bytes| bytes == [0x02, 0x01, 0x01, 0x04, 0x20]);
        let scalar = start.and_then(|start| key.get(start + 5..start + 37));
        Ok(scalar.ok_or("a private key is not on P-256")?.to_vec())
    }

    /// Returns the content of the file of an identity key.
    pub(crate) fn identity_key(&self, name: &str) -> Result<Vec<u8>, Failed> {
        let key = KeyFile::<AnyKey>::from_pem(&String::from_utf8(self.read(name)?)?)?;
        Ok(key.to_bytes()?.to_vec())
    }

    /// Starts a server for one way to connect, which lives as long as the plant. Returns its port.
    pub(crate) fn serve(&mut self, scenario: Scenario) -> Result<u16, Failed> {
        let mut arguments = vec!["server", "--listen", "127.0.0.1:0", "--echo", "--json"];
        arguments.extend((scenario.link != Link::Uart).then_some("--dtls"));
        arguments.extend_from_slice(match scenario.proof {
            Proof::Cached | Proof::Resumed => &CERTIFIED,
            Proof::Psk => &["--psk-identity", PSK_IDENTITY, "--psk-file", "sensor-17.psk"],
            Proof::Identity => &["--identity-key", "server.id"],
            Proof::RawKey => &["--key", "broker.example.key", "--peer-key", DEVICE_PUBLIC, "--require-client-cert"],
        });
        self.start(&arguments).map(|[port]| port)
    }

    /// Starts a server, which lives as long as the plant. Returns the ports that its first lines end with.
    pub(crate) fn start<const PORTS: usize>(&mut self, arguments: &[&str]) -> Result<[u16; PORTS], Failed> {
        let errors = self.path(&format!("server{}.errors", self.servers.len()));
        let mut command = self.command(arguments)?;
        let mut process = command.stdout(Stdio::piped()).stderr(fs::File::create(&errors)?).spawn()?;
        let output = process.stdout.take();
        let (sender, reports) = channel();
        self.servers.push(Server { process, reports, errors });
        let mut lines = BufReader::new(output.ok_or("a server has no output")?).lines();
        let mut ports = [0; PORTS];
        for port in &mut ports {
            let line = lines.next().transpose()?.unwrap_or_default();
            let stated = line.rsplit(':').next().and_then(|port| port.trim().parse().ok());
            let none = || format!("terse {} says no port: {line}{}", arguments.join(" "), self.errors());
            *port = stated.ok_or_else(none)?;
        }
        // The rest are reports.
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Ok(ports)
    }

    /// Waits for the next report of the server that was started last.
    pub(crate) fn report(&self) -> Result<Value, Failed> {
        let server = self.servers.last().ok_or("there is no server")?;
        let report = server.reports.recv_timeout(REPORT_LIMIT);
        Ok(serde_json::from_str(&report.map_err(|_| format!("a server does not report: {}", self.errors()))?)?)
    }

    /// Returns what the server that was started last has said on its standard error.
    pub(crate) fn errors(&self) -> String {
        self.servers.last().and_then(|server| fs::read_to_string(&server.errors).ok()).unwrap_or_default()
    }

    /// Runs a command to its end, which must be a success. Returns its output.
    pub(crate) fn terse(&self, arguments: &[&str]) -> Result<String, Failed> {
        let output = self.command(arguments)?.output()?;
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout)?),
            false => Err(format!("terse {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)).into()),
        }
    }

    fn command(&self, arguments: &[&str]) -> Result<Command, Failed> {
        let terse =
            env::var_os("TERSE").ok_or("set TERSE to the path of the terse command; `make firmware` does it")?;
        let mut command = Command::new(std::path::absolute(Path::new(&terse))?);
        command.args(arguments).current_dir(&self.folder).stdin(Stdio::null());
        Ok(command)
    }
}

/// How long a server may take to notice the end of a connection.
const REPORT_LIMIT: Duration = Duration::from_secs(60);

/// What stands before the point in a SubjectPublicKeyInfo on P-256 (RFC 5480, 2).
const SPKI_OF_P256: [u8; 26] =
    *b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";

/// What a server with certificates has.
const CERTIFIED: [&str; 7] =
    ["--cert", "broker.example.pem", "--key", "broker.example.key", "--client-ca", CA, "--require-client-cert"];

/// The pre-shared key of the device and its server.
pub(crate) const PSK: [u8; 32] = *b"a key that both sides know: 0123";

/// The names of the device's files.
pub(crate) const DEVICE_CHAIN: &str = "device.example.pem";
pub(crate) const DEVICE_KEY: &str = "device.example.key";
pub(crate) const DEVICE_ID: &str = "device.id";
pub(crate) const SERVER_KEY: &str = "broker.example.key";
const DEVICE_PUBLIC: &str = "device.pub";
pub(crate) const CA: &str = "ca/ca.pem";

impl Drop for Plant {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.process.kill(); // it may have ended
            let _ = server.process.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
