//! The time of all stacks: in memory the machine's, over a lossy path that of a simulation, which nobody waits for.
//!
//! What must always hold: a simulation's time is that of its thread alone, and ends with it.

use core::cell::Cell;

use terse_interop::case::clock;
use terse_tls::{Instant, Now};

thread_local! {
    static SIMULATED: Cell<Option<u64>> = const { Cell::new(None) };
    /// The machine's time, of the last call.
    static LAST: Cell<Option<Now>> = const { Cell::new(None) };
}

/// As long as it lives, the time is what it was told to be.
#[derive(Debug)]
pub struct Simulation(());

impl Simulation {
    /// Begins `START` milliseconds after nothing.
    pub fn begin() -> Self {
        SIMULATED.set(Some(START));
        Self(())
    }

    /// It is so many milliseconds later than at the beginning.
    pub fn set(&mut self, milliseconds: u64) {
        SIMULATED.set(Some(START + milliseconds));
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        SIMULATED.set(None);
    }
}

/// The time of a call, for Terse.
pub fn now() -> Now {
    after_last(|last| clock().now_after(last))
}

/// That of the system's last tick, where `terse_net` takes it.
pub fn last_tick() -> Now {
    after_last(|last| clock().last_tick_after(last))
}

fn after_last(read: impl FnOnce(Now) -> Now) -> Now {
    let now = read(LAST.get().unwrap_or_else(|| clock().now()));
    LAST.set(Some(now));
    SIMULATED.get().map_or(now, |milliseconds| Now::new(Instant(milliseconds), now.unix))
}

/// The time of a call in milliseconds, for peers in C. Without a simulation it stands still: nothing is lost in memory, so
/// no timer may run out, however slow the machine.
pub extern "C" fn milliseconds() -> i64 {
    SIMULATED.get().unwrap_or(START) as i64 // far below 2^63
}

/// Such a time in milliseconds of the simulation.
pub const fn since_start(milliseconds: u64) -> u64 {
    milliseconds.saturating_sub(START)
}

/// Not 0: to wolfSSL that says that there is no clock.
const START: u64 = 1_000_000;
