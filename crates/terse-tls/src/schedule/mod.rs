//! Key schedules and the transcript that feeds them.

pub(crate) mod tls12;
pub(crate) mod tls13;
mod transcript;

pub(crate) use transcript::{Pending, Transcript};

/// What protects one direction from a point on.
#[derive(Clone)]
pub(crate) enum EpochKeys {
    /// From the ChangeCipherSpec on.
    Tls12(tls12::RecordKeys),
    Tls13(tls13::TrafficSecret),
}
