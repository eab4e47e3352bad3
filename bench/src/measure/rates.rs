//! The rate is handshakes per second of CPU time, both sides together, from the creation of the connection to its end.
//! It includes the work for what is kept for the next connection.
//!
//! Every round goes over all stacks, each time in another order, so that other load of the machine affects all alike.

use super::{Effort, Field, Metric, Sample, Warm, cpu_seconds};
use crate::probe::Unwatched;
use crate::stack::{Mode, Stack};

/// Measures all `stacks`, in `mode`. A stack that fails is reported to `failed`, and left out.
pub fn measure(
    stacks: &[&dyn Stack],
    field: Field,
    mode: Mode,
    effort: Effort,
    failed: &mut dyn FnMut(&dyn Stack, String),
) -> Vec<Sample> {
    let metric = match mode {
        Mode::Full => Metric::RateFull,
        Mode::Resumed => Metric::RateResumed,
        Mode::Kept => Metric::RateKept,
        Mode::Rfc7924 => Metric::RateRfc7924,
        Mode::Bithac => Metric::RateBithac,
        Mode::Compact => Metric::RateCompact,
        Mode::Psk | Mode::Identity | Mode::IdentityBls12381 | Mode::Unverified => return Vec::new(), // see their commands
    };
    let setting = field.with(mode);
    let has = stacks.iter().copied().filter(|stack| stack.has(setting));
    let run = |warm: &mut Warm| rate(warm, effort.slice_ms as f64 / 1e3);
    interleaved(has, |stack| Warm::new(stack, setting), run, effort.rounds, failed)
        .into_iter()
        .filter_map(|(stack, rates)| field.median(stack, metric, rates))
        .collect()
}

/// Returns the handshakes per CPU second, of at least so many seconds.
pub fn rate(warm: &mut Warm, seconds: f64) -> Result<f64, String> {
    let start = cpu_seconds();
    let mut count = 0;
    loop {
        warm.handshake(&mut Unwatched)?;
        count += 1;
        let spent = cpu_seconds() - start;
        if spent >= seconds {
            return Ok(f64::from(count) / spent);
        }
    }
}

/// Runs rounds over all `stacks`, each beginning with the next stack.
pub(super) fn interleaved<'a, T>(
    stacks: impl Iterator<Item = &'a dyn Stack>,
    make: impl Fn(&dyn Stack) -> Result<T, String>,
    run: impl Fn(&mut T) -> Result<f64, String>,
    rounds: usize,
    failed: &mut dyn FnMut(&dyn Stack, String),
) -> Vec<(&'a dyn Stack, Vec<f64>)> {
    let mut going = Vec::new();
    for stack in stacks {
        match make(stack) {
            Ok(made) => going.push((stack, made, Vec::new())),
            Err(error) => failed(stack, error),
        }
    }
    for _ in 0..rounds {
        for (stack, made, rates) in &mut going {
            match run(made) {
                Ok(rate) => rates.push(rate),
                Err(error) => failed(*stack, error),
            }
        }
        if !going.is_empty() {
            going.rotate_left(1);
        }
    }
    going.into_iter().map(|(stack, _, rates)| (stack, rates)).collect()
}
