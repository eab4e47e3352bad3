//! Rows as tables for people.

use core::fmt::Write;

use terse_sim::scenario::Statistics;

use super::measure::Measured;
use super::report::has_paper;
use crate::compare::table::lay_out;

/// Returns the table of all rows.
pub(super) fn rows(title: &str, measured: &[Measured]) -> String {
    let has_paper = has_paper(measured);
    let mut header = vec!["", "seconds", "median", "95 %", "bytes", "frames", "packets", "again", "dropped", "failed"];
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
    text
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

const NOTE: &str = "
  seconds: mean ± standard deviation from the first packet until the client is connected; 95 %: of the mean. bytes: frames \
on the air,
  each hop and repetition, without acknowledgements of the MAC. again: segments of TCP and flights of DTLS. dropped: packets.
";
