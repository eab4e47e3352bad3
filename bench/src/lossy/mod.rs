//! Handshakes run over a slow path that loses packets and takes small ones only. The simulation measures how many
//! succeed, and what they cost.
//!
//! What must always hold: all stacks use the same path, and lose the n-th packet of a direction with the same seed; a
//! handshake is the first one of its world.

use serde::Serialize;

use crate::stack::{Mode, Profile, Setting, Side, Stack, Version, World};

mod describe;
mod path;
mod run;
mod table;

pub use describe::describe;
pub use path::Path;
pub use run::{Taken, Watcher, run};
pub use table::render;

/// The results of one stack's handshakes.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The stack.
    pub stack: String,
    /// The version.
    pub version: Version,
    /// The certificates.
    pub profile: Profile,
    /// The path.
    pub path: Path,
    /// The number of handshakes.
    pub handshakes: u64,
    /// The number of handshakes that both sides completed. The following numbers are of these.
    pub completed: u64,
    /// Milliseconds until both sides had completed the handshake.
    pub time: Spread,
    /// Bytes of datagrams that both sides had sent by then, lost ones included.
    pub bytes: Spread,
    /// Datagrams.
    pub datagrams: Spread,
    /// The packets that carried them.
    pub packets: Spread,
    /// The reason of a failure, and its seed, for the first handshake that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<(u64, String)>,
}

/// The spread of many numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// Half of the numbers are at most this.
    pub median: u64,
    /// 95 of 100 numbers are at most this.
    pub percentile_95: u64,
}

impl Spread {
    fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let rank = |percent: usize| values.get((values.len() * percent).div_ceil(100).max(1) - 1).copied();
        Self { median: rank(50).unwrap_or_default(), percentile_95: rank(95).unwrap_or_default() }
    }
}

/// Measures full handshakes of `stack` with the seeds 0, 1 and so on, or one if nothing is lost.
pub fn measure(
    stack: &dyn Stack,
    version: Version,
    profile: Profile,
    path: Path,
    seeds: u64,
) -> Result<Report, String> {
    let handshakes = if path.loss == 0 { 1 } else { seeds };
    let mut all = Vec::new();
    let mut failure = None;
    for seed in 0..handshakes {
        let world = world(stack, version, profile, path)?;
        match run(world.as_ref(), path, seed, &mut |_, _, _, _| {}) {
            Ok(taken) => all.push(taken),
            Err(error) => failure = failure.or(Some((seed, error))),
        }
    }
    let spread = |number: fn(&Taken) -> u64| Spread::of(all.iter().map(number).collect());
    Ok(Report {
        stack: stack.name().into(),
        version,
        profile,
        path,
        handshakes,
        completed: all.len() as u64,
        time: spread(|taken| taken.time.div_ceil(1_000)),
        bytes: spread(|taken| taken.bytes),
        datagrams: spread(|taken| taken.datagrams),
        packets: spread(|taken| taken.packets),
        failure,
    })
}

/// Makes one of these handshakes, and shows each of its datagrams to `watcher`.
pub fn watch(
    stack: &dyn Stack,
    version: Version,
    profile: Profile,
    path: Path,
    seed: u64,
    mut watcher: impl FnMut(u64, Side, &[u8], bool),
) -> Result<Taken, String> {
    run(world(stack, version, profile, path)?.as_ref(), path, seed, &mut watcher)
}

/// Creates a world without anything from an earlier handshake, such as a round-trip time.
fn world(stack: &dyn Stack, version: Version, profile: Profile, path: Path) -> Result<Box<dyn World>, String> {
    stack.world(Setting { mtu: path.datagram(), ..Setting::new(version, profile, Mode::Full) })
}

#[cfg(test)]
mod tests;
