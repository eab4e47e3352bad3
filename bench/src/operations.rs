//! The time of each cryptographic operation for which the simulator's devices have times, with a provider of this project:
//! `terse-bench operations`.
//!
//! What must always hold: an operation is measured through the interface that the simulator counts at, so that both mean the
//! same; only the groups of identity keys, which `terse-ibc` does not show, are called as it calls them.

use std::fmt::Write;

use terse_sim::computing::Operation;
use terse_tls::NamedGroup;
use terse_tls::crypto::CryptoProvider;

use crate::measure::cpu_seconds;

mod curves;
mod provider;

/// An operation, and how to measure it.
struct Timed {
    operation: Operation,
    /// How many of it, or how many thousand bytes, are in one call.
    units: f64,
    /// Returns the CPU seconds of so many calls, without what prepares them.
    run: Box<dyn FnMut(u32) -> Result<f64, String>>,
}

impl Timed {
    /// An operation that needs no preparation.
    fn new(operation: Operation, mut call: impl FnMut() -> Result<(), String> + 'static) -> Self {
        let run = move |calls| {
            let start = cpu_seconds();
            (0..calls).try_for_each(|_| call())?;
            Ok(cpu_seconds() - start)
        };
        Self { operation, units: 1.0, run: Box::new(run) }
    }

    /// An operation on what `prepare` makes for each call.
    fn prepared<T>(
        operation: Operation,
        prepare: impl Fn() -> Result<T, String> + 'static,
        call: impl Fn(T) -> Result<(), String> + 'static,
    ) -> Self {
        let run = move |calls| {
            let prepared = (0..calls).map(|_| prepare()).collect::<Result<Vec<_>, _>>()?;
            let start = cpu_seconds();
            prepared.into_iter().try_for_each(&call)?;
            Ok(cpu_seconds() - start)
        };
        Self { operation, units: 1.0, run: Box::new(run) }
    }

    /// The same operation, when a call does it on so many bytes.
    fn on_bytes(self, bytes: usize) -> Self {
        Self { units: bytes as f64 / 1e3, ..self }
    }

    /// Returns the microseconds of the operation in one round of at least `seconds`.
    fn round(&mut self, seconds: f64) -> Result<f64, String> {
        let mut calls = 1;
        loop {
            let spent = (self.run)(calls)?;
            if spent >= seconds {
                return Ok(spent * 1e6 / f64::from(calls) / self.units);
            }
            calls = calls.saturating_mul(2);
        }
    }
}

/// Measures all operations with `provider`, in microseconds each, or for 1,000 bytes: the fastest of the rounds, in which
/// the machine was disturbed least. A round goes over all operations, each for at least `seconds` of CPU time.
///
/// Fails if the rounds were too few, or the machine too disturbed, to tell a difference.
pub fn measure(provider: &'static CryptoProvider, rounds: u16, seconds: f64) -> Result<Vec<(Operation, f64)>, String> {
    let mut timed = provider::operations(provider)?;
    timed.extend(curves::operations()?);
    let mut least = vec![f64::INFINITY; timed.len()];
    for _ in 0..rounds {
        for (timed, least) in timed.iter_mut().zip(&mut least) {
            *least = timed.round(seconds)?.min(*least);
        }
    }
    let mut times: Vec<_> = timed.iter().map(|timed| timed.operation).zip(least).collect();
    take_x25519_off(&mut times);
    match times.iter().find(|(_, time)| *time <= 0.0) {
        Some((operation, _)) => Err(format!("{operation} disappears in the noise; take more rounds")),
        None => Ok(times),
    }
}

/// ML-KEM-768 is measured as X25519MLKEM768: this takes the part of x25519 off.
fn take_x25519_off(times: &mut [(Operation, f64)]) {
    let time_of = |operation| times.iter().find(|(timed, _)| *timed == operation).map_or(0.0, |(_, time)| *time);
    let generate = time_of(Operation::Generate(NamedGroup::X25519));
    let agree = time_of(Operation::Agree(NamedGroup::X25519));
    for (operation, time) in times {
        *time -= match operation {
            Operation::MlKem768Generate => generate,
            Operation::MlKem768Encapsulate => generate + agree,
            Operation::MlKem768Decapsulate => agree,
            _ => 0.0,
        };
    }
}

/// Returns a device as a table of a device file. The times are rounded to four digits.
pub fn render(name: &str, description: &str, source: &str, times: &[(Operation, f64)]) -> String {
    let mut text = format!("[{name}]\ndescription = {description:?}\nsource = {source:?}\n\n[{name}.microseconds]\n");
    for operation in Operation::ALL {
        if let Some((_, time)) = times.iter().find(|(timed, _)| *timed == operation) {
            let digits = (3 - time.max(1e-3).log10().floor() as i32).clamp(0, 6) as usize;
            let _ = writeln!(text, "{operation} = {time:.digits$}"); // writing to a String cannot fail
        }
    }
    text
}
