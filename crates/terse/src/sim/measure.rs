//! All rows of a file are run, each under its seeds.

use terse_sim::compare::Captured;
use terse_sim::scenario::fleet::Fleet;
use terse_sim::scenario::{CannotRun, Forming, Outcome, Prepared, Row, ScenarioFile, Statistics, Timeline};

use super::parties::Maker;
use crate::failure::Failure;
use crate::output;
use crate::parallel::in_parallel;

/// A row, and what its runs came to.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) row: Row,
    pub(super) outcomes: Vec<Outcome>,
    /// Why the row could not be run at all, if it could not.
    pub(super) failure: Option<String>,
    /// The frames of the first run, if they are wanted.
    pub(super) captured: Option<Captured>,
}

/// What is kept of the first run of each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    Nothing,
    /// The frames of all motes.
    Frames,
    /// The frames of one mote.
    FramesOf(u16),
}

/// Runs all rows with what a maker makes, on so many threads, `None` for one for each processor.
pub(super) fn all(
    file: &ScenarioFile,
    maker: &Maker,
    jobs: Option<u16>,
    keeps: Keeps,
) -> Result<Vec<Measured>, Failure> {
    let threads = jobs.map_or(0, usize::from);
    // Certificates are made once for all rows that have the same, so one after the other.
    let prepared: Vec<_> = file.rows.iter().map(|row| Prepared::new(&row.scenario, maker)).collect();
    let of_row = |(row, prepared): (usize, &Result<Prepared, CannotRun>)| {
        let runs = prepared.as_ref().map_or(0, Prepared::repetitions);
        (0..runs).map(move |run| (row, run))
    };
    let runs: Vec<(usize, u32)> = prepared.iter().enumerate().flat_map(of_row).collect();
    let results = in_parallel(&runs, threads, |(row, run)| {
        let Some(Ok(prepared)) = prepared.get(*row) else { return None };
        let mote = match keeps {
            Keeps::Frames if *run == 0 => None,
            Keeps::FramesOf(mote) if *run == 0 => Some(mote),
            // Only the timeline of the first run is drawn, and many of them take much memory.
            _ if *run > 0 => {
                let outcome = prepared.run(*run).map(|outcome| Outcome { timeline: Timeline::default(), ..outcome });
                return Some(outcome.map(|outcome| (outcome, None)));
            }
            _ => return Some(prepared.run(*run).map(|outcome| (outcome, None))),
        };
        let captured = prepared.capture(*run, *row as u16 + 1, mote);
        Some(captured.map(|(outcome, captured)| (outcome, Some(captured))))
    });
    let mut measured: Vec<Measured> = Vec::new();
    for (row, prepared) in file.rows.iter().zip(&prepared) {
        let failure = prepared.as_ref().err().map(ToString::to_string);
        measured.push(Measured { row: row.clone(), outcomes: Vec::new(), failure, captured: None });
    }
    for ((row, _), result) in runs.iter().zip(results) {
        let Some(measured) = measured.get_mut(*row) else { continue };
        match result {
            Some(Ok((outcome, captured))) => {
                measured.outcomes.push(outcome);
                measured.captured = captured.or(measured.captured.take());
            }
            Some(Err(error)) => drop(measured.failure.get_or_insert_with(|| error.to_string())),
            None => {}
        }
    }
    for Measured { row, failure, outcomes, .. } in &measured {
        let of_run = || outcomes.iter().find_map(|outcome| outcome.failure.clone());
        let never = || outcomes.iter().all(|outcome| !outcome.is_connected()).then(of_run).flatten();
        if let Some(cause) = failure.clone().or_else(never) {
            output::warn(&format!("{}: {cause}", row.name));
        }
    }
    Ok(measured)
}

impl Measured {
    /// Returns the runs that were connected.
    pub(super) fn connected(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.is_connected())
    }

    /// Returns a quantity of each run that was connected.
    pub(super) fn values(&self, of: impl Fn(&Outcome) -> f64) -> Vec<f64> {
        self.connected().map(of).collect()
    }

    /// Returns the seconds until the client was connected.
    pub(super) fn latency(&self) -> Statistics {
        Statistics::of(self.values(seconds))
    }

    /// Returns the charge of the client's mote in millicoulombs, of the runs that counted it.
    pub(super) fn charge(&self) -> Statistics {
        Statistics::of(self.connected().filter_map(|outcome| outcome.charge).map(|charge| charge.client))
    }

    /// Returns what happened to the whole network in each run, if the row is about one.
    pub(super) fn fleets(&self) -> impl Iterator<Item = &Fleet> {
        self.outcomes.iter().filter_map(|outcome| outcome.fleet.as_ref())
    }

    /// Returns how the network of each run formed itself, if it did.
    pub(super) fn forming(&self) -> impl Iterator<Item = &Forming> {
        self.outcomes.iter().filter_map(|outcome| outcome.forming.as_ref())
    }

    /// Returns the bytes on the air.
    pub(super) fn bytes(&self) -> Statistics {
        Statistics::of(self.values(bytes))
    }
}

/// Returns the seconds until the client was connected.
pub(super) fn seconds(outcome: &Outcome) -> f64 {
    outcome.latency.unwrap_or_default().as_secs_f64()
}

/// Returns the bytes on the air, without acknowledgements of the MAC.
pub(super) const fn bytes(outcome: &Outcome) -> f64 {
    outcome.air.bytes as f64
}
