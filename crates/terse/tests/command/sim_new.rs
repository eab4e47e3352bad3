//! `terse sim new` is run as a program: with options, with answers from a pipe, and with wrong ones.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs `terse sim` in a directory, with these lines on its standard input.
fn sim(directory: &Path, words: &[&str], lines: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_terse"))
        .arg("sim")
        .args(words)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    // A program that needs no answers may have ended before.
    let _ = child.stdin.take().expect("it is piped").write_all(lines.as_bytes());
    child.wait_with_output().expect("the program ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the exit code and what was printed on standard error.
fn refused(directory: &Path, words: &[&str], lines: &str) -> (Option<i32>, String) {
    let output = sim(directory, words, lines);
    assert_eq!(text(&output.stdout), "", "{words:?}");
    (output.status.code(), text(&output.stderr))
}

#[test]
fn options_answer_everything() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path();
    let words = "new net.toml --devices 40 --place tree --hops 2 --schedule fixed --slot 15 --loss 3 --duty-cycle 20 --event \
                 server-restart --report-every 900 --report-bytes 50 --handshakes full-1.2,psk --repetitions 1 --spread 300";
    let words: Vec<&str> = words.split_whitespace().collect();
    let output = sim(directory, &words, "");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "nothing is asked");
    let next = "net.toml: 2 rows, 1 runs each. What to do next:\n  terse sim run net.toml --html net.html\n";
    assert_eq!(text(&output.stdout), next);
    let source = std::fs::read_to_string(directory.join("net.toml")).expect("it was written");
    for line in [
        "tree = 40",
        "branching = 6",
        "slot_ms = 15",
        "delivery = 0.97",
        "duty_cycle = 0.2",
        "kind = \"server-restart\"",
        "period_ms = 900_000",
        "request_bytes = 50",
        "spread_ms = 300_000",
        "name = \"DTLS 1.2 full\"",
        "name = \"DTLS 1.3 psk\"",
    ] {
        assert!(source.lines().any(|found| found.starts_with(line)), "{line} in {source}");
    }
    let checked = sim(directory, &["check", "net.toml"], "");
    assert_eq!(text(&checked.stdout), "net.toml: nothing is wrong; 2 rows, 2 runs\n", "{}", text(&checked.stderr));
}

#[test]
fn a_pipe_answers_and_an_empty_line_is_the_default() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path();
    let answers = "12\ntree\n2\nmsf\n\n\npower-cut\n\n\nidentity\n2\n60\n";
    let output = sim(directory, &["new", "--json"], answers);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "{\"file\":\"network.toml\",\"rows\":1,\"runs\":2}\n");
    assert!(text(&output.stderr).contains("How many devices [100]: 12\n"), "{}", text(&output.stderr));
    let run = sim(directory, &["run", "network.toml"], "");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    assert!(
        text(&run.stdout).contains("DTLS 1.3 identity") && text(&run.stdout).contains("0/2"),
        "{}",
        text(&run.stdout)
    );
}

#[test]
fn places_of_all_kinds_are_accepted() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path();
    for words in
        [&["--side", "800"][..], &["--spacing", "30"], &["--spacing", "30", "--loss", "10"], &["--place", "field"]]
    {
        let output = sim(directory, &[&["new", "--yes", "--force"][..], words].concat(), "");
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        let checked = sim(directory, &["check", "network.toml"], "");
        assert_eq!(checked.status.code(), Some(0), "{words:?}: {}", text(&checked.stderr));
    }
    let printed = sim(directory, &["new", "-", "--yes"], "");
    assert!(text(&printed.stdout).starts_with("# 100 devices, a tree of 3 hops, MSF, 5 % loss: a power cut.\n"));
}

#[test]
fn wrong_answers_are_2_and_say_what_is_right() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path();
    for (words, message) in [
        (&["--devices", "0"][..], "--devices: \"0\" is no number of devices: a whole number from 1 to 1000"),
        (&["--place", "ring"], "--place: \"ring\" is no way to stand: one of tree, field, grid"),
        (
            &["--devices", "500", "--hops", "16"],
            "--hops: 500 devices make no full tree of 16 hops with 100 children at most: 2, 3, 4, 5, 6, 8",
        ),
        (&["--hops", "2", "--side", "10"], "--hops: a field has none: --place tree"),
        (&["--side", "100", "--loss", "5"], "--loss: the loss of a field follows from distances"),
        (
            &["--side", "100", "--schedule", "fixed"],
            "--schedule: \"fixed\" is no schedule of devices without a tree: one of msf",
        ),
        (&["--duty-cycle", "5"], "--duty-cycle: with msf the duty cycle is an outcome: --schedule fixed has one"),
        (&["--loss", "5%"], "--loss: \"5%\" is no loss: a number from 0 to 50"),
        (
            &["--event", "link-fade", "--report-every", "0"],
            "--report-every: devices notice a link-fade by reports without an answer",
        ),
        (
            &["--schedule", "fixed", "--report-every", "1"],
            "--report-every: reports every 1 s are more than the busiest link carries",
        ),
        (&["--schedule", "fixed", "--duty-cycle", "0.1"], "--duty-cycle: with 0.1 % a slotframe takes "),
        (&["--handshakes", "identity-1.2"], "--handshakes: \"identity-1.2\" is no handshake: one of full, "),
        (&["--handshakes", "full,full"], "--handshakes: \"full\" is there twice: each handshake once"),
    ] {
        let (code, errors) = refused(directory, &[&["new", "--yes"][..], words].concat(), "");
        assert_eq!(code, Some(2), "{words:?}: {errors}");
        assert!(errors.starts_with(&format!("terse: {message}")), "{words:?}: {errors}");
    }
    let (code, errors) = refused(directory, &["new"], "many\n");
    assert!(code == Some(2) && errors.contains("terse: --devices: \"many\" is no number of devices"), "{errors}");
    let (code, errors) = refused(directory, &["new"], "20\n");
    assert!(code == Some(2) && errors.contains("there is no answer for --place"), "{errors}");
    assert!(!directory.join("network.toml").exists(), "nothing is written after a wrong answer");
}

#[test]
fn a_file_is_replaced_by_force_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path();
    std::fs::write(directory.join("mine.toml"), "mine").expect("it can be written");
    let (code, errors) = refused(directory, &["new", "mine.toml", "--yes"], "");
    let expected = "terse: mine.toml is there already: give another name, or --force to replace it\n";
    assert_eq!((code, errors.as_str()), (Some(1), expected));
    assert_eq!(std::fs::read_to_string(directory.join("mine.toml")).expect("it is there"), "mine");
    assert_eq!(sim(directory, &["new", "mine.toml", "--yes", "--force"], "").status.code(), Some(0));
    assert_eq!(sim(directory, &["check", "mine.toml"], "").status.code(), Some(0));
    let (code, errors) = refused(directory, &["new", "nowhere/mine.toml", "--yes"], "");
    assert!(code == Some(1) && errors.contains("there is no directory nowhere"), "{errors}");
}
