//! The time of all stacks is the machine's in memory, and a simulation's over a lossy path, for which nobody has to
//! wait.
//!
//! What must always hold: a simulation's time belongs to its thread alone, and ends with the simulation.

use core::cell::Cell;

use terse_interop::case::clock;
use terse_tls::{Instant, Now};

thread_local! {
    static SIMULATED: Cell<Option<u64>> = const { Cell::new(None) };
    /// The machine's time at the last call.
    static LAST: Cell<Option<Now>> = const { Cell::new(None) };
}

/// While it exists, the time is what it was set to.
#[derive(Debug)]
pub struct Simulation(());

impl Simulation {
    /// Begins a simulation at `START` milliseconds.
    pub fn begin() -> Self {
        SIMULATED.set(Some(START));
        Self(())
    }

    /// Sets the time to `milliseconds` after the beginning.
    pub fn set(&mut self, milliseconds: u64) {
        SIMULATED.set(Some(START + milliseconds));
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        SIMULATED.set(None);
    }
}

/// Returns the time of a call, for Terse.
pub fn now() -> Now {
    after_last(|last| clock().now_after(last))
}

/// Returns the time of the system's last tick, for the calls where `terse_net` takes it.
pub fn last_tick() -> Now {
    after_last(|last| clock().last_tick_after(last))
}

fn after_last(read: impl FnOnce(Now) -> Now) -> Now {
    let now = read(LAST.get().unwrap_or_else(|| clock().now()));
    LAST.set(Some(now));
    SIMULATED.get().map_or(now, |milliseconds| Now::new(Instant(milliseconds), now.unix))
}

/// Returns the time of a call in milliseconds, for peers in C. Without a simulation it stands still: nothing is lost in
/// memory, so that no timer may expire, however slow the machine is.
pub extern "C" fn milliseconds() -> i64 {
    SIMULATED.get().unwrap_or(START) as i64 // far below 2^63
}

/// Converts such a time into milliseconds of the simulation.
pub const fn since_start(milliseconds: u64) -> u64 {
    milliseconds.saturating_sub(START)
}

/// The beginning. It is not 0, which means to wolfSSL that there is no clock.
const START: u64 = 1_000_000;
