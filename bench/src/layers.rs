//! `terse-bench layers` says by layer where the time of the simulator goes: callgrind counts the instructions of runs of `slots` and
//! `joins`, and the names of functions say to which layer they belong.
//!
//! What must always hold: every instruction of a run is in one layer. A function that the compiler put into another one counts where
//! it was put; generic code of the standard library bears no name of who uses it, and is a layer of its own.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::process::{self, Command};

use crate::probe::COUNTED_CALL;
use crate::table::{lay_out, thousands};

/// Returns the table of runs, each with the arguments of this program that make it.
pub fn measure(runs: &[(String, Vec<String>)]) -> Result<String, String> {
    let mut columns = Vec::new();
    for (name, arguments) in runs {
        eprintln!("{name}, under callgrind");
        columns.push(sum(&count(arguments)?));
    }
    let mut rows = vec![vec!["layer, % of instructions".to_owned()]];
    rows[0].extend(runs.iter().map(|(name, _)| name.clone()));
    let total = |of: &BTreeMap<&str, u64>| of.values().sum::<u64>().max(1);
    for (layer, _) in LAYERS.iter().chain(&REST) {
        if rows.iter().any(|row| row[0] == *layer) {
            continue;
        }
        let share = |of: &BTreeMap<&str, u64>| 100.0 * *of.get(layer).unwrap_or(&0) as f64 / total(of) as f64;
        let shares = columns.iter().map(|of| format!("{:.1}", share(of)));
        rows.push(core::iter::once((*layer).to_owned()).chain(shares).collect());
    }
    let totals = columns.iter().map(|of| thousands(total(of) / 1_000_000));
    rows.push(core::iter::once("all, million".to_owned()).chain(totals).collect());
    Ok(lay_out(&rows))
}

/// A function, and the program or library that it is in.
type Function = (String, String);

/// Counts the instructions of each function in a run.
fn count(arguments: &[String]) -> Result<BTreeMap<Function, u64>, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let file = env::temp_dir().join(format!("terse-bench-{}.callgrind", process::id()));
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--collect-atstart=no"]).arg(format!("--toggle-collect={COUNTED_CALL}"));
    command.arg(format!("--callgrind-out-file={}", file.display())).arg(program).args(arguments);
    let output = command.output().map_err(|error| format!("valgrind does not run ({error}): install valgrind"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("under valgrind: {}", said.lines().last().unwrap_or_default()));
    }
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    drop(fs::remove_file(&file)); // whether it goes or not, the numbers are here
    Ok(read(&text))
}

/// Reads what callgrind writes (its manual, "Callgrind Format Specification"): the cost of each function by itself.
fn read(text: &str) -> BTreeMap<Function, u64> {
    let (mut names, mut objects) = (BTreeMap::new(), BTreeMap::new());
    let (mut name, mut object) = (String::new(), String::new());
    let mut counts: BTreeMap<Function, u64> = BTreeMap::new();
    let mut is_of_call = false;
    for line in text.lines() {
        if let Some(of) = line.strip_prefix("fn=") {
            name = resolve(of, &mut names);
        } else if let Some(of) = line.strip_prefix("cfn=") {
            resolve(of, &mut names);
        } else if let Some(of) = line.strip_prefix("ob=") {
            object = resolve(of, &mut objects);
        } else if let Some(of) = line.strip_prefix("cob=") {
            resolve(of, &mut objects);
        } else if line.starts_with("calls=") {
            is_of_call = true; // the next line is the cost of what is called, which counts there
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok()).unwrap_or(0);
            if !core::mem::take(&mut is_of_call) {
                *counts.entry((name.clone(), object.clone())).or_default() += cost;
            }
        }
    }
    counts
}

/// Returns the name of `(number) name`, which later stands as `(number)` alone.
fn resolve(text: &str, names: &mut BTreeMap<String, String>) -> String {
    let (number, name) = text.split_once(' ').unwrap_or((text, ""));
    if !name.is_empty() {
        // Recursive functions have a name for each depth.
        names.insert(number.to_owned(), name.split('\'').next().unwrap_or(name).to_owned());
    }
    names.get(number).cloned().unwrap_or_default()
}

fn sum(counts: &BTreeMap<Function, u64>) -> BTreeMap<&'static str, u64> {
    let mut sums = BTreeMap::new();
    for ((name, object), count) in counts {
        *sums.entry(layer_of(name, object)).or_default() += count;
    }
    sums
}

/// Returns the layer of a function: that of the first module in its name that is one of ours.
fn layer_of(name: &str, object: &str) -> &'static str {
    let ours = LAYERS.iter().filter_map(|(layer, module)| Some((name.find(module)?, module.len(), *layer)));
    if let Some((_, _, layer)) = ours.min_by_key(|(at, length, _)| (*at, usize::MAX - length)) {
        return layer;
    }
    let is_memory = ["malloc", "free", "realloc", "calloc"].contains(&name) || name.contains("alloc::raw_vec");
    let is_arithmetic = object.contains("libm.so") || ARITHMETIC.iter().any(|start| name.starts_with(start));
    match name {
        _ if is_arithmetic => MATHEMATICS,
        _ if is_memory || object.contains("libc.so") => MEMORY,
        _ if STANDARD.iter().any(|start| name.trim_start_matches('<').starts_with(start)) => LIBRARY,
        // What has no module is C or assembly: of AWS-LC.
        _ if !name.contains("::") && !object.contains(".so") => CRYPTOGRAPHY,
        _ => OTHER,
    }
}

/// The layers, and the modules that they are. Of two in one place the longer one counts.
const LAYERS: [(&str, &str); 43] = [
    ("radio: who hears what", "terse_sim::radio"),
    ("TSCH: slots, cells, queues", "terse_sim::tsch"),
    ("TSCH: slots, cells, queues", "terse_sim::asn"),
    (CALLS, "terse_sim::tsch::forming"),
    (CALLS, "terse_sim::tsch::stack"),
    ("6LoWPAN", "terse_sim::sixlowpan"),
    ("6LoWPAN", "terse_sim::tsch::adaptation"),
    ("6LoWPAN", "terse_sim::tsch::datagram"),
    ("6top", "terse_sim::sixtop"),
    ("RPL", "terse_sim::rpl"),
    ("beacons, keep-alives, clocks", "terse_sim::synchronization"),
    ("beacons, keep-alives, clocks", "terse_sim::tsch::membership"),
    ("beacons, keep-alives, clocks", "terse_sim::tsch::clock"),
    ("energy and ledger", "terse_sim::energy"),
    ("energy and ledger", "terse_sim::ledger"),
    ("energy and ledger", "terse_sim::tsch::power"),
    ("energy and ledger", "terse_sim::tsch::record"),
    (HOSTS, "terse_sim::host"),
    (HOSTS, "terse_sim::network"),
    (HOSTS, "terse_sim::packet"),
    (HOSTS, "terse_sim::gateway"),
    (HOSTS, "terse_sim::route"),
    (HOSTS, "terse_sim::link"),
    (HOSTS, "terse_sim::chance"),
    (HOSTS, "smoltcp"),
    (HOSTS, "terse_bench"),
    ("TCP", "terse_sim::tcp"),
    (DEVICES, "terse_sim::scenario"),
    (DEVICES, "terse_sim::engine"),
    (DEVICES, "terse_sim::compare"),
    (DEVICES, "terse_sim::computing"),
    ("engine", "terse_tls"),
    ("engine", "webpki"),
    ("engine", "rustls_pki_types"),
    (CRYPTOGRAPHY, "terse_aws_lc"),
    (CRYPTOGRAPHY, "aws_lc_rs"),
    (CRYPTOGRAPHY, "terse_rustcrypto"),
    (CRYPTOGRAPHY, "terse_ibc"),
    (CRYPTOGRAPHY, "curve25519_dalek"),
    (CRYPTOGRAPHY, "sha2::"),
    (CRYPTOGRAPHY, "aes::"),
    (CRYPTOGRAPHY, "subtle::"),
    (CRYPTOGRAPHY, "zeroize::"),
];

/// The layers that are not told by a module.
const REST: [(&str, &str); 4] = [(MATHEMATICS, ""), (MEMORY, ""), (LIBRARY, ""), (OTHER, "")];

const CALLS: &str = "calls of the stacks above the MAC";
const HOSTS: &str = "hosts and the network's events";
const DEVICES: &str = "devices and the run";
const CRYPTOGRAPHY: &str = "cryptography";
const MATHEMATICS: &str = "powers, logarithms, long divisions";
const MEMORY: &str = "memory: taken, given back, copied";
const LIBRARY: &str = "standard library: maps, heaps, lists";
const OTHER: &str = "other";

/// What the compiler calls for arithmetic that the processor does not have.
const ARITHMETIC: [&str; 6] = ["round", "__udiv", "__div", "__umod", "__mod", "compiler_builtins::"];

/// The standard library, and what stands in for it.
const STANDARD: [&str; 6] = ["core::", "alloc::", "std::", "hashbrown::", "&mut ", "["];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_of_calls_count_where_they_are_called_only() {
        let text = "events: Ir\n\nob=(1) /bin/program\nfl=(1) a.rs\nfn=(1) terse_sim::radio::air::Air::new\n10 100\n+2 20\n\
                    cfn=(2) main'2\ncalls=3 50\n+1 1000\n* 7\n\nob=(2) /lib/libc.so.6\nfn=(3) memcpy\n0 5\nob=(1)\nfn=(2)\n-1 1\n";
        let counts = read(text);
        let of = |name: &str, object: &str| counts.get(&(name.to_owned(), object.to_owned())).copied();
        assert_eq!(of("terse_sim::radio::air::Air::new", "/bin/program"), Some(127));
        assert_eq!((of("memcpy", "/lib/libc.so.6"), of("main", "/bin/program")), (Some(5), Some(1)));
    }

    #[test]
    fn functions_are_of_the_layer_that_their_name_says_first() {
        let program = "/bin/terse-bench";
        for (name, object, layer) in [
            ("terse_sim::tsch::slot::<impl terse_sim::tsch::Mesh>::slot", program, "TSCH: slots, cells, queues"),
            ("terse_sim::tsch::forming::<impl terse_sim::tsch::Mesh>::flush", program, CALLS),
            (
                "<terse_sim::sixtop::msf::Msf as terse_sim::sixtop::scheduling::SchedulingFunction>::received",
                program,
                "6top",
            ),
            ("core::ptr::drop_in_place<terse_tls::connection::Connection>", program, "engine"),
            ("<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend", program, LIBRARY),
            ("__ecp_nistz256_mul_montq", program, CRYPTOGRAPHY),
            ("__udivti3", program, MATHEMATICS),
            ("__ieee754_pow_fma", "/lib/libm.so.6", MATHEMATICS),
            ("_int_malloc", "/lib/libc.so.6", MEMORY),
            ("unknown::function", program, OTHER),
        ] {
            assert_eq!(layer_of(name, object), layer, "{name}");
        }
    }
}
