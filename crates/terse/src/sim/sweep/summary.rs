//! What a sweep came to, row by row, for people and as JSON.
//!
//! What must always hold: a mean, its interval and all other statistics are those that `terse sim run` prints of the same runs.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use terse_sim::scenario::Statistics;

use super::super::columns::{Column, Value};
use super::runs::Runs;
use crate::compare::table::lay_out;
use crate::failure::Failure;
use crate::output;

/// A row of the scenario file.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    row: &'a str,
    runs: usize,
    failed: usize,
    /// The statistics of each column that has numbers, by its name.
    #[serde(flatten, serialize_with = "as_map")]
    columns: Vec<(&'static str, Quantity)>,
    /// Why the first run failed that did.
    failure: Option<&'a str>,
}

/// The statistics of a column.
#[derive(Debug, Serialize)]
struct Quantity {
    #[serde(flatten)]
    statistics: Statistics,
    /// Half of the width of the 95 % interval of the mean; a single run has none.
    half_interval_95: Option<f64>,
}

/// Prints a line for each row: an object, or a line of a table. Rows of which no run was connected are warned of.
pub(super) fn print(runs: &Runs, json: bool) -> Result<(), Failure> {
    let rows = summarize(runs);
    for Summary { row, failure, .. } in rows.iter().filter(|row| row.runs > 0 && row.failed == row.runs) {
        output::warn(&format!("{row}: {}", failure.unwrap_or("no run was connected")));
    }
    match json {
        true => rows.iter().try_for_each(output::json),
        false => output::line(table(&rows).trim_end()),
    }
}

/// Returns a summary of each row, in the order of the scenario file.
fn summarize(runs: &Runs) -> Vec<Summary<'_>> {
    let [row, connected, failure] = ["row", "connected", "failure"].map(|name| runs.column(name));
    let columns = Column::all().iter().filter_map(|column| Some((column, runs.column(column.name)?)));
    let columns: Vec<(&Column, usize)> = columns.collect();
    let mut lines: BTreeMap<&str, Vec<&[Value]>> = BTreeMap::new();
    for line in &runs.lines {
        lines.entry(text(line, row).unwrap_or_default()).or_default().push(line);
    }
    let is_connected = |line: &[Value]| connected.and_then(|place| line.get(place)) == Some(&Value::Flag(true));
    let rows = runs.header.rows.iter().map(|name| {
        let lines = lines.remove(name.as_str()).unwrap_or_default();
        let quantity = |(column, place): &(&Column, usize)| {
            let counted = lines.iter().filter(|line| column.is_of_failed_runs || is_connected(line));
            let statistics = Statistics::of(counted.filter_map(|line| line.get(*place).and_then(Value::number)));
            let half_interval_95 = statistics.half_interval();
            (statistics.count > 0).then_some((column.name, Quantity { statistics, half_interval_95 }))
        };
        Summary {
            row: name,
            runs: lines.len(),
            failed: lines.iter().filter(|line| !is_connected(line)).count(),
            columns: columns.iter().filter_map(quantity).collect(),
            failure: lines.iter().find_map(|line| text(line, failure)),
        }
    });
    rows.collect()
}

/// Returns the text of a line in a column, if it has one.
fn text(line: &[Value], column: Option<usize>) -> Option<&str> {
    match line.get(column?) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// Returns the table for people. A column stands in it if a row has values.
fn table(rows: &[Summary<'_>]) -> String {
    let has_values = |column: &Column| rows.iter().any(|row| row.quantity(column.name).is_some());
    let headings = Column::all().iter().filter(|column| has_values(column));
    let headings: Vec<_> =
        headings.filter_map(|column| column.heading.map(|(heading, digits)| (column.name, heading, digits))).collect();
    let mut lines = vec![vec![String::new(), "runs".into(), "failed".into()]];
    lines.extend(rows.iter().map(|row| vec![row.row.to_owned(), row.runs.to_string(), row.failed.to_string()]));
    for (name, heading, digits) in headings {
        let cells = rows.iter().map(|row| row.quantity(name).map_or_else(|| "-".into(), |column| column.cell(digits)));
        let cells = [heading.to_owned()].into_iter().chain(cells);
        lines.iter_mut().zip(cells).for_each(|(line, cell)| line.push(cell));
    }
    lay_out(&lines) + NOTE
}

impl Summary<'_> {
    /// Returns the statistics of a column, if the row has values.
    fn quantity(&self, name: &str) -> Option<&Quantity> {
        self.columns.iter().find_map(|(of, quantity)| (*of == name).then_some(quantity))
    }
}

impl Quantity {
    /// Returns the mean with half of its interval.
    fn cell(&self, digits: usize) -> String {
        let mean = self.statistics.mean;
        match self.half_interval_95 {
            Some(half) => format!("{mean:.digits$} ± {half:.decimals$}", decimals = digits.max(1)),
            None => format!("{mean:.digits$}"),
        }
    }
}

/// Serializes columns in their order.
fn as_map<S: Serializer>(columns: &[(&'static str, Quantity)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(columns.iter().map(|(name, quantity)| (name, quantity)))
}

const NOTE: &str = "
  mean ± half of its 95 % interval, over the runs that were connected. seconds: from the first packet until the client is
  connected. bytes: frames on the air, without acknowledgements of the MAC. mC: millicoulombs, idle listening included.
";

#[cfg(test)]
mod tests;
