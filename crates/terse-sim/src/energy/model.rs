//! Models of radios and processors, read from files in TOML. `energy.toml` in this crate explains the format.
//!
//! What must always hold: all numbers are finite and none is negative; each kind of slot has a charge.

use core::fmt;
use core::num::NonZeroU32;
use core::time::Duration;
use std::collections::BTreeMap;

use serde::Deserialize;

/// What a node does in a timeslot, other than sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlotKind {
    /// It listens and hears nothing.
    Idle,
    /// It sends a frame that is not acknowledged.
    TxData,
    /// It sends a frame and listens for the acknowledgement, whether that comes or not.
    TxDataRxAck,
    /// It receives a frame without acknowledging it.
    RxData,
    /// It receives a frame and acknowledges it.
    RxDataTxAck,
    /// It listens all the time, as it is not synchronised.
    Scan,
}

impl SlotKind {
    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; 6] =
        [Self::Idle, Self::TxData, Self::TxDataRxAck, Self::RxData, Self::RxDataTxAck, Self::Scan];

    /// Returns the name, as files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::TxData => "tx-data",
            Self::TxDataRxAck => "tx-data-rx-ack",
            Self::RxData => "rx-data",
            Self::RxDataTxAck => "rx-data-tx-ack",
            Self::Scan => "scan",
        }
    }
}

/// A quantity of a timeslot: a constant, and something for each byte of the frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerSlot {
    /// The constant.
    pub base: f64,
    /// For each byte of the MAC frame without its FCS.
    pub byte: f64,
}

/// What timeslots cost.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioModel {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Where its numbers come from.
    pub source: String,
    /// The length of the timeslots that they were measured with.
    pub timeslot: Duration,
    /// The current of a node that sleeps, in milliamperes.
    pub sleep_milliamperes: f64,
    charges: [PerSlot; 6],
    on: Option<[PerSlot; 6]>,
    notes: BTreeMap<String, String>,
}

/// What computing costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Processor {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Where its number comes from.
    pub source: String,
    /// The current while it computes, in milliamperes.
    pub active_milliamperes: f64,
}

/// Models of radios and processors, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Models {
    radios: BTreeMap<String, RadioModel>,
    processors: BTreeMap<String, Processor>,
}

/// Why a file has no models.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnergyError {
    /// It is not TOML, or has other fields than models have. The text says where.
    Format(String),
    /// A model has no number for a kind of slot.
    Missing {
        /// The model.
        model: String,
        /// The kind.
        kind: SlotKind,
    },
    /// A number is negative, or not finite.
    Number {
        /// The model.
        model: String,
        /// The field.
        field: &'static str,
    },
    /// A note is on nothing that the model has.
    Note {
        /// The model.
        model: String,
        /// What the note is on.
        field: String,
    },
}

impl RadioModel {
    /// Returns the charge of a slot, in microcoulombs.
    pub const fn charge(&self, kind: SlotKind) -> PerSlot {
        self.charges[kind as usize]
    }

    /// Returns for how many microseconds the radio is on in a slot, if that is known.
    pub fn on(&self, kind: SlotKind) -> Option<PerSlot> {
        self.on.map(|on| on[kind as usize])
    }

    /// Returns how a number is known, if it does not stand in the source as it is.
    pub fn note_on(&self, field: &str) -> Option<&str> {
        self.notes.get(field).map(String::as_str)
    }
}

impl Processor {
    /// A processor whose computing is not counted.
    pub(crate) const NONE: Self =
        Self { name: String::new(), description: String::new(), source: String::new(), active_milliamperes: 0.0 };
}

impl PerSlot {
    /// Returns the sum over `slots` slots whose frames have `bytes` bytes together.
    pub(super) fn of(self, slots: u64, bytes: u64) -> f64 {
        self.base * slots as f64 + self.byte * bytes as f64
    }

    fn is_possible(self) -> bool {
        is_possible(self.base) && is_possible(self.byte)
    }
}

impl Models {
    /// Returns the models that come with the simulator.
    pub fn built_in() -> Self {
        Self::parse(include_str!("../../energy.toml")).unwrap_or_default() // a test parses it
    }

    /// Reads the models of a file in TOML.
    pub fn parse(toml: &str) -> Result<Self, EnergyError> {
        let file: File = toml::from_str(toml).map_err(|error| EnergyError::Format(error.to_string()))?;
        let radios = file.radio.into_iter().map(|(name, entry)| Ok((name.clone(), entry.model(name)?)));
        let processors = file.processor.into_iter().map(|(name, entry)| Ok((name.clone(), entry.model(name)?)));
        Ok(Self { radios: radios.collect::<Result<_, _>>()?, processors: processors.collect::<Result<_, _>>()? })
    }

    /// Adds the models of `others`, which replace those of the same name.
    pub fn add(&mut self, others: Self) {
        self.radios.extend(others.radios);
        self.processors.extend(others.processors);
    }

    /// Returns the radio of this name.
    pub fn radio(&self, name: &str) -> Option<&RadioModel> {
        self.radios.get(name)
    }

    /// Returns the processor of this name.
    pub fn processor(&self, name: &str) -> Option<&Processor> {
        self.processors.get(name)
    }

    /// Returns all radios, ordered by name.
    pub fn radios(&self) -> impl Iterator<Item = &RadioModel> {
        self.radios.values()
    }

    /// Returns all processors, ordered by name.
    pub fn processors(&self) -> impl Iterator<Item = &Processor> {
        self.processors.values()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    radio: BTreeMap<String, RadioEntry>,
    #[serde(default)]
    processor: BTreeMap<String, ProcessorEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RadioEntry {
    description: String,
    source: String,
    timeslot_us: NonZeroU32,
    sleep_ma: f64,
    microcoulombs: BTreeMap<SlotKind, Number>,
    on_us: Option<BTreeMap<SlotKind, Number>>,
    #[serde(default)]
    notes: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ProcessorEntry {
    description: String,
    source: String,
    active_ma: f64,
}

/// A number, or one that depends on the length of the frame.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Number {
    Constant(f64),
    Linear { base: f64, byte: f64 },
}

impl RadioEntry {
    fn model(self, name: String) -> Result<RadioModel, EnergyError> {
        let Self { description, source, timeslot_us, sleep_ma, microcoulombs, on_us, notes } = self;
        let number = |field| EnergyError::Number { model: name.clone(), field };
        let charges = by_kind(&name, &microcoulombs)?;
        let on = on_us.map(|on| by_kind(&name, &on)).transpose()?;
        if !is_possible(sleep_ma) {
            return Err(number("sleep-ma"));
        }
        if !charges.iter().all(|charge| charge.is_possible()) {
            return Err(number("microcoulombs"));
        }
        if !on.iter().flatten().all(|on| on.is_possible()) {
            return Err(number("on-us"));
        }
        let is_known = |field: &str| {
            matches!(field, "sleep-ma" | "timeslot-us") || SlotKind::ALL.iter().any(|kind| kind.name() == field)
        };
        if let Some(field) = notes.keys().find(|field| !is_known(field)) {
            return Err(EnergyError::Note { model: name, field: field.clone() });
        }
        let timeslot = Duration::from_micros(u64::from(timeslot_us.get()));
        Ok(RadioModel { name, description, source, timeslot, sleep_milliamperes: sleep_ma, charges, on, notes })
    }
}

impl ProcessorEntry {
    fn model(self, name: String) -> Result<Processor, EnergyError> {
        let Self { description, source, active_ma } = self;
        if !is_possible(active_ma) {
            return Err(EnergyError::Number { model: name, field: "active-ma" });
        }
        Ok(Processor { name, description, source, active_milliamperes: active_ma })
    }
}

fn by_kind(model: &str, numbers: &BTreeMap<SlotKind, Number>) -> Result<[PerSlot; 6], EnergyError> {
    let mut all = [PerSlot { base: 0.0, byte: 0.0 }; 6];
    for kind in SlotKind::ALL {
        all[kind as usize] = match numbers.get(&kind) {
            Some(Number::Constant(base)) => PerSlot { base: *base, byte: 0.0 },
            Some(Number::Linear { base, byte }) => PerSlot { base: *base, byte: *byte },
            None => return Err(EnergyError::Missing { model: model.into(), kind }),
        };
    }
    Ok(all)
}

fn is_possible(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

impl fmt::Display for EnergyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(cause) => out.write_str(cause.trim_end()),
            Self::Missing { model, kind } => write!(out, "model {model}: there is no number for {}", kind.name()),
            Self::Number { model, field } => write!(out, "model {model}: {field} must be 0 or more"),
            Self::Note { model, field } => write!(out, "model {model}: there is a note on {field}, but no such number"),
        }
    }
}

impl core::error::Error for EnergyError {}

#[cfg(test)]
mod tests;
