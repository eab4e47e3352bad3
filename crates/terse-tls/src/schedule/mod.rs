//! Key schedules and the transcript that feeds them.

pub(crate) mod tls13;
mod transcript;

pub(crate) use transcript::{Pending, Transcript};
