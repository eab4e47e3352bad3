//! `terse-bench identity`: handshakes with identity keys beside those with certificates, `compact` and pre-shared keys:
//! handshakes per second of CPU time, peak of the client's heap, and the deepest stack of its calls.
//!
//! All handshakes are those of a later connection, in which what can be kept is kept. Nobody falls back.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use terse_bench::measure::{Warm, heap, rates};
use terse_bench::probe::StackProbe;
use terse_bench::stack::{Mode, Profile, Setting, Side, Stack, Version};
use terse_bench::{stacks, table};

use super::{select, write};

/// The options of `terse-bench identity`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Stacks of Terse, with commas
    #[arg(long, value_name = "STACK", value_delimiter = ',', default_value = "terse-aws-lc,terse-rustcrypto")]
    only: Vec<String>,
    /// Versions, with commas
    #[arg(long, value_delimiter = ',', value_enum, default_values = ["1.3", "dtls1.3"])]
    versions: Vec<Version>,
    /// Rounds over all modes
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Write all numbers to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The numbers of one mode.
#[derive(Debug, Serialize)]
struct Row {
    stack: String,
    version: Version,
    mode: Mode,
    /// Handshakes per second of CPU time, both sides together: the median of the rounds, and the least and the most.
    rate: [f64; 3],
    client_heap_peak: i64,
    server_heap_peak: i64,
    client_stack: usize,
}

/// With certificates on P-256, in chains of three.
const MODES: [Mode; 5] = [Mode::Full, Mode::Compact, Mode::Psk, Mode::Identity, Mode::IdentityBls12381];

/// How long a mode runs in a round, in seconds of CPU time.
const SLICE: f64 = 0.1;

pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let all = stacks::all();
    let mut rows = Vec::new();
    for stack in select(&all, &arguments.only)? {
        for version in &arguments.versions {
            if !version.is_13() {
                return Err(format!("{version}: identity keys are for TLS 1.3 and DTLS 1.3"));
            }
            eprintln!("{} {}", stack.name(), version.title());
            let measured = measure(stack, *version, arguments.rounds)?;
            println!("{}", render(&measured));
            rows.extend(measured);
        }
    }
    arguments.json.as_deref().map_or(Ok(()), |path| write(path, &serde_json::json!({ "rows": rows })))
}

/// Measures all modes in turn, so that other load of the machine affects all alike.
fn measure(stack: &dyn Stack, version: Version, rounds: u16) -> Result<Vec<Row>, String> {
    let settings = MODES.map(|mode| Setting::new(version, Profile::Ec3, mode));
    let mut worlds = settings.iter().map(|setting| Warm::new(stack, *setting)).collect::<Result<Vec<_>, _>>()?;
    let mut rates = vec![Vec::new(); worlds.len()];
    for _ in 0..rounds {
        for (warm, rates) in worlds.iter_mut().zip(&mut rates) {
            rates.push(rates::rate(warm, SLICE)?);
        }
    }
    let mut rows = Vec::new();
    for (setting, mut rates) in settings.into_iter().zip(rates) {
        rates.sort_by(f64::total_cmp);
        let rate = [rates[rates.len() / 2], rates[0], rates[rates.len() - 1]];
        let [_, [client_heap_peak, server_heap_peak]] = heap::first_and_later(stack, setting)?;
        let mut probe = StackProbe::default();
        let mut warm = Warm::new(stack, setting)?;
        for _ in 0..3 {
            warm.handshake(&mut probe)?;
        }
        let client_stack = probe.deepest(Side::Client);
        let (stack, mode) = (stack.name().into(), setting.mode);
        rows.push(Row { stack, version, mode, rate, client_heap_peak, server_heap_peak, client_stack });
    }
    Ok(rows)
}

fn render(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let title = format!("{}, {}", first.stack, first.version.title());
    let header = [title, "handshakes/s".into(), "to full".into()];
    let columns = ["client heap".into(), "server heap".into(), "client stack".into()];
    let mut lines = vec![header.into_iter().chain(columns).collect::<Vec<String>>()];
    for row in rows {
        let [median, least, most] = row.rate;
        let spread = (most - least) / 2.0 / median * 100.0;
        lines.push(vec![
            row.mode.to_string(),
            format!("{} ±{spread:.0}%", table::thousands(median.round() as u64)),
            format!("{:.2}", median / first.rate[0]),
            table::thousands(row.client_heap_peak as u64),
            table::thousands(row.server_heap_peak as u64),
            table::thousands(row.client_stack as u64),
        ]);
    }
    table::lay_out(&lines)
}
