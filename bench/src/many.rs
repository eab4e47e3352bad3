//! `terse-bench plant` on the command line.

use std::path::PathBuf;

use clap::Args;
use terse_bench::plant::Plant;

use crate::write;

/// How many devices there are, and where their files are.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A short run: 30 devices
    #[arg(long)]
    quick: bool,
    /// How many devices there are
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(3..=99_999))]
    pledges: u32,
    /// How many of them join at a time
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    at_once: u32,
    /// Also cut the other registrar and the other MASA off for a while, from their database and from their clients
    #[arg(long)]
    cuts: bool,
    /// Where all files are, so that the disk can be chosen [default: the directory of temporary files]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Write all numbers to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let pledges = if arguments.quick { 30 } else { arguments.pledges as usize };
    let directory = arguments.directory.clone();
    let plant = Plant { pledges, at_once: arguments.at_once as usize, has_cuts: arguments.cuts, directory };
    let measured = plant.measure()?;
    print!("{}", measured.render());
    arguments.json.as_deref().map_or(Ok(()), |path| write(path, &serde_json::json!(measured)))
}
