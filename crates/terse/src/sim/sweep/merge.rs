//! `terse sim merge`: the files of shards become one.
//!
//! What must always hold: what is merged has each run of the sweep exactly once, and is byte for byte the file of the same
//! sweep without shards.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use super::super::export;
use super::plan::{RunId, Shard};
use super::runs::{Header, Runs};
use super::{file, summary};
use crate::compare::files;
use crate::failure::Failure;

/// The files may be given in any order, and may be those of different numbers of shards, as long as each run of the sweep is
/// in one of them.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  terse sim merge runs --out sweep.parquet --csv sweep.csv")]
pub(crate) struct MergeArgs {
    /// The files of all shards; a folder stands for every shard-*.parquet in it
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The Parquet file with all runs
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Write all runs as comma-separated values as well (- for standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

impl MergeArgs {
    pub(in super::super) fn run(&self, json: bool) -> Result<(), Failure> {
        let prints_csv = self.csv.as_deref().is_some_and(files::is_standard_output);
        if prints_csv && json {
            return Err(Failure::Usage("--json and --csv - both want standard output; give --csv a file".into()));
        }
        for path in [&self.out].into_iter().chain(&self.csv) {
            files::check(path)?;
        }
        let mut shards = Vec::new();
        for path in shard_files(&self.files)? {
            let runs = file::read(&path)?;
            shards.push((path, runs));
        }
        let runs = merge(shards)?;
        file::write(&self.out, &runs)?;
        if let Some(path) = &self.csv {
            let names: Vec<&str> = runs.fields.iter().map(|field| field.name.as_str()).collect();
            export::write_lines(path, &names, &runs.lines)?;
        }
        if prints_csv { Ok(()) } else { summary::print(&runs, json) }
    }
}

/// Returns the files, and in the place of a folder the shards in it.
fn shard_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let cannot_read = |error| Failure::Failed(format!("cannot read {}: {error}", path.display()));
        let entries: Result<Vec<_>, _> = fs::read_dir(path).map_err(cannot_read)?.collect();
        let names = entries.map_err(cannot_read)?.into_iter().map(|entry| entry.path());
        let mut shards: Vec<PathBuf> = names.filter(|path| is_shard(path)).collect();
        shards.sort();
        if shards.is_empty() {
            let text = format!("there is no shard-*.parquet in {}: run terse sim sweep first", path.display());
            return Err(Failure::Failed(text));
        }
        found.append(&mut shards);
    }
    Ok(found)
}

fn is_shard(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("shard-") && name.ends_with(".parquet"))
}

/// Joins the runs of shards, each of which has the name of its file.
fn merge(shards: Vec<(PathBuf, Runs)>) -> Result<Runs, Failure> {
    let headers: Vec<Header> = shards.iter().map(|(_, runs)| runs.header.clone()).collect();
    let mut shards = shards.into_iter();
    let Some((first, mut merged)) = shards.next() else {
        return Err(Failure::Failed("there is no shard to merge".into()));
    };
    let mut known = HashMap::new();
    note_ids(&mut known, &first, &merged)?;
    for (path, runs) in shards {
        if !runs.header.is_of_sweep_of(&merged.header) || runs.fields != merged.fields {
            return Err(Failure::Failed(format!(
                "{} and {} are of different sweeps: merge the shards of each sweep by themselves",
                first.display(),
                path.display()
            )));
        }
        note_ids(&mut known, &path, &runs)?;
        merged.lines.extend(runs.lines);
    }
    if RunId::digest_of(known.into_keys()) != merged.header.sweep {
        return Err(Failure::Failed(missing(&headers, merged.lines.len())));
    }
    merged.header.shard = Shard::WHOLE;
    merged.sort();
    Ok(merged)
}

/// Notes which file has which run. A run that another file has, too, is refused.
fn note_ids(known: &mut HashMap<RunId, PathBuf>, path: &Path, runs: &Runs) -> Result<(), Failure> {
    let no_ids = || Failure::Failed(format!("{} is damaged: a run has no id; run its shard again", path.display()));
    for id in runs.ids().ok_or_else(no_ids)? {
        if let Some(other) = known.insert(id, path.into()) {
            return Err(Failure::Failed(format!(
                "the run {id} is in {} and again in {}: name each shard once",
                other.display(),
                path.display()
            )));
        }
    }
    Ok(())
}

/// Says what is missing, with the shards if all files are of the same number of them.
fn missing(headers: &[Header], found: usize) -> String {
    let numbers: BTreeSet<u32> = headers.iter().map(|header| header.shard.number).collect();
    let mut counts: Vec<u32> = headers.iter().map(|header| header.shard.of).collect();
    counts.dedup();
    let runs = headers.first().map_or(0, |header| header.runs);
    let absent: Vec<String> = match counts.as_slice() {
        [of] => {
            let absent = (1..=*of).filter(|number| !numbers.contains(number));
            absent.map(|number| Shard { number, of: *of }.to_string()).take(SHARDS_IN_MESSAGE).collect()
        }
        _ => Vec::new(),
    };
    match absent.is_empty() {
        true => format!("runs are missing: there are {found} of {runs}; name all files of the sweep"),
        false => format!(
            "runs are missing: there are {found} of {runs}; name the files of these shards, too, or run terse sim sweep for \
             them: {}",
            absent.join(", ")
        ),
    }
}

/// How many missing shards a message names.
const SHARDS_IN_MESSAGE: usize = 20;

#[cfg(test)]
mod tests;
