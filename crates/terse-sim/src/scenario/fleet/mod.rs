//! Whole networks: every mote is a device that connects, reports, and connects again after what happens to it.
//!
//! What must always hold: a run is a function of its scenario, the parties and the seed, as all runs are.

mod outcome;

pub use outcome::{Device, Fleet, Observed, Reports};
