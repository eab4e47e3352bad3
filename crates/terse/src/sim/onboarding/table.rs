//! Onboardings as tables for people: one of all forms, and one of the steps of each.

use terse_sim::onboarding::{Bytes, Outcome};

use super::Row;
use crate::compare::table::lay_out;

/// Returns all tables.
pub(super) fn all(rows: &[Row]) -> String {
    let header = ["", "up", "down", "bytes", "frames", "packets", "seconds", "lost", "repeated attempts"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    lines.extend(rows.iter().map(|row| form(row.name, &row.outcome)));
    let mut text = lay_out(&lines);
    text.push_str(&not_reported(rows.iter().filter(|row| !row.outcome.is_reported).map(|row| row.name)));
    for Row { name, outcome } in rows {
        text.push_str(&format!("\n{name}: bytes up/down by step\n\n{}", steps(outcome)));
    }
    text
}

/// Returns a line for each form whose pledge is enrolled, and could not report it.
pub(super) fn not_reported(names: impl Iterator<Item = &'static str>) -> String {
    names
        .map(|name| format!("\n{name}: the pledge has its LDevID, and could not report it to its registrar.\n"))
        .collect()
}

fn form(name: &str, outcome: &Outcome) -> Vec<String> {
    let [up, down] = outcome.total();
    let both = up + down;
    vec![
        name.to_owned(),
        up.sum().to_string(),
        down.sum().to_string(),
        both.sum().to_string(),
        both.frames.to_string(),
        both.packets.to_string(),
        format!("{:.3}", outcome.enrolled.as_secs_f64()),
        outcome.lost.to_string(),
        outcome.failures.to_string(),
    ]
}

fn steps(outcome: &Outcome) -> String {
    let header =
        ["", "messages", "records", "UDP, TCP", "IP", "link", "again", "acks", "all", "frames", "packets", "ms"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for step in &outcome.steps {
        let milliseconds = format!("{:.0}", step.time.as_secs_f64() * 1e3);
        lines.push(layers(step.step.name(), [step.up, step.down], milliseconds));
    }
    lines.push(layers("all", outcome.total(), format!("{:.0}", outcome.enrolled.as_secs_f64() * 1e3)));
    lay_out(&lines)
}

fn layers(name: &str, directions: [Bytes; 2], milliseconds: String) -> Vec<String> {
    let columns: [fn(&Bytes) -> usize; 10] = [
        |bytes| bytes.messages,
        |bytes| bytes.records,
        |bytes| bytes.transport,
        |bytes| bytes.network,
        |bytes| bytes.link,
        |bytes| bytes.repeated,
        |bytes| bytes.acknowledgements,
        Bytes::sum,
        |bytes| bytes.frames,
        |bytes| bytes.packets,
    ];
    let [up, down] = directions;
    let cells = columns.iter().map(|of| format!("{}/{}", of(&up), of(&down)));
    core::iter::once(name.to_owned()).chain(cells).chain([milliseconds]).collect()
}

#[cfg(test)]
mod tests;
