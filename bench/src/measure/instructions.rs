//! The instructions of a client's calls in one handshake are counted by callgrind in a process of its own.
//!
//! Valgrind pretends a CPU with AVX2 and AES-NI, but without AVX-512, SHA and ADX instructions: a library that would use
//! those takes its next best code.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use super::{Field, Metric, Sample, Warm};
use crate::probe::{COUNTED_CALL, CountedProbe};
use crate::stack::{Mode, Setting, Side, Stack};

/// Measures the client.
pub fn measure(stack: &dyn Stack, field: Field) -> Result<Vec<Sample>, String> {
    let collected = count(stack, field.with(Mode::Full))?;
    Ok(vec![field.sample(stack, Metric::ClientInstructions, collected / 1e3)])
}

/// Returns the client's instructions in one handshake of `setting`.
pub fn count(stack: &dyn Stack, setting: Setting) -> Result<f64, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let (version, profile, mode) = (setting.version.to_string(), setting.profile.to_string(), setting.mode.to_string());
    let mut arguments = vec!["one", stack.name(), &version, &profile, "--mode", &mode];
    arguments.extend(["--client-chain", setting.chains.client, "--server-chain", setting.chains.server]);
    collected(&program, &arguments)
}

/// Returns the instructions of the counted calls of `program`, which is `terse-bench`, with these arguments.
pub fn collected(program: &Path, arguments: &[impl AsRef<OsStr>]) -> Result<f64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no"]);
    command.arg(format!("--toggle-collect={COUNTED_CALL}")).arg(program).args(arguments);
    let output = command.output().map_err(|error| format!("valgrind does not run ({error}): install valgrind"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("under valgrind: {}", said.lines().last().unwrap_or_default()));
    }
    let collected = said.lines().find_map(|line| line.split_once("Collected :")).map(|(_, number)| number.trim());
    collected.and_then(|number| number.parse().ok()).ok_or_else(|| "callgrind does not say what it collected".into())
}

/// Makes the handshake that is counted, in that process.
pub fn one(stack: &dyn Stack, setting: Setting, side: Side) -> Result<(), String> {
    let mut warm = Warm::new(stack, setting)?;
    warm.handshake(&mut CountedProbe(side))
}

/// Whether valgrind is installed.
pub fn is_possible() -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| Path::exists(&folder.join("valgrind"))))
}
