//! How long signing takes: in rounds over all, so that other load of the machine affects all alike.

use std::process::{Command, Stdio};
use std::time::Instant;

use super::{Loaded, Pledge, Program, Signer};
use crate::measure::cpu_seconds;
use crate::probe::children_seconds;

/// Microseconds of some rounds.
#[derive(Clone, Debug, Default)]
pub struct Times(pub Vec<f64>);

impl Times {
    /// Returns the mean, and the standard deviation of a sample.
    pub fn mean_and_deviation(&self) -> (f64, f64) {
        let count = self.0.len() as f64;
        let mean = self.0.iter().sum::<f64>() / count;
        let squares: f64 = self.0.iter().map(|time| (time - mean).powi(2)).sum();
        (mean, (squares / (count - 1.0).max(1.0)).sqrt())
    }

    /// Returns the shortest.
    pub fn least(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// Returns the CPU time of a signature, with a key that was loaded before. Each round signs until so many seconds of CPU time have
/// gone by.
pub fn warm(signers: &[&dyn Signer], pledge: &Pledge, rounds: usize, seconds: f64) -> Result<Vec<Times>, String> {
    let loaded = signers.iter().map(|signer| signer.load(pledge)).collect::<Result<Vec<_>, _>>()?;
    let mut times = vec![Times::default(); loaded.len()];
    for loaded in &loaded {
        round(&**loaded, pledge, seconds)?;
    }
    for _ in 0..rounds {
        for (times, loaded) in times.iter_mut().zip(&loaded) {
            times.0.push(round(&**loaded, pledge, seconds)?);
        }
    }
    Ok(times)
}

fn round(loaded: &dyn Loaded, pledge: &Pledge, seconds: f64) -> Result<f64, String> {
    let start = cpu_seconds();
    let mut count = 0.0;
    loop {
        loaded.sign(pledge, &mut |_| {})?;
        count += 1.0;
        let elapsed = cpu_seconds() - start;
        if elapsed >= seconds {
            return Ok(elapsed / count * 1e6);
        }
    }
}

/// The times of whole processes, from before they are started until they have ended.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    /// The CPU time of those that sign.
    pub signing: Times,
    /// The CPU time of those that do nothing.
    pub idle: Times,
    /// The time by the clock of those that sign, which on a busy machine is mostly waiting.
    pub clock: Times,
}

/// Returns the times of processes of each program.
pub(super) fn processes(programs: &[Program], pledge: &Pledge, rounds: usize) -> Result<Vec<Processes>, String> {
    let mut times = vec![Processes::default(); programs.len()];
    for round in 0..=rounds {
        for (times, program) in times.iter_mut().zip(programs) {
            let mut signing = Command::new(&program.path);
            signing.args(pledge.arguments());
            let (signing, clock) = process(signing)?;
            let (idle, _) = process(Command::new(&program.path))?;
            // The first round reads the files into memory.
            if round > 0 {
                times.signing.0.push(signing);
                times.idle.0.push(idle);
                times.clock.0.push(clock);
            }
        }
    }
    Ok(times)
}

/// Returns the microseconds of CPU time and by the clock.
fn process(mut command: Command) -> Result<(f64, f64), String> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let (cpu, clock) = (children_seconds(), Instant::now());
    let status = command.status().map_err(|error| error.to_string())?;
    let (clock, cpu) = (clock.elapsed().as_secs_f64(), children_seconds() - cpu);
    if status.success() { Ok((cpu * 1e6, clock * 1e6)) } else { Err(format!("{command:?}: {status}")) }
}
