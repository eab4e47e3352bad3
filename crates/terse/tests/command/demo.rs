//! `terse demo` runs processes of its own: none of them is left, nor any file.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::common::{Patience, ended, run, terse};

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
        let patience = Patience::new();
        // On a slow machine the file may have come and gone.
        while demo.try_wait().unwrap().is_none() && !is_there() {
            patience.wait(file);
        }
        if demo.try_wait().unwrap().is_none() {
            let id = demo.id().to_string();
            assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        }
        let ended = ended(&mut demo).unwrap_or_else(|| panic!("{file}: it does not end"));
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
