//! The options of computing time: on which devices both sides compute, and which devices there are.

use core::fmt::Write;
use core::time::Duration;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use terse_sim::compare::Sides;
use terse_sim::computing::{Device, Devices, counting};
use terse_tls::crypto::CryptoProvider;

use crate::failure::Failure;
use crate::output;

/// The devices on which both sides compute.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Computing time")]
pub(crate) struct DeviceOptions {
    /// Compute as long as this device does, or the client as long as the first and the server as long as the second: see
    /// `terse compare --device list` [default: computing takes no time; with --paper: server]
    #[arg(long, value_name = "NAME[,NAME]")]
    device: Option<String>,
    /// Read more devices from this file, which has the form of devices.toml in the crate terse-sim
    #[arg(long, value_name = "FILE", requires = "device")]
    devices: Option<PathBuf>,
}

impl DeviceOptions {
    /// Whether only the list of devices is wanted.
    pub(super) fn wants_list(&self) -> bool {
        self.device.as_deref() == Some("list")
    }

    /// Returns these options, with `device` for both sides if none was chosen.
    pub(super) fn or(&self, device: &str) -> Self {
        let mut options = self.clone();
        options.device.get_or_insert_with(|| device.into());
        options
    }

    /// Whether computing takes time.
    pub(super) const fn are_given(&self) -> bool {
        self.device.is_some()
    }

    /// Prints all devices, with their operations and sources: as text, or as JSON an object a line.
    pub(super) fn print_list(&self, json: bool) -> Result<(), Failure> {
        for (number, device) in self.known()?.iter().enumerate() {
            match json {
                true => output::json(&Object::new(device))?,
                false => output::line(format!("{}{}", if number > 0 { "\n" } else { "" }, list(device).trim_end()))?,
            }
        }
        Ok(())
    }

    /// Returns the devices of both sides, if computing takes time.
    pub(super) fn sides(&self) -> Result<Option<Sides<Arc<Device>>>, Failure> {
        let Some(names) = &self.device else { return Ok(None) };
        let (client, server) = names.split_once(',').unwrap_or((names, names));
        let known = self.known()?;
        let find = |name: &str| {
            known.find(name.trim()).cloned().ok_or_else(|| {
                let names: Vec<&str> = known.iter().map(|device| &*device.name).collect();
                let names = names.join(", ");
                Failure::Usage(format!(
                    "--device: there is no device {name}; there are {names}; --devices FILE reads more"
                ))
            })
        };
        Ok(Some(Sides { client: find(client)?, server: find(server)? }))
    }

    /// Returns the provider with which configurations and keys are made: its operations are counted if they take time.
    pub(super) fn provider(&self, provider: &'static CryptoProvider) -> Result<&'static CryptoProvider, Failure> {
        match self.are_given() {
            true => counting(provider).ok_or_else(|| Failure::Failed("this program counts too many providers".into())),
            false => Ok(provider),
        }
    }

    /// Returns the devices that come along, and those of the file.
    fn known(&self) -> Result<Devices, Failure> {
        let mut known = Devices::built_in();
        if let Some(path) = &self.devices {
            let in_file = |error: &dyn core::fmt::Display| Failure::Failed(format!("{}: {error}", path.display()));
            let text = fs::read_to_string(path).map_err(|error| in_file(&error))?;
            known.add(Devices::parse(&text).map_err(|error| in_file(&error))?);
        }
        Ok(known)
    }
}

/// A device in JSON. The fields are those of a device file.
#[derive(Serialize)]
struct Object<'a> {
    device: &'a str,
    description: &'a str,
    source: &'a str,
    microseconds: BTreeMap<String, f64>,
    notes: BTreeMap<String, &'a str>,
}

impl<'a> Object<'a> {
    fn new(device: &'a Device) -> Self {
        let time = |operation| Some((format!("{operation}"), device.time_of(operation)?.as_nanos() as f64 / 1e3));
        let note = |operation| Some((format!("{operation}"), device.note_on(operation)?));
        Self {
            device: &device.name,
            description: &device.description,
            source: &device.source,
            microseconds: device.operations().filter_map(time).collect(),
            notes: device.operations().filter_map(note).collect(),
        }
    }
}

/// Returns a device as text.
fn list(device: &Device) -> String {
    let Device { name, description, source, .. } = device;
    let mut text = format!("{name}: {description}\n  {source}\n");
    for operation in device.operations() {
        let time = device.time_of(operation).map(time).unwrap_or_default();
        let note = device.note_on(operation).map(|note| format!("  {note}")).unwrap_or_default();
        let _ = writeln!(text, "  {:<26}{time:>12}{note}", operation.to_string()); // writing to a String cannot fail
    }
    text
}

/// Formats a time in milliseconds or microseconds.
fn time(time: Duration) -> String {
    let nanoseconds = time.as_nanos() as f64;
    let (value, unit) = if nanoseconds >= 1e6 { (nanoseconds / 1e6, "ms") } else { (nanoseconds / 1e3, "µs") };
    let value = format!("{value:.3}");
    format!("{} {unit}", value.trim_end_matches('0').trim_end_matches('.'))
}
