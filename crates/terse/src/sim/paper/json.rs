//! The evaluation as JSON, one object a line.
//!
//! What must always hold: an object with `table` is a row of a table, and one with `figure` an effect that holds or does not.
//! Whatever else is printed has `of_table` or `of_figure` instead.

use serde::Serialize;
use terse_sim::scenario::Statistics;

use super::checks::{duty_cycle, hops_of};
use super::{Evaluation, Loss, Measured, all_peers, growth, peers};
use crate::failure::Failure;
use crate::output;

/// A row of table 2 or 3.
#[derive(Serialize)]
struct Row<'a> {
    table: u8,
    row: &'a str,
    runs: usize,
    bytes: Quantity,
    latency_s: Quantity,
}

#[derive(Serialize)]
struct Quantity {
    mean: f64,
    sd: f64,
    paper: Option<f64>,
}

/// A point of figure 5.
#[derive(Serialize)]
struct Point<'a> {
    of_figure: u8,
    row: &'a str,
    hops: u64,
    duty_cycle: f64,
    latency_s: Statistics,
    bytes: Statistics,
}

/// The packet buffers in use in the first run of a row of figure 10, after each call of the allocator.
#[derive(Serialize)]
struct Buffers<'a> {
    of_figure: u8,
    row: &'a str,
    buffers: &'a [u8],
}

/// How much a row of figure 6 or 7 grows under loss.
#[derive(Serialize)]
struct Growth<'a> {
    of_figure: u8,
    row: &'a str,
    loss: &'static str,
    bytes: Option<f64>,
    latency: Option<f64>,
}

/// A check.
#[derive(Serialize)]
struct Effect<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    figure: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    of_figure: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    of_table: Option<u8>,
    check: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    holds: Option<bool>,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    paper: Option<&'a str>,
}

impl Evaluation {
    /// Prints everything.
    pub(super) fn print_json(&self) -> Result<(), Failure> {
        for (table, rows) in self.tables() {
            for measured in rows {
                let (bytes, latency, paper) = (measured.bytes(), measured.latency(), measured.row.scenario.paper);
                output::json(&Row {
                    table,
                    row: &measured.row.name,
                    runs: bytes.count,
                    bytes: Quantity { mean: bytes.mean, sd: bytes.sd, paper: paper.bytes },
                    latency_s: Quantity {
                        mean: latency.mean,
                        sd: latency.sd,
                        paper: paper.latency_ms.map(|ms| ms / 1e3),
                    },
                })?;
            }
        }
        for measured in &self.figure5 {
            output::json(&Point {
                of_figure: 5,
                row: peers(measured),
                hops: hops_of(measured),
                duty_cycle: duty_cycle(measured),
                latency_s: measured.latency(),
                bytes: measured.bytes(),
            })?;
        }
        for (figure, rows) in [(6, &self.figure6), (7, &self.figure7)] {
            for row in all_peers(rows) {
                for loss in [Loss::Fragments, Loss::Packets] {
                    let bytes = growth(rows, row, loss, Measured::bytes);
                    let latency = growth(rows, row, loss, Measured::latency);
                    output::json(&Growth { of_figure: figure, row, loss: loss.name(), bytes, latency })?;
                }
            }
        }
        for measured in &self.figure10 {
            let buffers = measured.outcomes.first().map_or(&[][..], |outcome| &outcome.pool);
            output::json(&Buffers { of_figure: 10, row: &measured.row.name, buffers })?;
        }
        self.checks.iter().try_for_each(|check| {
            let decided = check.figure.filter(|_| check.holds.is_some());
            output::json(&Effect {
                figure: decided,
                of_figure: check.figure.filter(|_| decided.is_none()),
                of_table: check.table,
                check: &check.check,
                holds: check.holds,
                value: check.value,
                paper: check.paper.as_deref(),
            })
        })
    }
}
