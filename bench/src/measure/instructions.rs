//! Instructions of a client's calls in one full handshake, counted by callgrind in a process of its own.
//!
//! Valgrind pretends a CPU with AVX2 and AES-NI, but without AVX-512, SHA and ADX instructions: a library that would use
//! those takes its next best code.

use std::env;
use std::path::Path;
use std::process::Command;

use super::{Field, Metric, Sample, Warm};
use crate::probe::{COUNTED_CALL, CountedProbe};
use crate::stack::{Mode, Side, Stack};

/// Of the client.
pub fn measure(stack: &dyn Stack, field: Field) -> Result<Vec<Sample>, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no"]);
    command.arg(format!("--toggle-collect={COUNTED_CALL}")).arg(program);
    command.args(["one", stack.name(), &field.version.to_string(), &field.profile.to_string()]);
    let output = command.output().map_err(|error| format!("valgrind does not run ({error}): install valgrind"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("under valgrind: {}", said.lines().last().unwrap_or_default()));
    }
    let collected = said.lines().find_map(|line| line.split_once("Collected :")).map(|(_, number)| number.trim());
    let collected: f64 =
        collected.and_then(|number| number.parse().ok()).ok_or("callgrind does not say what it collected")?;
    Ok(vec![field.sample(stack, Metric::ClientInstructions, collected / 1e3)])
}

/// The handshake that is counted, in that process.
pub fn one(stack: &dyn Stack, field: Field, mode: Mode, side: Side) -> Result<(), String> {
    let mut warm = Warm::new(stack, field.with(mode))?;
    warm.handshake(&mut CountedProbe(side))
}

/// Whether valgrind is there.
pub fn is_possible() -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| Path::exists(&folder.join("valgrind"))))
}
