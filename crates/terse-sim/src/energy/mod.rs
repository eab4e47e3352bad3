//! The energy of a node: the charge of its timeslots by kind, and of its computing.
//!
//! Counting ([`Meter`]) is apart from what a count costs ([`RadioModel`], [`Processor`]), which is data from files
//! (`energy.toml` in this crate explains the format), so that one run can be read with several models.

mod meter;
mod model;

pub use meter::{Battery, Energy, Meter};
pub use model::{EnergyError, Models, PerSlot, Processor, RadioModel, SlotKind};
