//! `terse compare --paper itls` repeats the evaluation of the paper on iTLS, and shows it beside the paper's numbers.
//!
//! What must always hold: a value does not depend on how many threads measured, nor on the order of the points.

use std::sync::Arc;

use terse_sim::compare::itls::{Contestants, Figure, Paper, Point, SecurityLevel, Series, Value};
use terse_sim::compare::{Failed, Sides};
use terse_sim::computing::Device;

use super::{CompareArgs, files};
use crate::failure::Failure;
use crate::output;
use crate::parallel::in_parallel;

mod contestants;
mod figure;
mod json;
mod provider;
mod ratio;
mod report;
mod table;

/// The arguments of `terse compare` that choose what the paper's evaluation has chosen already.
pub(super) const NOT_WITH_PAPER: [&str; 31] = [
    "certificates",
    "server_certificates",
    "tls",
    "transport",
    "mode",
    "suites",
    "groups",
    "signature_schemes",
    "no_sni",
    "no_cookie",
    "dtls_timeout",
    "early_data",
    "request",
    "reply",
    "crypto",
    "cert",
    "links",
    "mtus",
    "rate",
    "delay",
    "loss",
    "ip",
    "tcp",
    "nagle",
    "mss",
    "cpu",
    "memory",
    "messages",
    "csv",
    "pcapng",
    "keylog",
];

/// How often a point under loss is measured unless `--runs` says otherwise: as often as in the paper.
const RUNS: u16 = 500;

/// The device of both sides unless `--device` says otherwise: one core of a machine, as in the paper.
const DEVICE: &str = "server";

/// The rows of tables I and II.
const ROWS: [Series; 7] = [
    Series::Rsa,
    Series::Ecc,
    Series::Compact,
    Series::Psk,
    Series::IdentityFirst,
    Series::Identity,
    Series::IdentityBls12381,
];

/// A row of table I or II.
struct TableRow {
    level: SecurityLevel,
    series: Series,
    bytes: Sides<u64>,
    paper: Option<[u64; 2]>,
}

impl TableRow {
    /// Returns the number of the table.
    const fn table(&self) -> u8 {
        match self.level {
            SecurityLevel::Bits112 => 1,
            SecurityLevel::Bits128 => 2,
        }
    }
}

/// A point, and its value here and in the paper.
struct Measured {
    point: Point,
    value: Value,
    paper: Option<f64>,
}

/// Everything that was measured.
struct Evaluation {
    rows: Vec<TableRow>,
    points: Vec<Measured>,
    failures: Vec<String>,
}

/// How everything was measured, for the report.
struct Method {
    runs: usize,
    /// A sentence on computing time.
    computing: String,
}

/// Runs the command.
pub(super) fn run(args: &CompareArgs, json: bool) -> Result<(), Failure> {
    if let Some(path) = &args.html {
        files::check(path)?;
    }
    let options = args.devices.or(DEVICE);
    let devices = options.sides()?;
    let method = Method::new(args, devices.as_ref());
    let contestants = contestants::made(options.provider(&provider::PROVIDER)?, devices)?;
    let evaluation = Evaluation::new(&contestants, method.runs, args.seed)?;
    for failure in &evaluation.failures {
        output::warn(failure);
    }
    if json {
        evaluation.print_json()?;
    } else {
        output::line(table::all(&evaluation).trim_end())?;
    }
    if let Some(path) = &args.html {
        files::write(path, report::render(&evaluation, &method).as_bytes())?;
    }
    match evaluation.failures.len() {
        0 => Ok(()),
        missing => Err(Failure::Failed(format!("{missing} curves are not complete; see above"))),
    }
}

impl Method {
    fn new(args: &CompareArgs, devices: Option<&Sides<Arc<Device>>>) -> Self {
        let computing = match devices {
            None => "Computing takes no time.".into(),
            Some(Sides { client, server }) if client.name == server.name => {
                format!("Both sides compute as long as the device {}: {}.", client.name, client.description)
            }
            Some(Sides { client, server }) => format!(
                "The client computes as long as the device {}: {}. The server computes as long as the device {}: {}.",
                client.name, client.description, server.name, server.description
            ),
        };
        Self { runs: args.runs.unwrap_or(RUNS).into(), computing }
    }
}

impl Evaluation {
    /// Measures everything.
    fn new(contestants: &Contestants, runs: usize, seed: u64) -> Result<Self, Failure> {
        let rows = table_rows(contestants, seed)?;
        let points: Vec<Point> = Figure::ALL.into_iter().flat_map(Figure::points).collect();
        let mut distinct: Vec<Point> = Vec::new();
        for point in points.iter().map(|point| point.measured_as()) {
            if !distinct.contains(&point) {
                distinct.push(point);
            }
        }
        let values = in_parallel(&distinct, 0, |point| contestants.measure(point, runs, seed));
        let mut evaluation = Self { rows, points: Vec::new(), failures: Vec::new() };
        for point in points {
            let place = distinct.iter().position(|distinct| *distinct == point.measured_as());
            match place.and_then(|place| values.get(place)) {
                Some(Ok(value)) => evaluation.points.push(Measured { point, value: *value, paper: of_paper(&point) }),
                Some(Err(error)) => evaluation.note_failure(&point, error),
                None => {}
            }
        }
        Ok(evaluation)
    }

    /// Notes why a point is missing, once for all points of a curve that are missing for the same reason.
    fn note_failure(&mut self, point: &Point, error: &Failed) {
        let failure = format!("figure {}, {}: {error}", point.figure.number(), point.series);
        if !self.failures.contains(&failure) {
            self.failures.push(failure);
        }
    }

    /// Returns the value of a point.
    fn value(&self, wanted: &Point) -> Option<&Measured> {
        self.points.iter().find(|measured| measured.point == *wanted)
    }
}

fn of_paper(point: &Point) -> Option<f64> {
    let Point { figure, level, mtu, x, series } = *point;
    Paper::get().milliseconds(figure.number(), level, mtu, x, series)
}

fn table_rows(contestants: &Contestants, seed: u64) -> Result<Vec<TableRow>, Failure> {
    let cells = SecurityLevel::ALL.into_iter().flat_map(|level| ROWS.map(|series| (level, series)));
    let row = |(level, series)| {
        let bytes = contestants.traffic(series, level, seed);
        let bytes = bytes.map_err(|error| Failure::Failed(format!("{series} could not be measured: {error}")))?;
        Ok(TableRow { level, series, bytes, paper: Paper::get().bytes(level, series) })
    };
    cells.map(row).collect()
}

#[cfg(test)]
mod tests;
