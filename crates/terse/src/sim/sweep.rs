//! `terse sim sweep` runs a scenario file in parts that can be killed and resumed; `terse sim merge` joins the parts
//! (docs/sweeps.md).
//!
//! What must always hold: the file that comes of a sweep is the same, byte for byte, however often it was killed and resumed,
//! on however many threads it ran, and into however many shards it was divided.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use terse_sim::scenario::{CannotRun, Outcome, Prepared, Row, ScenarioFile};

use super::columns::{Column, Value};
use super::parties::Maker;
use super::{Amount, read};
use crate::failure::Failure;
use crate::output;
use crate::parallel::try_in_parallel;

mod file;
mod merge;
mod partial;
mod plan;
mod runs;
mod summary;

pub(super) use merge::MergeArgs;
use partial::{Partial, Results};
use plan::{Plan, Run, Shard};
use runs::{Field, Header, Runs};

/// Each row is run under its seeds, as terse sim run does it, and each run is kept as soon as it has ended: after a crash the
/// same command goes on where it was. Shards divide the runs among processes and machines; terse sim merge joins their files.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  terse sim sweep scenarios/paper-001/table2.toml --seeds 200 --out runs
  terse sim sweep scenarios/paper-001/table2.toml --seeds 200 --out runs --shard 2/4")]
pub(crate) struct SweepArgs {
    /// The scenario file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The folder for shard-I-of-N.parquet; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Only the runs of the part I of N parts, from 1 on
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    #[command(flatten)]
    amount: Amount,
}

impl SweepArgs {
    pub(super) fn run(&self, json: bool) -> Result<(), Failure> {
        let mut file = read(&self.file)?;
        self.amount.apply(&mut file);
        let plan = Plan::new(&file)?;
        let shard = self.shard.unwrap_or(Shard::WHOLE);
        let (header, fields) = (plan.header(shard), plan.fields());
        fs::create_dir_all(&self.out).map_err(|error| cannot_write(&self.out, &error))?;
        let [complete, partial] =
            ["parquet", "partial"].map(|ending| self.out.join(format!("{}.{ending}", shard.file_name())));
        if let Some(runs) = completed(&complete, &header, &fields)? {
            remove(&partial)?;
            return summary::print(&runs, json);
        }
        let (appended, before) = Partial::open(&partial)?;
        // Another process may have completed the shard since, and have ended.
        if let Some(runs) = completed(&complete, &header, &fields)? {
            remove(&partial)?;
            return summary::print(&runs, json);
        }
        let wanted: Vec<Run> = plan.runs.iter().filter(|run| shard.has(run.id)).copied().collect();
        let results = self.finish(&file, &wanted, &appended, before)?;
        let lines = wanted.iter().filter_map(|run| Some(plan.line(run, results.get(&run.id)?.clone()))).collect();
        let runs = Runs { header, fields, lines };
        file::write(&complete, &runs)?;
        remove(&partial)?;
        summary::print(&runs, json)
    }

    /// Does the runs that were not done before, and returns the results of all.
    fn finish(
        &self,
        file: &ScenarioFile,
        wanted: &[Run],
        partial: &Partial,
        mut results: Results,
    ) -> Result<Results, Failure> {
        let left: Vec<Run> = wanted.iter().filter(|run| !results.contains_key(&run.id)).copied().collect();
        if left.len() < wanted.len() {
            output::warn(&format!("{} of {} runs were done before", wanted.len() - left.len(), wanted.len()));
        }
        let maker = Maker::beside(&self.file);
        // Certificates are made once for all rows that have the same, so one after the other.
        let prepared: Vec<_> = file
            .rows
            .iter()
            .enumerate()
            .map(|(row, Row { scenario, .. })| {
                let is_left = left.binary_search_by_key(&row, |run| run.row).is_ok();
                is_left.then(|| Prepared::new(scenario, &maker))
            })
            .collect();
        let threads = self.amount.jobs.map_or(0, usize::from);
        let done = try_in_parallel(&left, threads, |run| {
            let outcome = match prepared.get(run.row) {
                Some(Some(Ok(prepared))) => prepared.run(run.number),
                Some(Some(Err(error))) => Err(error.clone()),
                _ => Err(CannotRun::Parties("the row was not prepared".into())),
            };
            let result = result(outcome);
            partial.append(run.id, &result)?;
            Ok((run.id, result))
        })?;
        results.extend(done);
        Ok(results)
    }
}

/// Returns what is kept of a run: whether it was connected, the columns of its outcome, and why it failed, if it did.
fn result(outcome: Result<Outcome, CannotRun>) -> Vec<Value> {
    let text = |text: Option<String>| text.map_or(Value::Null, |text| Value::Text(text.into()));
    let columns = Column::all();
    let (is_connected, values, failure): (bool, Vec<Value>, _) = match outcome {
        Ok(outcome) => {
            let values = columns.iter().map(|column| column.of(&outcome)).collect();
            (outcome.is_connected(), values, outcome.failure)
        }
        Err(error) => (false, vec![Value::Null; columns.len()], Some(error.to_string())),
    };
    let mut result = vec![Value::Flag(is_connected)];
    result.extend(values);
    result.push(text(failure));
    result
}

/// Returns the runs of a shard if it is complete. A complete shard of another sweep is refused.
fn completed(path: &Path, header: &Header, fields: &[Field]) -> Result<Option<Runs>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let runs = file::read(path)?;
    if runs.header != *header || runs.fields != fields {
        return Err(Failure::Failed(format!(
            "{} is of another sweep, with other rows, seeds or columns: give --out another folder, or remove the file",
            path.display()
        )));
    }
    output::warn(&format!("{} is complete: there is nothing to do", path.display()));
    Ok(Some(runs))
}

/// Removes a partial file, if it is there.
fn remove(partial: &Path) -> Result<(), Failure> {
    match fs::remove_file(partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::Failed(format!("cannot remove {}: {error}; it is of no more use", partial.display())))
        }
        _ => Ok(()),
    }
}

/// Returns the failure to write a file, with what to try.
fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there, and run the same command again: what is done is kept"
        }
        _ => "try another place that can be written",
    };
    Failure::Failed(format!("cannot write {}: {error}; {hint}", path.display()))
}

/// The version of the files of a sweep.
const FORMAT: u32 = 1;

/// The version of this program.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");
