//! `terse-bench` measures, prints one table, and writes JSON. Its progress goes to standard error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use terse_bench::measure::{Effort, Field, Sample, bulk, bytes, heap, instructions, rates, stack};
use terse_bench::slots::Slots;
use terse_bench::stack::{Mode, Profile, Setting, Side, Stack, Version};
use terse_bench::{cache_entries, endpoint_sizes, stacks, store_sizes, table, web};

mod caching;
mod device;
mod identity;
mod joining;
mod many;
mod onboarding;
mod signing;
mod simulated;
mod unverified;

const EXAMPLE: &str = "Examples:
  terse-bench --quick
  terse-bench --only terse-aws-lc,rustls-aws-lc --what rates,bulk --rounds 15 --json rates.json
  terse-bench lossy --mtu 276 --only boringssl,terse-aws-lc
  terse-bench one terse-aws-lc 1.3 ec3     (to look at under callgrind or perf)";

/// Measures Terse beside other TLS implementations
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLE, args_conflicts_with_subcommands = true)]
struct Arguments {
    /// A short run: 3 rounds of 20 ms
    #[arg(long)]
    quick: bool,
    /// Stacks, with commas; all that are here by default
    #[arg(long, value_name = "STACK", value_delimiter = ',')]
    only: Vec<String>,
    /// Measurements, with commas
    #[arg(long, value_delimiter = ',', value_enum)]
    what: Vec<What>,
    /// Versions, with commas
    #[arg(long, value_delimiter = ',', value_enum)]
    versions: Vec<Version>,
    /// Certificates, with commas
    #[arg(long, value_delimiter = ',', value_enum)]
    profiles: Vec<Profile>,
    /// Rounds over all stacks, of what is measured in time [default: 9]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// Write all numbers to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the stacks, and why some are absent
    Stacks,
    /// What an entry of a cache takes, in memory and in a file
    CacheEntries {
        /// Write all numbers to a file
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// What handshakes and stores take beside many entries
    StoreSizes {
        /// How many entries there are, with commas
        #[arg(long, value_delimiter = ',', default_values_t = [1, 10_000, 100_000, 1_000_000])]
        sizes: Vec<u32>,
        /// Handshakes and changes of each
        #[arg(long, default_value_t = 501, value_parser = clap::value_parser!(u16).range(1..))]
        rounds: u16,
    },
    /// What datagrams take a server beside many connections and waiting events
    EndpointSizes {
        /// How many connections there are, with commas
        #[arg(long, value_delimiter = ',', default_values_t = [100, 8_000])]
        sizes: Vec<u32>,
    },
    /// How many slots of a 6TiSCH network that forms itself are simulated in a second of CPU time
    Slots {
        /// How many nodes there are, with commas; the root is one
        #[arg(long, value_delimiter = ',', default_values_t = [10, 100, 1_000], value_parser = clap::value_parser!(u16).range(2..=30_000))]
        sizes: Vec<u16>,
        /// Minutes of virtual time
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=100_000))]
        minutes: u64,
        /// The time between two packets of a node; 0 for none
        #[arg(long, value_name = "MS", default_value_t = 10_000)]
        period: u64,
        /// The side of the square that nodes are placed in, at random
        #[arg(long, value_name = "METRES", default_value_t = 2_000.0)]
        side: f64,
        /// Runs of each size, each with a seed of its own
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
        rounds: u16,
    },
    /// How many slots of a 6TiSCH network are simulated in a second of CPU time, in which every mote forms the network with the
    /// others and makes a handshake
    Joins(joining::Arguments),
    /// Requests of an axum server over streams of terse-net, beside tokio-rustls: on new and on kept connections
    Axum {
        /// A short run: 1 round of 50 ms
        #[arg(long)]
        quick: bool,
        /// Rounds over both servers
        #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
        rounds: u16,
        /// How long each server is measured in a round
        #[arg(long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=60_000))]
        slice: u64,
    },
    /// The whole onboarding of a device on loopback (RFC 8995), as four processes: time and bytes, by phase
    Bootstrap(onboarding::Arguments),
    /// Many devices at once at two registrars and two MASAs on PostgreSQL, one of each killed twice: whether all join, and how fast
    Plant(many::Arguments),
    /// By layer, where the instructions of both go: counted by callgrind
    Layers(joining::LayersArguments),
    /// Simulate handshakes over a slow path with small packets, of which some are lost
    Lossy(simulated::Arguments),
    /// One connection after two to warm up, for a profiler
    One {
        /// A stack
        stack: String,
        /// The version
        version: Version,
        /// The certificates
        profile: Profile,
        /// What the connection leaves out
        #[arg(long, default_value = "full")]
        mode: Mode,
        /// The client's certificates, if others than the profile's, as in `rsa2048x3`: for Terse
        #[arg(long, value_name = "CHAIN")]
        client_chain: Option<String>,
        /// The server's
        #[arg(long, value_name = "CHAIN")]
        server_chain: Option<String>,
    },
    /// Identity keys beside certificates, `compact` and pre-shared keys: handshakes a second, heap and stack
    Identity(identity::Arguments),
    /// What handshake caching saves: bytes, instructions and heap, by the length of chains (BiTHaC, V)
    Caching(caching::Arguments),
    /// The heap of a client that takes its server unverified and keeps its chain, beside one that verifies it
    Unverified(unverified::Arguments),
    /// The time of each cryptographic operation, as devices of `terse compare --devices`
    Operations(device::Arguments),
    /// Signing a voucher request as CMS, beside OpenSSL and wolfSSL, and as COSE: heap, stack, instructions, time, and size of programs
    Voucher(signing::Arguments),
    /// Measures a signer in this process, for `voucher`
    #[command(hide = true)]
    VoucherOnce(signing::OnceArguments),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    Bytes,
    Heap,
    Stack,
    Instructions,
    Rates,
    Bulk,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.command {
        None => run(&arguments),
        Some(Command::Stacks) => {
            list();
            Ok(())
        }
        Some(Command::CacheEntries { json }) => cache_entries(json.as_deref()),
        Some(Command::StoreSizes { sizes, rounds }) => {
            store_sizes::measure(sizes, *rounds).map(|text| print!("{text}"))
        }
        Some(Command::EndpointSizes { sizes }) => endpoint_sizes::measure(sizes).map(|text| print!("{text}")),
        Some(Command::Slots { sizes, minutes, period, side, rounds }) => {
            let slots = Slots { minutes: *minutes, period: *period, side: *side, rounds: *rounds };
            terse_bench::slots::measure(sizes, &slots).map(|text| print!("{text}"))
        }
        Some(Command::Axum { quick, rounds, slice }) => {
            let (rounds, slice) = if *quick { (1, 50) } else { (usize::from(*rounds), *slice) };
            let effort = web::Effort { rounds, slice: Duration::from_millis(slice) };
            web::measure(effort).map(|text| print!("{text}"))
        }
        Some(Command::Bootstrap(arguments)) => onboarding::run(arguments),
        Some(Command::Plant(arguments)) => many::run(arguments),
        Some(Command::Joins(arguments)) => joining::run(arguments),
        Some(Command::Layers(arguments)) => joining::layers(arguments),
        Some(Command::Lossy(arguments)) => simulated::run(arguments),
        Some(Command::Caching(arguments)) => caching::run(arguments),
        Some(Command::Identity(arguments)) => identity::run(arguments),
        Some(Command::Unverified(arguments)) => unverified::run(arguments),
        Some(Command::Operations(arguments)) => device::run(arguments),
        Some(Command::Voucher(arguments)) => signing::run(arguments),
        Some(Command::VoucherOnce(arguments)) => signing::run_once(arguments),
        Some(Command::One { stack, version, profile, mode, client_chain, server_chain }) => {
            let mut setting = Setting::new(*version, *profile, *mode);
            for (to, chain) in [(&mut setting.chains.client, client_chain), (&mut setting.chains.server, server_chain)]
            {
                if let Some(chain) = chain {
                    *to = chain.clone().leak(); // for the rest of the process
                }
            }
            select(&stacks::all(), core::slice::from_ref(stack))
                .and_then(|found| instructions::one(found[0], setting, Side::Client))
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("terse-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn list() {
    for stack in stacks::all() {
        match stack.version() {
            Ok(version) => println!("{:<18} {version}", stack.name()),
            Err(reason) => println!("{:<18} absent: {reason}", stack.name()),
        }
    }
}

fn cache_entries(json: Option<&Path>) -> Result<(), String> {
    let mut entries = Vec::new();
    for chain in cache_entries::CHAINS {
        entries.extend(cache_entries::measure(chain)?);
    }
    print!("{}", cache_entries::render(&entries));
    json.map_or(Ok(()), |path| write(path, &serde_json::json!({ "entries": entries })))
}

/// Returns the named stacks, or all that are available.
fn select<'a>(all: &'a [Box<dyn Stack>], only: &[String]) -> Result<Vec<&'a dyn Stack>, String> {
    let is_wanted = |stack: &&dyn Stack| only.is_empty() || only.iter().any(|name| name == stack.name());
    if let Some(unknown) = only.iter().find(|name| !all.iter().any(|stack| stack.name() == *name)) {
        let known: Vec<_> = all.iter().map(|stack| stack.name()).collect();
        return Err(format!("there is no stack {unknown}; there are {}", known.join(", ")));
    }
    let mut present = Vec::new();
    for stack in all.iter().map(Box::as_ref).filter(is_wanted) {
        match stack.version() {
            Ok(_) => present.push(stack),
            Err(reason) if only.is_empty() => eprintln!("{} is absent: {reason}", stack.name()),
            Err(reason) => return Err(format!("{} is absent: {reason}", stack.name())),
        }
    }
    Ok(present)
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let all = stacks::all();
    let present = select(&all, &arguments.only)?;
    let default =
        if arguments.quick { Effort { rounds: 3, slice_ms: 20 } } else { Effort { rounds: 9, slice_ms: 100 } };
    let effort = Effort { rounds: arguments.rounds.map_or(default.rounds, usize::from), ..default };
    let is_wanted = |what| arguments.what.is_empty() || arguments.what.contains(&what);
    if is_wanted(What::Instructions) && !instructions::is_possible() {
        eprintln!("instructions are not counted: valgrind is not installed");
    }
    let mut samples = Vec::new();
    for version in or_all(&arguments.versions, Version::ALL) {
        for profile in or_all(&arguments.profiles, Profile::ALL) {
            let field = Field { version, profile };
            let has = |stack: &&&dyn Stack| stack.has(field.with(Mode::Full));
            let names: Vec<&str> = present.iter().filter(has).map(|stack| stack.name()).collect();
            let part = measure(&present, field, effort, &is_wanted);
            print!("{}", table::render(&names, field, &part)); // each part is printed at once, as a whole run is long
            samples.extend(part);
        }
    }
    match &arguments.json {
        Some(path) => write(
            path,
            &serde_json::json!({ "stacks": versions(&present), "rounds": effort.rounds, "samples": samples }),
        ),
        None => Ok(()),
    }
}

fn versions<'a>(stacks: &[&'a dyn Stack]) -> Vec<(&'a str, String)> {
    stacks.iter().map(|stack| (stack.name(), stack.version().unwrap_or_default())).collect()
}

fn write(path: &Path, report: &serde_json::Value) -> Result<(), String> {
    let text = serde_json::to_string_pretty(report).map_err(|error| error.to_string())?;
    fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))
}

fn or_all<T: Copy, const N: usize>(named: &[T], all: [T; N]) -> Vec<T> {
    if named.is_empty() { all.into() } else { named.into() }
}

type Measurement = fn(&dyn Stack, Field) -> Result<Vec<Sample>, String>;

fn measure(stacks: &[&dyn Stack], field: Field, effort: Effort, is_wanted: &dyn Fn(What) -> bool) -> Vec<Sample> {
    let stacks: Vec<_> = stacks.iter().copied().filter(|stack| stack.has(field.with(Mode::Full))).collect();
    let place = format!("{} {}", field.version.title(), field.profile);
    let mut failed = |stack: &dyn Stack, error: String| eprintln!("{} {place}: {error}", stack.name());
    let mut samples = Vec::new();
    let each: [(What, &str, Measurement); 4] = [
        (What::Bytes, "bytes", bytes::measure),
        (What::Heap, "heap", heap::measure),
        (What::Stack, "stack", stack::measure),
        (What::Instructions, "instructions", instructions::measure),
    ];
    for (what, name, measurement) in each {
        if !is_wanted(what) || (what == What::Instructions && !instructions::is_possible()) {
            continue;
        }
        eprintln!("{place}: {name}");
        for stack in &stacks {
            match measurement(*stack, field) {
                Ok(more) => samples.extend(more),
                Err(error) => failed(*stack, error),
            }
        }
    }
    if is_wanted(What::Rates) {
        for mode in Mode::ALL {
            eprintln!("{place}: rates, {mode}");
            samples.extend(rates::measure(&stacks, field, mode, effort, &mut failed));
        }
    }
    if is_wanted(What::Bulk) {
        eprintln!("{place}: bulk");
        samples.extend(bulk::measure(&stacks, field, effort, &mut failed));
    }
    samples
}
