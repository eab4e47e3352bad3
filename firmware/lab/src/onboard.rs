//! Onboarding: a device that is born with an IDevID gets its LDevID, and connects with it, also when it is reset on the way.

use std::path::Path;

use serde_json::Value;

use crate::Failed;
use crate::device::{Device, End, find};
use crate::domain::{Domain, Ports};
use crate::measure::connect;
use crate::processor::Processor;
use crate::relay::Relay;
use crate::resets::{Options, SplitMix64};
use crate::scenario::Link;

/// A domain with what is between it and its devices.
struct Bench {
    domain: Domain,
    /// For devices that speak DTLS, and for those that speak TLS.
    ways: [Way; 2],
    seed: u64,
    /// How many devices there are.
    devices: u32,
}

/// Relays to the registrar, and to a server of the domain.
struct Way {
    registrar: Relay,
    server: Relay,
}

/// A device, which is new.
struct Newborn {
    serial_number: String,
    device: Device,
}

/// Onboards a device with each image, and prints what that costs. Then resets as many devices as the options say, each once on its way
/// from the IDevID.
pub(crate) fn run(images: &[&str], options: Options) -> Result<(), Failed> {
    let domain = Domain::new()?;
    let [datagrams, streams] = &domain.ports;
    let ways = [Way::start(Link::Ethernet, datagrams)?, Way::start(Link::Uart, streams)?];
    let mut bench = Bench { domain, ways, seed: options.seed, devices: 0 };
    let mut rng = SplitMix64(options.seed);
    println!("| image | million instructions | ms at 64 MHz | heap | stack | bytes of UDP or TCP |");
    println!("|---|---:|---:|---:|---:|---:|");
    let mut lengths = Vec::new();
    for image in images {
        lengths.push(bench.onboard(image).map_err(|error| format!("{image}: {error}"))?);
    }
    for (image, lengths) in images.iter().zip(lengths) {
        let (mut resets, mut kept) = (0, 0);
        while resets < options.count {
            let cut = rng.below(lengths.0 + lengths.1);
            let after = bench.reset(image, cut, lengths.0);
            let after = after
                .map_err(|error| format!("{image}, seed {}, reset {resets}, {cut} bytes: {error}", options.seed))?;
            resets += u64::from(after.is_some());
            kept += u64::from(after == Some(true));
        }
        let name = name(image);
        println!("{name}: {resets} resets, seed {}; at the next start each device got its LDevID,", options.seed);
        println!("or had kept it, which {kept} did, and was connected");
    }
    Ok(())
}

impl Way {
    fn start(link: Link, ports: &Ports) -> Result<Self, Failed> {
        Ok(Self { registrar: Relay::start(link, ports.registrar)?, server: Relay::start(link, ports.server)? })
    }

    fn ports(&self) -> Ports {
        Ports { registrar: self.registrar.port, server: self.server.port }
    }

    /// Lets everything pass.
    fn open(&self) {
        self.registrar.arm(None);
        self.server.arm(None);
    }
}

impl Bench {
    /// Makes a device with this image.
    fn new_device(&mut self, image: &str) -> Result<Newborn, Failed> {
        let (path, name) = find(image)?;
        self.devices += 1;
        let serial_number = format!("WI-{:04}", self.devices);
        let file = self.domain.device(&serial_number, &self.way(image).ports())?;
        let folder = self.domain.path(&format!("{name}-{serial_number}"));
        let device = Device::with_file(folder, path, Link::Ethernet, &file, self.seed)?;
        Ok(Newborn { serial_number, device })
    }

    /// Returns the way that the devices of an image speak in: their names say it.
    fn way(&self, image: &str) -> &Way {
        &self.ways[usize::from(name(image).contains("https"))]
    }

    /// Onboards a device, prints what that has cost, and starts it again, so that it connects with what it has. Returns the bytes to
    /// and from the registrar, and to and from the server.
    fn onboard(&mut self, image: &str) -> Result<(u64, u64), Failed> {
        let mut new = self.new_device(image)?;
        let report = self.connects(image, &mut new)?;
        let known = self.domain.knows(&new.serial_number)?;
        if report["onboarding"]["reported"] != true || known["enroll_status"] != true {
            return Err(format!("the registrar does not know that the device is enrolled: {known}").into());
        }
        let way = self.way(image);
        let lengths = (way.registrar.passed(), way.server.passed());
        print(image, &report["onboarding"], lengths.0);
        match self.connects(image, &mut new)?["onboarding"] {
            Value::Null => Ok(lengths),
            _ => Err("the device has forgotten its LDevID".into()),
        }
    }

    /// Starts a new device, whose power is cut after so many bytes, the first of which are to and from the registrar. Then it must
    /// connect. Returns whether it had kept its LDevID before; `None` if fewer bytes have passed.
    fn reset(&mut self, image: &str, cut: u64, to_registrar: u64) -> Result<Option<bool>, Failed> {
        let mut new = self.new_device(image)?;
        let way = self.way(image);
        way.open();
        let (power, running) = new.device.start(0)?;
        match cut.checked_sub(to_registrar) {
            None => way.registrar.arm(Some((cut, power))),
            Some(cut) => way.server.arm(Some((cut, power))),
        }
        match running.wait()? {
            End::Killed => Ok(Some(self.connects(image, &mut new)?["onboarding"] == Value::Null)),
            End::Connected(_) => Ok(None),
            End::Failed(text) => Err(text.into()),
        }
    }

    /// Starts a device, which must be connected in the end, with the LDevID that the registrar has given it last.
    fn connects(&self, image: &str, new: &mut Newborn) -> Result<Value, Failed> {
        self.way(image).open();
        let report = connect(&mut new.device, 0)?;
        let known = self.domain.knows(&new.serial_number)?;
        let is_given = known["ldevid"].is_string() && known["ldevid"] == report["ldevid"];
        if !is_given || known["voucher_status"] != true || known["audit"] != "good" {
            return Err(format!("the registrar says {known}, and the device {report}").into());
        }
        Ok(report)
    }
}

fn print(image: &str, onboarding: &Value, bytes: u64) {
    let number = |name: &str| onboarding[name].as_u64().unwrap_or_default();
    let instructions = number("instructions") as f64;
    let (millions, milliseconds) = (instructions / 1e6, Processor::of(Path::new(image)).milliseconds(instructions));
    let name = name(image);
    println!("| `{name}` | {millions:.1} | {milliseconds:.0} | {} | {} | {bytes} |", number("heap"), number("stack"));
}

fn name(image: &str) -> &str {
    image.rsplit('/').next().unwrap_or_default()
}
