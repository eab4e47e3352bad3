//! The program runs all cells, prints the matrix, and counts the failures.
//!
//! What must always hold: a cell that was not tried is never shown as `ok`; without a peer's program its cells are
//! skipped, or have failed if `TERSE_REQUIRE_ALL=1`.

use core::any::Any;
use core::cell::RefCell;
use core::fmt::Write as _;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use std::{env, thread};

use terse_tls::ProtocolVersion;

use crate::features::{self, Carrier, Cell, Feature, TABLES, Table};
use crate::peer::{Peer, Role};
use crate::process::take_exhibits;

/// How many cells run at a time of those that compute.
const WORKING: usize = 2;

/// How many cells run beside them of those that mostly wait for timers.
const WAITING: usize = 6;

/// The outcome of a cell.
#[derive(Clone, Debug)]
enum Outcome {
    Passed,
    Failed(String),
    /// The peer's program is missing.
    Skipped,
    /// The peer does not have the feature.
    NoPeer(&'static str),
}

type Outcomes = HashMap<(&'static str, Cell), Outcome>;

/// Runs the cells whose name contains one of the arguments, or all, and prints the matrix. `--list` prints names only.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |feature: &str, cell| {
        filters.is_empty() || filters.iter().any(|filter| name(feature, cell).contains(&**filter))
    };
    let features = features::all();
    let cells: Vec<(&Feature, Cell)> = features
        .iter()
        .flat_map(|feature| feature.tables().map(move |table| (feature, table)))
        .flat_map(|(feature, table)| Cell::of(feature, table).map(move |cell| (feature, cell)))
        .filter(|(feature, cell)| wanted(feature.name, *cell))
        .collect();
    if arguments.iter().any(|argument| argument == "--list") {
        cells.iter().for_each(|(feature, cell)| println!("{}: test", name(feature.name, *cell)));
        return ExitCode::SUCCESS;
    }
    let missing = print_versions(|peer| cells.iter().any(|(_, cell)| cell.peer == peer));
    let outcomes = run(&cells, &missing);
    report(&features, &outcomes, &missing)
}

/// Returns the name of a cell, for example `openssl::client::tls13::alpn`: the role is ours.
fn name(feature: &str, cell: Cell) -> String {
    let role = match cell.role {
        Role::Client => "client",
        Role::Server => "server",
    };
    let version = match (cell.carrier, cell.version) {
        (Carrier::Udp, ProtocolVersion::TLS_1_2) => "dtls12",
        (Carrier::Udp, _) => "dtls13",
        (Carrier::Tcp, ProtocolVersion::TLS_1_2) => "tls12",
        (Carrier::Tcp, _) => "tls13",
    };
    format!("{}::{role}::{version}::{feature}", cell.peer.name())
}

/// Prints the versions of the peers that are wanted, whose programs are compiled for that. Returns the missing ones, with
/// the reasons.
fn print_versions(is_wanted: impl Fn(Peer) -> bool) -> HashMap<Peer, String> {
    let mut missing = HashMap::new();
    for peer in Peer::ALL.iter().copied().filter(|peer| is_wanted(*peer)) {
        match peer.version() {
            Ok(version) => println!("{:9} {version}", peer.name()),
            Err(reason) => {
                println!("{:9} missing: {reason}", peer.name());
                missing.insert(peer, reason);
            }
        }
    }
    println!();
    missing
}

fn run(cells: &[(&Feature, Cell)], missing: &HashMap<Peer, String>) -> Outcomes {
    panic::set_hook(Box::new(|panic| {
        // The place is printed with the cell, because several cells run at a time here.
        let place = panic.location().map(|place| format!(" ({}:{})", place.file(), place.line()));
        PLACE.set(place.unwrap_or_default());
    }));
    let outcomes = Arc::new(Mutex::new(Outcomes::new()));
    let (waiting, working) = cells.iter().partition::<Vec<_>, _>(|(feature, _)| feature.waits);
    let queues = [(WAITING, waiting), (WORKING, working)].map(|(threads, cells)| (threads, cells, AtomicUsize::new(0)));
    thread::scope(|scope| {
        for (threads, cells, next) in &queues {
            let work = || {
                while let Some((feature, cell)) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let start = Instant::now();
                    let outcome = run_cell(feature, *cell, missing);
                    print(&name(feature.name, *cell), &outcome, start.elapsed());
                    let mut outcomes = outcomes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    outcomes.insert((feature.name, *cell), outcome);
                }
            };
            for _ in 0..*threads {
                scope.spawn(work);
            }
        }
    });
    drop(panic::take_hook());
    Arc::into_inner(outcomes).and_then(|outcomes| outcomes.into_inner().ok()).unwrap_or_default()
}

fn run_cell(feature: &Feature, cell: Cell, missing: &HashMap<Peer, String>) -> Outcome {
    if let Some(reason) = cell.absent(feature) {
        return Outcome::NoPeer(reason);
    }
    if let Some(reason) = missing.get(&cell.peer) {
        return if must_have_all() { Outcome::Failed(reason.clone()) } else { Outcome::Skipped };
    }
    let result = panic::catch_unwind(AssertUnwindSafe(|| (feature.run)(cell)));
    let exhibits = take_exhibits();
    match result {
        Ok(()) => Outcome::Passed,
        Err(panic) => Outcome::Failed(format!("{}{}\n{exhibits}", text(&*panic), PLACE.take())),
    }
}

thread_local! {
    /// The place where this thread's cell panicked.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

fn must_have_all() -> bool {
    env::var_os("TERSE_REQUIRE_ALL").is_some_and(|value| value == "1")
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panicked")
}

/// Prints the outcome of a cell, and the seconds that it took.
fn print(name: &str, outcome: &Outcome, took: Duration) {
    let took = took.as_secs_f64();
    match outcome {
        Outcome::Passed => println!("test {name} ... ok <{took:.3}s>"),
        Outcome::Failed(reason) => println!("test {name} ... FAILED <{took:.3}s>\n{reason}"),
        Outcome::Skipped => println!("test {name} ... skipped: the peer is missing"),
        Outcome::NoPeer(reason) => println!("test {name} ... no peer: {reason}"),
    }
}

fn report(features: &[Feature], outcomes: &Outcomes, missing: &HashMap<Peer, String>) -> ExitCode {
    for table in TABLES {
        let is_in = |cell: &Cell| (cell.version, cell.carrier) == (table.version, table.carrier);
        if outcomes.keys().any(|(_, cell)| is_in(cell)) {
            println!("\n{}\n{}", table.title, text_of(features, outcomes, table));
        }
    }
    for (peer, reason) in missing {
        println!("{} was not tried: {reason}", peer.name());
    }
    let failed = outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Failed(_)));
    let mut failed: Vec<String> = failed.map(|((feature, cell), _)| name(feature, *cell)).collect();
    failed.sort_unstable();
    for name in &failed {
        println!("{name} failed: cargo test -p terse-interop --test matrix -- {name}");
    }
    let count = |is_it: fn(&Outcome) -> bool| outcomes.values().filter(|outcome| is_it(outcome)).count();
    let passed = count(|outcome| matches!(outcome, Outcome::Passed));
    let failed = failed.len();
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped));
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Rows are features, columns are peers and, below them, our role.
fn text_of(features: &[Feature], outcomes: &Outcomes, table: Table) -> String {
    let mut text = String::new();
    let width = features.iter().map(|feature| feature.name.len()).max().unwrap_or(0);
    let mut line = |first: &str, rest: &mut dyn Iterator<Item = String>| {
        let rest: String = rest.map(|cell| format!("  {cell:9}")).collect();
        let _ = writeln!(text, "{}", format!("{first:width$}{rest}").trim_end()); // a String takes everything
    };
    line("peer", &mut Cell::all(table).map(|cell| cell.peer.name().into()));
    line("our role", &mut Cell::all(table).map(|cell| format!("{:?}", cell.role).to_lowercase()));
    for feature in features.iter().filter(|feature| feature.tables().any(|its| its == table)) {
        let outcomes: Vec<_> = Cell::all(table).map(|cell| outcomes.get(&(feature.name, cell))).collect();
        if outcomes.iter().any(Option::is_some) {
            line(feature.name, &mut outcomes.iter().map(|outcome| outcome.map_or("", mark).into()));
        }
    }
    text
}

const fn mark(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "ok",
        Outcome::Failed(_) => "FAIL",
        Outcome::Skipped => "skipped",
        Outcome::NoPeer(_) => "no peer",
    }
}
