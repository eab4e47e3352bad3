//! The evaluation as JSON, one object a line.

use serde::Serialize;

use super::{Evaluation, Loss, Measured, all_peers, growth};
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

/// How much a row of figure 6 or 7 grows under loss.
#[derive(Serialize)]
struct Growth<'a> {
    figure: u8,
    row: &'a str,
    loss: &'static str,
    bytes: Option<f64>,
    latency: Option<f64>,
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
        for (figure, rows) in [(6, &self.figure6), (7, &self.figure7)] {
            for row in all_peers(rows) {
                for loss in [Loss::Fragments, Loss::Packets] {
                    let bytes = growth(rows, row, loss, Measured::bytes);
                    let latency = growth(rows, row, loss, Measured::latency);
                    output::json(&Growth { figure, row, loss: loss.name(), bytes, latency })?;
                }
            }
        }
        self.checks.iter().try_for_each(output::json)
    }
}
