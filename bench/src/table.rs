//! The table has a part for each version and profile, in Markdown, aligned for people as well.
//!
//! What must always hold: every number in it is a [`Sample`]; a ratio compares stacks that ran in the same process.

use core::cmp::Ordering;

use crate::measure::{Field, Metric, Sample};

/// Returns the part for `field`. `stacks` gives the order of the columns.
pub fn render(stacks: &[&str], field: Field, samples: &[Sample]) -> String {
    let header = [format!("{}, {}", field.version.title(), field.profile)]
        .into_iter()
        .chain(stacks.iter().map(|name| (*name).to_owned()))
        .chain(stacks.contains(&RUSTLS).then(|| format!("{OURS} : {RUSTLS}")))
        .chain(["our best : best peer".into()]);
    let mut metrics: Vec<Metric> = samples.iter().map(|sample| sample.metric).collect();
    metrics.sort();
    metrics.dedup();
    let rows = metrics.into_iter().map(|metric| row(stacks, samples, metric));
    lay_out(&[header.collect()].into_iter().chain(rows).collect::<Vec<_>>()) + "\n"
}

/// The two stacks of the first ratio.
const OURS: &str = "terse-aws-lc";
const RUSTLS: &str = "rustls-aws-lc";

fn row(stacks: &[&str], samples: &[Sample], metric: Metric) -> Vec<String> {
    let of = |name: &str| samples.iter().find(|sample| sample.metric == metric && sample.stack == name);
    let cell = |name: &&str| of(name).map_or_else(|| "-".into(), number);
    let better = |a: &&Sample, b: &&Sample| {
        let order = a.value.partial_cmp(&b.value).unwrap_or(Ordering::Equal);
        if metric.is_a_rate() { order } else { order.reverse() }
    };
    let best = |ours: bool| {
        let those = samples.iter().filter(|sample| sample.metric == metric && is_ours(&sample.stack) == ours);
        those.max_by(better)
    };
    let ratio = |a: Option<&Sample>, b: Option<&Sample>| Some(format!("{:.2}", a?.value / b?.value));
    let best_ratio = ratio(best(true), best(false)).zip(best(false));
    [metric.label().to_owned()]
        .into_iter()
        .chain(stacks.iter().map(cell))
        .chain(stacks.contains(&RUSTLS).then(|| ratio(of(OURS), of(RUSTLS)).unwrap_or_else(|| "-".into())))
        .chain([best_ratio.map_or_else(|| "-".into(), |(ratio, best)| format!("{ratio} ({})", best.stack))])
        .collect()
}

fn is_ours(stack: &str) -> bool {
    stack.starts_with("terse")
}

/// Formats a number, such as `1,234`, and half the spread of the rounds, such as `±5%`.
fn number(sample: &Sample) -> String {
    let mut text = thousands(sample.value.round() as u64); // none is negative
    if let Some((least, most)) = sample.spread {
        text.push_str(&format!(" ±{:.0}%", (most - least) / 2.0 / sample.value * 100.0));
    }
    text
}

/// Formats a number as `1,234`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Aligns columns; the first row is the header.
pub fn lay_out(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let cell = if column == 0 { format!("| {cell:<width$} ") } else { format!("| {cell:>width$} ") };
            text.push_str(&cell);
        }
        text.push_str("|\n");
        if index == 0 {
            for (column, width) in widths.iter().enumerate() {
                let rule = "-".repeat(width + 1);
                text.push_str(&if column == 0 { format!("|{rule}-") } else { format!("|{rule}:") });
            }
            text.push_str("|\n");
        }
    }
    text
}
