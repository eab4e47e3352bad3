//! `terse-bench bootstrap` on the command line.

use std::path::PathBuf;

use clap::Args;
use terse_bench::bootstrap::Bootstrap;

use crate::write;

/// How many devices are onboarded, and where their files are.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A short run: 1 device
    #[arg(long)]
    quick: bool,
    /// How many devices there are
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    rounds: u16,
    /// Where all files are, so that the disk can be chosen [default: the directory of temporary files]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Write all numbers to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let rounds = if arguments.quick { 1 } else { usize::from(arguments.rounds) };
    let measured = Bootstrap { rounds, directory: arguments.directory.clone() }.measure()?;
    print!("{}", measured.render());
    arguments.json.as_deref().map_or(Ok(()), |path| write(path, &serde_json::json!(measured)))
}
