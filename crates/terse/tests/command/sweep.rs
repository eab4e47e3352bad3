//! `terse sim sweep` and `terse sim merge` are run as programs, killed, and run again. What comes of it is the same, byte for
//! byte.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::common::Patience;

const TERSE: &str = env!("CARGO_BIN_EXE_terse");

/// Two rows that take milliseconds, and differ in their results from run to run.
const SOURCE: &str =
    "title = \"two\"\nloss.fragments = 0.05\n[matrix]\nmbedtls.protocol = [\"TLS 1.2\", \"DTLS 1.2\"]\n";

/// A scenario file, and folders for sweeps.
struct Place {
    directory: tempfile::TempDir,
    file: String,
}

impl Place {
    fn new(source: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("scenario.toml");
        fs::write(&file, source).expect("the directory is there");
        Self { file: file.display().to_string(), directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns a sweep of the file into a folder. Options are words separated by spaces.
    fn sweep(&self, folder: &str, options: &str) -> Command {
        let mut command = Command::new(TERSE);
        command.args(["sim", "sweep", &self.file, "--out"]).arg(self.path(folder)).args(options.split_whitespace());
        command
    }

    /// Returns a merge into a file.
    fn merge(&self, from: &[&str], out: &str, options: &str) -> Command {
        let mut command = Command::new(TERSE);
        command.args(["sim", "merge"]).args(from.iter().map(|from| self.path(from)));
        command.arg("--out").arg(self.path(out)).args(options.split_whitespace());
        command
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(mut command: Command) -> Output {
    command.output().expect("the program runs")
}

/// Runs a command that succeeds, and returns its output and its errors.
#[track_caller]
fn succeeds(command: Command) -> (String, String) {
    let shown = format!("{command:?}");
    let output = run(command);
    assert_eq!(output.status.code(), Some(0), "{shown}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

/// Runs a command that fails, and returns its errors.
#[track_caller]
fn fails(command: Command, code: i32) -> String {
    let shown = format!("{command:?}");
    let output = run(command);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(code), String::new()), "{shown}");
    text(&output.stderr)
}

/// Returns how many whole lines a file has; none if it is not there.
fn lines(path: &Path) -> usize {
    fs::read(path).map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count())
}

#[test]
fn shards_become_the_whole() {
    let engine = "peers = \"engine\"\nloss.fragments = 0.05\n[matrix]\nengine.version = [\"TLS 1.3\", \"DTLS 1.3\"]\n";
    for (source, seeds) in [(SOURCE, 12), (engine, 2)] {
        let place = Place::new(source);
        let (table, errors) = succeeds(place.sweep("whole", &format!("--seeds {seeds} --jobs 3")));
        assert_eq!(errors, "", "nothing is said when no terminal looks");
        for number in [3, 1, 4, 2] {
            succeeds(place.sweep("parts", &format!("--seeds {seeds} --jobs 1 --shard {number}/4")));
        }
        let (merged, _) = succeeds(place.merge(&["parts"], "merged.parquet", ""));
        assert_eq!(merged, table);
        assert!(place.read("merged.parquet") == place.read("whole/shard-1-of-1.parquet"), "{source}");
        let left = fs::read_dir(place.path("parts")).expect("the folder is there").count();
        assert_eq!(left, 4, "no other file is left");
        let again = ["merged.parquet"];
        succeeds(place.merge(&again, "again.parquet", ""));
        assert!(place.read("again.parquet") == place.read("merged.parquet"));
    }
}

#[test]
fn what_is_kept_is_what_a_run_prints() {
    let place = Place::new(SOURCE);
    let (csv, json) = (place.name("merged.csv"), "--seeds 5 --json");
    let (of_sweep, _) = succeeds(place.sweep("whole", json));
    let (of_merge, _) = succeeds(place.merge(&["whole"], "merged.parquet", &format!("--csv {csv} --json")));
    assert_eq!(of_sweep, of_merge);
    let of = |words: &str| {
        let mut command = Command::new(TERSE);
        command.args(["sim", "run", &place.file]).args(words.split(' '));
        run(command)
    };
    // The lines of a merge are those of a run, with an identifier and keys before, and the failure after.
    let of_run = text(&of("--seeds 5 --csv -").stdout);
    let merged = text(&place.read("merged.csv"));
    assert_eq!(merged.lines().count(), 1 + 10, "{merged}");
    assert!(merged.starts_with("id,row,run,seed,mbedtls.protocol,connected,latency_s,bytes,"), "{merged}");
    assert!(merged.lines().next().is_some_and(|names| names.ends_with(",battery_days_median,failure")), "{merged}");
    for (merged, line) in merged.lines().zip(of_run.lines()) {
        let key = merged.split(',').nth(4).expect("a key");
        let (common, rest) = line.split_at(line.match_indices(',').nth(2).expect("a seed").0);
        assert!(merged.contains(&format!(",{common},{key}{rest},")), "{line} in {merged}");
    }
    let (printed, _) = succeeds(place.merge(&["whole"], "merged.parquet", "--csv -"));
    assert_eq!(printed, merged);
    for (swept, row) in of_sweep.lines().zip(text(&of(json).stdout).lines()) {
        let [swept, row]: [Value; 2] = [swept, row].map(|line| serde_json::from_str(line).expect("an object"));
        for name in ["row", "runs", "failed"] {
            assert_eq!(swept[name], row[name], "{name}");
        }
        for column in ["latency_s", "bytes", "frames", "retransmissions", "pool_peak"] {
            for name in ["count", "mean", "sd", "median", "greatest"] {
                assert_eq!(swept[column][name], row[column][name], "{column}.{name}");
            }
            assert!(swept[column]["half_interval_95"].is_number(), "{column} in {swept}");
        }
        assert_eq!(swept["client_charge_mc"]["mean"], row["energy"]["client_charge_mc"]["mean"]);
    }
}

/// Starts a sweep and kills it when some more runs are done. Returns whether it was killed before its end.
fn is_killed(mut command: Command, partial: &Path) -> bool {
    let before = lines(partial);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program runs");
    let patience = Patience::new();
    loop {
        if let Some(status) = child.try_wait().expect("the child is ours") {
            assert!(status.success(), "it ended by itself: {status}");
            return false;
        }
        if lines(partial) > before + 10 {
            child.kill().expect("it is killed");
            return child.wait().expect("it has ended").signal() == Some(9);
        }
        patience.wait(lines(partial));
    }
}

#[test]
fn a_sweep_that_is_killed_and_resumed_is_the_same() {
    // On a machine that is busy the sweep may end before it is killed: there must be more runs then.
    let patience = Patience::new();
    for seeds in (1_u32..).map(|attempt| 100 * attempt) {
        patience.wait(format_args!("now with {seeds} seeds"));
        let place = Place::new(SOURCE);
        let partial = place.path("killed/shard-1-of-1.partial");
        let options = format!("--seeds {seeds}");
        if !(0..2).all(|_| is_killed(place.sweep("killed", &options), &partial)) {
            continue;
        }
        let done = lines(&partial) - 1;
        assert!(!place.path("killed/shard-1-of-1.parquet").exists(), "no half of a file has the name of a whole one");
        let (table, errors) = succeeds(place.sweep("killed", &options));
        assert_eq!(errors, format!("terse: {done} of {} runs were done before\n", 2 * seeds));
        assert_eq!(succeeds(place.sweep("whole", &options)).0, table);
        assert!(place.read("killed/shard-1-of-1.parquet") == place.read("whole/shard-1-of-1.parquet"));
        assert!(!partial.exists());
        return;
    }
}

/// The system kills a process that exceeds the length of a file that it may write, in the middle of a line.
#[test]
fn a_sweep_that_is_killed_as_it_writes_is_the_same() {
    let place = Place::new(SOURCE);
    let limited = |blocks: u32| {
        let mut command = Command::new("sh");
        let script = format!("ulimit -c 0; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        command.args(["-c", &script]);
        let sweep = place.sweep("killed", "--seeds 20");
        command.arg(sweep.get_program()).args(sweep.get_args());
        run(command)
    };
    let mut done = 0;
    for blocks in [4, 8] {
        let output = limited(blocks);
        assert!(output.status.signal().is_some(), "{}: {}", output.status, text(&output.stderr));
        let bytes = place.read("killed/shard-1-of-1.partial");
        assert!(!bytes.ends_with(b"\n"), "the last line is torn");
        let now = lines(&place.path("killed/shard-1-of-1.partial")) - 1;
        assert!(now > done, "{now} runs are done, and were {done}");
        done = now;
    }
    let (_, errors) = succeeds(place.sweep("killed", "--seeds 20"));
    assert_eq!(errors, format!("terse: {done} of 40 runs were done before\n"));
    succeeds(place.sweep("whole", "--seeds 20"));
    assert!(place.read("killed/shard-1-of-1.parquet") == place.read("whole/shard-1-of-1.parquet"));
}

#[test]
fn a_complete_shard_is_not_run_again() {
    let place = Place::new(SOURCE);
    let (table, _) = succeeds(place.sweep("runs", "--seeds 3 --shard 2/2"));
    let bytes = place.read("runs/shard-2-of-2.parquet");
    // A process that was killed just before its end leaves this.
    fs::write(place.path("runs/shard-2-of-2.partial"), "").expect("the folder is there");
    let (again, errors) = succeeds(place.sweep("runs", "--seeds 3 --shard 2/2"));
    assert_eq!(again, table);
    assert!(errors.ends_with("shard-2-of-2.parquet is complete: there is nothing to do\n"), "{errors}");
    assert!(!place.path("runs/shard-2-of-2.partial").exists());
    let errors = fails(place.sweep("runs", "--seeds 4 --shard 2/2"), 1);
    assert!(errors.contains("is of another sweep") && errors.contains("give --out another folder"), "{errors}");
    assert!(place.read("runs/shard-2-of-2.parquet") == bytes, "it is left as it is");
}

#[test]
fn runs_of_an_earlier_sweep_are_used_where_they_belong() {
    let place = Place::new(SOURCE);
    let partial = place.path("runs/shard-1-of-1.partial");
    let patience = Patience::new();
    while !is_killed(place.sweep("runs", "--seeds 400 --jobs 1"), &partial) {
        patience.wait("it has ended before");
        fs::remove_file(place.path("runs/shard-1-of-1.parquet")).expect("it was complete");
    }
    // The first runs of the first row are done: with two seeds, two of four runs are left.
    let (_, errors) = succeeds(place.sweep("runs", "--seeds 2"));
    assert_eq!(errors, "terse: 2 of 4 runs were done before\n");
    succeeds(place.sweep("whole", "--seeds 2"));
    assert!(place.read("runs/shard-1-of-1.parquet") == place.read("whole/shard-1-of-1.parquet"));
}

#[test]
fn two_processes_do_not_do_the_same_shard() {
    let place = Place::new(SOURCE);
    fs::create_dir(place.path("runs")).expect("a folder");
    let partial = File::create(place.path("runs/shard-1-of-2.partial")).expect("a file");
    partial.lock().expect("it is locked");
    let errors = fails(place.sweep("runs", "--seeds 2 --shard 1/2"), 1);
    assert!(errors.contains("another process writes") && errors.contains("do another shard meanwhile"), "{errors}");
    succeeds(place.sweep("runs", "--seeds 2 --shard 2/2"));
    partial.unlock().expect("it was locked");
    succeeds(place.sweep("runs", "--seeds 2 --shard 1/2"));
}

#[test]
fn what_cannot_be_merged_is_refused() {
    let place = Place::new(SOURCE);
    for number in [1, 3] {
        succeeds(place.sweep("runs", &format!("--seeds 6 --shard {number}/3")));
    }
    succeeds(place.sweep("others", "--seeds 7 --shard 2/3"));
    let errors = fails(place.merge(&["runs"], "merged.parquet", ""), 1);
    assert!(errors.contains("of 12") && errors.ends_with("run terse sim sweep for them: 2 of 3\n"), "{errors}");
    let errors = fails(place.merge(&["runs", "others"], "merged.parquet", ""), 1);
    assert!(errors.contains("are of different sweeps"), "{errors}");
    let errors = fails(place.merge(&["runs", "runs/shard-1-of-3.parquet"], "merged.parquet", ""), 1);
    assert!(errors.contains("name each shard once"), "{errors}");
    let errors = fails(place.merge(&["scenario.toml"], "merged.parquet", ""), 1);
    assert!(errors.contains("is no Parquet file, or is damaged"), "{errors}");
    fs::create_dir(place.path("empty")).expect("a folder");
    let errors = fails(place.merge(&["empty"], "merged.parquet", ""), 1);
    assert!(errors.contains("there is no shard-*.parquet in"), "{errors}");
    let errors = fails(place.merge(&["runs"], "none/merged.parquet", ""), 1);
    assert!(errors.contains("make it first"), "{errors}");
    assert!(!place.path("merged.parquet").exists());
    let errors = fails(place.merge(&["runs"], "merged.parquet", "--json --csv -"), 2);
    assert!(errors.contains("both want standard output"), "{errors}");
}

#[test]
fn runs_that_fail_are_results() {
    let place = Place::new(
        "limit_ms = 50_000\n[[row]]\nname = \"never\"\nradio.delivery = 0\n[[row]]\nname = \"no trace\"\n\
                            topology.motes = 3\nforming.function = \"msf\"\nradio.model = \"k7\"\nradio.trace = \"none.k7\"\n",
    );
    let (table, errors) = succeeds(place.sweep("runs", "--seeds 2"));
    assert!(
        errors.contains("terse: never: client: ") && errors.contains("no trace: cannot read the trace"),
        "{errors}"
    );
    assert!(table.lines().any(|line| line.split_whitespace().eq(["never", "2", "2"])), "{table}");
    let (csv, _) = succeeds(place.merge(&["runs"], "merged.parquet", "--csv -"));
    let unrun: Vec<&str> = csv.lines().filter(|line| line.contains("cannot read the trace")).collect();
    assert_eq!(unrun.len(), 2, "{csv}");
    assert!(unrun.iter().all(|line| line.contains(",false,,,,,")), "there is no outcome: {csv}");
}

#[test]
fn wrong_use_is_2_and_a_place_that_cannot_be_written_is_1() {
    let place = Place::new(SOURCE);
    for shard in ["0/4", "5/4", "x", "4", "1/0"] {
        let errors = fails(place.sweep("runs", &format!("--shard {shard}")), 2);
        assert!(errors.contains("1/4"), "{errors}");
    }
    let errors = fails(place.sweep("scenario.toml/runs", "--seeds 2"), 1);
    assert!(errors.contains("cannot write") && errors.contains("try another place"), "{errors}");
    let errors = fails(place.sweep("runs", "--seeds 0"), 2);
    assert!(errors.contains("--seeds"), "{errors}");
    let same = Place::new("[[row]]\nname = \"a\"\n[[row]]\nname = \"b\"\n");
    let errors = fails(same.sweep("runs", ""), 1);
    assert!(errors.contains("\"a\" and \"b\" are the same scenario"), "{errors}");
}

/// The command of docs/sweeps.md.
#[test]
fn gnu_parallel_runs_shards() {
    if Command::new("parallel").arg("--version").output().is_err() {
        let required = std::env::var("TERSE_REQUIRE_ALL").as_deref() == Ok("1");
        assert!(!required, "GNU parallel is required: apt-get install parallel");
        eprintln!("skipped: GNU parallel is not installed");
        return;
    }
    let place = Place::new(SOURCE);
    let mut command = Command::new("parallel");
    command.args([TERSE, "sim", "sweep", &place.file, "--out"]).arg(place.path("runs"));
    command.args("--seeds 10 --jobs 1 --shard {}/4 ::: 1 2 3 4".split(' '));
    succeeds(command);
    succeeds(place.merge(&["runs"], "merged.parquet", ""));
    succeeds(place.sweep("whole", "--seeds 10"));
    assert!(place.read("merged.parquet") == place.read("whole/shard-1-of-1.parquet"));
}
