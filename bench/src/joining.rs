//! `terse-bench joins` and `terse-bench layers` on the command line.

use clap::Args;
use terse_bench::joins::{Joins, measure};
use terse_bench::layers;

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

/// The runs whose instructions are counted.
#[derive(Debug, Args)]
pub(crate) struct LayersArguments {
    /// Nodes of the network of `slots`
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(2..=1_000))]
    nodes: u16,
    /// Its minutes of virtual time
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    minutes: u64,
    /// Devices of the networks of `joins`, with commas, as dense as a thousand in a square of 1 km
    #[arg(long, value_delimiter = ',', default_values_t = [100, 300], value_parser = clap::value_parser!(u16).range(1..=1_000))]
    devices: Vec<u16>,
}

/// Says where instructions go.
pub(crate) fn layers(arguments: &LayersArguments) -> Result<(), String> {
    let LayersArguments { nodes, minutes, devices } = arguments;
    let words = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let slots = words(format!("slots --rounds 1 --sizes {nodes} --minutes {minutes}"));
    let mut runs = vec![(format!("slots, {nodes} nodes"), slots)];
    for devices in devices {
        let side = (f64::from(*devices) * 1_000.0).sqrt().round();
        let joins = words(format!("joins --rounds 1 --sizes {devices} --side {side} --spread 60 --hours 3"));
        runs.push((format!("joins, {devices} devices"), joins));
    }
    layers::measure(&runs).map(|text| print!("{text}"))
}
