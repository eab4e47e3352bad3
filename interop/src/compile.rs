//! Programs that are compiled when they are first asked for: those in `c/` and `java/`, with a library that is installed or
//! whose sources a crate ships, and those of this workspace.
//!
//! Crates that ship sources are never built themselves: only their files are wanted.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

pub use program::{CProgram, JavaProgram, Launcher};

pub mod objects;
mod program;

/// The program `name` of this workspace, built like this one: with the packages that `make test` names, Cargo turns on the
/// same features, and compiles nothing twice.
pub fn built_by_cargo(name: &str) -> Result<PathBuf, String> {
    let built = profile_directory();
    let mut command = cargo();
    command.args(["build", "--quiet", "--workspace", "--exclude", "terse-bench", "--bin", name, "--manifest-path"]);
    command.arg(own("../Cargo.toml")).arg("--target-dir").arg(built.with_file_name(""));
    // Cargo's `dev` profile is the one whose directory has another name.
    let profile = built.file_name().and_then(|name| name.to_str()).filter(|name| *name != "debug");
    command.args(["--profile", profile.unwrap_or("dev")]);
    run(&mut command, "Cargo has to build it")?;
    Ok(built.join(name))
}

/// Cargo, as from a shell. It tells a test or a program about the package that this is of, and build scripts take what it says
/// for a change: they and all that depends on them would be run again.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let of_package = |name: &str| ["CARGO_MANIFEST_", "CARGO_PKG_"].iter().any(|prefix| name.starts_with(prefix));
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_package)) {
        command.env_remove(name);
    }
    command
}

/// How the compiler of C optimises libraries: in builds for tests not at all, which takes half of the time, and as
/// their authors do where their speed is measured.
pub const OPTIMISATION: &str = if cfg!(debug_assertions) { "-O0" } else { "-O2" };

/// A file of this package.
pub fn own(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

/// Where Cargo has put this program.
fn profile_directory() -> PathBuf {
    let executable = env::current_exe().expect("a running program has a path");
    let built = executable.ancestors().skip(1).find(|path| !path.ends_with("deps"));
    built.expect("a program in a directory").to_owned()
}

/// Where the programs are kept: beside what Cargo has built, for all profiles.
pub fn directory() -> PathBuf {
    let directory = profile_directory().with_file_name("peers");
    fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    directory
}

/// The output of `command`. `hint`: what may help if it fails.
pub fn run(command: &mut Command, hint: &str) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("`{name}` does not run ({error}); {hint}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().take(5).collect();
    Err(format!("`{name}` fails; {hint}\n{}", lines.join("\n")))
}

/// Where Cargo keeps the files of `package`, which some manifest here names. They are downloaded if need be.
pub fn shipped(package: &str) -> Result<PathBuf, String> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1", "--manifest-path"]);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    let hint = format!("it has to find the sources of the crate {package}: `cargo fetch` gets them");
    let metadata = run(&mut command, &hint)?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).map_err(|error| format!("metadata: {error}"))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifest = packages.filter(|known| known["name"] == package).find_map(|known| known["manifest_path"].as_str());
    let manifest = manifest.ok_or_else(|| format!("Cargo knows of no crate {package}"))?;
    Ok(Path::new(manifest).with_file_name(""))
}
