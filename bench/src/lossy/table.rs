//! The measurements over one path are printed as a table.

use super::{Path, Report, Spread};
use crate::table::{lay_out, thousands};

/// Returns the part for `path`.
pub fn render(path: Path, reports: &[Report]) -> String {
    let Path { mtu, loss, delay, rate } = path;
    let header = [
        &format!("{loss} % lost, MTU {mtu}, {delay} ms, {rate} kbit/s"),
        "completed",
        "time, ms",
        "95 %",
        "bytes",
        "95 %",
        "datagrams",
        "95 %",
        "packets",
        "95 %",
    ];
    let rows = reports.iter().filter(|report| report.path == path).map(row);
    lay_out(&[header.map(str::to_owned).into()].into_iter().chain(rows).collect::<Vec<_>>()) + "\n"
}

fn row(report: &Report) -> Vec<String> {
    let Report { stack, version, profile, handshakes, completed, time, bytes, datagrams, packets, .. } = report;
    let numbers = [time, bytes, datagrams, packets].into_iter().flat_map(|Spread { median, percentile_95 }| {
        [median, percentile_95].map(|number| if *completed == 0 { "-".into() } else { thousands(*number) })
    });
    let first = [format!("{stack}, {}, {profile}", version.title()), format!("{completed} of {handshakes}")];
    first.into_iter().chain(numbers).collect()
}
