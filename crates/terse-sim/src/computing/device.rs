//! Devices: the time of each operation, read from files in TOML. `devices.toml` in this crate explains the format.

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Counts, Operation};

/// A device that computes: how long each operation takes, and how that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Where its times come from.
    pub source: String,
    times: BTreeMap<Operation, OperationTime>,
}

/// The time of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OperationTime {
    /// In picoseconds, of one operation or of 1,000 bytes: the fastest processors take less than a nanosecond for a byte.
    picoseconds: u64,
    /// How the time is known, if it does not stand in the device's source as it is.
    note: Option<String>,
}

impl Device {
    /// Returns the time of an operation, or of 1,000 bytes of an operation [on bytes](Operation::is_on_bytes).
    pub fn time_of(&self, operation: Operation) -> Option<Duration> {
        self.times.get(&operation).map(|time| Duration::from_nanos(time.picoseconds / 1_000))
    }

    /// Returns how the time of an operation is known, if it does not stand in the device's source as it is.
    pub fn note_on(&self, operation: Operation) -> Option<&str> {
        self.times.get(&operation)?.note.as_deref()
    }

    /// Returns the operations that the device has times for.
    pub fn operations(&self) -> impl Iterator<Item = Operation> {
        self.times.keys().copied()
    }

    /// Returns the time that all operations of `counts` take, one after the other, in whole nanoseconds.
    ///
    /// Fails if one of them has no time.
    pub fn time(&self, counts: &Counts) -> Result<Duration, NoTime> {
        let mut sum: u128 = 0; // cannot overflow: the products of two numbers of 64 bits are few
        for (operation, count) in counts.iter() {
            let Some(time) = self.times.get(&operation) else {
                return Err(NoTime { device: self.name.clone(), operation });
            };
            let unit = if operation.is_on_bytes() { 1_000 } else { 1 };
            sum += u128::from(time.picoseconds) * u128::from(count) / unit;
        }
        Ok(Duration::from_nanos(u64::try_from(sum / 1_000).unwrap_or(u64::MAX)))
    }
}

/// An operation was carried out for which a device has no time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoTime {
    /// The name of the device.
    pub device: String,
    /// The operation.
    pub operation: Operation,
}

/// Devices by name.
#[derive(Clone, Debug, Default)]
pub struct Devices(BTreeMap<String, Arc<Device>>);

/// Why a file is no list of devices.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceError {
    /// It is not TOML, or has other fields than a device has. The text says where.
    Format(String),
    /// A device has an operation that does not exist. The text names those that do.
    Operation {
        /// The device.
        device: String,
        /// The cause.
        cause: String,
    },
    /// The time of an operation is negative or too long to be one.
    Time {
        /// The device.
        device: String,
        /// The operation.
        operation: Operation,
    },
    /// A note is on an operation that the device has no time for.
    Note {
        /// The device.
        device: String,
        /// The operation.
        operation: Operation,
    },
}

impl Devices {
    /// Returns the devices that come with the simulator.
    pub fn built_in() -> Self {
        Self::parse(include_str!("../../devices.toml")).unwrap_or_default() // a test parses it
    }

    /// Reads the devices of a file in TOML.
    pub fn parse(toml: &str) -> Result<Self, DeviceError> {
        let entries: BTreeMap<String, Entry> =
            toml::from_str(toml).map_err(|error| DeviceError::Format(error.to_string()))?;
        let devices = entries.into_iter().map(|(name, entry)| Ok((name.clone(), Arc::new(entry.device(name)?))));
        devices.collect::<Result<_, _>>().map(Self)
    }

    /// Adds the devices of `others`, which replace those of the same name.
    pub fn add(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Returns the device of this name.
    pub fn find(&self, name: &str) -> Option<&Arc<Device>> {
        self.0.get(name)
    }

    /// Returns all devices, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Device>> {
        self.0.values()
    }
}

/// A device in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    description: String,
    source: String,
    microseconds: BTreeMap<String, f64>,
    #[serde(default)]
    notes: BTreeMap<String, String>,
}

impl Entry {
    fn device(self, name: String) -> Result<Device, DeviceError> {
        let Self { description, source, microseconds, notes } = self;
        let named = |operation: &str| {
            operation.parse::<Operation>().map_err(|cause| DeviceError::Operation { device: name.clone(), cause })
        };
        let mut times = BTreeMap::new();
        for (operation, microseconds) in microseconds {
            let operation = named(&operation)?;
            if !(0.0..=LONGEST).contains(&microseconds) {
                return Err(DeviceError::Time { device: name, operation });
            }
            let picoseconds = (microseconds * 1e6).round() as u64;
            times.insert(operation, OperationTime { picoseconds, note: None });
        }
        for (operation, note) in notes {
            let operation = named(&operation)?;
            let Some(time) = times.get_mut(&operation) else {
                return Err(DeviceError::Note { device: name, operation });
            };
            time.note = Some(note);
        }
        Ok(Device { name, description, source, times })
    }
}

/// The longest time of an operation, in microseconds: an hour.
const LONGEST: f64 = 3.6e9;

impl fmt::Display for NoTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the device {} has no time for {}", self.device, self.operation)
    }
}

impl core::error::Error for NoTime {}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(cause) => f.write_str(cause.trim_end()),
            Self::Operation { device, cause } => write!(f, "device {device}: {cause}"),
            Self::Time { device, operation } => {
                write!(f, "device {device}: the time of {operation} must be 0 to {LONGEST} microseconds")
            }
            Self::Note { device, operation } => {
                write!(f, "device {device}: there is a note on {operation}, but no time")
            }
        }
    }
}

impl core::error::Error for DeviceError {}

#[cfg(test)]
mod tests;
