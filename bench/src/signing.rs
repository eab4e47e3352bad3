//! `terse-bench voucher`: what signing a voucher request takes, as CMS beside OpenSSL and wolfSSL, and as COSE.

use std::env;
use std::path::PathBuf;

use clap::Args;
use terse_bench::measure::instructions;
use terse_bench::table::{lay_out, thousands};
use terse_bench::voucher::{
    Form, LibrarySize, Once, Phase, Pledge, Processes, Program, Report, Signer, Times, count, libraries, once,
    programs, sign, signers, warm,
};

/// The options of `terse-bench voucher`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A short run: 3 rounds of 10 ms
    #[arg(long)]
    quick: bool,
    /// Signers, with commas; all that are here by default
    #[arg(long, value_name = "SIGNER", value_delimiter = ',')]
    only: Vec<String>,
    /// The manufacturer's chain, by the name of `terse pki`: `p256x3` has one certificate more to send
    #[arg(long, value_name = "CHAIN", default_value = "p256x2")]
    chain: String,
    /// Rounds over all signers, of what is measured in time
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(2..))]
    rounds: u16,
    /// Build each library and the smallest static program that signs with it: their sizes, and the time of processes
    #[arg(long)]
    programs: bool,
    /// Do not count instructions
    #[arg(long)]
    no_instructions: bool,
}

/// The options of `terse-bench voucher-once`.
#[derive(Debug, Args)]
pub(crate) struct OnceArguments {
    /// A signer
    signer: String,
    /// What to measure
    what: Once,
    /// The directory with the files of the pledge
    pledge: PathBuf,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let all = signers();
    let signers = select(&all, &arguments.only)?;
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let pledge = Pledge::make(directory.path(), &arguments.chain)?;
    let program = env::current_exe().map_err(|error| error.to_string())?;

    let mut columns = Vec::new();
    for signer in &signers {
        eprintln!("{}: {}", signer.name(), signer.version()?);
        let signed = sign(*signer, &pledge)?;
        if signer.form() == Form::Cms {
            pledge.check_with_openssl(&signed)?;
        }
        let [heap, stack] = [Once::Heap, Once::Stack].map(|what| once(&program, what, *signer, &pledge));
        let counts = match arguments.no_instructions || !instructions::is_possible() {
            true => None,
            false => Some(count(&program, *signer, &pledge)?),
        };
        columns.push(Column {
            name: signer.name(),
            form: signer.form(),
            signed: signed.len(),
            heap: heap?,
            stack: stack?,
            counts,
        });
    }
    let (rounds, seconds) = if arguments.quick { (3, 0.01) } else { (usize::from(arguments.rounds), 0.05) };
    eprintln!("time");
    let times = warm(&signers, &pledge, rounds, seconds)?;
    println!(
        "{} bytes of content, {} of certificates\n",
        pledge.content.len(),
        pledge.chain.iter().map(|certificate| certificate.len()).sum::<usize>()
    );
    let measured: Vec<_> = columns.iter().zip(&times).collect();
    let (cms, cose): (Vec<_>, Vec<_>) = measured.into_iter().partition(|(column, _)| column.form == Form::Cms);
    if !cms.is_empty() {
        println!("{}", render(&cms));
    }
    if !cose.is_empty() {
        println!("As COSE, with the hash of the registrar's key, or with its certificate (-cert)\n\n{}", render(&cose));
    }
    if !arguments.programs {
        return Ok(());
    }
    let cms = signers.iter().filter(|signer| signer.form() == Form::Cms);
    let mut names: Vec<_> = cms.map(|signer| signer.name()).collect();
    // It signs no CMS, so that only its size can be compared.
    names.extend(arguments.only.is_empty().then_some("mbedtls"));
    render_programs(&names, &pledge, rounds).map(|table| println!("{table}"))
}

/// Measures once in this process, and prints the report.
pub(crate) fn run_once(arguments: &OnceArguments) -> Result<(), String> {
    let all = signers();
    let signer = select(&all, core::slice::from_ref(&arguments.signer))?[0];
    let report = arguments.what.run(signer, &Pledge::read(&arguments.pledge)?)?;
    println!("{}", serde_json::to_string(&report).map_err(|error| error.to_string())?);
    Ok(())
}

/// Returns the named signers, which must be there, or all that are.
fn select<'a>(all: &'a [Box<dyn Signer>], only: &[String]) -> Result<Vec<&'a dyn Signer>, String> {
    if let Some(unknown) = only.iter().find(|name| !all.iter().any(|signer| signer.name() == *name)) {
        let known: Vec<_> = all.iter().map(|signer| signer.name()).collect();
        return Err(format!("there is no signer {unknown}; there are {}", known.join(", ")));
    }
    let mut present = Vec::new();
    for signer in all.iter().map(Box::as_ref) {
        let is_named = only.iter().any(|name| name == signer.name());
        if !only.is_empty() && !is_named {
            continue;
        }
        match signer.version() {
            Ok(_) => present.push(signer),
            Err(reason) if is_named => return Err(format!("{} is absent: {reason}", signer.name())),
            Err(reason) => eprintln!("{} is absent: {reason}", signer.name()),
        }
    }
    Ok(present)
}

/// What was measured of a signer.
struct Column {
    name: &'static str,
    form: Form,
    signed: usize,
    heap: Report,
    stack: Report,
    counts: Option<[f64; 3]>,
}

fn render(measured: &[(&Column, &Times)]) -> String {
    let columns = || measured.iter().map(|(column, _)| *column);
    let header = core::iter::once("").chain(columns().map(|column| column.name)).map(String::from).collect();
    let mut table: Vec<Vec<String>> = vec![header];
    let mut row = |label: String, cell: &dyn Fn(&Column) -> String| {
        table.push(core::iter::once(label).chain(columns().map(cell)).collect());
    };
    let bytes = |number: i64| thousands(number.unsigned_abs());
    row("signed, bytes".into(), &|column| thousands(column.signed as u64));
    for (phase, name) in Phase::ALL.into_iter().zip(PHASES) {
        let which = phase as usize;
        row(format!("heap, peak, {name}"), &|column| bytes(column.heap.peak[which]));
        row(format!("heap, total, {name}"), &|column| bytes(column.heap.total[which]));
        row(format!("stack, {name}"), &|column| bytes(column.stack.peak[which]));
        row(format!("thousand instructions, {name}"), &|column| {
            column.counts.map_or_else(|| "-".into(), |counts| thousands((counts[which] / 1e3).round() as u64))
        });
    }
    let label = "CPU time, signing alone, µs (least)".to_owned();
    table.push(core::iter::once(label).chain(measured.iter().map(|(_, times)| time(times))).collect());
    lay_out(&table)
}

/// How the phases are called in the table: all but the last load key and certificates.
const PHASES: [&str; 3] = ["first", "again", "signing alone"];

/// Formats the mean, the standard deviation, and the least.
fn time(times: &Times) -> String {
    let (mean, deviation) = times.mean_and_deviation();
    format!("{mean:.1} ± {deviation:.1} ({:.1})", times.least())
}

fn render_programs(names: &[&str], pledge: &Pledge, rounds: usize) -> Result<String, String> {
    let (programs, libraries) = (programs(names)?, libraries(names)?);
    for program in &programs {
        pledge.check_with_openssl(&program.sign(pledge)?)?;
    }
    let times = Program::times(&programs, pledge, rounds)?;
    let mut table = vec![PROGRAM_COLUMNS.map(String::from).into()];
    for library in &libraries {
        let mut programs = programs.iter().zip(&times);
        table.push(program_row(library, programs.find(|(program, _)| program.name == library.name))?);
    }
    Ok(lay_out(&table))
}

const PROGRAM_COLUMNS: [&str; 7] = [
    "library",
    "bytes as built",
    "code and data",
    "static program",
    "CPU time of a process, µs (least)",
    "that does nothing",
    "least by the clock",
];

fn program_row(library: &LibrarySize, program: Option<(&Program, &Processes)>) -> Result<Vec<String>, String> {
    let mut row = vec![library.name.to_owned(), thousands(library.file), thousands(library.code)];
    match program {
        Some((program, Processes { signing, idle, clock })) => {
            row.extend([thousands(program.size()?), time(signing), time(idle), format!("{:.0}", clock.least())]);
        }
        None => row.resize(PROGRAM_COLUMNS.len(), "-".into()),
    }
    Ok(row)
}
