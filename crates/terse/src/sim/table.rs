//! Rows in which one client connects, as a table for people.

use core::fmt::Write;

use terse_sim::scenario::{Forming, Statistics};

use super::measure::Measured;
use super::report::has_paper;
use crate::compare::table::lay_out;

/// Returns the table of rows in which one client connects.
pub(super) fn rows(title: &str, measured: &[&Measured]) -> String {
    let has_paper = has_paper(measured);
    let mut header = vec!["", "seconds", "median", "95 %", "bytes", "frames", "packets", "again", "dropped", "failed"];
    let has_charge = measured.iter().any(|measured| measured.charge().count > 0);
    let forms = measured.iter().any(|measured| measured.forming().next().is_some());
    if has_charge {
        header.extend(["client mC", "all mC"]);
    }
    if forms {
        header.extend(["formed s", "formed kB", "formed mC", "hops"]);
    }
    if has_paper {
        header.extend(["paper s", "diff", "paper B", "diff"]);
    }
    let mut lines = vec![header.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for measured in measured {
        let (latency, bytes) = (measured.latency(), measured.bytes());
        let mean = |of: &dyn Fn(&terse_sim::scenario::Outcome) -> f64| Statistics::of(measured.values(of)).mean;
        let mut line = vec![measured.row.name.clone()];
        if latency.count == 0 {
            line.extend(["-"; 8].map(str::to_owned));
        } else {
            line.extend([
                with_deviation(&latency, 3),
                format!("{:.3}", latency.median),
                interval(&latency, 3),
                with_deviation(&bytes, 0),
                format!("{:.1}", mean(&|outcome| outcome.air.frames as f64)),
                format!("{:.1}", mean(&|outcome| outcome.air.packets as f64)),
                format!("{:.1}", mean(&|outcome| outcome.retransmissions as f64)),
                format!("{:.1}", mean(&|outcome| outcome.drops.values().sum::<u64>() as f64)),
            ]);
        }
        line.push(format!("{}/{}", measured.outcomes.len() - latency.count, measured.outcomes.len()));
        if has_charge {
            let of_all = Statistics::of(measured.values(|outcome| outcome.charge.map_or(0.0, |charge| charge.all)));
            let some = |statistics: &Statistics| match statistics.count {
                0 => "-".to_owned(),
                _ => format!("{:.2}", statistics.mean),
            };
            line.extend([some(&measured.charge()), some(&of_all)]);
        }
        if forms {
            line.extend(formed(measured));
        }
        if has_paper {
            let paper = measured.row.scenario.paper;
            line.extend(beside(paper.latency_ms.map(|ms| ms / 1e3), &latency, 3));
            line.extend(beside(paper.bytes, &bytes, 0));
        }
        lines.push(line);
    }
    let mut text = if title.is_empty() { String::new() } else { format!("{title}\n") };
    text += &lay_out(&lines);
    let _ = write!(text, "{NOTE}"); // writing to a String cannot fail
    if has_charge {
        text += CHARGE_NOTE;
    }
    if forms {
        text += FORMED_NOTE;
    }
    text
}

/// Returns what forming the network took: means over all runs in which it formed.
fn formed(measured: &Measured) -> [String; 4] {
    let mean = |values: Vec<f64>, digits: usize| match values.len() {
        0 => "-".to_owned(),
        _ => format!("{:.digits$}", Statistics::of(values).mean),
    };
    let of = |of: &dyn Fn(&Forming) -> f64| measured.forming().map(of).collect::<Vec<f64>>();
    let hops = measured.outcomes.iter().filter_map(|outcome| outcome.hops).map(f64::from).collect();
    [
        mean(of(&|forming| forming.time.as_secs_f64()), 0),
        mean(of(&|forming| forming.bytes as f64 / 1e3), 1),
        mean(measured.forming().filter_map(|forming| forming.charge).collect(), 0),
        mean(hops, 1),
    ]
}

/// Returns a mean with its standard deviation.
pub(super) fn with_deviation(statistics: &Statistics, digits: usize) -> String {
    let deviation = digits.max(1);
    format!("{:.digits$} ± {:.deviation$}", statistics.mean, statistics.sd)
}

/// Returns the 95 % interval of a mean.
pub(super) fn interval(statistics: &Statistics, digits: usize) -> String {
    match statistics.half_interval() {
        Some(half) => format!("{:.digits$} to {:.digits$}", statistics.mean - half, statistics.mean + half),
        None => "-".into(),
    }
}

/// Returns the value of a paper, and by how much the mean differs.
fn beside(paper: Option<f64>, ours: &Statistics, digits: usize) -> [String; 2] {
    match paper {
        Some(paper) if ours.count > 0 => [format!("{paper:.digits$}"), difference(ours.mean, paper)],
        Some(paper) => [format!("{paper:.digits$}"), "-".into()],
        None => ["-".into(), "-".into()],
    }
}

/// Returns by how much a value differs from another one.
pub(super) fn difference(ours: f64, other: f64) -> String {
    format!("{:+.1} %", 100.0 * (ours / other - 1.0))
}

const CHARGE_NOTE: &str =
    "  mC: millicoulombs from the first packet until both are connected, of the client's mote and of all motes, \
idle listening included.
";

const FORMED_NOTE: &str =
    "  formed: until every mote had a parent, a cell to it and a route from the root; the bytes of beacons, \
keep-alives, 6P and RPL;
  the charge of all motes; how many hops the client was from the root then.
";

const NOTE: &str = "
  seconds: mean ± standard deviation from the first packet until the client is connected; 95 %: of the mean. bytes: frames \
on the air,
  each hop and repetition, without acknowledgements of the MAC. again: segments of TCP and flights of DTLS. dropped: packets.
";
