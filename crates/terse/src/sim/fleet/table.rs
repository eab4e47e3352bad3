//! The table of whole networks: the same columns for the terminal and for the page.
//!
//! What must always hold: with names of up to 30 characters it fits into 160 columns, and what no row has takes no column.

use terse_sim::scenario::fleet::Fleet;

use super::{connected_share, days, failed, handshake, median_until, of_devices, over_runs};
use crate::compare::table::lay_out;
use crate::sim::measure::Measured;

/// A column: what it is called, and its cell of a row; `None` if the row has no such value.
pub(in crate::sim) struct Column {
    pub(in crate::sim) name: &'static str,
    cell: fn(&Measured) -> Option<String>,
}

/// Returns the table, with what its columns mean below.
pub(super) fn rows(title: &str, measured: &[&Measured]) -> String {
    let columns = columns(measured);
    let header = core::iter::once("").chain(columns.iter().map(|column| column.name));
    let mut lines = vec![header.map(str::to_owned).collect::<Vec<_>>()];
    for measured in measured {
        let cells = columns.iter().map(|column| column.cell(measured));
        lines.push(core::iter::once(measured.row.name.clone()).chain(cells).collect());
    }
    let title = if title.is_empty() { String::new() } else { format!("{title}\n") };
    let mut note = String::from("\n");
    for line in wrapped(NOTE) {
        note += &format!("  {line}\n");
    }
    format!("{title}{}{note}", lay_out(&lines))
}

/// Returns the columns of which some row has a value.
pub(in crate::sim) fn columns(measured: &[&Measured]) -> Vec<Column> {
    let has = |column: &Column| measured.iter().any(|measured| (column.cell)(measured).is_some());
    COLUMNS.into_iter().filter(has).collect()
}

impl Column {
    /// Returns the cell of a row.
    pub(in crate::sim) fn cell(&self, measured: &Measured) -> String {
        (self.cell)(measured).unwrap_or_else(|| "-".into())
    }
}

/// Returns the median over runs.
fn median(measured: &Measured, digits: usize, of: impl Fn(&Fleet) -> Option<f64>) -> Option<String> {
    let statistics = over_runs(measured, of);
    (statistics.count > 0).then(|| short(statistics.median, digits))
}

/// Returns the seconds until this share of the devices was connected. These columns are in every table: never is a result, too.
fn seconds_until(measured: &Measured, share: f64) -> Option<String> {
    Some(median_until(measured, share).map_or_else(|| "-".into(), |seconds| short(seconds, 1)))
}

/// Returns a number with so many digits after the point; large ones need none.
fn short(value: f64, digits: usize) -> String {
    let digits = if value < LARGE { digits } else { 0 };
    format!("{value:.digits$}")
}

/// Returns the seconds until all devices were connected, or the share that was.
fn until_all(measured: &Measured) -> Option<String> {
    if let Some(seconds) = median_until(measured, 1.0) {
        return Some(short(seconds, 1));
    }
    let share = over_runs(measured, connected_share);
    // 99.97 % are not all of them.
    let percent = (1_000.0 * share.median).floor() / 10.0;
    Some(if share.count == 0 { "-".into() } else { format!("- ({percent:.1} %)") })
}

/// Splits a text into lines of at most [`WIDTH`] characters.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + word.len() < WIDTH => line.extend([" ", word]),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

const COLUMNS: [Column; 16] = [
    Column { name: "devices", cell: |measured| median(measured, 0, |fleet| Some(fleet.devices.len() as f64)) },
    Column { name: "50 % s", cell: |measured| seconds_until(measured, 0.5) },
    Column { name: "95 % s", cell: |measured| seconds_until(measured, 0.95) },
    Column { name: "all s", cell: until_all },
    Column {
        name: "shake s",
        cell: |measured| median(measured, 2, |fleet| of_devices(fleet, handshake, |over| over.median)),
    },
    Column {
        name: "p95 s",
        cell: |measured| median(measured, 2, |fleet| of_devices(fleet, handshake, |over| over.p95)),
    },
    Column { name: "kB", cell: |measured| median(measured, 1, |fleet| Some(fleet.bytes as f64 / 1e3)) },
    Column { name: "net kB", cell: |measured| median(measured, 1, |fleet| Some(fleet.network_bytes as f64 / 1e3)) },
    Column { name: "C", cell: |measured| median(measured, 2, |fleet| Some(fleet.charge? / 1e3)) },
    Column {
        name: "mC",
        cell: |measured| median(measured, 1, |fleet| of_devices(fleet, |device| device.charge, |over| over.median)),
    },
    Column {
        name: "tries",
        cell: |measured| {
            median(measured, 2, |fleet| of_devices(fleet, |device| Some(device.attempts.into()), |over| over.mean))
        },
    },
    Column { name: "other", cell: |measured| median(measured, 0, |fleet| Some(fleet.fallbacks as f64)) },
    Column {
        name: "reports",
        cell: |measured| median(measured, 1, |fleet| Some(100.0 * fleet.reports.reliability()?)),
    },
    Column { name: "days", cell: |measured| median(measured, 0, |fleet| of_devices(fleet, days, |over| over.median)) },
    Column { name: "least", cell: |measured| median(measured, 0, |fleet| of_devices(fleet, days, |over| over.least)) },
    Column { name: "failed", cell: |measured| Some(format!("{}/{}", failed(measured), measured.outcomes.len())) },
];

/// What the columns mean.
pub(super) const NOTE: &str = "Each value is the median over runs, those in which some device was never connected included. \
50 %, 95 %, all: seconds from the event until so many devices were connected; - if that never happened, and beside it the \
share that was. shake: the handshake of a device, the median over devices, and p95 what 95 % of them do not exceed. kB: \
frames on the air with packets of devices, each hop and repetition, without acknowledgements of the MAC; net kB: those of the \
network itself. C: the charge of all motes in coulombs; mC: that of a device until it was connected in millicoulombs, the \
median over devices. tries: handshakes that a device began. other: connections of another mode than the row asks for. \
reports: the percentage of those that came to the server. days: how long a battery lasts while the network is observed, the \
median over devices and the least. failed: runs in which not every device was connected.";

/// From here on numbers are shown without digits after the point.
const LARGE: f64 = 1_000.0;

/// The width of the lines below the table.
const WIDTH: usize = 150;
