//! What calls of the engine take, in the arena of the connection.

use terse_board::meter::Meter;
use terse_device::connect::Observer;

use crate::arenas::CONNECTION;

/// Counts what calls of the engine take, and runs them in the arena of the connection.
#[derive(Default)]
pub struct InArena(pub Meter);

impl Observer for InArena {
    fn run<T>(&mut self, call: impl FnOnce() -> T) -> T {
        CONNECTION.run(|| self.0.run(call))
    }

    fn connected(&mut self) {
        self.0.connected();
    }
}
