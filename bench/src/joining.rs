//! `terse-bench joins` on the command line.

use clap::Args;
use terse_bench::joins::{Joins, measure};

/// The networks, and how they connect.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many devices there are beside the root, with commas
    #[arg(long, value_delimiter = ',', default_values_t = [1_000], value_parser = clap::value_parser!(u16).range(1..=1_000))]
    sizes: Vec<u16>,
    /// The version, as scenario files name it
    #[arg(long, default_value = "DTLS 1.3")]
    version: String,
    /// What handshakes leave out, as scenario files name it
    #[arg(long, default_value = "full")]
    mode: String,
    /// The most hours of virtual time; a run ends when all devices are connected
    #[arg(long, default_value_t = 6.0)]
    hours: f64,
    /// Each device connects within this time after it has a place in the network
    #[arg(long, value_name = "MINUTES", default_value_t = 240)]
    spread: u32,
    /// The side of the square that motes are placed in, at random
    #[arg(long, value_name = "METRES", default_value_t = 1_000.0)]
    side: f64,
    /// Runs of each size, each with a seed of its own
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let Arguments { sizes, version, mode, hours, spread, side, rounds } = arguments;
    let (version, mode) = (version.clone(), mode.clone());
    let joins = Joins { version, mode, hours: *hours, spread: *spread, side: *side, rounds: *rounds };
    measure(sizes, &joins).map(|text| print!("{text}"))
}
