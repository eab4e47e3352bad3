//! Key schedules and the transcript that feeds them.

pub(crate) mod tls12;
pub(crate) mod tls13;
#[cfg(test)]
mod trace;
mod transcript;

pub(crate) use transcript::{Pending, Transcript};

/// What protects the records of one direction from some point on.
#[derive(Clone)]
pub(crate) enum EpochKeys {
    /// From the next ChangeCipherSpec on.
    Tls12(tls12::RecordKeys),
    /// From the next record on.
    Tls13(tls13::TrafficSecret),
}
