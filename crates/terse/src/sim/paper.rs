//! `terse sim paper` repeats the evaluation of the paper on TLS over 6TiSCH, and shows it beside the paper's numbers.
//!
//! What must always hold: each check is a formula that was written down before it was run, with its bounds in the targets of
//! [`terse_sim::paper`]; a check that does not hold is shown, and fails nothing.

use terse_sim::scenario::{ScenarioFile, Statistics};

use super::measure::{self, Keeps, Measured};
use super::parties::Maker;
use super::{Amount, PaperArgs};
use crate::compare::files;
use crate::failure::Failure;
use crate::output;

mod checks;
mod json;
mod report;
mod table;
#[cfg(test)]
mod tests;

use checks::Check;

/// Everything that was run.
#[derive(Debug)]
struct Evaluation {
    table2: Vec<Measured>,
    table3: Vec<Measured>,
    figure5: Vec<Measured>,
    figure6: Vec<Measured>,
    figure7: Vec<Measured>,
    figure10: Vec<Measured>,
    checks: Vec<Check>,
}

/// Runs the command.
pub(super) fn run(args: &PaperArgs, json: bool) -> Result<(), Failure> {
    if let Some(path) = &args.runs.html {
        files::check(path)?;
    }
    let evaluation = Evaluation::new(&args.runs.amount)?;
    match json {
        true => evaluation.print_json()?,
        false => output::line(table::all(&evaluation).trim_end())?,
    }
    if let Some(path) = &args.runs.html {
        files::write(path, report::render(&evaluation).as_bytes())?;
    }
    Ok(())
}

impl Evaluation {
    fn new(options: &Amount) -> Result<Self, Failure> {
        let mut all = ScenarioFile { title: String::new(), base: Default::default(), rows: Vec::new() };
        let mut lengths = Vec::new();
        for (name, source) in FILES {
            let mut file =
                ScenarioFile::parse(name, source).map_err(|mistakes| Failure::Failed(mistakes.to_string()))?;
            options.apply(&mut file);
            lengths.push(file.rows.len());
            all.rows.append(&mut file.rows);
        }
        // All files are run as one, so that no processor waits for the last run of a file.
        let mut measured = measure::all(&all, &Maker::default(), options.jobs, Keeps::Nothing)?;
        let mut next = || {
            let len = if lengths.is_empty() { 0 } else { lengths.remove(0) };
            measured.drain(..len.min(measured.len())).collect::<Vec<_>>()
        };
        let mut evaluation = Self {
            table2: next(),
            table3: next(),
            figure5: next(),
            figure6: next(),
            figure7: next(),
            figure10: next(),
            checks: Vec::new(),
        };
        evaluation.checks = evaluation.all_checks();
        Ok(evaluation)
    }

    /// Returns the tables with their numbers.
    fn tables(&self) -> [(u8, &[Measured]); 2] {
        [(2, &self.table2), (3, &self.table3)]
    }
}

/// What is lost in a row of figure 6 or 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    Nothing,
    Fragments,
    Packets,
}

impl Loss {
    const ALL: [Self; 3] = [Self::Nothing, Self::Fragments, Self::Packets];

    const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "no loss",
            Self::Fragments => "5 % of fragments",
            Self::Packets => "5 % of packets",
        }
    }

    fn of(measured: &Measured) -> Self {
        let loss = &measured.row.scenario.loss;
        match (loss.fragments > 0.0, loss.packets > 0.0) {
            (true, _) => Self::Fragments,
            (_, true) => Self::Packets,
            _ => Self::Nothing,
        }
    }
}

/// Returns the name of a row without what its matrix chose.
fn peers(measured: &Measured) -> &str {
    measured.row.name.split(", ").next().unwrap_or_default()
}

/// Returns the names of the peers of some rows, each once.
fn all_peers(rows: &[Measured]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for measured in rows {
        if !names.contains(&peers(measured)) {
            names.push(peers(measured));
        }
    }
    names
}

/// Finds a row of figure 6 or 7.
fn find<'m>(rows: &'m [Measured], name: &str, loss: Loss) -> Option<&'m Measured> {
    rows.iter().find(|measured| peers(measured) == name && Loss::of(measured) == loss)
}

/// Returns by how much a quantity grows under loss: the median with it over the least without, as figure 6 draws it.
fn growth(rows: &[Measured], name: &str, loss: Loss, of: impl Fn(&Measured) -> Statistics) -> Option<f64> {
    let (with, without) = (of(find(rows, name, loss)?), of(find(rows, name, Loss::Nothing)?));
    (with.count > 0 && without.least > 0.0).then(|| with.median / without.least)
}

/// The scenarios, in the order of [`Evaluation`]'s fields.
const FILES: [(&str, &str); 6] = [
    ("table2.toml", include_str!("../../scenarios/paper-001/table2.toml")),
    ("table3.toml", include_str!("../../scenarios/paper-001/table3.toml")),
    ("figure5.toml", include_str!("../../scenarios/paper-001/figure5.toml")),
    ("figure6.toml", include_str!("../../scenarios/paper-001/figure6.toml")),
    ("figure7.toml", include_str!("../../scenarios/paper-001/figure7.toml")),
    ("figure10.toml", include_str!("../../scenarios/paper-001/figure10.toml")),
];
