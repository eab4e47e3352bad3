//! Handshakes over a path that is slow, loses packets and takes small ones only: how many come to an end, and what they
//! cost, by a simulation of some seconds for each.
//!
//! What must always hold: all stacks meet the same path, and lose the n-th packet of a direction with the same seed; a
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

/// What the handshakes of one stack took.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Of which stack.
    pub stack: String,
    /// In which version.
    pub version: Version,
    /// With which certificates.
    pub profile: Profile,
    /// Over which path.
    pub path: Path,
    /// How many there were.
    pub handshakes: u64,
    /// How many of them both sides finished. The rest is of these.
    pub completed: u64,
    /// Milliseconds until then.
    pub time: Spread,
    /// Bytes of datagrams that both sides had then sent, those that were lost included.
    pub bytes: Spread,
    /// Datagrams.
    pub datagrams: Spread,
    /// Packets that carried them.
    pub packets: Spread,
    /// Why the others failed, and the seed of the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<(u64, String)>,
}

/// Of many numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// So much or less in half of all cases.
    pub median: u64,
    /// So much or less in 95 of 100.
    pub percentile_95: u64,
}

impl Spread {
    fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let rank = |percent: usize| values.get((values.len() * percent).div_ceil(100).max(1) - 1).copied();
        Self { median: rank(50).unwrap_or_default(), percentile_95: rank(95).unwrap_or_default() }
    }
}

/// Full handshakes of `stack` with the seeds 0, 1 and so on, or one if nothing is lost.
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

/// One handshake of these, and every datagram of it to `watcher`.
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

/// Nothing is left over from an earlier handshake, such as how long the round trip is.
fn world(stack: &dyn Stack, version: Version, profile: Profile, path: Path) -> Result<Box<dyn World>, String> {
    stack.world(Setting { mtu: path.datagram(), ..Setting::new(version, profile, Mode::Full) })
}

#[cfg(test)]
mod tests;
