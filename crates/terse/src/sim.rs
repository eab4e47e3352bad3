//! `terse sim` runs scenario files: handshakes over a 6TiSCH network in virtual time (docs/scenarios.md).
//!
//! What must always hold: results do not depend on the number of threads, nor on the machine.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use terse_sim::scenario::{Row, ScenarioFile};

use crate::compare::files;
use crate::failure::Failure;
use crate::output;

mod columns;
mod export;
mod figure;
mod fleet;
mod measure;
mod new;
mod onboarding;
mod paper;
mod parties;
mod report;
mod schedule;
mod sweep;
mod table;
#[cfg(test)]
mod tests;
mod timeline;

use measure::{Keeps, Measured};
use new::NewArgs;
use onboarding::OnboardingArgs;
use parties::Maker;
use sweep::{MergeArgs, SweepArgs};

/// What to do with scenarios.
#[derive(Debug, Subcommand)]
pub(crate) enum SimCommand {
    /// Ask a few questions about a network, and write a scenario file for it
    New(Box<NewArgs>),
    /// Run all rows of a scenario file, and say what they cost
    Run(RunArgs),
    /// Run all rows in parts that can be killed and resumed, and keep each run in a Parquet file
    Sweep(SweepArgs),
    /// Join the files of all parts of a sweep
    Merge(MergeArgs),
    /// Print a scenario file with every key, defaults included
    Show(ShowArgs),
    /// Report every mistake of a scenario file, with its line and what would be right
    Check(CheckArgs),
    /// Repeat the evaluation of the paper on TLS over 6TiSCH, and show it beside the paper's numbers
    Paper(PaperArgs),
    /// Onboard a device over a simulated link, and say what each step costs
    Onboarding(OnboardingArgs),
}

/// Each row is a handshake, run again and again under other seeds. Times are virtual; the bytes are those of the frames
/// that the simulated motes sent.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  terse sim run scenarios/paper-001/table2.toml --seeds 50 --html table2.html")]
pub(crate) struct RunArgs {
    /// The scenario file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    runs: RunOptions,
    /// What all seeds follow from, instead of the file's
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,
    /// Only the row of this name (repeatable)
    #[arg(long, value_name = "NAME")]
    row: Vec<String>,
    /// Write a line of comma-separated values for each run (- for standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the frames of the first run of each row, for Wireshark, with the secrets that decrypt them
    #[arg(long, value_name = "FILE")]
    pcapng: Option<PathBuf>,
    /// Of these frames, only those that this mote sends and receives; 0 is the root
    #[arg(long, value_name = "MOTE", requires = "pcapng")]
    node: Option<u16>,
    /// Write the secrets of those runs (NSS key log format)
    #[arg(long, value_name = "FILE")]
    keylog: Option<PathBuf>,
}

/// How much is run, where, and whether there is a report.
#[derive(Args, Debug)]
struct RunOptions {
    #[command(flatten)]
    amount: Amount,
    /// Write a report with figures, in one file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// How much is run, and where.
#[derive(Args, Debug)]
struct Amount {
    /// Runs of each row, instead of the file's repetitions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: Option<u32>,
    /// Threads [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    jobs: Option<u16>,
}

/// What is printed is a scenario file, too, and means the same.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  terse sim show scenarios/engine.toml")]
pub(crate) struct ShowArgs {
    /// The scenario file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Args, Debug)]
#[command(after_help = "Example:
  terse sim check scenarios/engine.toml")]
pub(crate) struct CheckArgs {
    /// The scenario file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Tables 2 and 3 and figures 5, 6, 7 and 10 are run from the scenarios that come along. What must hold of each was written
/// down before it was run.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  terse sim paper --seeds 200 --html paper.html")]
pub(crate) struct PaperArgs {
    #[command(flatten)]
    runs: RunOptions,
}

/// Runs the command.
pub(crate) fn run(command: SimCommand, json: bool) -> Result<(), Failure> {
    match command {
        SimCommand::New(args) => args.run(json),
        SimCommand::Run(args) => args.run(json),
        SimCommand::Sweep(args) => args.run(json),
        SimCommand::Merge(args) => args.run(json),
        SimCommand::Show(args) => output::line(read(&args.file)?.to_toml().trim_end()),
        SimCommand::Check(args) => check(&args.file, json),
        SimCommand::Paper(args) => paper::run(&args, json),
        SimCommand::Onboarding(args) => args.run(json),
    }
}

fn check(path: &Path, json: bool) -> Result<(), Failure> {
    #[derive(serde::Serialize)]
    struct Checked {
        rows: usize,
        runs: u64,
    }
    let file = read(path)?;
    let runs = file.rows.iter().map(|row| u64::from(row.scenario.repetitions.count)).sum();
    let rows = file.rows.len();
    match json {
        true => output::json(&Checked { rows, runs }),
        false => output::line(format!("{}: nothing is wrong; {rows} rows, {runs} runs", path.display())),
    }
}

/// Reads a scenario file.
fn read(path: &Path) -> Result<ScenarioFile, Failure> {
    let name = path.display().to_string();
    let length = fs::metadata(path).map(|metadata| metadata.len());
    if length.is_ok_and(|length| length > LONGEST_FILE) {
        return Err(Failure::Failed(format!("{name} is too long to be a scenario: at most {LONGEST_FILE} bytes")));
    }
    let source = fs::read_to_string(path)
        .map_err(|error| Failure::Failed(format!("cannot read {name}: {error}; scenarios has some to begin with")))?;
    ScenarioFile::parse(&name, &source).map_err(|mistakes| Failure::Failed(mistakes.to_string()))
}

impl RunArgs {
    fn run(&self, json: bool) -> Result<(), Failure> {
        let prints_csv = self.csv.as_deref().is_some_and(files::is_standard_output);
        if prints_csv && json {
            return Err(Failure::Usage("--json and --csv - both want standard output; give --csv a file".into()));
        }
        for path in [&self.csv, &self.runs.html, &self.pcapng, &self.keylog].into_iter().flatten() {
            files::check(path)?;
        }
        let mut file = read(&self.file)?;
        self.choose(&mut file)?;
        let keeps = match self.node {
            _ if self.pcapng.is_none() && self.keylog.is_none() => Keeps::Nothing,
            Some(mote) => Keeps::FramesOf(mote),
            None => Keeps::Frames,
        };
        let measured = measure::all(&file, &Maker::beside(&self.file), self.runs.amount.jobs, keeps)?;
        // The table comes first: it is printed even if a file cannot be written.
        match (json, prints_csv) {
            (true, _) => measured.iter().try_for_each(|measured| output::json(&export::Object::new(measured)))?,
            (false, false) => output::line(fleet::tables(&file.title, &measured).trim_end())?,
            (false, true) => {}
        }
        if let Some(path) = &self.csv {
            export::write_csv(path, &measured)?;
        }
        let captured: Vec<_> = measured.iter().filter_map(|measured| measured.captured.clone()).collect();
        if let Some(path) = &self.pcapng {
            files::write_captures(path, &captured)?;
        }
        if let Some(path) = &self.keylog {
            files::write_keys(path, &captured)?;
        }
        if let Some(path) = &self.runs.html {
            files::write(path, report::of_rows(&file, &measured, &fleet::places).as_bytes())?;
        }
        complete(&measured)
    }

    /// Leaves only what is wanted, under the seeds that are wanted.
    fn choose(&self, file: &mut ScenarioFile) -> Result<(), Failure> {
        let motes = |row: &Row| row.scenario.topology.motes();
        if let (Some(mote), Some(most)) = (self.node, file.rows.iter().map(motes).max())
            && u64::from(mote) > most
        {
            return Err(Failure::Usage(format!("--node: there is no mote {mote}; there are 0, the root, to {most}")));
        }
        if let Some(name) = self.row.iter().find(|name| file.row(name).is_none()) {
            let names: Vec<&str> = file.rows.iter().map(|row| row.name.as_str()).take(NAMES_IN_MESSAGES).collect();
            let more = if file.rows.len() > NAMES_IN_MESSAGES { ", ..." } else { "" };
            return Err(Failure::Usage(format!("--row: there is no row {name}; there are {}{more}", names.join("; "))));
        }
        file.rows.retain(|row| self.row.is_empty() || self.row.contains(&row.name));
        self.runs.amount.apply(file);
        for row in &mut file.rows {
            row.scenario.repetitions.seed = self.seed.unwrap_or(row.scenario.repetitions.seed);
        }
        Ok(())
    }
}

impl Amount {
    /// Sets how often each row is run.
    fn apply(&self, file: &mut ScenarioFile) {
        for row in &mut file.rows {
            row.scenario.repetitions.count = self.seeds.unwrap_or(row.scenario.repetitions.count);
        }
    }
}

/// Fails if a row could not be run at all, or never was connected: of a whole network no device.
fn complete(measured: &[Measured]) -> Result<(), Failure> {
    let is_missing = |measured: &&Measured| match measured.row.scenario.is_whole() {
        true => measured.fleets().all(|fleet| fleet.connected() == 0),
        false => measured.latency().count == 0,
    };
    let missing = measured.iter().filter(is_missing).count();
    match missing {
        0 => Ok(()),
        _ => Err(Failure::Failed(format!(
            "{missing} of {} rows were never connected; see above: try less loss, a longer limit_ms, or longer timeouts",
            measured.len()
        ))),
    }
}

/// How many names a message lists.
const NAMES_IN_MESSAGES: usize = 12;

/// The longest scenario file, in bytes.
const LONGEST_FILE: u64 = 4 << 20;
