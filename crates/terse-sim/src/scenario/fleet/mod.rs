//! Whole networks: every mote is a device that connects, reports, and connects again after what happens to it.
//!
//! What must always hold: a run is a function of its scenario, the parties and the seed, as all runs are; only engines connect.

mod built;
mod outcome;
mod run;
mod station;

use alloc::sync::Arc;

pub use outcome::{Device, Fleet, Observed, Reports};

use super::energy::Batteries;
use super::options::{EventKind, Scenario};
use super::outcome::{Air, Outcome};
use super::run::{CannotRun, Engine};
use crate::compare::{Captured, Failed, Keys};
use crate::engine::Watcher;
use crate::radio::{Connectivity, RadioChange};
use built::{Built, Peers};
use run::Run;

/// What a run is made of, besides the scenario.
pub(super) struct Setup<'r> {
    pub(super) engine: &'r Engine,
    pub(super) batteries: Option<&'r Batteries>,
    pub(super) radio: Option<(Connectivity, Vec<RadioChange>)>,
    pub(super) seed: u64,
    /// Whose frames are kept, and where secrets go, if a capture is wanted.
    pub(super) captures: Option<(Option<u16>, Arc<Keys>)>,
}

/// Runs a scenario of a whole network.
pub(super) fn run(
    scenario: &Scenario,
    setup: Setup<'_>,
    watcher: &Watcher<'_>,
) -> Result<(Outcome, Captured), CannotRun> {
    let Setup { engine, batteries, radio, seed, captures } = setup;
    let motes = scenario.topology.motes() as usize;
    let keys = captures.as_ref().map(|(_, keys)| keys.clone());
    let misuse = |misuse| CannotRun::Engine(Failed::Configuration(misuse));
    let (pairs, clock) = engine.fleet(motes, seed, keys.as_ref())?;
    let renewed = match scenario.event.kind {
        // A new certificate is one that nobody has cached.
        EventKind::Renewal => engine.strangers(&pairs).map_err(misuse)?,
        _ => Vec::new(),
    };
    let peers = Peers { pairs, clock, watcher, computers: engine.computers() };
    let mut built = Built::new(scenario, radio, seed, peers).map_err(CannotRun::Mesh)?;
    if let Some((mote, _)) = &captures {
        built.capture(*mote);
    }
    let mut run = Run::new(scenario, seed, batteries, &mut built, engine.mode());
    let result = run.run(&renewed);
    let cause = run.cause();
    if !built.conservation().holds() {
        return Err(CannotRun::Conservation(built.conservation().to_string()));
    }
    let captured = match captures {
        Some((_, keys)) => Captured { capture: built.captured(), key_log: keys.lines() },
        None => Captured::default(),
    };
    let outcome = match result {
        Ok((fleet, drops)) => Outcome { seed, drops, ..outcome(fleet, &cause) },
        Err(failure) => Outcome { seed, failure: Some(failure), ..Outcome::default() },
    };
    Ok((outcome, captured))
}

fn outcome(fleet: Fleet, cause: &str) -> Outcome {
    let (connected, devices) = (fleet.connected(), fleet.devices.len());
    let failure = (connected < devices).then(|| {
        format!(
            "{connected} of {devices} devices were connected within the limit{cause}: try a longer limit_ms, longer timeouts, or \
             reconnect.spread_ms"
        )
    });
    let air = Air { bytes: fleet.bytes, frames: fleet.frames, network_bytes: fleet.network_bytes, ..Air::default() };
    Outcome { latency: fleet.time_until(1.0), failure, air, fleet: Some(fleet), ..Outcome::default() }
}
