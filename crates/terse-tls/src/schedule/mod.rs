//! The key schedules, and the transcript that they use.

pub(crate) mod tls12;
pub(crate) mod tls13;
#[cfg(test)]
mod trace;
mod transcript;

pub(crate) use transcript::{Pending, Transcript};

/// The keys of the records of one direction.
#[derive(Clone)]
pub(crate) enum EpochKeys {
    /// TLS 1.2: the keys are used from the next ChangeCipherSpec on.
    Tls12(tls12::RecordKeys),
    /// TLS 1.3: the keys are used from the next record on.
    Tls13(tls13::TrafficSecret),
}
