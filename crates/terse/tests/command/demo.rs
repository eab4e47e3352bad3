//! `terse demo` runs processes of its own: none of them is left, nor any file.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::common::{run, terse};

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

/// Returns the command lines of running processes that have a file in this folder, as Linux tells them.
#[cfg(target_os = "linux")]
fn processes_of(folder: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(&*folder.to_string_lossy())).collect()
}

#[test]
fn the_demo_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = terse();
    command.arg("demo").env("TMPDIR", folder.path());
    assert_eq!(run(command).code, Some(0));
    assert!(is_empty(folder.path()));
    #[cfg(target_os = "linux")]
    assert_eq!(processes_of(folder.path()), Vec::<String>::new());
}

/// Whenever it is told to end, it tidies up first.
#[cfg(target_os = "linux")]
#[test]
fn a_demo_that_is_interrupted_leaves_nothing_behind() {
    for file in ["masa.errors", "registrar.db", "join-proxy.errors", "sensor"] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = terse();
        command.arg("demo").env("TMPDIR", folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut demo = command.spawn().unwrap();
        let is_there = || {
            let mut entries = fs::read_dir(folder.path()).unwrap().flatten();
            entries.any(|entry| entry.path().join(file).exists())
        };
        let ended = loop {
            match demo.try_wait().unwrap() {
                Some(status) => break status, // on a slow machine the file may have come and gone
                None if is_there() => {
                    let id = demo.id().to_string();
                    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
                    break demo.wait().unwrap();
                }
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        assert!(ended.code().is_some_and(|code| code <= 1), "{file}: {ended}");
        assert!(is_empty(folder.path()), "{file}");
        assert_eq!(processes_of(folder.path()), Vec::<String>::new(), "{file}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = terse();
    command.arg("demo").env("TMPDIR", folder.path().join("nowhere"));
    run(command).refused(1, &["nowhere"]);
}
