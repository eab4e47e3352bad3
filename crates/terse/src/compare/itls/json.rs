//! The evaluation as JSON, one object a line.

use serde::Serialize;
use terse_sim::compare::Sides;
use terse_sim::compare::itls::{Paper, SecurityLevel, Series};

use super::ratio::Range;
use super::{Evaluation, Measured, TableRow};
use crate::failure::Failure;
use crate::output;

/// A row of table I or II, in bytes of records.
#[derive(Serialize)]
struct Row {
    table: u8,
    row: Series,
    security_bits: SecurityLevel,
    client: u64,
    server: u64,
    paper: Option<Sides<u64>>,
}

/// A point of a figure.
#[derive(Serialize)]
struct Point {
    figure: u8,
    mtu: usize,
    x: f64,
    x_unit: &'static str,
    mode: Series,
    security_bits: SecurityLevel,
    unit: &'static str,
    ours: f64,
    median: f64,
    standard_error: Option<f64>,
    paper: Option<f64>,
}

/// A ratio of an identity mode to another mode.
#[derive(Serialize)]
struct Ratio<'a> {
    figure: u8,
    mtu: usize,
    ratio: [Series; 2],
    security_bits: SecurityLevel,
    ours: Range,
    paper: Range,
    source: &'a str,
}

impl Evaluation {
    /// Prints everything.
    pub(super) fn print_json(&self) -> Result<(), Failure> {
        for row in &self.rows {
            let TableRow { level, series, bytes, paper } = row;
            let paper = paper.map(|[client, server]| Sides { client, server });
            let Sides { client, server } = *bytes;
            let table = row.table();
            output::json(&Row { table, row: *series, security_bits: *level, client, server, paper })?;
        }
        for Measured { point, value, paper } in &self.points {
            output::json(&Point {
                figure: point.figure.number(),
                mtu: point.mtu,
                x: point.x,
                x_unit: point.figure.x_unit(),
                mode: point.series,
                security_bits: point.level,
                unit: point.figure.unit(),
                ours: value.mean,
                median: value.median,
                standard_error: value.standard_error,
                paper: *paper,
            })?;
        }
        for ratio in Paper::get().ratio.iter().flat_map(|ratio| self.ratios(ratio)) {
            output::json(&Ratio {
                figure: ratio.said.figure,
                mtu: ratio.said.mtu,
                ratio: [ratio.of, ratio.to],
                security_bits: ratio.level,
                ours: ratio.ours,
                paper: ratio.paper(),
                source: &ratio.said.source,
            })?;
        }
        Ok(())
    }
}
