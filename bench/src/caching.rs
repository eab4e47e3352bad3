//! `terse-bench caching`: what handshake caching saves, measured as in BiTHaC, V: bytes of records, a client's
//! instructions by the length of the chains, and its heap.
//!
//! Chains have the names of `terse pki`, which count the root, though it is not sent.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use terse_bench::measure::{Field, Warm, heap, instructions};
use terse_bench::stack::{Chains, Mode, Profile, Setting, Side, Stack, Version};
use terse_bench::{stacks, table};

use super::{or_all, select, write};

/// The options of `terse-bench caching`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Stacks of Terse, with commas
    #[arg(long, value_name = "STACK", value_delimiter = ',', default_value = "terse-aws-lc")]
    only: Vec<String>,
    /// Versions, with commas
    #[arg(long, value_delimiter = ',', value_enum, default_values = ["1.2", "1.3"])]
    versions: Vec<Version>,
    /// Measurements, with commas; all by default
    #[arg(long, value_delimiter = ',', value_enum)]
    what: Vec<What>,
    /// Write all numbers to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// Record bytes of a connection with one message each way, from the first to the last of its close
    Bytes,
    /// A client's instructions, under callgrind
    Instructions,
    /// Peak of the heap of both sides
    Heap,
}

/// A number, and what it measures.
#[derive(Debug, Serialize)]
struct Number {
    stack: String,
    version: Version,
    client: &'static str,
    server: &'static str,
    mode: Mode,
    metric: &'static str,
    value: f64,
}

const MODES: [Mode; 4] = [Mode::Full, Mode::Rfc7924, Mode::Bithac, Mode::Compact];

/// As in BiTHaC: RSA-2048 on both sides, an RSA-4096 chain of the server (V-A), and ECC.
const BYTES: [(Profile, Chains); 3] = [
    (Profile::Rsa3, Chains { client: "rsa2048x3", server: "rsa2048x3" }),
    (Profile::Rsa3, Chains { client: "rsa2048x3", server: "rsa4096x3" }),
    (Profile::Ec3, Chains { client: "p256x3", server: "p256x3" }),
];

/// BiTHaC, figure 6: the chains of the server.
const LENGTHS: [(Profile, &[&str]); 2] = [
    (Profile::Rsa3, &["rsa2048x3", "rsa2048x5"]), // each process makes new keys, which takes a while
    (Profile::Ec3, &["p256x2", "p256x3", "p256x4", "p256x5"]),
];

/// The messages of the application.
const REQUEST: &[u8] = b"23.5 degrees";
const REPLY: &[u8] = b"thank you";

pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let all = stacks::all();
    let mut numbers = Vec::new();
    for stack in select(&all, &arguments.only)? {
        for version in &arguments.versions {
            for what in or_all(&arguments.what, [What::Bytes, What::Instructions, What::Heap]) {
                eprintln!("{} {}: {what:?}", stack.name(), version.title());
                let rows = match what {
                    What::Bytes => bytes(stack, *version)?,
                    What::Instructions if instructions::is_possible() => instructions(stack, *version)?,
                    What::Instructions => {
                        eprintln!("instructions are not counted: valgrind is not installed");
                        continue;
                    }
                    What::Heap => heaps(stack, *version)?,
                };
                println!("{}", render(&rows));
                numbers.extend(rows);
            }
        }
    }
    arguments.json.as_deref().map_or(Ok(()), |path| write(path, &serde_json::json!({ "numbers": numbers })))
}

fn number(stack: &dyn Stack, setting: Setting, metric: &'static str, value: f64) -> Number {
    let Setting { version, chains: Chains { client, server }, mode, .. } = setting;
    Number { stack: stack.name().into(), version, client, server, mode, metric, value }
}

/// Returns the bytes of the cheapest of several connections, because the length of an ECDSA signature is random.
fn bytes(stack: &dyn Stack, version: Version) -> Result<Vec<Number>, String> {
    let mut numbers = Vec::new();
    for (profile, chains) in BYTES {
        for mode in MODES {
            let setting = Setting { chains, ..Setting::new(version, profile, mode) };
            let mut warm = Warm::new(stack, setting)?;
            let mut cheapest = u64::MAX;
            for _ in 0..16 {
                warm.open(&mut terse_bench::probe::Unwatched)?;
                cheapest = cheapest.min(warm.pair().converse(REQUEST, REPLY)?);
                warm.pair().end(&mut terse_bench::probe::Unwatched);
            }
            numbers.push(number(stack, setting, "record bytes of a connection", cheapest as f64));
        }
    }
    Ok(numbers)
}

fn instructions(stack: &dyn Stack, version: Version) -> Result<Vec<Number>, String> {
    let mut numbers = Vec::new();
    for (profile, servers) in LENGTHS {
        for server in servers {
            for mode in MODES {
                let chains = Chains { client: profile.chain(), server };
                let setting = Setting { chains, ..Setting::new(version, profile, mode) };
                let count = instructions::count(stack, setting)?;
                numbers.push(number(stack, setting, "client instructions, thousand", count / 1e3));
            }
        }
    }
    Ok(numbers)
}

/// Returns the heap of the first handshake, which fills the caches, and of later ones.
fn heaps(stack: &dyn Stack, version: Version) -> Result<Vec<Number>, String> {
    const METRICS: [[&str; 2]; 2] = [
        ["client heap peak, first, bytes", "server heap peak, first, bytes"],
        ["client heap peak, later, bytes", "server heap peak, later, bytes"],
    ];
    let mut numbers = Vec::new();
    for profile in Profile::ALL {
        for mode in MODES {
            let setting = Field { version, profile }.with(mode);
            let peaks = heap::first_and_later(stack, setting)?;
            for (metrics, peaks) in METRICS.into_iter().zip(peaks) {
                for (metric, side) in metrics.into_iter().zip([Side::Client, Side::Server]) {
                    numbers.push(number(stack, setting, metric, peaks[side as usize - 1] as f64));
                }
            }
        }
    }
    Ok(numbers)
}

/// Returns a table with a row for each pair of chains and metric, and a column for each mode with its savings.
fn render(numbers: &[Number]) -> String {
    let mut rows = vec![];
    for first in numbers.iter().filter(|number| number.mode == Mode::Full) {
        if rows.is_empty() {
            let title = format!("{}, {}", first.stack, first.version.title());
            let header = [title, "client".into(), "server".into()];
            rows.push(header.into_iter().chain(MODES.map(|mode| mode.to_string())).collect());
        }
        let of = |mode| {
            let key = |number: &&Number| {
                (number.client, number.server, number.metric) == (first.client, first.server, first.metric)
            };
            numbers.iter().filter(key).find(|number| number.mode == mode).map(|number| number.value)
        };
        let cell = |mode| match of(mode) {
            None => "-".into(),
            Some(value) if mode == Mode::Full => table::thousands(value.round() as u64),
            Some(value) => {
                let change = (value / first.value - 1.0) * 100.0;
                format!("{} ({change:+.1}%)", table::thousands(value.round() as u64))
            }
        };
        let label = [first.metric.into(), first.client.into(), first.server.into()];
        rows.push(label.into_iter().chain(MODES.map(cell)).collect::<Vec<String>>());
    }
    table::lay_out(&rows)
}
