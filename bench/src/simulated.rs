//! `terse-bench lossy` measures handshakes on a slow path that loses packets, with a table for each rate of loss.

use std::path::PathBuf;

use clap::Args;
use terse_bench::lossy::{Path, describe, measure, render, watch};
use terse_bench::stack::{Mode, Profile, Setting, Stack, Version};
use terse_bench::stacks;

use super::{select, versions, write};

/// The path, and the stacks.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The largest IP packet, in bytes; IPv6 and UDP have 48 of them
    #[arg(long, value_name = "BYTES", default_value_t = 127, value_parser = clap::value_parser!(u16).range(100..=1_280))]
    mtu: u16,
    /// How many of a hundred packets are lost, with commas; of each direction, and independently
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_value = "0,10", value_parser = clap::value_parser!(u8).range(..100))]
    loss: Vec<u8>,
    /// How long a packet is on its way, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 50)]
    delay: u32,
    /// How fast each side sends, in kilobits per second
    #[arg(long, value_name = "KBIT/S", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
    /// How many handshakes, each with a seed of its own
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Stacks, with commas
    #[arg(long, value_name = "STACK", value_delimiter = ',', default_values = DEFAULT.iter().copied())]
    only: Vec<String>,
    /// Versions, with commas
    #[arg(long, value_delimiter = ',', value_enum, default_values = ["dtls1.3", "dtls1.2"])]
    versions: Vec<Version>,
    /// The certificates
    #[arg(long, value_enum, default_value_t = Profile::Rsa3)]
    profile: Profile,
    /// Write all numbers to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print the datagrams of the handshake with this seed instead
    #[arg(long, value_name = "SEED")]
    trace: Option<u64>,
}

/// The default stacks: other builds of the same libraries send the same datagrams.
const DEFAULT: &[&str] = &[
    "terse-aws-lc",
    #[cfg(terse_testing)]
    "terse-no-acks",
    "mbedtls",
    "wolfssl-asm",
    "boringssl",
];

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let all = stacks::all();
    let present = select(&all, &arguments.only)?;
    let mut cells = Vec::new();
    for version in arguments.versions.iter().copied().filter(|version| version.is_datagram()) {
        let setting = Setting::new(version, arguments.profile, Mode::Full);
        let able = present.iter().filter(|stack| stack.is_timed() && stack.has(setting));
        cells.extend(able.map(|stack| (*stack, version)));
    }
    let mut reports = Vec::new();
    for loss in &arguments.loss {
        let path = Path { mtu: arguments.mtu, loss: *loss, delay: arguments.delay, rate: arguments.rate };
        for (stack, version) in cells.iter().copied() {
            if let Some(seed) = arguments.trace {
                trace(stack, version, arguments.profile, path, seed);
                continue;
            }
            eprintln!("{loss} % lost: {} {}", stack.name(), version.title());
            let report = measure(stack, version, arguments.profile, path, arguments.seeds)?;
            if let Some((seed, failure)) = &report.failure {
                eprintln!("  seed {seed}: {failure}");
            }
            reports.push(report);
        }
        if arguments.trace.is_none() {
            print!("{}", render(path, &reports));
        }
    }
    let report = serde_json::json!({ "stacks": versions(&present), "lossy": reports });
    arguments.json.as_ref().map_or(Ok(()), |path| write(path, &report))
}

fn trace(stack: &dyn Stack, version: Version, profile: Profile, path: Path, seed: u64) {
    println!("{}, {}, {} % lost, seed {seed}", stack.name(), version.title(), path.loss);
    let taken = watch(stack, version, profile, path, seed, |time, side, datagram, arrives| {
        let milliseconds = time as f64 / 1e3;
        let fate = if arrives { "" } else { "lost" };
        println!("{milliseconds:>9.1} {side:?} {:>4} {fate:<4} {}", datagram.len(), describe(datagram));
    });
    match taken {
        Ok(taken) => println!("{taken:?}"),
        Err(error) => println!("failed: {error}"),
    }
}
