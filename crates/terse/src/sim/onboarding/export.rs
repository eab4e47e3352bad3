//! Onboardings as lines of JSON: one of each form.

use serde::Serialize;
use terse_sim::onboarding::{Bytes, StepCount};

use super::Row;

/// A form of onboarding.
#[derive(Debug, Serialize)]
pub(super) struct Object {
    form: &'static str,
    seconds: f64,
    bytes: usize,
    up: Layers,
    down: Layers,
    lost_frames: usize,
    repeated_attempts: usize,
    is_reported: bool,
    steps: Vec<Step>,
}

#[derive(Debug, Serialize)]
struct Step {
    step: &'static str,
    seconds: f64,
    up: Layers,
    down: Layers,
}

/// Bytes in one direction, by layer.
#[derive(Debug, Serialize)]
struct Layers {
    messages: usize,
    records: usize,
    transport: usize,
    network: usize,
    link: usize,
    repeated: usize,
    acknowledgements: usize,
    bytes: usize,
    frames: usize,
    packets: usize,
}

impl Object {
    pub(super) fn new(row: &Row) -> Self {
        let [up, down] = row.outcome.total();
        Self {
            form: row.name,
            seconds: row.outcome.enrolled.as_secs_f64(),
            bytes: (up + down).sum(),
            up: up.into(),
            down: down.into(),
            lost_frames: row.outcome.lost,
            repeated_attempts: row.outcome.failures,
            is_reported: row.outcome.is_reported,
            steps: row.outcome.steps.iter().map(Step::from).collect(),
        }
    }
}

impl From<&StepCount> for Step {
    fn from(count: &StepCount) -> Self {
        let seconds = count.time.as_secs_f64();
        Self { step: count.step.name(), seconds, up: count.up.into(), down: count.down.into() }
    }
}

impl From<Bytes> for Layers {
    fn from(bytes: Bytes) -> Self {
        let Bytes { messages, records, transport, network, link, repeated, acknowledgements, frames, packets } = bytes;
        let bytes = bytes.sum();
        Self { messages, records, transport, network, link, repeated, acknowledgements, bytes, frames, packets }
    }
}
