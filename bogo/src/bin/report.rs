//! The report counts the results of a run of BoringSSL's protocol tests: by version, and the reasons why tests were not
//! run.
//!
//! What must always hold: a test counts as passed only if the runner says so; a test that was not run counts by its
//! reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use glob::Pattern;
use serde_json::Value;

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [config, all, results, notes] = &arguments[..] else {
        eprintln!("usage: bogo-report config.json all-tests.json results.json notes-directory");
        return ExitCode::from(2);
    };
    match report(config, all, results, notes) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bogo-report: {error}");
            ExitCode::from(2)
        }
    }
}

/// Prints the tables. Returns how many tests failed.
fn report(config: &Path, all: &Path, results: &Path, notes: &Path) -> Result<usize, String> {
    let config = read(config)?;
    let (disabled, others) = (disabled_tests(&config)?, other_errors(&config)?);
    let results = outcomes(&read(results)?)?;
    let notes = Notes::read(notes);
    let mut verdicts = Table::default();
    let (mut absent, mut otherwise, mut unimplemented) = (Table::default(), Table::default(), Table::default());
    let mut other_error = Table::default();
    let mut failed = Vec::new();
    let all = outcomes(&read(all)?)?;
    for name in all.keys() {
        let column = column(name, &notes);
        let verdict = match results.get(name).map(String::as_str) {
            Some("PASS") => {
                let other = others.iter().find(|(pattern, _)| pattern.matches(name));
                other.iter().for_each(|(_, reason)| other_error.count(reason, column));
                "passed"
            }
            Some("SKIP") => {
                unimplemented.count(notes.unimplemented.get(name).map_or("?", String::as_str), column);
                "not implemented in the shim"
            }
            Some(_) => {
                failed.push(name);
                "failed"
            }
            None => match disabled.iter().find(|(pattern, _)| pattern.matches(name)) {
                Some((_, Reason::Absent(reason))) => {
                    absent.count(reason, column);
                    "disabled: what Terse does not have"
                }
                Some((_, Reason::Otherwise(reason))) => {
                    otherwise.count(reason, column);
                    "disabled: what Terse does otherwise"
                }
                None => return Err(format!("{name} was neither run nor disabled")),
            },
        };
        verdicts.count(verdict, column);
        verdicts.count("all", column);
    }
    verdicts.print("tests");
    other_error.print("passed, with another error or alert than BoringSSL's");
    absent.print("disabled: what Terse does not have");
    otherwise.print("disabled: what Terse does otherwise");
    unimplemented.print("not implemented in the shim");
    failed.iter().for_each(|name| println!("FAILED {name}"));
    Ok(failed.len())
}

/// The reason why a test is not run: `absent: …` or `otherwise: …` in the file.
enum Reason {
    Absent(String),
    Otherwise(String),
}

fn disabled_tests(config: &Value) -> Result<Vec<(Pattern, Reason)>, String> {
    let tests = config["DisabledTests"].as_object().ok_or("no DisabledTests")?;
    let read = |(pattern, reason): (&String, &Value)| {
        let reason = match reason.as_str().and_then(|reason| reason.split_once(": ")) {
            Some(("absent", reason)) => Reason::Absent(reason.into()),
            Some(("otherwise", reason)) => Reason::Otherwise(reason.into()),
            _ => return Err(format!("{pattern} has no reason")),
        };
        Ok((Pattern::new(pattern).map_err(|error| format!("{pattern}: {error}"))?, reason))
    };
    tests.iter().map(read).collect()
}

/// Returns the tests that pass with another error or alert than BoringSSL's, and the reasons.
fn other_errors(config: &Value) -> Result<Vec<(Pattern, String)>, String> {
    let tests = config["TestErrorMap"].as_object().ok_or("no TestErrorMap")?;
    let read = |(pattern, other): (&String, &Value)| {
        let reason = other["Reason"].as_str().ok_or_else(|| format!("{pattern} has no reason"))?;
        Ok((Pattern::new(pattern).map_err(|error| format!("{pattern}: {error}"))?, reason.into()))
    };
    tests.iter().map(read).collect()
}

/// Returns the runner's result of each test.
fn outcomes(results: &Value) -> Result<BTreeMap<String, String>, String> {
    let tests = results["tests"].as_object().ok_or("no tests")?;
    Ok(tests.iter().map(|(name, test)| (name.clone(), test["actual"].as_str().unwrap_or_default().into())).collect())
}

/// The notes that the shim left about the tests.
struct Notes {
    versions: BTreeMap<String, Column>,
    unimplemented: BTreeMap<String, String>,
}

impl Notes {
    fn read(directory: &Path) -> Self {
        let mut notes = Self { versions: BTreeMap::new(), unimplemented: BTreeMap::new() };
        for (protocol, side) in [("tls", "client"), ("tls", "server"), ("dtls", "client"), ("dtls", "server")] {
            let files = std::fs::read_dir(directory.join(protocol).join(side)).into_iter().flatten().flatten();
            for file in files {
                let file_name = file.file_name().into_string().unwrap_or_default();
                let (Some(name), Ok(text)) = (file_name.strip_suffix("-note"), std::fs::read_to_string(file.path()))
                else {
                    continue;
                };
                let column = match (protocol, text.as_str()) {
                    ("tls", "version TLS 1.2") => Some(Column::Tls12),
                    ("tls", "version TLS 1.3") => Some(Column::Tls13),
                    ("dtls", "version TLS 1.2") => Some(Column::Dtls12),
                    ("dtls", "version TLS 1.3") => Some(Column::Dtls13),
                    _ => None,
                };
                if let Some(column) = column {
                    notes.versions.insert(name.into(), column);
                }
                if let Some(what) = text.strip_prefix("unimplemented ") {
                    notes.unimplemented.insert(name.into(), what.into());
                }
            }
        }
        notes
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    Tls12,
    Tls13,
    Dtls12,
    Dtls13,
    /// The name has several versions or none, and no version was negotiated.
    Either,
    /// The test is of QUIC, or of a version before TLS 1.2 or DTLS 1.2.
    Other,
}

/// Returns the version in a test's name, otherwise the version that was negotiated.
fn column(name: &str, notes: &Notes) -> Column {
    let parts: BTreeSet<&str> = name.split('-').collect();
    if ["QUIC", "TLS1", "TLS11", "DTLS1"].iter().any(|other| parts.contains(other)) {
        return Column::Other;
    }
    let is_13 = parts.contains("TLS13") || name.contains("DTLS13");
    match (name.contains("DTLS"), parts.contains("TLS12") || parts.contains("DTLS12"), is_13) {
        (true, _, true) => Column::Dtls13,
        (true, true, false) => Column::Dtls12,
        (false, true, false) => Column::Tls12,
        (false, false, true) => Column::Tls13,
        _ => notes.versions.get(name).copied().unwrap_or(Column::Either),
    }
}

#[derive(Default)]
struct Table(BTreeMap<String, [usize; 6]>);

impl Table {
    fn count(&mut self, row: &str, column: Column) {
        self.0.entry(row.into()).or_default()[column as usize] += 1;
    }

    /// Prints the table, the largest rows first.
    fn print(&self, title: &str) {
        println!(
            "| {title} | TLS 1.2 | TLS 1.3 | DTLS 1.2 | DTLS 1.3 | either | other | sum |\n|---|---|---|---|---|---|---|---|"
        );
        let mut rows: Vec<_> = self.0.iter().map(|(row, counts)| (counts.iter().sum::<usize>(), row, counts)).collect();
        rows.sort_by(|a, b| (b.0, a.1).cmp(&(a.0, b.1)));
        for (sum, row, [tls12, tls13, dtls12, dtls13, either, other]) in rows {
            println!("| {row} | {tls12} | {tls13} | {dtls12} | {dtls13} | {either} | {other} | {sum} |");
        }
        println!();
    }
}

fn read(path: &Path) -> Result<Value, String> {
    let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
}
