//! A device: a folder with its files, in which QEMU runs its image.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pki_types::pem::PemObject as _;
use pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use serde_json::Value;

use crate::Failed;
use crate::plant::{CA, DEVICE_CHAIN, DEVICE_ID, DEVICE_KEY, PSK, PSK_IDENTITY, Plant, SERVER, SERVER_KEY};
use crate::processor::Processor;
use crate::scenario::{Link, Proof, Scenario};

/// A device.
pub(crate) struct Device {
    folder: PathBuf,
    image: PathBuf,
    link: Link,
    /// How often it was started.
    starts: u32,
    seed: u64,
}

/// How a run of an image ended.
pub(crate) enum End {
    /// It has connected, and says how: its report.
    Connected(Value),
    /// It has failed, and says why.
    Failed(String),
    /// It was killed, or its power has failed while it wrote a slot.
    Killed,
}

/// A running QEMU, which may be killed from another thread.
#[derive(Clone)]
pub(crate) struct Power(Arc<Mutex<Option<Child>>>);

/// What QEMU prints, as far as it goes to pipes.
type Outputs = (Option<ChildStdout>, Option<ChildStderr>);

impl Power {
    /// Starts QEMU, and kills it if it runs for longer than [`LIMIT`].
    pub(crate) fn on(command: &mut Command) -> Result<(Self, Outputs), Failed> {
        let qemu = command.spawn();
        let mut qemu =
            qemu.map_err(|error| format!("qemu-system-arm: {error}; install the package qemu-system-arm"))?;
        let outputs = (qemu.stdout.take(), qemu.stderr.take());
        let power = Self(Arc::new(Mutex::new(Some(qemu))));
        let (watched, start) = (power.clone(), Instant::now());
        std::thread::spawn(move || {
            while watched.0.lock().expect("nobody panics with it").is_some() {
                if start.elapsed() > LIMIT {
                    return watched.cut();
                }
                std::thread::sleep(Duration::from_secs(1));
            }
        });
        Ok((power, outputs))
    }

    /// Kills QEMU as a failure of the power would.
    pub(crate) fn cut(&self) {
        if let Some(qemu) = self.0.lock().expect("nobody panics with it").as_mut() {
            let _ = qemu.kill(); // it may have ended
        }
    }

    /// Waits for the end of QEMU. Nothing can kill it any more.
    pub(crate) fn wait(&self) -> Result<ExitStatus, Failed> {
        let qemu = self.0.lock().expect("nobody panics with it").take();
        Ok(qemu.ok_or("it ends once")?.wait()?)
    }
}

/// How long an image may run: far longer than any needs.
pub(crate) const LIMIT: Duration = Duration::from_secs(600);

impl Device {
    /// Makes a device that connects in this way to a server or relay at `port`, and remembers nothing. `seed` decides what its
    /// randomness is.
    pub(crate) fn new(plant: &Plant, image: &str, scenario: Scenario, port: u16, seed: u64) -> Result<Self, Failed> {
        let Scenario { link, proof } = scenario;
        let (image, stem) = find(image)?;
        let folder = plant.path(&format!("{stem}-{}-{}-{seed}", link.name(), proof.name()));
        Self::with_file(folder, image, link, &content(plant, scenario, port, KeyForm::Pkcs8)?, seed)
    }

    /// Makes a device with this file, which remembers nothing.
    pub(crate) fn with_file(
        folder: PathBuf,
        image: PathBuf,
        link: Link,
        file: &[u8],
        seed: u64,
    ) -> Result<Self, Failed> {
        fs::create_dir(&folder)?;
        fs::write(folder.join("device.bin"), file)?;
        Ok(Self { folder, image, link, starts: 0, seed })
    }

    /// Starts the image. Returns what ends it, and waits for its end.
    pub(crate) fn start(&mut self, port: u16) -> Result<(Power, Running), Failed> {
        self.starts += 1;
        fs::write(self.folder.join("boot.bin"), boot(self.seed, self.starts)?)?;
        let mut command = Command::new("qemu-system-arm");
        command
            .args(["-machine", Processor::of(&self.image).machine, "-nographic", "-monitor", "none", "-kernel"])
            .arg(&self.image);
        command.args(["-semihosting-config", "enable=on,target=native", "-serial", "null"]);
        match self.link {
            Link::Uart => {
                command.args(["-serial", &format!("tcp:127.0.0.1:{port}"), "-icount", "shift=6,align=off,sleep=off"])
            }
            // Timers run as on this computer while the device waits.
            Link::Ethernet | Link::Framed => {
                command.args(["-nic", "user,model=lan9118", "-icount", "shift=6,align=off,sleep=on"])
            }
        };
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let start = Instant::now();
        let (power, outputs) = Power::on(&mut command)?;
        Ok((power.clone(), Running { power, outputs, start }))
    }
}

/// A running image.
pub(crate) struct Running {
    power: Power,
    outputs: Outputs,
    start: Instant,
}

impl Running {
    /// Waits for the end.
    pub(crate) fn wait(self) -> Result<End, Failed> {
        let (mut text, mut errors) = (String::new(), String::new());
        if let Some(mut output) = self.outputs.0 {
            output.read_to_string(&mut text)?;
        }
        if let Some(mut output) = self.outputs.1 {
            output.read_to_string(&mut errors)?;
        }
        let status = self.power.wait()?;
        if self.start.elapsed() > LIMIT {
            return Ok(End::Failed(format!("it ran for more than {LIMIT:?}, and printed: {text}{errors}")));
        }
        if status.code().is_none() || text.trim_end() == POWER_FAILED {
            return Ok(End::Killed);
        }
        match text.lines().find(|line| line.starts_with('{')) {
            Some(report) if status.success() => Ok(End::Connected(serde_json::from_str(report)?)),
            _ => Ok(End::Failed(format!("{text}{errors}"))),
        }
    }
}

/// Returns the whole path of an image, and its name.
pub(crate) fn find(image: &str) -> Result<(PathBuf, String), Failed> {
    let path = fs::canonicalize(image).map_err(|error| format!("{image}: {error}; build it first"))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((path, name))
}

/// What an image prints when its power has failed while it wrote a slot.
const POWER_FAILED: &str = "the power has failed";

/// How a device has its private key.
#[derive(Clone, Copy)]
pub(crate) enum KeyForm {
    /// In PKCS #8.
    Pkcs8,
    /// As a scalar of P-256.
    Scalar,
}

/// Returns the file with what is known to a device.
pub(crate) fn content(
    plant: &Plant,
    Scenario { link, proof }: Scenario,
    port: u16,
    form: KeyForm,
) -> Result<Vec<u8>, Failed> {
    let settings = format!("link={}\nport={port}\nname={SERVER}\n{}", link.name(), proof.setting());
    let (mut anchors, mut chain, mut key) = (Vec::new(), Vec::new(), Vec::new());
    if matches!(proof, Proof::Cached | Proof::Resumed) {
        anchors = certificates(&plant.read(CA)?)?;
        chain = certificates(&plant.read(DEVICE_CHAIN)?)?;
    }
    if proof == Proof::RawKey {
        anchors = item(&plant.public_key(SERVER_KEY)?)?;
    }
    if matches!(proof, Proof::Cached | Proof::Resumed | Proof::RawKey) {
        key = match form {
            KeyForm::Pkcs8 => PrivatePkcs8KeyDer::from_pem_slice(&plant.read(DEVICE_KEY)?)?.secret_pkcs8_der().to_vec(),
            KeyForm::Scalar => plant.scalar(DEVICE_KEY)?,
        };
    }
    let (psk_identity, psk): (&str, &[u8]) = if proof == Proof::Psk { (PSK_IDENTITY, &PSK) } else { ("", &[]) };
    let identity = if proof == Proof::Identity { plant.identity_key(DEVICE_ID)? } else { Vec::new() };
    let end = item(&[])?;
    let file = [item(settings.as_bytes())?, anchors, end.clone(), chain, end, item(&key)?];
    Ok([file.concat(), item(psk_identity.as_bytes())?, item(psk)?, item(&identity)?].concat())
}

/// Returns what a device is given at a start: a seed and a time, which goes on by an hour at each start, since the device's clock
/// and this computer's do not run alike.
pub(crate) fn boot(seed: u64, start: u32) -> Result<Vec<u8>, Failed> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
    let mut boot = vec![0; 32];
    boot[..8].copy_from_slice(&seed.to_be_bytes());
    boot[8..12].copy_from_slice(&start.to_be_bytes());
    boot.extend_from_slice(&(now + 3_600 * u64::from(start)).to_be_bytes());
    Ok(boot)
}

/// Returns the certificates of a file as items.
pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<u8>, Failed> {
    let mut items = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        items.extend(item(&certificate?)?);
    }
    Ok(items)
}

/// An item of a device's file: its length in two bytes, and the content.
pub(crate) fn item(content: &[u8]) -> Result<Vec<u8>, Failed> {
    Ok([&u16::try_from(content.len())?.to_be_bytes(), content].concat())
}

/// Makes the power of a device fail whenever it has written so many bytes of a slot, or never.
pub(crate) fn limit_writes(device: &Device, limit: Option<u32>) -> Result<(), Failed> {
    let file = device.folder.join("power.bin");
    match limit {
        Some(limit) => fs::write(file, limit.to_be_bytes())?,
        None => fs::remove_file(file)?,
    }
    Ok(())
}

/// Removes what a device remembers.
pub(crate) fn forget(device: &Device) {
    for slot in SLOTS {
        let _ = fs::remove_file(Path::new(&device.folder).join(slot)); // there may be none
    }
}

/// Returns how many bytes the longer slot of a device has.
pub(crate) fn slot_len(device: &Device) -> u64 {
    let lengths = SLOTS.map(|slot| fs::metadata(device.folder.join(slot)).map_or(0, |metadata| metadata.len()));
    lengths[0].max(lengths[1])
}

const SLOTS: [&str; 2] = ["slot0.bin", "slot1.bin"];
